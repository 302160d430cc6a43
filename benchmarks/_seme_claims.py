"""What [SEME] says of its figures and tables, in other words, and whether the same is found on other pools.

A figure is one measure at one number of labels. Means of two methods differ clearly if they do by more than three
standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from _seme_tables import LEAST_ERROR, Found, Study
from jaxtyping import Bool, Float

CLEAR = 3.0  # standard errors
LEVEL = 0.9
NEAR = 0.05  # of the level, a coverage that counts as about right
ALIKE = 0.1  # relative difference of errors up to which methods count as alike

MNIST, NEWS, NEWS_ALL = "mnist 8", "20news comp.graphics", "20news, all classes"
LABELS = "20 labels, simulated"


class Verdict(NamedTuple):
    """Whether a statement holds, and the figures that say so."""

    holds: bool
    figures: str


@dataclass(frozen=True)
class Claim:
    """A statement: where, in our words, and how it is checked; `needs` are pools."""

    where: str
    words: str
    needs: tuple[str, ...]
    check: Callable[[Study], Verdict]


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
        """How many figures there are."""
        return int((~np.isnan(self.gap)).sum())

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
    def less(self) -> bool:
        """Whether the first is clearly less in half of the figures or more, and clearly more in none."""
        return self.clearly_more == 0 and 2 * self.clearly_less >= self.n

    def __str__(self) -> str:
        return (
            f"ratio {self.mean_ratio:.2f}, clearly less in {self.clearly_less} of {self.n} figures, clearly more in "
            f"{self.clearly_more}"
        )


def _one(study: Study, pool: str, method: str) -> Found:
    return next(one for one in study.of(pool) if one.method == method)


def compared(study: Study, pool: str, first: str, second: str) -> Comparison:
    """Compare mean absolute errors of two methods."""
    return Comparison.of(_one(study, pool, first).errors, _one(study, pool, second).errors)


def _less(pools: tuple[str, ...], first: str, *seconds: str, from_share: float = 0.0) -> Callable[[Study], Verdict]:
    """Check that one method errs less than others, from some share of the pool on."""

    def check(study: Study) -> Verdict:
        said, holds = [], True
        for pool in pools:
            rows = _one(study, pool, first).shares >= from_share
            for second in seconds:
                comparison = compared(study, pool, first, second).at(rows)
                said.append(f"{pool}, {first} over {second}: {comparison}")
                holds &= comparison.less
        return Verdict(holds, "; ".join(said))

    return check


def _alike_at_first(study: Study) -> Verdict:
    """Check that Poisson and importance sampling err alike with the fewest labels."""
    said, holds = [], True
    for pool in (MNIST, NEWS):
        first = compared(study, pool, "Poisson", "Importance").at(slice(0, 1))
        said.append(f"{pool}, {100 * _one(study, pool, 'Poisson').shares[0]:g} % of labels: {first}")
        holds &= first.clearly_less + first.clearly_more == 0 and abs(np.log(first.mean_ratio)) < ALIKE
    return Verdict(holds, "; ".join(said))


def _gain_grows(study: Study) -> Verdict:
    """Check that the ratio of errors falls from the fewest labels to the most."""
    said, holds = [], True
    for pool in (MNIST, NEWS, LABELS):
        if pool not in study.pools:
            continue
        comparison = compared(study, pool, "Poisson", "Importance")
        ratios = np.exp(np.log(comparison.ratio).mean(1))
        ratios = ratios[~np.isnan(ratios)]
        said.append(f"{pool}: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
        holds &= bool(ratios[-1] == ratios.min() and ratios[-1] < 1 - ALIKE)
    return Verdict(holds, "ratios of errors, Poisson over importance, by labels: " + "; ".join(said))


def _less_spread(study: Study) -> Verdict:
    """Check that Poisson estimates vary less than those of importance sampling."""
    said, holds = [], True
    for pool in (MNIST, NEWS, LABELS):
        if pool not in study.pools:
            continue
        squares = []
        for method in ("Poisson", "Importance"):
            estimates = _one(study, pool, method).estimates
            squares.append((estimates - estimates.mean(1, keepdims=True)) ** 2)
        comparison = Comparison.of(*squares)
        said.append(f"{pool}, variances: {comparison}")
        holds &= comparison.less
    return Verdict(holds, "; ".join(said))


def _calibrated(methods: tuple[str, ...], low: float, high: float) -> Callable[[Study], Verdict]:
    """Check that published intervals of MNIST cover about as often as they should, between two shares of the pool."""

    def check(study: Study) -> Verdict:
        said, holds = [], True
        for method in methods:
            found = _one(study, MNIST, method)
            cover = found.inside.mean(1)[(found.shares >= low) & (found.shares <= high)]
            good = np.abs(cover - LEVEL) <= NEAR
            said.append(
                f"{method}: {cover.min():.2f} to {cover.max():.2f}, near in {good.sum()} of {good.size} figures"
            )
            holds &= bool(good.mean() >= 0.5)
        return Verdict(holds, f"{100 * low:g} to {100 * high:g} % of labels; " + "; ".join(said))

    return check


def _worse_at_ends(study: Study) -> Verdict:
    """Check that Poisson's coverage is further from the level with the fewest and the most labels than in between."""
    found = _one(study, MNIST, "Poisson")
    off = np.abs(found.inside.mean(1) - LEVEL).mean(1)
    middle = off[1:-1].min()
    figures = ", ".join(f"{100 * share:g} %: {x:.2f}" for share, x in zip(found.shares, off, strict=True))
    return Verdict(bool(off[0] > middle + 0.01 and off[-1] > middle + 0.01), f"mean distance from {LEVEL} at {figures}")


