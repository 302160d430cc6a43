"""The sites of a NumPyro program: which are latent, which observed, on which plates they lie.

They are found by running the program once with the data, before any time is spent on sampling.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpyro import handlers
from numpyro.infer import init_to_uniform
from numpyro.primitives import CondIndepStackFrame

from bayes_assess._tools.arrays import show
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import ArrayLike, Key
from bayes_assess._tools.to_arviz import check_shapes
from bayes_assess.errors import InferenceError


@dataclass(frozen=True)
class Site:
    """What is known of a site of a program before anything is sampled.

    Attributes
    ----------
    kind : str
        ``"sample"``, ``"deterministic"`` or another of NumPyro's.
    shape : tuple of int
        Of its value.
    is_observed : bool
        Whether it has data; a `numpyro.factor` is an observed site of size 0, and none here.
    is_latent, is_discrete : bool
        Whether it is to be sampled, and whether its values are discrete.
    event_axes : int
        How many of the last axes belong to one event.
    plates : tuple of frames
        Of NumPyro: every plate's name, size and axis.
    given : object
        What the program passed to ``obs=``, None where nothing is observed.
    """

    kind: str
    shape: tuple[int, ...]
    is_observed: bool
    is_latent: bool
    is_discrete: bool
    event_axes: int
    plates: tuple[CondIndepStackFrame, ...]
    given: object


class Observation(NamedTuple):
    """Data of a site, and which of them it can give."""

    value: np.ndarray
    possible: np.ndarray


class Trace(NamedTuple):
    """Sites of a program by name, and the data of those that are observed."""

    sites: Mapping[str, Site]
    observations: Mapping[str, Observation]


def joined_data(
    program: Callable[..., object], data: Mapping[str, object] | None, arguments: Mapping[str, object]
) -> dict[str, object]:
    """Join the arguments of a program, and hold their names against those that it takes.

    Raises
    ------
    InferenceError
        If the program is none, or the arguments do not fit it.
    """
    if not callable(program):
        raise InferenceError(f"Expected a NumPyro program, that is a function; found {type(program).__name__}.")
    data = {} if data is None else data
    if not isinstance(data, Mapping):
        raise InferenceError(
            f"Expected data as a mapping from the program's argument names to values; found {type(data).__name__}."
        )
    twice = sorted(data.keys() & arguments.keys())
    if twice:
        raise InferenceError(f"The argument {twice[0]!r} is in `data` and beside it; leave one of them out.")
    joined = {**data, **arguments}
    signature = inspect.signature(program)
    try:
        signature.bind(**joined)
    except TypeError as error:
        raise InferenceError(
            f"The data do not fit the program: {error}. It takes {names_shown(signature.parameters)}; "
            f"the data give {names_shown(joined)}."
        ) from error
    return joined


def as_array(value: object) -> Any:
    """Turn lists and series of numbers into NumPy arrays and floats into 64-bit ones; leave anything else as it is.

    A tuple that holds arrays, such as one for each level of a tree, stays one, and so does a list of arrays of unlike
    shapes: their members are turned one by one.

    NumPy arrays are not made into JAX arrays: inside compiled code a program can still compute sizes from them.

    Examples
    --------
    >>> as_array([1, 2]), as_array((np.ones(1), [1.0, 2.0]))
    (array([1, 2]), (array([1.]), array([1., 2.])))
    """
    if isinstance(value, jax.Array):
        return value.astype(jnp.float64) if jnp.issubdtype(value.dtype, jnp.floating) else value
    if isinstance(value, list | tuple) and _is_structure(value):
        members = [as_array(member) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
    if not (isinstance(value, list | tuple) or hasattr(value, "__array__")):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return value
    return array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array


def _is_structure(value: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list or tuple is of arrays, and no array itself."""
    if isinstance(value, tuple):
        arrays = (member for member in value if hasattr(member, "__array__"))
        return hasattr(value, "_fields") or any(np.ndim(member) > 0 for member in arrays)
    try:
        np.asarray(value)
    except ValueError:  # of unlike shapes
        return True
    return False


