"""Have Markov chains converged? Rank-normalised split R-hat and effective sample sizes of bulk and tails.

Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), "Rank-normalization, folding, and localization"; R-hat and
effective sample size themselves are NumPyro's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy import ndarray
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from scipy.special import ndtri
from scipy.stats import rankdata

from bayes_assess._tools.shapes import ArrayLike, Float, Shaped

Values = Shaped[ndarray, "chains draws *site"]
Measure = Float[ndarray, "*site"]

MAX_RHAT = 1.01
MIN_ESS_PER_CHAIN = 100


def findings(
    posterior: Mapping[str, Values], dims: Mapping[str, Sequence[str]], coords: Mapping[str, ArrayLike]
) -> list[str]:
    """Say where R-hat and effective sample sizes are worst, for each of the three that is not good enough.

    Parameters
    ----------
    posterior : mapping of str to (chains, draws, ...)
    dims : mapping of str to sequence of str
        Names of the axes of every site.
    coords : mapping of str to (length,)
        Labels along every dimension.

    Returns
    -------
    list of str, empty if all is well

    Examples
    --------
    >>> apart = np.random.default_rng(0).normal(size=(4, 500, 2)) + np.arange(4)[:, None, None] * [0, 1]
    >>> findings({"theta": apart}, {"theta": ["group"]}, {"group": ["cat", "dog"]})[0]
    'R-hat is 1.566 at theta[group=dog] (at most 1.01 is wanted)'
    """
    if not posterior:
        return []
    chains = next(iter(posterior.values())).shape[0]
    floor = MIN_ESS_PER_CHAIN * chains
    rhats, bulks, tails = {}, {}, {}
    for site, values in posterior.items():
        rhats[site], bulks[site], tails[site] = diagnose(values)
    problems = []
    rhat, place = _greatest(rhats, dims, coords)
    if round(rhat, 3) > MAX_RHAT:  # as it is shown
        problems.append(f"R-hat is {round(rhat, 3):.4g} at {place} (at most {MAX_RHAT} is wanted)")
    for name, sizes in (("bulk", bulks), ("tail", tails)):
        negative, place = _greatest({site: -size for site, size in sizes.items()}, dims, coords)
        if -negative < floor:
            problems.append(f"{name} effective sample size is {-negative:.0f} at {place} (at least {floor} is wanted)")
    return problems


def diagnose(values: Values) -> tuple[Measure, Measure, Measure]:
    """Compute R-hat and the effective sample sizes of bulk and tails for every element of a site.

    Parameters
    ----------
    values : (chains, draws, ...)
        At least four draws per chain.

    Returns
    -------
    rhat, bulk, tail : (...)
        NaN for elements that do not vary.

    Examples
    --------
    >>> rhat, bulk, tail = diagnose(np.random.default_rng(0).normal(size=(4, 1000)))
    >>> bool(rhat < 1.01), bool(bulk > 3000), bool(tail > 3000)
    (True, True, True)
    """
    values = np.asarray(values, np.float64)
    flat = values.reshape(-1, *values.shape[2:])
    # Elements fixed by construction, such as the diagonal of a correlation matrix, vary by rounding alone.
    fixed = np.ptp(flat, axis=0) <= 1e-10 * np.abs(flat).max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = _normal_scores(values)
        folded = _normal_scores(np.abs(values - np.median(flat, axis=0)))
        rhat = np.fmax(split_gelman_rubin(scores), split_gelman_rubin(folded))
        bulk = _split_ess(scores)
        tail = np.fmin(*(_split_ess(values <= np.quantile(flat, q, axis=0)) for q in (0.05, 0.95)))
    rhat, bulk, tail = (np.where(fixed, np.nan, measure) for measure in (rhat, bulk, tail))
    return rhat, bulk, tail


def _greatest(
    measures: Mapping[str, Measure], dims: Mapping[str, Sequence[str]], coords: Mapping[str, ArrayLike]
) -> tuple[float, str]:
    """Return the greatest value over all sites and where it is, such as ``theta[group=cat]``; NaN is passed over."""
    known = {site: np.where(np.isnan(values), -np.inf, values) for site, values in measures.items() if values.size}
    site = max(known, key=lambda site: known[site].max())
    place = np.unravel_index(known[site].argmax(), known[site].shape)
    where = ", ".join(f"{dim}={np.asarray(coords[dim])[i]}" for dim, i in zip(dims[site], place, strict=True))
    return float(known[site][place]), f"{site}[{where}]" if where else site


def _normal_scores(values: Values) -> Values:
    """Return normal quantiles of the ranks among all draws."""
    ranks = rankdata(values.reshape(-1, *values.shape[2:]), axis=0).reshape(values.shape)
    return ndtri((ranks - 0.375) / (values.shape[0] * values.shape[1] + 0.25))


def _split_ess(values: Values) -> Measure:
    """Return the effective sample size over half chains."""
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]]).astype(np.float64)
    size = effective_sample_size(halves)
    # The estimated autocorrelation time of strongly antithetic draws can be negative; they are no cause for alarm.
    return np.where(size < 0, np.inf, size)
