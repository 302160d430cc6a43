"""Which label an item has whose prediction is wrong: a Dirichlet distribution for every predicted class.

    h ~ Categorical(w),  theta_r ~ Dirichlet(kappa_h s_hr)  for every predicted class r,  label ~ Categorical(theta_r)

Hypothesis h says which labels errors have and how much that counts: all alike, as the scores of the other classes say,
or as these say times the first or the second power of how many items are predicted as a class, which scores that do not
know how frequent classes are leave out (`_error_shares.shares_resized`); without scores all alike, or as the roots of
these sizes. Scores say it with probability 3/4, and as they are with 1/2; without scores sizes say it with 1/4. Where
some classes are never predicted, errors have their labels as often as that, more often, in .2 or .8 of the cases
besides, or never, with probability 1/3 each (`benchmarks/study_error_labels.py`). All count as 1, 4, 16 or 64 labels.
The program sums hypotheses out, as NUTS needs. Given h the posterior is a Dirichlet distribution again, and the
evidence decides between hypotheses.

Once a belief says how many predictions of every class are right, that tells how frequent classes are elsewhere: with
probability 1/4 errors follow it (`_error_shares.shares_by_accuracy`). Labels of further errors are drawn with factors
beside, that all predicted classes share (`label_factors`).

Shapes: hypotheses H, predicted classes (rows) R, labels C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.models._error_shares import (
    shares_by_accuracy,
    shares_by_sizes,
    shares_if_unpredicted,
    shares_resized,
    told_shares,
)
from bayes_assess.models.drawn_labels import DirichletLabels, DrawnLabels
from bayes_assess.models.label_factors import Factors, LabelFactors, log_rising
from bayes_assess.models.program_items import added, items_of

_STRENGTHS = (1.0, 4.0, 16.0, 64.0)
_EVEN = 0.05  # of every base distribution, so that no label is impossible
_OF_SCORES, _OF_SIZES = 0.75, 0.25  # probability that errors are not spread evenly, with scores and without
_READINGS = np.array([4.0, 1.0, 1.0]) / 6  # of scores: as they are, and times sizes, or their squares
# Errors have labels that are never predicted as often as readings say, more often (twice), or never.
_UNPREDICTED = np.array([2.0, 1.0, 1.0, 2.0]) / 6
_OF_ACCURACY = 0.25  # probability that errors follow what is right of predictions, where that is known
_WITH_FACTORS = 3  # labels, from which on errors of a predicted class have several
_NEVER = -1e30  # logarithm of the probability of the label that is the prediction


def program(
    base: Float[Array, "H R C"],
    prior: Float[Array, " H"],
    row: Int[Array, " N"],
    labels: Int[Array, " N"] | None = None,
) -> None:
    """Run the generative program of the labels of wrong predictions.

    Parameters
    ----------
    base : (H, R, C)
        Parameters of the Dirichlet distributions; 0 where the label is the prediction.
    prior : (H,)
        Probabilities of the hypotheses.
    row : (N,) integers
        Predicted class of every item.
    labels : (N,) integers, optional
        Left out, they are simulated.
    """
    from bayes_assess.models._numerics import charts  # imports NumPyro

    _, n_rows, n_labels = base.shape
    place = xp.argsort(xp.asarray(base[0]) == 0, axis=-1, stable=True)[:, :-1]  # of the labels that errors have
    alpha = xp.take_along_axis(xp.asarray(base), place[None], axis=-1)
    log_share = xp.zeros((n_rows, 1))
    if n_labels > 2:
        hypotheses = dist.Categorical(probs=xp.asarray(prior))
        rows = dist.MixtureSameFamily(hypotheses, charts.LogitDirichlet(alpha).to_event(1))
        log_share = charts.log_shares(xp.asarray(numpyro.sample("logit", rows)))
    never = xp.full((n_rows, n_labels), _NEVER)
    log_theta = engine.at(never)[xp.arange(n_rows)[:, None], place].set(log_share)
    numpyro.deterministic("theta", xp.exp(log_theta))
    with numpyro.plate("item", len(row)):
        numpyro.sample("label", dist.CategoricalLogits(log_theta[row]), obs=labels)


@partial(register_dataclass, data_fields=["base", "prior", "counts", "log_weight", "told", "sizes"], meta_fields=[])
@dataclass(frozen=True)
class ErrorLabels(DirichletLabels):
    """Belief on the labels of wrong predictions, a mixture of Dirichlet distributions per predicted class.

    Attributes
    ----------
    base : (H, R, C)
        Parameters before any label; 0 where the label is the prediction.
    prior : (H,)
        Probabilities of the hypotheses before any label.
    counts : (R, C)
        Labelled items whose prediction is wrong.
    log_weight : (H,)
        Of the hypotheses, up to a constant.
    told : (C, C), optional
        Mean scores of the items of every predicted class; left out, there are none.
    sizes : (C,), optional
        How many items are predicted as every class; left out, it says nothing of errors.

    Examples
    --------
    >>> belief = ErrorLabels.from_scores(np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]]))
    >>> np.asarray(belief.mean[0], float).round(2).tolist()  # errors of predictions of the first class
    [0.0, 0.68, 0.32]
    """

    base: Float[Array, "H R C"]
    prior: Float[Array, " H"]
    counts: Float[Array, "R C"]
    log_weight: Float[Array, " H"]
    told: Float[Array, "C C"] | None = None
    sizes: Float[Array, " C"] | None = None

    @classmethod
    def none(cls) -> ErrorLabels:
        """Return the belief of an event that is all that a label says: outcome 1, and outcome 0 otherwise."""
        return _before_labels(np.array([[[1.0, 0.0]]]), np.ones(1))

    @property
    def is_trivial(self) -> bool:
        """Whether there is but one label without the event."""
        return self.base.shape[0] == 1

    @classmethod
    def from_scores(
        cls,
        scores: Float[np.ndarray, "R C"] | None = None,
        n_classes: int | None = None,
        sizes: Int[np.ndarray, " C"] | None = None,
    ) -> ErrorLabels:
        """Build the belief before any label.

        Parameters
        ----------
        scores : (C, C), optional
            Mean scores of the items of every predicted class.
        n_classes : int, optional
            C, where there are no scores.
        sizes : (C,) integers, optional
            How many items are predicted as every class; left out, it says nothing of errors.

        Examples
        --------
        >>> scores = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
        >>> belief = ErrorLabels.from_scores(scores, sizes=np.array([400, 90, 10]))
        >>> np.asarray(belief.mean[0], float).round(2).tolist()  # scores alone say (0, .5, .5)
        [0.0, 0.6, 0.4]
        """
        size = len(scores) if scores is not None else int(n_classes or 0)
        even = (1.0 - np.eye(size)) / max(size - 1, 1)
        sizes = None if sizes is None else np.asarray(sizes)
        built = _before_labels(*_hypotheses(*_readings(even, scores, sizes), sizes))
        told = None if scores is None else np.asarray(scores, np.float32)
        return replace(built, told=told, sizes=None if sizes is None else sizes.astype(np.float32))

    def given_accuracy(self, right: Float[np.ndarray, " R"]) -> ErrorLabels:
        """Add what errors may follow besides, given what share of the predictions of every class is right, or NaN.

        Examples
        --------
        >>> scores = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
        >>> belief = ErrorLabels.from_scores(scores, sizes=np.array([100, 100, 100]))
        >>> told = belief.given_accuracy(np.array([0.8, 0.8, 0.05]))  # the third class is rarer than scores say
        >>> [np.asarray(one.mean[0], float).round(2).tolist() for one in (belief, told)]
        [[0.0, 0.5, 0.5], [0.0, 0.61, 0.39]]
        """
        if self.sizes is None or len(self.sizes) < _WITH_FACTORS:
            return self
        sizes = np.asarray(self.sizes)
        shares = shares_by_accuracy(None if self.told is None else np.asarray(self.told), sizes, right)
        base, prior = _hypotheses(shares, np.full(len(shares), 1 / len(shares)), sizes)
        base = np.concatenate([np.asarray(self.base, np.float64), base])
        prior = np.concatenate([(1 - _OF_ACCURACY) * np.asarray(self.prior, np.float64), _OF_ACCURACY * prior])
        return replace(self, base=base, prior=prior, log_weight=np.log(prior) + _log_evidence(base, self.counts))

    def program_arguments(self, counts: Int[Array, "R C"] | None = None) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is this belief after `counts`.

        Parameters
        ----------
        counts : (R, C) integers, optional
            Further labels of items whose prediction is wrong, predicted classes in rows.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.
        """
        told = added(np.asarray(self.counts, np.float64), counts)
        row, labels = items_of(told, told.shape)
        hypotheses = {"base": np.asarray(self.base, np.float64), "prior": np.asarray(self.prior, np.float64)}
        return {**hypotheses, "row": row, "labels": labels}

    def observe(self, row: Int[Array, ""], label: Int[Array, ""], wrong: Bool[Array, ""]) -> ErrorLabels:
        """Learn one label of a predicted class, if the prediction is wrong."""
        count = self.counts[row]
        base = self.base[:, row]
        seen = (base[:, label] + count[label]) / xp.maximum(base.sum(1) + count.sum(), 1e-9)
        gained = xp.where(wrong, xp.log(xp.where(wrong, seen, 1.0)), 0.0)
        counts = engine.at(self.counts)[row, label].add(wrong.astype(self.counts.dtype))
        return replace(self, counts=counts, log_weight=self.log_weight + gained)

    @property
    def learned(self) -> dict[str, Float[Array, "..."]]:
        """What labels change, by field."""
        return {"counts": self.counts, "log_weight": self.log_weight}

    @property
    @engine.kept
    def mean(self) -> Float[Array, "R C"]:
        """Probability of every label of the next wrong prediction of every class."""
        parameters = self.base + self.counts
        total = xp.maximum(parameters.sum(-1, keepdims=True), 1e-9)
        return xp.einsum("h,hrc->rc", engine.softmax(self.log_weight), parameters / total)

    @property
    def strength(self) -> Float[Array, " R"]:
        """Labels that the belief on every class counts as."""
        return engine.softmax(self.log_weight) @ (self.base.sum(-1) + self.counts.sum(-1))

    def _parameters(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n R C"]:
        return np.asarray(self.base)[self._hypotheses(rng, n)] + np.asarray(self.counts)

    def in_parts(self, rng: np.random.Generator, n: int, most: int) -> Iterator[tuple[slice, DrawnLabels]]:
        """Divide `n` draws into parts, and say from what to draw those of each: with factors that all rows share.

        Examples
        --------
        >>> belief = ErrorLabels.from_scores(n_classes=3)
        >>> [part.completed(np.random.default_rng(0), np.array([[2, 0, 0]] * 2)).sum(-1).tolist()
        ...  for _, part in belief.in_parts(np.random.default_rng(0), 4, 2)]
        [[[2, 0, 0], [2, 0, 0]], [[2, 0, 0], [2, 0, 0]]]
        """
        parts = super().in_parts(rng, n, most)
        if self.counts.shape[1] < _WITH_FACTORS:
            return parts
        drawn = LabelFactors(self.base, self.counts).drawn(rng, self._hypotheses(rng, n))
        return ((some, _WithFactors(self, Factors(*(part[some] for part in drawn)))) for some, _ in parts)

    def _hypotheses(self, rng: np.random.Generator, n: int) -> Int[np.ndarray, " n"]:
        weight = np.exp(np.asarray(self.log_weight, np.float64) - np.max(self.log_weight))
        return rng.choice(len(weight), n, p=weight / weight.sum())


class _WithFactors(DirichletLabels):
    """Labels of errors whose labels have factors that are drawn."""

    def __init__(self, belief: ErrorLabels, drawn: Factors):
        self.counts, self._base, self._drawn = belief.counts, np.asarray(belief.base, np.float64), drawn

    def _parameters(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n R C"]:
        hypothesis, factor = (part[:n] for part in self._drawn)
        base = self._base[hypothesis]
        expected = base * factor[:, None]
        scale = base.sum(-1, keepdims=True) / np.maximum(expected.sum(-1, keepdims=True), 1e-300)
        return expected * scale + np.asarray(self.counts)


def _readings(
    even: Float[np.ndarray, "C C"], scores: Float[np.ndarray, "C C"] | None, sizes: Int[np.ndarray, " C"] | None
) -> tuple[Float[np.ndarray, "N C C"], Float[np.ndarray, " N"]]:
    """Return what errors may follow, as shares of the labels, and the probabilities of these."""
    if scores is None:
        if sizes is None:
            return even[None], np.ones(1)
        return np.stack([even, shares_by_sizes(sizes)]), np.array([1 - _OF_SIZES, _OF_SIZES])
    told = told_shares(scores)
    resized = None if sizes is None else shares_resized(told, sizes)
    told = told[None] if resized is None else np.concatenate([told[None], resized])
    of_told = _READINGS[: len(told)] / _READINGS[: len(told)].sum()
    return np.concatenate([even[None], told]), np.append(1 - _OF_SCORES, _OF_SCORES * of_told)


def _hypotheses(
    shares: Float[np.ndarray, "N C C"], weight: Float[np.ndarray, " N"], sizes: Int[np.ndarray, " C"] | None
) -> tuple[Float[np.ndarray, "H C C"], Float[np.ndarray, " H"]]:
    """Return parameters of Dirichlet distributions, and prior probabilities, by what errors may follow."""
    n = shares.shape[-1]
    shares = (1 - _EVEN) * shares + _EVEN * (1.0 - np.eye(n)) / max(n - 1, 1)
    if sizes is not None and len(others := shares_if_unpredicted(shares, sizes > 0)):
        shares, weight = np.concatenate([shares, *others]), np.outer(_UNPREDICTED, weight).ravel()
    base = np.array(_STRENGTHS)[None, :, None, None] * shares[:, None]
    return base.reshape(-1, n, n), np.repeat(weight, len(_STRENGTHS)) / len(_STRENGTHS)


def _log_evidence(base: Float[np.ndarray, "H C C"], counts: Float[Array, "C C"]) -> Float[np.ndarray, " H"]:
    """Logarithm of the probability of the labels under every hypothesis, Dirichlet-multinomial by row."""
    row, label = np.nonzero(counts)
    told, strength = np.asarray(counts, np.float64), base.sum(-1)
    of_labels = log_rising(base[:, row, label], told[row, label]).sum(-1)
    rows = np.unique(row)
    return of_labels - log_rising(strength[:, rows], told[rows].sum(1)).sum(-1)


def _before_labels(base: Float[np.ndarray, "H R C"], prior: Float[np.ndarray, " H"]) -> ErrorLabels:
    counts = np.zeros(base.shape[1:], np.float32)
    return ErrorLabels(base.astype(np.float32), prior.astype(np.float32), counts, np.log(prior).astype(np.float32))