def trace_sites(model: Callable[[], object], key: Key[jax.Array, ""]) -> Trace:
    """Run the program once, compiled as a whole, and return its sites.

    Raises
    ------
    InferenceError
        If a plate has no item, observed data are no numbers, or the program cannot be compiled.
    """
    run, sites = initialised(model, key), {}

    def observe() -> dict[str, Observation]:
        observations = {}
        for name, message in run.get_trace().items():
            sites[name] = _site(message)
            if sites[name].is_observed:
                _check_numbers(name, message["value"])
                _check_observed_shape(name, message)
                # Continuous supports may depend on latent sites; discrete ones are fixed in programs that NUTS samples.
                possible = message["fn"].support(message["value"]) if sites[name].is_discrete else np.array(True)
                observations[name] = Observation(message["value"], possible)
        return observations

    try:
        observations = jax.jit(observe)()
    except AssertionError as error:
        if "unique names" in str(error):
            raise InferenceError(
                f"A name is of one site or plate of a program alone, and {_quoted(error)!r} is of two."
            ) from None
        if "size of plate" not in str(error):
            raise
        raise InferenceError(
            "A plate of the program has no item. Before any label the posterior is the prior, which beliefs draw from "
            "by `sample`; fit the program to one label or more."
        ) from None
    except ValueError as error:
        if "distribution got invalid" not in str(error):
            raise
        raise InferenceError(
            f"The program makes a distribution that there is not: {str(error).rstrip('.')}."
        ) from error
    except jax.errors.JAXTypeError as error:
        # A discrete site may be what the value is needed of.
        check_discrete({name: _site(message) for name, message in run.trace.items()})
        raise InferenceError(
            "The program needs the value of a site where it is compiled, as `if theta > 0:` or `np.log(theta)` would; "
            "functions of JAX, such as `jnp.where` and `jnp.log`, do not."
        ) from error
    return Trace(sites, jax.tree.map(np.asarray, observations))


def _quoted(error: Exception) -> str:
    return str(error).split("`")[1]


def _check_numbers(name: str, values: Any) -> None:
    if not isinstance(values, jax.Array) and np.asarray(values).dtype.kind not in "biufc":
        raise InferenceError(f"The data observed at {name!r} are numbers; found {show(values)}.")


def _check_observed_shape(name: str, message: Mapping[str, Any]) -> None:
    """Make sure that data go with what the site draws on its plates, one to one or one for several."""
    plates = [1] * max((-plate.dim for plate in message["cond_indep_stack"]), default=0)
    for plate in message["cond_indep_stack"]:
        plates[plate.dim] = plate.size
    found, one = np.shape(message["value"]), message["fn"]
    drawn = np.broadcast_shapes(one.batch_shape, tuple(plates)) + tuple(one.event_shape)
    try:
        np.broadcast_shapes(found, drawn)
    except ValueError:
        raise InferenceError(
            f"The data observed at {name!r} have shape {found}, but the program draws shape {drawn}."
        ) from None


def initialised(model: Callable[[], object], key: Key[jax.Array, ""]) -> handlers.trace:
    """Return the program with values of its latent sites from which NUTS could start, ready to be traced.

    Improper priors cannot be drawn from: the values are uniform draws of what is unconstrained.
    """
    return handlers.trace(handlers.substitute(handlers.seed(model, key), substitute_fn=init_to_uniform))


