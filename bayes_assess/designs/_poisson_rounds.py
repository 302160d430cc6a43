"""Rounds of Poisson sampling in a campaign, cell by cell: sums over those that are complete, and the open one."""

from __future__ import annotations

from typing import Any, NamedTuple

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Float


class Rounds(NamedTuple):
    """Rounds of a campaign: sums over those that are complete, and the open one.

    Attributes
    ----------
    weight : float
        Sum of the weights w of the complete rounds.
    before : (K, C)
        Sum of w times the labels known before the round.
    alone : (K, C)
        Sum of w times the labels of cells that stand for themselves, scaled to their items.
    alone_squares : (K, C)
        Sum of w^2 (1 - b) / b^2 over the items drawn from these, b their share of the cell.
    others : (K, C)
        Sum of w / b over the items drawn from the other cells, which stand for each other.
    other_squares : (K, C)
        Sum of w^2 (1 - b) / b^2 over these.
    stood_for : float
        Sum of w times the items of the other cells.
    drawn : (K, C)
        Labels of items drawn in complete rounds.
    included : (K,)
        Probability that an item was drawn in a complete round.
    known : (K, C)
        Labels known before the open round.
    frame : (K,)
        Items that it drew from, and those set aside, which they stand for.
    inclusion : (K,)
        b.
    asked : float
        Items drawn in it.
    now : (K, C)
        Labels of these, as far as told.
    planned : float
        Items that the open round is expected to have, where sizes are random.
    shown : mapping
        Where sizes are random, `as_sums` of all labels so far.
    model : LabelModel
        What is believed of labels after those of the complete rounds.
    """

    weight: Any
    before: Any
    alone: Any
    alone_squares: Any
    others: Any
    other_squares: Any
    stood_for: Any
    drawn: Any
    included: Any
    known: Any
    frame: Any
    inclusion: Any
    asked: Any
    now: Any
    planned: Any
    shown: Any
    model: Any

    def with_open(self) -> Rounds:
        """Return the sums with the open round, whose labels are taken for random ones of those asked for."""
        n, size = self.now.sum(), self.frame.sum()
        b = xp.clip(self.inclusion * n / xp.maximum(self.asked, 1), 0.0, 1.0)
        labelled = self.now.sum(-1)
        # Cells that are sure to have an item in a whole round stand for themselves, the others for each other.
        alone = (b * self.frame >= 1) & (labelled > 0)
        share = xp.where(alone, labelled / xp.maximum(self.frame, 1), b)
        inverse = xp.where(labelled > 0, 1 / xp.where(labelled > 0, share, 1), 0.0)[:, None]
        weight = xp.where(n > 0, n / (xp.maximum(size, 1) * xp.maximum(size - n, 0.5)), 0.0)
        drawn = weight * self.now * inverse
        squares = weight**2 * self.now * (1 - xp.minimum(share, 1))[:, None] * inverse**2
        of_alone = alone[:, None]
        return self._replace(
            weight=self.weight + weight,
            before=self.before + weight * self.known,
            alone=self.alone + xp.where(of_alone, drawn, 0.0),
            alone_squares=self.alone_squares + xp.where(of_alone, squares, 0.0),
            others=self.others + xp.where(of_alone, 0.0, drawn),
            other_squares=self.other_squares + xp.where(of_alone, 0.0, squares),
            stood_for=self.stood_for + weight * xp.where(alone | (b <= 0), 0, self.frame).sum(),
            drawn=self.drawn + self.now,
            included=1 - (1 - self.included) * (1 - b),
            inclusion=xp.zeros_like(self.inclusion),
            asked=xp.zeros(()),
            now=xp.zeros_like(self.now),
        )

    def with_open_of_random_size(self, closes: Any) -> Rounds:
        """Return the sums with the open round as published: weighed by its planned size, whatever its realised one.

        Sums are those of Horvitz and Thompson, without bias, as the weights depend on no label and no chance ([SEME]
        app. E, where rounds are alike). All items stand for each other, so that `others` has them. An empty round that
        closes counts, too: it has found nothing besides what was known.
        """
        n = self.now.sum()
        told = xp.where(self.asked > 0, n / xp.maximum(self.asked, 1), closes)
        b = self.inclusion * told  # those told are random ones of those drawn
        inverse = xp.where(b > 0, 1 / xp.where(b > 0, b, 1), 0.0)[:, None]
        weight = self.planned * told
        return self._replace(
            weight=self.weight + weight,
            before=self.before + weight * self.known,
            others=self.others + weight * self.now * inverse,
            other_squares=self.other_squares + weight**2 * self.now * (1 - b)[:, None] * inverse**2,
            drawn=self.drawn + self.now,
            included=1 - (1 - self.included) * (1 - b),
            inclusion=xp.zeros_like(self.inclusion),
            asked=xp.zeros(()),
            now=xp.zeros_like(self.now),
            planned=xp.zeros(()),
        )

    @property
    def totals(self) -> Float[Array, "K C"]:
        """Unbiased estimates of the items of every cell with every label, where sizes are random ([SEME] (18))."""
        return (self.before + self.others) / xp.maximum(self.weight, 1e-300)

    @property
    def variances(self) -> Float[Array, "K C"]:
        """What the variance of a total weighs squared losses by, where sizes are random ([SEME] (28))."""
        return self.other_squares / xp.maximum(self.weight, 1e-300) ** 2

    def as_sums(self, counts: Any) -> dict[str, Float[Array, "K C"]]:
        """Return counts, totals, squares and log inclusion probabilities, as `ratio_interval.Drawn` has them."""
        b = xp.where(self.drawn.sum(-1) > 0, self.included, 1.0)
        log_inclusion = self.drawn * xp.log(xp.maximum(b, 1e-300))[:, None]
        of_all = self.totals, self.variances, log_inclusion
        return dict(
            zip(("known", "total", "square", "log_inclusion"), (xp.asarray(counts, xp.float64), *of_all), strict=True)
        )

    def estimate(self) -> tuple[Float[Array, "K C"], Float[Array, "K C"]]:
        """Return w times the estimated number of items of every cell with every label, and what its variance weighs."""
        whole = self.others.sum()
        scale = self.stood_for / xp.maximum(whole, 1e-300)
        # Where all items were drawn from cells that stand for themselves, these have to stand for the others, too.
        rest = xp.where(whole > 0, 0.0, self.stood_for) / xp.maximum(self.alone.sum(), 1e-300)
        totals = self.before + (1 + rest) * self.alone + xp.where(whole > 0, scale, 0.0) * self.others
        squares = (1 + rest) ** 2 * self.alone_squares + xp.where(whole > 0, scale, 0.0) ** 2 * self.other_squares
        return totals, squares
