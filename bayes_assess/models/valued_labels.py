r"""Labels that stand for numbers, such as ratings or points, given what a judge expects of every item.

Cells hold items of which the judge expects about the same, x_c, and of one group. Numbers are in units of their range,
so that the least is 0 and the greatest 1. Labels of a cell scatter about its mean:

.. math::
    \mu_c = \alpha + a_{g(c)} + (b + d_{g(c)}) (x_c - 1/2) + \sum_j w_j v_{cj} + f(x_c) + \tau t_c,
    \quad t_c \sim t_7

.. math::
    a_g, d_g \sim N(0, \omega^2), \quad f = \sum_j \phi f_j \cos(\pi j x) / j, \quad
    s_c^2 \sim \nu \sigma^2 / \chi^2_\nu

.. math::
    y \sim (1 - \pi_c) N(\mu_c, s_c^2) + \pi_c \sum_b h_{cb} U_b, \quad
    h_c \sim \mathrm{Dirichlet}(\eta h), \quad h \sim \mathrm{Dirichlet}(1/2, ..., 1/2)

.. math::
    \pi_c = \epsilon + (1 - \epsilon) q_c, \quad
    q_c \sim (1 - \lambda_c) \mathrm{Beta}(\kappa p_c, \kappa (1 - p_c)) + \lambda_c U(0, 1), \quad
    p_c = \min(\pi (1 + r_c) / 2, 0.9), \quad \lambda_c = \min(\lambda (1 + r_c) / 2, 0.5)

b says how much the judge tells, w_j how much more or less the j-th further judge does than all of them, v_cj being how
far it is from their mean x_c; a_g and d_g say how they are biased, f that this is no line, tau what cells have of their
own. A share pi_c of a cell's labels is of no relation to what the judge expects and lies in the b-th part of the range
with probability h_cb: such outliers gather, often in one place of the cell's own, more often where those of others are.
A few labels that are near to what is expected do not yet say that there are none, and in a share lambda of cells the
judge is at a loss: any share may be outliers. It may then give any number, so that those which it seldom gives are the
least to be trusted: r_c is the share of the range over that of the items which a cell has. All of that is learned but
for the constants. Only means and variances are taken from the normal distribution: what is drawn of a cell's labels has
them and lies within the range. The posterior is drawn by Gibbs sampling from counts of labels per cell.

Shapes: cells K, classes C, groups G, coefficients P, parts of the range B, chains S, levels T of (tau, phi, omega) and
Q of pi.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.errors import PriorError
from bayes_assess.models._value_gibbs import Gibbs, GibbsDraws, n_chains
from bayes_assess.models._value_terms import (
    GATHERED,
    LEAST,
    NU,
    OWN,
    PART_PRIOR,
    PARTS,
    SHARES,
    SIGMA_MEAN,
    SIGMA_SHAPE,
    TAILS,
    Grades,
    Terms,
    at_loss,
    grain,
    outlying_shares,
    rarities,
    spread_out,
    terms,
    within,
)
from bayes_assess.models.drawn_labels import DrawnLabels, GivenLabels
from bayes_assess.models.program_items import added, items_of
from bayes_assess.models.rating_labels import RatingLabels

_UNKNOWN, _MOST_RARE = 0.02, 3.0  # variance of the mean of a cell that is as rare as wide, for decisions
_POOLED = 1.5  # labels as which the variance of all cells counts in that of a cell, for decisions


def program(
    model: Terms,
    level: int,
    share: float,
    values: Float[Array, " C"],
    rarity: Float[Array, " K"],
    cell: Int[Array, " N"],
    labels: Int[Array, " N"] | None = None,
) -> None:
    """Run the generative program at one level of (tau, phi, omega).

    Parameters
    ----------
    model : as of `terms`
    level : int
        0..T-1.
    share : float
        pi.
    values : (C,)
        Numbers of the classes from 0 to 1, evenly spaced.
    rarity : (K,)
        r, see `from_prior`.
    cell : (N,) integers
        Of every item.
    labels : (N,) integers 0..C-1, optional
        Left out, they are simulated.
    """
    n_cells, n_terms = model.columns.shape
    sigma2 = xp.asarray(numpyro.sample("sigma2", dist.Gamma(SIGMA_SHAPE, SIGMA_SHAPE / SIGMA_MEAN)))
    part = xp.asarray(numpyro.sample("part", dist.Dirichlet(xp.full(PARTS, PART_PRIOR))))
    with numpyro.plate("term", n_terms):
        weight = numpyro.sample("weight", dist.Normal(model.mean, xp.sqrt(xp.asarray(model.variance)[level])))
    expected = outlying_shares(share, rarity, xp)
    with numpyro.plate("cell", n_cells):
        line = model.columns @ xp.asarray(weight)
        mean = numpyro.sample("mean", dist.StudentT(TAILS, line, xp.sqrt(xp.asarray(model.tau2)[level])))
        variance = numpyro.sample("variance", dist.InverseGamma(NU / 2, NU / 2 * sigma2))
        lost = xp.asarray(at_loss(rarity, xp))
        first, second = (xp.stack([OWN * part, xp.ones_like(part)], axis=-1) for part in (expected, 1 - expected))
        either = dist.CategoricalProbs(xp.stack([1 - lost, lost], axis=-1))  # at a loss or not, summed out
        own = numpyro.sample("outlying", dist.MixtureSameFamily(either, dist.Beta(first, second)))
        place = numpyro.sample("place", dist.Dirichlet(GATHERED * part))
    mean, spread = xp.asarray(mean)[:, None], xp.sqrt(xp.asarray(variance))[:, None]
    between = engine.ndtr(((values[1:] + values[:-1]) / 2 - mean) / spread)
    near = xp.diff(between, prepend=0.0, append=1.0, axis=1)
    apart = (LEAST + (1 - LEAST) * xp.asarray(own))[:, None]
    probability = (1 - apart) * near + apart * spread_out(xp.asarray(place), values, xp)
    with numpyro.plate("item", len(cell)):
        numpyro.sample("label", dist.CategoricalProbs(probability[cell]), obs=labels)


@partial(
    register_dataclass,
    data_fields=["x", "group", "rarity", "values", "counts", "apart"],
    meta_fields=["is_trivial"],
)
@dataclass(frozen=True)
class ValuedLabels(DrawnLabels):
    """Belief on labels that stand for numbers, by their counts.

    Attributes
    ----------
    x : (K,)
        What the judge expects, in units of the range.
    group : (K,) integers
    rarity : (K,)
        How much more of the range than of the items a cell has.
    values : (C,)
        Numbers of the classes, in units of the range.
    counts : (K, C)
        Labelled items.
    apart : (J, K)
        How far further judges are from what is expected, in units of the range.

    Examples
    --------
    >>> belief = ValuedLabels.from_prior(np.array([1.0, 3.0, 5.0]), np.arange(1.0, 6.0))
    >>> for _ in range(20):  # labels of the lowest rating are the middle one
    ...     belief = belief.observe(0, 2)
    >>> mean = (belief.drawn(np.random.default_rng(0), 256) @ np.arange(1, 6)).mean(0)
    >>> bool(2.8 < mean[0] < 3.2), bool(mean[1] > 3.1)  # so that others are expected to be above theirs
    (True, True)
    """

    of_all: ClassVar[bool] = True

    x: Float[Array, " K"]
    group: Int[Array, " K"]
    rarity: Float[Array, " K"]
    values: Float[Array, " C"]
    counts: Float[Array, "K C"]
    apart: Float[Array, "J K"]
    is_trivial: bool = False

    @classmethod
    def from_prior(
        cls,
        expected: Float[np.ndarray, "*J K"],
        values: Float[np.ndarray, " C"],
        group: Int[np.ndarray, " K"] | None = None,
        sizes: Int[np.ndarray, " K"] | None = None,
    ) -> ValuedLabels:
        """Build the belief before any label.

        Parameters
        ----------
        expected : (K,) or (2 + J, K)
            What the judge expects of the items of every cell; or the mean of several, the first one, and further ones.
        values : (C,)
            Number of every class.
        group : (K,) integers 0..G-1, optional
            Groups of which the judge may be biased in different ways.
        sizes : (K,) integers, optional
            Items of every cell; all alike if left out.
        """
        values = np.asarray(values, np.float64)
        least, span = values.min(), np.ptp(values)
        every = (np.atleast_2d(np.asarray(expected, np.float64)) - least) / span
        x, apart = every[0], every[2:] - every[0]
        group = np.zeros(len(x), np.int32) if group is None else np.asarray(group, np.int32)
        rarity = rarities(x, group, np.ones(len(x)) if sizes is None else np.asarray(sizes))
        counts = np.zeros((len(x), len(values)), np.float32)
        rarity, numbers = rarity.astype(np.float32), ((values - least) / span).astype(np.float32)
        return cls(x.astype(np.float32), group, rarity, numbers, counts, apart.astype(np.float32))

    def program_arguments(
        self, counts: Int[Array, "K C"] | None = None, level: int = 0, share: float = SHARES[4]
    ) -> dict[str, object]:
        """Return the arguments of `program` at one level of (tau, phi, omega) and one pi, after `counts`.

        Parameters
        ----------
        counts : (K, C) integers, optional
            Further labelled items of every cell.
        level : int
            0..T-1.
        share : float in (0, 1)
            pi.

        Raises
        ------
        LabelError
            If the counts do not fit, or are no whole numbers.
        PriorError
            If there is no such level, or the share is none.
        """
        x, apart, values, rarity = (
            np.asarray(part, np.float64) for part in (self.x, self.apart, self.values, self.rarity)
        )
        model = terms(x, np.asarray(self.group), apart)
        if not 0 <= level < len(model.tau2) or not 0 < share < 1:
            raise PriorError(
                f"Levels are 0 to {len(model.tau2) - 1}, and shares lie between 0 and 1; found level {show(level)} and "
                f"share {show(share)}."
            )
        told = added(np.asarray(self.counts, np.float64), counts)
        cell, labels = items_of(told, told.shape)
        prior = {"model": model, "level": level, "share": float(share), "values": values, "rarity": rarity}
        return {**prior, "cell": cell, "labels": labels}

    def observe(
        self, cell: Int[Array, ""] | int, label: Int[Array, ""] | int, matters: Bool[Array, ""] | bool = True
    ) -> ValuedLabels:
        """Learn one label of a cell, if that matters."""
        increment = xp.asarray(matters, xp.float32)
        return replace(self, counts=engine.at(xp.asarray(self.counts))[cell, label].add(increment))

    @property
    def learned(self) -> dict[str, Float[Array, "..."]]:
        """What labels change, by field."""
        return {"counts": self.counts}

    @property
    @engine.kept
    def mean(self) -> Float[Array, "K C"]:
        """Probability of every label of the next item of every cell, about: what decisions look at.

        Means are the judge's and those of the labels, variances those of the cell and of all cells.
        """
        values, counts = xp.asarray(self.values), xp.asarray(self.counts)
        n = counts.sum(1)
        own = counts @ values / xp.maximum(n, 1)
        n_classes = len(values)
        between = (n_classes - 1) / Grades.of(n_classes).parts(counts.sum(0), xp)
        rounded = grain(self.values, xp) * between**2
        squares = (counts * (values - own[:, None]) ** 2).sum(1) + n * rounded
        common = (2 * SIGMA_MEAN + squares.sum()) / (2 + n.sum())
        # Of the mean: cells without labels are to be asked about, and those that the judge seldom speaks of most.
        unknown = _UNKNOWN * (1 + xp.minimum(xp.asarray(self.rarity), _MOST_RARE)) / (n + 1)
        spread = xp.sqrt((_POOLED * common + squares) / (_POOLED + n) + unknown)
        mean = (n * own + xp.asarray(self.x) + 0.5) / (n + 2)  # not at an end, where there would be no variance
        return within(values, mean, spread, xp)

    @property
    def strength(self) -> Float[Array, " K"]:
        """Labels that every cell counts as for decisions: its own and one, so that allocation tends to Neyman's."""
        return xp.asarray(self.counts).sum(1) + 1.0

    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n K C"]:
        """Draw `n` distributions of labels for every cell, on the host."""
        if (grades := self._grades) is not None:
            return self._of_grades(grades.drawn(rng, n))
        return self._distributions(self._chains(rng, n).run(n))

    def in_parts(self, rng: np.random.Generator, n: int, most: int) -> Iterator[tuple[slice, DrawnLabels]]:
        """Divide `n` draws into parts of at most so many: of the same chains, which take most of the time to begin."""
        if (grades := self._grades) is not None:
            for some, labels in grades.in_parts(rng, n, most):
                drawn = self._of_grades(labels.drawn(rng, some.stop - some.start))
                yield some, GivenLabels(self.counts, drawn)
            return
        start = 0
        for draws in self._chains(rng, n).parts(n, most):
            for first in range(0, len(draws.mean), most):
                some = GibbsDraws(*(part[first : first + most] for part in draws))
                size = len(some.mean)
                yield slice(start, start + size), GivenLabels(self.counts, self._distributions(some))
                start += size

    @property
    def _grades(self) -> RatingLabels | None:
        """The belief on the grades that all labels are; None if they are more than a few, or anything."""
        counts, n_classes = np.asarray(self.counts), len(self.values)
        parts = int(Grades.of(n_classes).parts(counts.sum(0), np))
        if parts == n_classes - 1:
            return None
        grade = np.rint(np.arange(n_classes) * parts / (n_classes - 1)).astype(int)
        x, others = np.asarray(self.x, np.float64)[None], np.asarray(self.apart, np.float64)
        own = x - others.sum(0)  # of the first judge, as x is the mean of all
        opinions = np.concatenate([x, own, x + others] if len(others) else [x])
        belief = RatingLabels.from_prior(parts * opinions, parts + 1, np.asarray(self.group))
        return belief.after(counts @ np.eye(parts + 1)[grade])

    def _of_grades(self, drawn: Float[np.ndarray, "n K D"]) -> Float[np.ndarray, "n K C"]:
        """Put the grades of draws at the classes that they are."""
        n_classes, n_grades = len(self.values), drawn.shape[-1]
        distributions = np.zeros((*drawn.shape[:-1], n_classes))
        distributions[..., np.rint(np.linspace(0, n_classes - 1, n_grades)).astype(int)] = drawn
        return distributions

    def _chains(self, rng: np.random.Generator, n: int) -> Gibbs:
        """Begin the chains that are to draw `n` times."""
        parts = (self.x, self.rarity, self.values, self.apart)
        x, rarity, values, apart = (np.asarray(part, np.float64) for part in parts)
        counts = np.asarray(self.counts, np.int64)
        return Gibbs(x, np.asarray(self.group), rarity, values, counts, apart, rng, n_chains(n))

    def _distributions(self, draws: GibbsDraws) -> Float[np.ndarray, "n K C"]:
        values, apart = np.asarray(self.values, np.float64), draws.apart[..., None]
        near = within(values, draws.mean, np.sqrt(draws.variance), np)
        return (1 - apart) * near + apart * spread_out(draws.part, values, np)