def what_is_not_finite(model: Callable[[], object], key: Key[jax.Array, ""]) -> str:
    """Say what keeps NUTS from starting: a parameter, the log density of a site, or the gradient."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPyro's, of values that a site cannot give
        try:
            trace = initialised(model, key).get_trace()
        except ValueError as error:  # NumPyro's, of parameters that a distribution cannot have
            return str(error).rstrip(".")
        for name, site in trace.items():
            if site["type"] == "sample":
                density = np.asarray(site["fn"].log_prob(site["value"]))
                lost = density[~np.isfinite(density)]
                if lost.size:
                    return f"the log density of {name!r} is {lost[0]}"
    return "the gradient is not"


def _site(found: Mapping[str, Any]) -> Site:
    """Describe a site of NumPyro."""
    is_sample = found["type"] == "sample"
    is_observed = is_sample and found["is_observed"] and np.size(found["value"]) > 0
    return Site(
        kind=found["type"],
        shape=np.shape(found["value"]),
        is_observed=is_observed,
        is_latent=is_sample and not found["is_observed"],
        is_discrete=is_sample and getattr(found["fn"].support, "is_discrete", False),
        event_axes=len(found["fn"].event_shape) if is_sample else 0,
        plates=tuple(found.get("cond_indep_stack", ())),
        given=found["value"] if is_observed else None,
    )


def observed_data(trace: Trace) -> dict[str, np.ndarray]:
    """Return the observed data by site; they must be numbers that the site can give."""
    for name, (values, possible) in trace.observations.items():
        missing = np.argwhere(np.isnan(values))
        if missing.size:
            raise InferenceError(
                f"The data observed at {name!r} have {len(missing)} NaN, the first at {_place(missing[0])}; "
                "leave those items out."
            )
        if not possible.all():
            place = tuple(np.argwhere(~possible)[0])
            value = np.broadcast_to(values, possible.shape)[place]  # of which there may be one for several
            raise InferenceError(
                f"The data observed at {name!r} hold {value} at {_place(place)}, which the site cannot give."
            )
    return {name: observation.value for name, observation in trace.observations.items()}


def check_latent(trace: Trace) -> None:
    """Make sure that there is something to sample and that NUTS can sample it."""
    if not any(site.is_latent for site in trace.sites.values()):
        raise InferenceError("The program has no latent site: it needs a `numpyro.sample` without `obs`.")
    check_discrete(trace.sites)


def check_discrete(sites: Mapping[str, Site]) -> None:
    """Make sure that NUTS can sample all latent sites."""
    discrete = [name for name, site in sites.items() if site.is_latent and site.is_discrete]
    if discrete:
        raise InferenceError(
            f"NUTS needs continuous latent sites, but {discrete[0]!r} is discrete and not observed; "
            "pass its data, or sum it out of the program."
        )


def name_axes(
    trace: Trace, dims: Mapping[str, Sequence[str]], coords: Mapping[str, ArrayLike]
) -> tuple[dict[str, list[str]], dict[str, np.ndarray]]:
    """Return the names of every site's axes, and the labels along them."""
    kinds = ("sample", "deterministic")
    shapes = {name: site.shape for name, site in trace.sites.items() if site.kind in kinds and 0 not in site.shape}
    unknown = [name for name in dims if name not in shapes]
    if unknown:
        raise InferenceError(
            f"`dims` names {names_shown(unknown)}, but the program has the sites {names_shown(shapes)}."
        )
    odd = next((name for name in dims if isinstance(dims[name], str)), None)
    if odd is not None:
        raise InferenceError(f"`dims` has a list of names for every site; found {dims[odd]!r} for {odd!r}.")
    axes = {name: list(dims[name]) if name in dims else _axes_from_plates(name, trace.sites[name]) for name in shapes}
    sizes: dict[str, int] = {}
    for name in axes:
        for dim, size in zip(axes[name], shapes[name], strict=False):
            if sizes.setdefault(dim, size) != size:
                raise InferenceError(
                    f"Plates and axes of one name have one length, and {dim!r} has {sizes[dim]} and, at {name!r}, "
                    f"{size}."
                )
    taken = [dim for dim in sizes if dim in shapes or dim in ("chain", "draw")]
    if taken:
        raise InferenceError(f"{taken[0]!r} cannot name a plate or an axis: a site or an axis of draws has that name.")
    unknown = [dim for dim in coords if dim not in sizes]
    if unknown:
        raise InferenceError(
            f"`coords` names {names_shown(unknown)}, but the program has the axes {names_shown(sizes)}."
        )
    labels = {dim: np.asarray(coords[dim]) if dim in coords else np.arange(size) for dim, size in sizes.items()}
    check_shapes("program", shapes, axes, labels)
    return axes, labels


def _axes_from_plates(name: str, site: Site) -> list[str]:
    """Name the axes of a site; plates count theirs from the end of the batch shape, before those of one event."""
    names = [f"{name}_dim_{axis}" for axis in range(len(site.shape))]
    batch = len(site.shape) - site.event_axes
    # A deterministic site need not use the axes of its plates: it must have exactly those, or they are not named.
    if site.kind != "sample" and batch != max((-plate.dim for plate in site.plates), default=0):
        batch = 0
    for plate in site.plates:
        axis = batch + plate.dim
        if axis >= 0 and site.shape[axis] == plate.size:
            names[axis] = plate.name
    return names


def without_observations(
    program: Callable[..., object], arguments: Mapping[str, object], trace: Trace, key: Key[jax.Array, ""]
) -> Callable[[], object]:
    """Return the program without its observations; it must draw outcomes of the shapes that were observed."""
    shapes = {name: trace.sites[name].shape for name in trace.observations}

    def drawn(model: Callable[[], object]) -> dict[str, tuple[int, ...]]:
        sites = trace_sites(model, key).sites
        return {name: site.shape for name, site in sites.items() if not site.is_observed}

    given = [trace.sites[name].given for name in shapes]
    absent = {name: None for name, argument in arguments.items() if any(argument is value for value in given)}
    try:
        model = partial(program, **{**arguments, **absent})
        if absent and shapes.items() <= drawn(model).items():
            return model
    except Exception:  # whatever a program makes of None: it does not follow the convention
        pass
    model = handlers.uncondition(partial(program, **arguments))
    sizes = drawn(model)
    for name, shape in shapes.items():
        size = sizes.get(name)
        if size != shape:
            raise InferenceError(
                f"{name!r} was observed with shape {shape}, but without data the program draws shape {size}; "
                "put the site into a `numpyro.plate`, or pass pointwise=False."
            )
    return model


def _place(index: Sequence[int]) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]"


def names_shown(names: Iterable[object]) -> str:
    """Write names for a message."""
    return ", ".join(repr(str(name)) for name in names) or "none"
