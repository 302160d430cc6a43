"""What a result says of its prior: what the labels taught it, or that they contradict it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.seeds import jax_key
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import points
from bayes_assess.models.belief import FixedBelief, beta_marginals, is_mixture, population_draws
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.models.hierarchical_accuracy import HierarchicalAccuracy
from bayes_assess.models.hierarchical_confusion import HierarchicalConfusion

if TYPE_CHECKING:
    from bayes_assess.models.belief import Belief


# If the fixed prior were right, the odds would pass this with probability 1 in 100 at most, whenever one looks and
# however items were chosen (Markov's inequality). A number of right labels as far out, of random items, has the other
# probability.
_CONTRADICTED_AT, _IMPROBABLE = 100.0, 0.005
_DRAWS = 4000
_WAY_OUT = "Do not trust these intervals; the prior 'learned' finds out from the labels how far scores can be trusted."


def what_was_learned(
    belief: Belief,
    draws: Float[np.ndarray, "S G"],
    sizes: Int[np.ndarray, " G"],
    mean_score: Float[np.ndarray, " G"] | None,
    tails: list[float],
) -> str | None:
    """Say how much groups differ and how far the scores can be trusted; None where the prior learns nothing.

    Parameters
    ----------
    belief : Belief
        The prior or the posterior.
    draws : (S, G)
        Posterior draws of the groups' accuracies.
    sizes : (G,) integers
        Items of every group.
    mean_score : (G,) or None
    tails : two probabilities
        Of the ends of intervals.

    Examples
    --------
    >>> belief = HierarchicalAccuracy.from_prior(mean_score=[0.9, 0.9])
    >>> what_was_learned(belief, np.tile([0.6, 0.7], (9, 1)), np.array([5, 5]), np.array([0.9, 0.9]), [0.025, 0.975])
    'Learned from all labels: groups differ by about 5 points; the scores are over-confident by about 25 (25 to 25).'
    """
    if not is_mixture(belief):
        return None
    share = sizes / sizes.sum()
    overall = draws @ share
    differ = float(np.sqrt(((draws - overall[:, None]) ** 2) @ share).mean())
    groups = f"groups differ by about {points(differ, '.0f')}" if (sizes > 0).sum() > 1 else None
    scores = None
    if mean_score is not None:
        gap = float(np.asarray(mean_score) @ share) - overall
        low, high = np.quantile(gap, tails)
        if low > 0 or high < 0:
            side, ends = ("over", (low, high)) if low > 0 else ("under", (-high, -low))
            size = float(abs(gap.mean()))
            by = points(size, ".0f") if groups is None else f"{100 * size:.0f}"  # the unit is said once
            scores = f"the scores are {side}-confident by about {by} ({100 * ends[0]:.0f} to {100 * ends[1]:.0f})"
        else:
            upto = f"{-100 * low:+z.0f}{' points' if groups is None else ''}"
            scores = f"whether the scores are over- or under-confident is open ({-100 * high:+z.0f} to {upto})"
    said = "; ".join(part for part in (groups, scores) if part)
    return f"Learned from all labels: {said}." if said else None


def contradiction(
    prior: Belief,
    agreements: Int[np.ndarray, " G"],
    labels: Int[np.ndarray, " G"],
    mean_score: Float[np.ndarray, " G"] | None,
) -> str | None:
    """Say that labels contradict what a prior knew of accuracies; None if they do not.

    Their number that are right is held against what the prior predicts of it. Of independent Beta distributions, their
    probability is compared with the one that groups give them which learn from each other, too.

    Parameters
    ----------
    prior : Belief
        Of ours that learn, those that have learned labels already are looked at, such as those of last month.
    agreements, labels : (G,) integers
    mean_score : (G,) or None

    Examples
    --------
    >>> flat, labels = BetaBernoulli.from_prior(n_groups=20), np.full(20, 2)
    >>> some, all_right = np.resize([0, 1, 2], 20), np.full(20, 2)
    >>> contradiction(flat, some, labels, None) is None, contradiction(flat, all_right, labels, None) is None
    (True, False)
    """
    marginals = beta_marginals(prior)
    if not labels.sum() or (marginals is None and not _knows_something(prior)):
        return None
    if marginals is None:
        theta = population_draws(prior, jax_key(_DRAWS, "draws"), _DRAWS)
        return _improbable_number(theta[:, labels > 0], agreements, labels) if theta.ndim == 2 else None
    fixed = BetaBernoulli(*(np.asarray(parameter) for parameter in marginals)).log_marginal(agreements, labels)
    learned = (
        HierarchicalAccuracy.from_prior(n_groups=len(labels))
        if mean_score is None
        else HierarchicalAccuracy.from_prior(mean_score=mean_score)
    ).update(agreements, labels)
    log_odds = float(learned.log_evidence()) - float(np.asarray(fixed).sum())
    if log_odds < math.log(_CONTRADICTED_AT):
        a, b = (np.asarray(parameter)[labels > 0] for parameter in marginals)
        theta = np.random.default_rng(np.random.SeedSequence(_DRAWS)).beta(a, b, (_DRAWS, len(a)))
        return _improbable_number(theta, agreements, labels)
    times = f"{math.exp(log_odds):,.0f}" if log_odds < math.log(1e6) else "over a million"
    odds = f"they are {times} times as probable where groups learn from each other"
    return f"The labels contradict the prior: {odds}. {_WAY_OUT}"


def _knows_something(prior: Belief) -> bool:
    """Whether a prior has learned of accuracies before, or is of the user's own; it has not if it is a posterior."""
    return not isinstance(prior, FixedBelief) and bool(np.any(getattr(prior, "labels", True)))


def _improbable_number(
    theta: Float[np.ndarray, "S J"], agreements: Int[np.ndarray, " G"], labels: Int[np.ndarray, " G"]
) -> str | None:
    """Say that a prior, draws of the accuracies of groups with labels, predicts another number of right ones."""
    rng = np.random.default_rng(np.random.SeedSequence(_DRAWS).spawn(1)[0])
    predicted = rng.binomial(labels[labels > 0], theta.clip(0.0, 1.0)).sum(1)
    n_right = int(agreements.sum())
    if 2 * min((predicted <= n_right).mean(), (predicted >= n_right).mean()) >= _IMPROBABLE:
        return None
    low, high = np.quantile(predicted, [0.025, 0.975]).astype(int)
    expected = f"it expected {low:,} to {high:,} of the {int(labels.sum()):,} to be right"
    return f"The labels contradict the prior: {expected}, and {n_right:,} are. {_WAY_OUT}"


def agreement_belief(belief: Belief, own: Int[np.ndarray, " K"]) -> Belief:
    """Return the belief on every predicted class's accuracy within one on outcomes, of which `own` is the agreement.

    One without a closed form is returned as it is.
    """
    if isinstance(belief, HierarchicalConfusion):
        return belief.agreement
    marginals = beta_marginals(belief)
    if marginals is None:
        return belief
    rows = np.arange(len(own))
    return BetaBernoulli(*(np.asarray(parameter)[rows, own] for parameter in marginals))
