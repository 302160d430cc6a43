"""Posterior draws as an ArviZ object, whichever ArviZ is installed.

ArviZ 0.2x keeps draws in an ``InferenceData``, ArviZ 1.x in an xarray ``DataTree``, and each misreads the other's
arguments (0.2x without a word). The installed version decides which way is taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import OutputError

Arrays = Mapping[str, ArrayLike]
ArvizData = Any  # an InferenceData of ArviZ 0.2x, or a DataTree of 1.x

_CHAINS = 4  # of independent draws

# ArviZ 0.2x announces ArviZ 1.0 when it is imported; both are served here, so our users have nothing to do.
_ANNOUNCEMENT = r"\s*ArviZ is undergoing a major refactor"


def to_arviz(
    posterior: Arrays,
    *,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, ArrayLike] | None = None,
    prior: Arrays | None = None,
    posterior_predictive: Arrays | None = None,
    log_likelihood: Arrays | None = None,
    prior_predictive: Arrays | None = None,
    sample_stats: Arrays | None = None,
    observed_data: Arrays | None = None,
    constant_data: Arrays | None = None,
    attrs: Mapping[str, object] | None = None,
    chains: bool = False,
) -> ArvizData:
    """Hand draws to ArviZ, with named dimensions.

    Parameters
    ----------
    posterior : mapping of str to array, each of shape (draws, ...)
        Draws of each variable; (chains, draws, ...) if `chains`.
    dims : mapping of str to sequence of str
        Names of a variable's axes after the draws, such as ``{"theta": ["group"]}``. Serves the data too.
    coords : mapping of str to array of shape (length,)
        Labels along a dimension, such as ``{"group": ["cat", "dog"]}``.
    prior, posterior_predictive, log_likelihood : mapping of str to array, each of shape (draws, ...), optional
        More draws; (chains, draws, ...) if `chains`.
    prior_predictive, sample_stats : mapping of str to array, each of shape (draws, ...), optional
        Outcomes simulated from the prior, and what the sampler reports of itself, in the same layout.
    observed_data, constant_data : mapping of str to array of any shape, optional
        What was seen, and what was known beforehand.
    attrs : mapping, optional
        Attributes of the whole object.
    chains : bool
        Whether draws come with an axis for chains; otherwise they are independent, and make up four chains, so that
        diagnostics that compare chains have what they need, or one if their number is no multiple of four.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        The first with ArviZ 0.2x, the second with ArviZ 1.x. Variables have the dimensions
        ``("chain", "draw", ...)``.

    Raises
    ------
    OutputError
        If a shape does not fit its dimensions, a dimension its coordinates, or if numbers of draws differ.

    Examples
    --------
    >>> draws = to_arviz({"theta": np.full((100, 2), 0.5)}, dims={"theta": ["group"]}, coords={"group": ["cat", "dog"]})
    >>> draws["posterior"]["theta"].dims
    ('chain', 'draw', 'group')
    """
    names = {variable: list(axes) for variable, axes in (dims or {}).items()}
    labels = {dim: np.asarray(values) for dim, values in (coords or {}).items()}
    drawn = {
        "posterior": posterior,
        "prior": prior,
        "posterior_predictive": posterior_predictive,
        "log_likelihood": log_likelihood,
        "prior_predictive": prior_predictive,
        "sample_stats": sample_stats,
    }
    data = {"observed_data": observed_data, "constant_data": constant_data}
    groups: dict[str, dict[str, np.ndarray]] = {}
    for group, variables in drawn.items():
        if variables:
            groups[group] = _with_chains(group, variables, chains)
            check_shapes(group, {name: array.shape[2:] for name, array in groups[group].items()}, names, labels)
    for group, variables in data.items():
        if variables:
            groups[group] = {variable: np.asarray(values) for variable, values in variables.items()}
            check_shapes(group, {name: array.shape for name, array in groups[group].items()}, names, labels)
    if "posterior" not in groups:
        raise OutputError("An ArviZ object needs at least one variable in the posterior; found none.")

    az = import_arviz()
    # Dimensions of absent variables confuse nobody here, but ArviZ complains about them.
    present = {variable for variables in groups.values() for variable in variables}
    names = {variable: axes for variable, axes in names.items() if variable in present}
    if _major(az.__version__) >= 1:
        return az.from_dict(groups, dims=names, coords=labels, attrs={"/": dict(attrs or {})})
    return az.from_dict(**groups, dims=names, coords=labels, attrs=dict(attrs or {}))


def import_arviz() -> ModuleType:
    """Import ArviZ without its announcement of version 1.0.

    Returns
    -------
    module
        ``arviz``.

    Examples
    --------
    >>> import_arviz().__name__
    'arviz'
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_ANNOUNCEMENT, category=FutureWarning)
        import arviz
    return arviz


def _major(version: str) -> int:
    return int(version.split(".")[0])


def _with_chains(group: str, variables: Arrays, chains: bool) -> dict[str, np.ndarray]:
    """Every variable as (chains, draws, ...), all with the same chains and draws."""
    arrays: dict[str, np.ndarray] = {}
    for variable, values in variables.items():
        array = np.asarray(values)
        if not chains and array.ndim:
            array = array.reshape(1 if len(array) % _CHAINS else _CHAINS, -1, *array.shape[1:])
        if array.ndim < 2:
            expected = "(chains, draws, ...)" if chains else "(draws, ...)"
            raise OutputError(f"{variable!r} in the {group} has shape {np.shape(array)}; expected {expected}.")
        arrays[variable] = array
    sizes = {variable: array.shape[:2] for variable, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        raise OutputError(f"The variables of the {group} need the same chains and draws, but these differ: {sizes}.")
    if 0 in next(iter(sizes.values())):
        raise OutputError(f"The {group} holds no draws.")
    return arrays


def check_shapes(
    group: str,
    shapes: Mapping[str, tuple[int, ...]],
    dims: Mapping[str, list[str]],
    coords: Mapping[str, np.ndarray],
) -> None:
    """Hold every variable's shape against its dimensions; axes of chains and draws are left out."""
    for variable, lengths in shapes.items():
        if variable not in dims:
            continue
        # The log likelihood of a variable is one number per event: trailing axes of the event may be gone.
        fits = len(lengths) <= len(dims[variable]) if group == "log_likelihood" else len(lengths) == len(dims[variable])
        if not fits:
            raise OutputError(
                f"{variable!r} in the {group} has {len(lengths)} axes of its own (shape {lengths}), "
                f"but dims names {len(dims[variable])}: {dims[variable]}."
            )
        for dim, length in zip(dims[variable], lengths, strict=False):
            if dim in coords and len(coords[dim]) != length:
                raise OutputError(
                    f"{variable!r} in the {group} has length {length} along {dim!r}, "
                    f"but coords gives {len(coords[dim])} labels."
                )
