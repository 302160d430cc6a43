"""Posterior draws of one site of a model, wherever they come from: ArviZ, xarray, a sampler's dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_assess._tools.arrays import listing
from bayes_assess.errors import InferenceError

_OF_DRAWS = ("chain", "draw", "sample")  # axes that are of draws, in this order


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
    values = data
    if isinstance(data, Mapping):
        posterior: Any = data["posterior"] if "posterior" in data else data
        names = list(getattr(posterior, "data_vars", posterior))
        if site not in names:
            such = f", such as ba.posterior_draws(data, {str(names[0])!r})" if names else ""
            raise InferenceError(
                f"The posterior has no {site!r}; it has {listing(names) or 'nothing'}. "
                f"Pass the draws of a site that it has{such}."
            )
        values = posterior[site]
    elif not hasattr(data, "dims"):
        raise InferenceError(f"Expected an ArviZ object with a posterior; found {type(data).__name__}.")
    if not hasattr(values, "dims"):
        return np.asarray(values)
    of_draws = [dim for dim in _OF_DRAWS if dim in values.dims]
    if not of_draws:
        raise InferenceError(
            f"{site!r} has no axis of draws: its axes are {listing(values.dims)}, and one is to be 'draw' or 'sample'."
        )
    ordered = values.transpose(*of_draws, ...).values
    return ordered.reshape(-1, *ordered.shape[len(of_draws) :])