def _exact(study: Study) -> Verdict:
    """Check that Poisson sampling ends with the truth."""
    worst = max(study.exact.values())
    return Verdict(worst < 1e-9, f"greatest error with all labels on {len(study.exact)} pools: {worst:.1e}")


def _certain_later(study: Study) -> Verdict:
    """Check that items of MNIST become certain at about a quarter of the pool."""
    one = study.certainty[MNIST]
    shares = ", ".join(f"{100 * s:g} %: {100 * c:.1f}" for s, c in zip(one.shares, one.certain, strict=True))
    others = "; ".join(
        f"{pool}: from {100 * study.certainty[pool].onset:.0f} % on"
        for pool in (NEWS, LABELS)
        if pool in study.certainty
    )
    holds = bool(0.15 <= one.onset <= 0.35 and one.certain[one.shares < 0.15].max() == 0)
    return Verdict(holds, f"from {100 * one.onset:.0f} % on; percent of items certain at {shares}; {others}")


def _never_certain(study: Study) -> Verdict:
    """Check that importance sampling leaves doubt about items which Poisson sampling draws with certainty."""
    one = study.certainty[MNIST]
    both = [(p[0], i[0]) for p, i in zip(one.poisson, one.importance, strict=True) if not np.isnan(i[0])]
    certain = [i for p, i in both if p == 1]
    return Verdict(
        bool(certain) and max(certain) < 1, f"greatest chances at {', '.join(f'{p:.3f} and {i:.4f}' for p, i in both)}"
    )


def _own_is_best(pool: str, method: str) -> Callable[[Study], Verdict]:
    """Check that no measure is estimated clearly better from samples for another measure."""

    def check(study: Study) -> Verdict:
        by = {key[2]: one for key, one in study.cross.items() if key[:2] == (pool, method)}
        beaten, first, figures = [], 0, 0
        for q, measure in enumerate(by):
            own = by[measure]
            rivals = {
                name: Comparison.of(one.errors[..., [q]], own.errors[..., [q]])
                for name, one in by.items()
                if name != measure
            }
            for t in np.flatnonzero(own.reached):
                gaps = {name: float(rival.gap[t, 0]) for name, rival in rivals.items() if not np.isnan(rival.gap[t, 0])}
                best = max(gaps, key=gaps.__getitem__)
                figures += 1
                first += gaps[best] <= 0
                if gaps[best] > CLEAR:
                    beaten.append(f"{measure} at {100 * own.shares[t]:g} % by {best} ({rivals[best].ratio[t, 0]:.2f})")
        said = f"own samples are first in {first} of {figures} figures, clearly beaten in {len(beaten)}"
        return Verdict(not beaten, said + (": " + ", ".join(beaten) if beaten else ""))

    return check


def _trust(study: Study) -> Verdict:
    """Check that scores trusted wholly make overconfident intervals and greater errors than those trusted to 0.9."""
    said, holds = [], True
    for pool in (MNIST, NEWS):
        blend, sure = _one(study, pool, "Poisson"), _one(study, f"{pool}, lam 1", "Poisson")
        q = blend.measures.index("f1")
        rows = np.isin(blend.shares, sure.shares)
        comparison = Comparison.of(blend.errors[rows][..., [q]], sure.errors[..., [q]])
        cover = [x.mean(1)[:, q] for x in (blend.inside[rows], sure.inside)]
        said.append(
            f"{pool}: error with 0.9 over that with 1, {comparison}; least coverage {cover[0].min():.2f} with 0.9, "
            f"{cover[1].min():.2f} with 1"
        )
        holds &= comparison.less and cover[1].min() < LEVEL - 2 * NEAR and cover[1].min() < cover[0].min()
    return Verdict(bool(holds), "; ".join(said))


