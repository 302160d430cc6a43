"""Posterior draws of one site of a model, wherever they come from: ArviZ, xarray, a sampler's dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import listing, show, unmasked
from bayes_assess._tools.shapes import Float
from bayes_assess.errors import InferenceError

_OF_DRAWS = ("chain", "draw", "sample")  # axes that are of draws, in this order
_OUTSIDE = 1e-6  # by which rounded probabilities may lie outside [0, 1]
_ROUNDING = 1e-4  # by which 32-bit rows of many classes may miss 1


def posterior_draws(data: Any, site: str) -> np.ndarray:
    """Posterior draws of one site with all chains in a row, as the functions of `acquisition` take them.

    Parameters
    ----------
    data : arviz.InferenceData, xarray.DataTree, Dataset or DataArray, or mapping of str to array (S, ...)
        From `fit`, or from any other sampler; a mapping is what ``numpyro.infer.MCMC.get_samples`` returns. A DataArray
        is the site itself.
    site : str
        Name of a variable in the posterior.

    Returns
    -------
    (S, ...) array, chain after chain

    Raises
    ------
    InferenceError
        If the object has no such site in its posterior, or no axis of draws.

    Examples
    --------
    >>> from bayes_assess._tools.to_arviz import to_arviz
    >>> data = to_arviz({"theta": np.zeros((4, 100, 3))}, chains=True)
    >>> posterior_draws(data, "theta").shape, posterior_draws({"theta": np.zeros((400, 3))}, "theta").shape
    ((400, 3), (400, 3))
    """
    return draws_of_site(data, site)


def draws_of_site(data: Any, site: str, names: Sequence[np.ndarray] = ()) -> np.ndarray:
    """Return posterior draws of one site, see `posterior_draws`, in the order of names that its coordinates have.

    Parameters
    ----------
    data, site
        As for `posterior_draws`.
    names : sequence of arrays (K,)
        Names of cells, of groups and of classes. An axis whose coordinates are one of these in another order is put
        into theirs; others are taken as they are.

    Examples
    --------
    >>> import xarray as xr
    >>> theta = xr.DataArray([[0.25, 0.75]], dims=["draw", "site"], coords={"site": ["south", "north"]})
    >>> draws_of_site(theta, "theta", [np.array(["north", "south"])]).tolist()
    [[0.75, 0.25]]
    """
    values = data
    if isinstance(data, Mapping):
        posterior: Any = data["posterior"] if "posterior" in data else data
        sites = list(getattr(posterior, "data_vars", posterior))
        if "posterior" not in data and any(hasattr(data[group], "data_vars") for group in data):
            raise InferenceError(f"The ArviZ object has no posterior; it has the groups {listing(sites)}.")
        if site not in sites:
            such = f", such as ba.posterior_draws(data, {str(sites[0])!r})" if sites else ""
            raise InferenceError(
                f"The posterior has no {site!r}; it has {listing(sites) or 'nothing'}. "
                f"Pass the draws of a site that it has{such}."
            )
        values = posterior[site]
    elif not hasattr(data, "dims"):
        raise InferenceError(
            "Expected an ArviZ object with a posterior, such as az.from_numpyro(mcmc), or draws by the names of sites, "
            f"such as mcmc.get_samples(); found {type(data).__name__}."
        )
    values = unmasked(values)
    if not hasattr(values, "dims"):
        return np.asarray(values)
    of_draws = [dim for dim in _OF_DRAWS if dim in values.dims]
    if not of_draws:
        raise InferenceError(
            f"{site!r} has no axis of draws: its axes are {listing(values.dims)}, and one is to be 'draw' or 'sample'."
        )
    ordered = np.ascontiguousarray(_in_order_of(values, names).transpose(*of_draws, ...).values)
    return ordered.reshape(-1, *ordered.shape[len(of_draws) :])


def check_probabilities(theta: Float[np.ndarray, "S K *O"]) -> None:
    """Raise InferenceError unless draws are probabilities, and those of several outcomes sum to 1.

    Examples
    --------
    >>> check_probabilities(np.array([[[0.5, 0.5], [0.5, 0.25]]]))
    Traceback (most recent call last):
    bayes_assess.errors.InferenceError: The probabilities of a cell's outcomes sum to 1; those of draw 0, cell 1 ...
    """
    outside = ~((theta >= -_OUTSIDE) & (theta <= 1 + _OUTSIDE))  # NaN included
    if outside.any():
        place = tuple(int(i) for i in np.argwhere(outside)[0])
        raise InferenceError(
            f"Posterior draws are probabilities, from 0 to 1; {_place(place)} has {show(theta[place])}."
        )
    if theta.ndim < 3:
        return
    total = theta.clip(0.0, 1.0).sum(-1)
    off = np.abs(total - 1) > _ROUNDING
    if off.any():
        place = tuple(int(i) for i in np.argwhere(off)[0])
        raise InferenceError(
            f"The probabilities of a cell's outcomes sum to 1; those of {_place(place)} sum to "
            f"{show(total[place].round(6))}. Draws come first, then cells, then outcomes."
        )


def _place(place: tuple[int, ...]) -> str:
    return ", ".join(f"{axis} {i}" for axis, i in zip(("draw", "cell", "outcome"), place, strict=False))


def _in_order_of(values: Any, names: Sequence[np.ndarray]) -> Any:
    """Put axes whose coordinates are names in another order into the order of the names."""
    for dim in values.dims:
        if dim in _OF_DRAWS or dim not in values.coords:
            continue
        coordinates = np.asarray(values.coords[dim].values)
        if coordinates.dtype.kind in "iu" and (coordinates == np.arange(len(coordinates))).all():
            continue  # positions, which ArviZ gives to all
        places = {name: place for place, name in enumerate(coordinates.astype(str).tolist())}
        for wanted in (np.asarray(order).astype(str).tolist() for order in names):
            if len(coordinates) == len(wanted) == len(places) and set(wanted) == set(places):  # each of them once
                values = values.isel({dim: [places[name] for name in wanted]})
                break
    return values
