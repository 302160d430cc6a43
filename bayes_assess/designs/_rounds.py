"""Rounds of batches in a campaign, cell by cell: sums over those that are complete, and the open one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int, Scalar

ModelT = TypeVar("ModelT")  # of what is believed of labels


class RoundSums(NamedTuple, Generic[ModelT]):
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
    repeats : mapping
        Where items are drawn with replacement, those of the open round: its `draws`; and of every cell the items
        `distinct` among what was drawn, and the sums `first` and `second` over its draws of 1 / q and 1 / q^2, q being
        the probability of the item.
    model : LabelModel or (K,)
        What is believed of labels after those of the complete rounds; of draws with replacement the proposal, up to a
        factor.
    """

    weight: Float[Array, ""]
    before: Float[Array, "K C"]
    alone: Float[Array, "K C"]
    alone_squares: Float[Array, "K C"]
    others: Float[Array, "K C"]
    other_squares: Float[Array, "K C"]
    stood_for: Float[Array, ""]
    drawn: Float[Array, "K C"]
    included: Float[Array, " K"]
    known: Float[Array, "K C"]
    frame: Float[Array, " K"]
    inclusion: Float[Array, " K"]
    asked: Float[Array, ""]
    now: Float[Array, "K C"]
    planned: Float[Array, ""]
    shown: Mapping[str, Float[Array, "K C"]]
    model: ModelT
    repeats: Mapping[str, Array]

    @classmethod
    def before_labels(
        cls, shape: tuple[int, ...], model: ModelT, random_size: bool = False, replacement: bool = False
    ) -> RoundSums[ModelT]:
        """Return the rounds of a campaign without labels on (K, C) cells and outcomes."""
        nothing, none, zero = xp.zeros(shape), xp.zeros(shape[0]), xp.zeros(())
        return cls(
            weight=zero,
            before=nothing,
            alone=nothing,
            alone_squares=nothing,
            others=nothing,
            other_squares=nothing,
            stood_for=zero,
            drawn=nothing,
            included=none,
            known=nothing,
            frame=none,
            inclusion=none,
            asked=zero,
            now=nothing,
            planned=zero,
            shown=dict.fromkeys(("known", "total", "square", "log_inclusion"), nothing) if random_size else {},
            model=model,
            repeats={"draws": zero, **dict.fromkeys(("distinct", "first", "second"), none)} if replacement else {},
        )

    def handed_out(
        self,
        begins: Bool[Array, ""],
        known: Int[Array, "K C"],
        frame: Int[Array, " K"],
        included: Float[Array, " K"],
        asked: Scalar,
        planned: Scalar = 0.0,
        repeats: Mapping[str, Array] | None = None,
    ) -> RoundSums[ModelT]:
        """Return the rounds after items were handed out in the open one, or in one that begins.

        Parameters
        ----------
        begins : boolean
        known : (K, C)
            Labels so far.
        frame : (K,)
            Items that are drawn from, and those set aside.
        included : (K,)
            Probability of each that it is handed out now.
        asked, planned : float
            Items handed out, and expected to be.
        repeats : mapping, optional
            Those of the open round.
        """
        again = xp.where(begins, 0.0, self.inclusion)
        return self._replace(
            known=xp.where(begins, known.astype(xp.float64), self.known),
            frame=xp.where(begins, frame.astype(xp.float64), self.frame),
            inclusion=1 - (1 - again) * (1 - included),  # of items that were not drawn earlier in the round
            asked=xp.where(begins, 0.0, self.asked) + asked,
            planned=xp.where(begins, 0.0, self.planned) + planned,
            repeats=self.repeats if repeats is None else repeats,
        )

    def with_open(self) -> RoundSums[ModelT]:
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

    def with_open_of_random_size(self, closes: Bool[Array, ""] | bool) -> RoundSums[ModelT]:
        """Return the sums with the open round as published: weighed by its planned size, whatever its realised one.

        Sums are those of Horvitz and Thompson, without bias, as the weights depend on no label and no chance ([SEME]
        app. E, where rounds are alike). All items stand for each other, so that `others` has them. An empty round that
        closes counts, too: it has found nothing besides what was known.
        """
        n = self.now.sum()
        share_told = xp.where(self.asked > 0, n / xp.maximum(self.asked, 1), closes)
        b = self.inclusion * share_told  # those told are random ones of those drawn
        inverse, square = self._of_one(share_told)
        weight = self.planned * share_told
        return self._replace(
            weight=self.weight + weight,
            before=self.before + weight * self.known,
            others=self.others + weight * self.now * inverse[:, None],
            other_squares=self.other_squares + weight**2 * self.now * square[:, None],
            drawn=self.drawn + self.now,
            included=1 - (1 - self.included) * (1 - b),
            inclusion=xp.zeros_like(self.inclusion),
            asked=xp.zeros(()),
            now=xp.zeros_like(self.now),
            planned=xp.zeros(()),
            repeats={name: xp.zeros_like(column) for name, column in self.repeats.items()},
        )

    def _of_one(self, told: Float[Array, ""]) -> tuple[Float[Array, " K"], Float[Array, " K"]]:
        """Return how many items one drawn in the open round stands for, and what that variance weighs, by cell.

        That is 1 / b and (1 - b) / b^2 for items drawn on their own. Of N draws with replacement every item counts as
        often as it is in them: sum 1 / (N q) and sum 1 / (N q)^2 ([SEME] (5), (17)), means over the cell's items drawn.
        """
        if not self.repeats:
            b = self.inclusion * told
            inverse = xp.where(b > 0, 1 / xp.where(b > 0, b, 1), 0.0)
            return inverse, (1 - b) * inverse**2
        draws, distinct = self.repeats["draws"] * told, xp.maximum(self.repeats["distinct"], 1)
        draws = xp.where(draws > 0, draws, 1)
        return self.repeats["first"] / (distinct * draws), self.repeats["second"] / (distinct * draws**2)

    @property
    def totals(self) -> Float[Array, "K C"]:
        """Unbiased estimates of the items of every cell with every label, where sizes are random ([SEME] (5), (18))."""
        return (self.before + self.others) / xp.maximum(self.weight, 1e-300)

    @property
    def variances(self) -> Float[Array, "K C"]:
        """What the variance of a total weighs squared losses by, where sizes are random ([SEME] (17), (28))."""
        return self.other_squares / xp.maximum(self.weight, 1e-300) ** 2

    def as_sums(self, counts: Int[Array, "K C"]) -> dict[str, Float[Array, "K C"]]:
        """Return counts, totals, squares and log inclusion probabilities, as `ratio_interval.DrawnItems` has them."""
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