def _sooner_with_many_labels(study: Study) -> Verdict:
    """Check that with several labels per item Poisson is clearly better for micro F1 at a tenth of the pool or less."""
    found = _one(study, LABELS, "Poisson")
    comparison = compared(study, LABELS, "Poisson", "Importance")
    few = found.shares <= 0.1
    micro = Comparison(comparison.ratio[:, :1], comparison.gap[:, :1])
    ratios = ", ".join(f"{100 * s:g} %: {r:.2f}" for s, r in zip(found.shares, micro.ratio[:, 0], strict=True))
    return Verdict(
        micro.at(few).clearly_less > 0, f"micro F1, ratio of errors at {ratios}; up to 10 %: {micro.at(few)}"
    )


REPLACED, PLAIN = "Uniform, repl.", "Uniform"
CLAIMS = [
    Claim("2.1", "Trusting scores wholly makes intervals overconfident where scores are extreme; 0.9 does well.", (MNIST, NEWS), _trust),
    Claim("5.1, Fig. 1, 7", "With all labels Poisson sampling returns the exact measures.", (), _exact),
    Claim("5.1, Fig. 2, 8", "On MNIST Poisson errs clearly less than importance as labels grow (a quarter on).", (MNIST,), _less((MNIST,), "Poisson", "Importance", from_share=0.25)),
    Claim("5.1, Fig. 2, 8", "On MNIST Poisson errs clearly less than uniform draws as labels grow (a quarter on).", (MNIST,), _less((MNIST,), "Poisson", REPLACED, from_share=0.25)),
    Claim("the same", "The same beside uniform sampling without replacement, which [SEME] leaves out.", (MNIST,), _less((MNIST,), "Poisson", PLAIN, from_share=0.25)),
    Claim("F, Fig. 8", "On MNIST importance errs less than uniform draws.", (MNIST,), _less((MNIST,), "Importance", REPLACED)),
    Claim("the same", "The same beside uniform sampling without replacement.", (MNIST,), _less((MNIST,), "Importance", PLAIN)),
    Claim("5.1, Fig. 3", "On MNIST intervals of all three methods are about calibrated (85 to 95 % in most figures).", (MNIST,), _calibrated((REPLACED, "Importance", "Poisson"), 0.05, 0.5)),
    Claim("5.1, Fig. 3", "They are so with few labels too.", (MNIST,), _calibrated((REPLACED, "Importance", "Poisson"), 0.0, 0.05)),
    Claim("5.1, Fig. 3", "Poisson's are less accurate with very few labels, and as the measures become exact.", (MNIST,), _worse_at_ends),
    Claim("5.1, Fig. 4", "On MNIST no item is certain with few labels; items become so at about a quarter.", (MNIST,), _certain_later),
    Claim("3.2, Fig. 4", "Importance sampling draws no item with certainty, not those that Poisson does.", (MNIST,), _never_certain),
    Claim("5.1, F.1, Fig. 10", "From Poisson samples a measure is best estimated if they were drawn for it.", (MNIST,), _own_is_best(MNIST, "Poisson")),
    Claim("5.1, F.1, Fig. 11", "The same of importance samples.", (MNIST,), _own_is_best(MNIST, "Importance")),
    Claim("5.2, Fig. 9", "On 20 Newsgroups Poisson errs less than importance, on average.", (NEWS,), _less((NEWS,), "Poisson", "Importance")),
    Claim("5.2, Fig. 9", "On 20 Newsgroups Poisson errs less than uniform draws, on average.", (NEWS,), _less((NEWS,), "Poisson", REPLACED)),
    Claim("F, Fig. 9", "On 20 Newsgroups importance errs less than uniform draws.", (NEWS,), _less((NEWS,), "Importance", REPLACED)),
    Claim("5.3, Fig. 5", "With several labels per item Poisson clearly beats importance from small shares on (10 %).", (LABELS,), _sooner_with_many_labels),
    Claim("D, Fig. 6", "Samples for micro and for macro F1 serve their own measure best.", (LABELS,), _own_is_best(LABELS, "Poisson")),
    Claim("6, C", "With the fewest labels Poisson and importance err alike.", (MNIST, NEWS), _alike_at_first),
    Claim("6, C", "Poisson's advantage over importance grows with the labels.", (MNIST,), _gain_grows),
    Claim("6", "Poisson estimates vary less than those of importance sampling.", (MNIST,), _less_spread),
]  # fmt: skip


def verdicts(study: Study) -> str:
    """Write a row for every statement whose pools are there."""
    rows, held = [], 0
    for claim in CLAIMS:
        if not set(claim.needs) <= set(study.pools):
            continue
        verdict = claim.check(study)
        held += verdict.holds
        word = "holds" if verdict.holds else "does not hold"
        rows.append(f"| {claim.where} | {claim.words} | {word} | {verdict.figures} |")
    lines = [
        f"{held} of {len(rows)} hold. A figure is one measure at one number of labels; errors differ clearly by more than "
        f"{CLEAR:g} standard errors. A method errs less if it does clearly in half of the figures, and clearly more in none.",
        "",
        "| [SEME] | statement | here | figures |",
        "| --- | --- | --- | --- |",
        *rows,
    ]
    return "\n".join(lines)
