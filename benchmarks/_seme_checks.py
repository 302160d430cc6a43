"""Checks of the statements of `_seme_claims` on what was found.

A figure is one measure at one number of labels. Means of two methods differ clearly if they do by more than three
standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from _seme_tables import LEAST_ERROR, LEVEL, Found, Study

from bayes_assess._tools.shapes import Bool, Float

CLEAR = 3.0  # standard errors
NEAR = 0.05  # of the level, a coverage that counts as about right
ALIKE = 0.1  # relative difference of errors up to which methods count as alike

MNIST, NEWS, NEWS_ALL = "mnist 8", "20news comp.graphics", "20news, all classes"
LABELS = "20 labels, simulated"


class Verdict(NamedTuple):
    """Whether a statement holds, and the figures that say so."""

    holds: bool
    figures: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Means over repeats of one method relative to another's; NaN where either is missing."""

    ratio: Float[np.ndarray, "T Q"]
    gap: Float[np.ndarray, "T Q"]  # in standard errors, positive where the first is less

    @classmethod
    def of(cls, first: Float[np.ndarray, "T R Q"], second: Float[np.ndarray, "T R Q"]) -> Comparison:
        """Compare."""
        means = [np.maximum(values.mean(1), LEAST_ERROR) for values in (first, second)]
        error = np.sqrt(sum(values.var(1, ddof=1) / values.shape[1] for values in (first, second)))
        return cls(means[0] / means[1], (means[1] - means[0]) / np.maximum(error, 1e-300))

    def at(self, rows: slice | Bool[np.ndarray, " T"]) -> Comparison:
        """Keep some numbers of labels."""
        return Comparison(self.ratio[rows], self.gap[rows])

    @property
    def n(self) -> int:
        """How many figures there are; LookupError without any."""
        n = int((~np.isnan(self.gap)).sum())
        if not n:
            raise LookupError("There is no figure to compare.")
        return n

    @property
    def clearly_less(self) -> int:
        """In how many figures the first is clearly less."""
        return int((self.gap > CLEAR).sum())

    @property
    def clearly_more(self) -> int:
        """In how many it is clearly more."""
        return int((self.gap < -CLEAR).sum())

    @property
    def mean_ratio(self) -> float:
        """Geometric mean of the ratios."""
        return float(np.exp(np.nanmean(np.log(self.ratio))))

    @property
    def less_on_average(self) -> bool:
        """Whether the first is less by and large."""
        return self.n > 0 and self.clearly_less > self.clearly_more and self.mean_ratio < 1 - ALIKE

    @property
    def less(self) -> bool:
        """Whether the first is clearly less in half of the figures or more, and clearly more in none."""
        return 2 * self.clearly_less >= self.n and self.clearly_more == 0

    def __str__(self) -> str:
        return (
            f"ratio {self.mean_ratio:.2f}, clearly less in {self.clearly_less} of {self.n} figures, clearly more in "
            f"{self.clearly_more}"
        )


def _one(study: Study, pool: str, method: str) -> Found:
    for one in study.of(pool):
        if one.method == method:
            return one
    raise LookupError(f"There are no samples of {method} on {pool}.")


def _main(study: Study) -> list[str]:
    """Return the pools on which several measures are estimated by the scores as they are, by both methods."""
    return [pool for pool in (MNIST, NEWS) if pool in study.facts]


def compared(study: Study, pool: str, first: str, second: str) -> Comparison:
    """Compare mean absolute errors of two methods."""
    return Comparison.of(_one(study, pool, first).errors, _one(study, pool, second).errors)


def errs_less(
    pool: str, first: str, second: str, from_share: float = 0.0, on_average: bool = False
) -> Callable[[Study], Verdict]:
    """Check that one method errs less than another, from some share of the pool on."""

    def check(study: Study) -> Verdict:
        comparison = compared(study, pool, first, second).at(_one(study, pool, first).shares >= from_share)
        holds = comparison.less_on_average if on_average else comparison.less
        return Verdict(holds, f"{first} over {second}: {comparison}")

    return check


