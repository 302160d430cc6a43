"""The sites of a NumPyro program: which are latent, which observed, on which plates they lie.

They are found by running the program once with the data, before any time is spent on sampling.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpyro import handlers
from numpyro.infer import init_to_uniform

from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.shapes import ArrayLike, Key
from bayes_assess._tools.to_arviz import check_shapes
from bayes_assess.errors import InferenceError

Site = Mapping[str, Any]  # of NumPyro
Trace = Mapping[str, Site]


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
            f"The data do not fit the program: {error}. It takes {listed(signature.parameters)}; "
            f"the data give {listed(joined)}."
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
    """Run the program once and return its sites by name."""
    # Improper priors cannot be drawn from, so latent sites get values as NUTS starts from.
    started = handlers.substitute(handlers.seed(model, key), substitute_fn=init_to_uniform)
    try:
        return handlers.trace(started).get_trace()
    except AssertionError as error:
        if "size of plate" not in str(error):
            raise
        raise InferenceError(
            "A plate of the program has no item. Before any label the posterior is the prior, which beliefs draw from "
            "by `sample`; fit the program to one label or more."
        ) from None


def _is_observed(site: Site) -> bool:
    """Whether a site has data; a `numpyro.factor` is an observed site of size 0."""
    return site["type"] == "sample" and site["is_observed"] and np.size(site["value"]) > 0


def observed_data(trace: Trace) -> dict[str, np.ndarray]:
    """Return the observed data by site; they must be numbers that the site can give."""
    observed = {name: np.asarray(site["value"]) for name, site in trace.items() if _is_observed(site)}
    for name, values in observed.items():
        missing = np.argwhere(np.isnan(values))
        if missing.size:
            raise InferenceError(
                f"The data observed at {name!r} have {len(missing)} NaN, the first at {_place(missing[0])}; "
                "leave those items out."
            )
        # Continuous supports may depend on latent sites; discrete ones are fixed in programs that NUTS can sample.
        site = trace[name]
        possible = np.asarray(site["fn"].support(site["value"])) if _is_discrete(site) else np.True_
        if not possible.all():
            place = tuple(np.argwhere(~possible)[0])
            raise InferenceError(
                f"The data observed at {name!r} hold {values[place]} at {_place(place)}, which the site cannot give."
            )
    return observed


def _is_discrete(site: Site) -> bool:
    return getattr(site["fn"].support, "is_discrete", False)


def check_latent(trace: Trace) -> None:
    """Make sure that there is something to sample and that NUTS can sample it."""
    latent = {name: site for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]}
    if not latent:
        raise InferenceError("The program has no latent site: it needs a `numpyro.sample` without `obs`.")
    discrete = [name for name, site in latent.items() if _is_discrete(site)]
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
    sites = {name: site for name, site in trace.items() if site["type"] in kinds and np.size(site["value"]) > 0}
    unknown = [name for name in dims if name not in sites]
    if unknown:
        raise InferenceError(f"`dims` names {listed(unknown)}, but the program has the sites {listed(sites)}.")
    arrays = {name: np.asarray(site["value"]) for name, site in sites.items()}
    axes = {name: list(dims[name]) if name in dims else _axes_from_plates(name, sites[name]) for name in sites}
    sizes = {dim: size for name in axes for dim, size in zip(axes[name], arrays[name].shape, strict=False)}
    taken = [dim for dim in sizes if dim in sites or dim in ("chain", "draw")]
    if taken:
        raise InferenceError(f"{taken[0]!r} cannot name a plate or an axis: a site or an axis of draws has that name.")
    unknown = [dim for dim in coords if dim not in sizes]
    if unknown:
        raise InferenceError(f"`coords` names {listed(unknown)}, but the program has the axes {listed(sizes)}.")
    labels = {dim: np.asarray(coords[dim]) if dim in coords else np.arange(size) for dim, size in sizes.items()}
    check_shapes("program", arrays, axes, labels, leading=0)
    return axes, labels


def _axes_from_plates(name: str, site: Site) -> list[str]:
    """Name the axes of a site; plates count theirs from the end of the batch shape, before those of one event."""
    shape = np.shape(site["value"])
    names = [f"{name}_dim_{axis}" for axis in range(len(shape))]
    plates = site.get("cond_indep_stack", [])
    if site["type"] == "sample":
        batch = len(shape) - len(site["fn"].event_shape)
    else:
        # A deterministic site need not use the axes of its plates: it must have exactly those, or they are not named.
        batch = len(shape) if len(shape) == max((-plate.dim for plate in plates), default=0) else 0
    for plate in plates:
        axis = batch + plate.dim
        if axis >= 0 and shape[axis] == plate.size:
            names[axis] = plate.name
    return names


def without_observations(
    program: Callable[..., object], arguments: Mapping[str, object], trace: Trace, key: Key[jax.Array, ""]
) -> Callable[[], object]:
    """Return the program without its observations; it must draw outcomes of the shapes that were observed."""
    shapes = {name: np.shape(site["value"]) for name, site in trace.items() if _is_observed(site)}

    def drawn(model: Callable[[], object]) -> dict[str, tuple[int, ...]]:
        sites = trace_sites(model, key)
        return {name: np.shape(site["value"]) for name, site in sites.items() if not _is_observed(site)}

    values = [trace[name]["value"] for name in shapes]
    absent = {name: None for name, argument in arguments.items() if any(argument is value for value in values)}
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


def listed(names: Iterable[object]) -> str:
    """Write names for a message."""
    return ", ".join(repr(str(name)) for name in names) or "none"