def alike_at_first(study: Study) -> Verdict:
    """Check that Poisson and importance sampling err alike with the fewest labels."""
    said, holds = [], True
    for pool in (MNIST, NEWS):
        first = compared(study, pool, "Poisson", "Importance").at(slice(0, 1))
        said.append(f"{pool}, {100 * _one(study, pool, 'Poisson').shares[0]:g} % of labels: {first}")
        holds &= first.clearly_less + first.clearly_more == 0 and abs(np.log(first.mean_ratio)) < ALIKE
    return Verdict(holds, "; ".join(said))


def gain_grows(study: Study) -> Verdict:
    """Check that the ratio of errors falls from the fewest labels to the most."""
    said, holds = [], True
    for pool in _main(study):
        comparison = compared(study, pool, "Poisson", "Importance")
        ratios = np.exp(np.log(comparison.ratio).mean(1))
        ratios = ratios[~np.isnan(ratios)]
        said.append(f"{pool}: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
        holds &= bool(ratios[-1] == ratios.min() and ratios[-1] < 1 - ALIKE)
    return Verdict(holds, "ratios of errors, Poisson over importance, by labels: " + "; ".join(said))


def never_more(worse: bool) -> Callable[[Study], Verdict]:
    """Check that Poisson errs clearly more than importance in no figure, by the scores as they are or by others."""

    def check(study: Study) -> Verdict:
        said, holds = [], True
        for pool in study.facts:
            if pool == LABELS or (pool in (MNIST, NEWS, NEWS_ALL)) == worse:
                continue
            comparison = compared(study, pool, "Poisson", "Importance")
            more = f"more in {comparison.clearly_more} of {comparison.n} figures"
            said.append(f"{pool}: {more}, ratio {comparison.mean_ratio:.2f}")
            holds &= comparison.clearly_more == 0
        return Verdict(holds, "; ".join(said))

    return check


def varies_less(study: Study) -> Verdict:
    """Check that Poisson estimates vary less than those of importance sampling."""
    said, holds = [], True
    for pool in _main(study):
        squares = []
        for method in ("Poisson", "Importance"):
            estimates = _one(study, pool, method).estimates
            squares.append((estimates - estimates.mean(1, keepdims=True)) ** 2)
        comparison = Comparison.of(*squares)
        said.append(f"{pool}, variances: {comparison}")
        holds &= comparison.less_on_average
    return Verdict(holds, "; ".join(said))


def calibrated(pool: str, methods: tuple[str, ...], low: float, high: float) -> Callable[[Study], Verdict]:
    """Check that published intervals cover about as often as they should, between two shares of the pool."""

    def check(study: Study) -> Verdict:
        said, holds = [], True
        for method in methods:
            found = _one(study, pool, method)
            cover = found.inside.mean(1)[(found.shares >= low) & (found.shares <= high) & found.reached]
            if not cover.size:
                raise LookupError("There is no figure to judge.")
            good = np.abs(cover - LEVEL) <= NEAR
            said.append(
                f"{method}: {cover.min():.2f} to {cover.max():.2f}, near in {good.sum()} of {good.size} figures"
            )
            holds &= bool(good.mean() >= 0.5)
        return Verdict(holds, f"{100 * low:g} to {100 * high:g} % of labels; " + "; ".join(said))

    return check


def worse_at_ends(study: Study) -> Verdict:
    """Check that Poisson's coverage of some measure is off with the fewest and the most labels, and of none between."""
    found = _one(study, MNIST, "Poisson")
    if not found.reached.all():
        raise LookupError("There are not all numbers of labels.")
    off = np.abs(found.inside.mean(1) - LEVEL).max(1)
    figures = ", ".join(f"{100 * share:g} %: {x:.2f}" for share, x in zip(found.shares, off, strict=True))
    holds = min(off[0], off[-1]) > NEAR >= off[1:-1].min()
    return Verdict(bool(holds), f"greatest distance from {LEVEL} over measures at {figures}")


def exact_at_last(study: Study) -> Verdict:
    """Check that Poisson sampling ends with the truth."""
    if not study.exact:
        raise LookupError("There are no samples of all items.")
    worst = max(study.exact.values())
    return Verdict(worst < 1e-9, f"greatest error with all labels on {len(study.exact)} pools: {worst:.1e}")


def certain_later(study: Study) -> Verdict:
    """Check that items of MNIST become certain at about a quarter of the pool."""
    one = study.facts[MNIST].certainty
    shares = ", ".join(f"{100 * s:g} %: {100 * c:.1f}" for s, c in zip(one.shares, one.certain, strict=True))
    others = "; ".join(
        f"{pool}: from {100 * study.facts[pool].certainty.onset:.0f} % on"
        for pool in (NEWS, LABELS)
        if pool in study.facts
    )
    holds = bool(0.15 <= one.onset <= 0.35 and one.certain[one.shares < 0.15].max() == 0)
    return Verdict(holds, f"from {100 * one.onset:.0f} % on; percent of items certain at {shares}; {others}")


def never_certain(study: Study) -> Verdict:
    """Check that importance sampling leaves doubt about items which Poisson sampling draws with certainty."""
    one = study.facts[MNIST].certainty
    both = [(p[0], i[0]) for p, i in zip(one.poisson, one.importance, strict=True) if not np.isnan(i[0])]
    certain = [i for p, i in both if p == 1]
    return Verdict(
        bool(certain) and max(certain) < 1, f"greatest chances at {', '.join(f'{p:.3f} and {i:.4f}' for p, i in both)}"
    )


def own_is_best(pool: str, method: str) -> Callable[[Study], Verdict]:
    """Check that no measure is estimated clearly better from samples for another measure."""

    def check(study: Study) -> Verdict:
        by = {key[2]: one for key, one in study.cross.items() if key[:2] == (pool, method)}
        if len(by) < 2:
            raise LookupError("There are no samples for other measures.")
        beaten, first, figures = [], 0, 0
        for measure in by:
            q = by[measure].measures.index(measure)
            own = by[measure]
            rivals = {
                name: Comparison.of(one.errors[..., [q]], own.errors[..., [q]])
                for name, one in by.items()
                if name != measure
            }
            for t in np.flatnonzero(own.reached):
                gaps = {name: float(rival.gap[t, 0]) for name, rival in rivals.items() if not np.isnan(rival.gap[t, 0])}
                if not gaps:
                    continue
                best = max(gaps, key=gaps.__getitem__)
                figures += 1
                first += gaps[best] <= 0
                if gaps[best] > CLEAR:
                    beaten.append(f"{measure} at {100 * own.shares[t]:g} % by {best} ({rivals[best].ratio[t, 0]:.2f})")
        said = f"own samples are first in {first} of {figures} figures, clearly beaten in {len(beaten)}"
        return Verdict(not beaten, said + (": " + ", ".join(beaten) if beaten else ""))

    return check


def trust_errs_less(pool: str) -> Callable[[Study], Verdict]:
    """Check that Poisson samples by scores trusted to 0.9 err less than those by scores trusted wholly."""

    def check(study: Study) -> Verdict:
        comparison = Comparison.of(*(one.errors for one in _by_trust(study, pool)))
        return Verdict(comparison.less, f"{pool}, F1, error with 0.9 over that with 1: {comparison}")

    return check


def overconfident_if_trusted(pool: str) -> Callable[[Study], Verdict]:
    """Check that intervals of F1 cover less by scores trusted wholly, and too little."""

    def check(study: Study) -> Verdict:
        blend, sure = _by_trust(study, pool)
        comparison = Comparison.of(sure.inside, blend.inside)
        rows = (
            f"{x:.2f} and {y:.2f}" for x, y in zip(sure.inside.mean(1)[:, 0], blend.inside.mean(1)[:, 0], strict=True)
        )
        holds = comparison.clearly_less > comparison.clearly_more and sure.inside.mean(1).min() < LEVEL - NEAR
        return Verdict(holds, f"{pool}, F1, coverage with 1 and with 0.9, by labels: {', '.join(rows)}")

    return check


def _by_trust(study: Study, pool: str) -> tuple[Found, Found]:
    """Return Poisson samples with trust 0.9 and 1, their figures of F1 at the same labels."""
    blend, sure = _one(study, pool, "Poisson"), _one(study, f"{pool}, lam 1", "Poisson")
    return blend.part("f1", np.isin(blend.shares, sure.shares)), sure.part("f1", slice(None))
