"""The losses of measures over attributes and labels: what designs and simulators compute with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.axes import x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.shapes import Array, Bool, Float, Scalar
from bayes_assess.measures._losses import DenseLosses, SparseLosses
from bayes_assess.measures._shapes import as_cells, as_risk
from bayes_assess.measures._stacked import Part, defined, jacobian, touched, value

if TYPE_CHECKING:
    from scipy import sparse

_ALIKE = 1e-9  # influences, as a share of the greatest, that differ by rounding alone

FloatCells = Float[Array, "*batch A C"] | Float[np.ndarray, "*batch A C"]
FloatRisk = Float[Array, "*batch D"] | Float[np.ndarray, "*batch D"]


@partial(
    register_dataclass,
    data_fields=["losses", "nonzero"],
    meta_fields=["parts", "outputs", "ranges", "graded"],
)
@dataclass(frozen=True, eq=False)
class LossTable:
    """Losses l(a, y) of A attributes and C labels, and the measures G = g(R) of their mean R ([NH] Definition 1).

    Made by `table_for`; a pytree, whose methods may be called inside ``jit`` and ``vmap`` under ``jax.enable_x64``.
    An attribute is what the losses know of an item: its predicted class, its score, its sub-population. The mean of
    the losses is linear in the share of every cell (a, y), and so no item is ever looked at.

    Shapes: attributes A, labels C, losses D, outputs K.

    Parameters
    ----------
    losses : DenseLosses or SparseLosses
        l(a, y).
    nonzero : (A, C) bool
        Where l(a, y) != 0: a proposal must draw all of these ([NH] Proposition 2).
    parts : tuple
        The functions g.
    outputs : tuple of str (K,)
        What is measured, such as "f1", "precision[cat]", "f1 (system b)".
    ranges : tuple of (lowest, highest) (K,)
        Where every output lies.
    graded : bool
        Whether the losses of labels are of many sizes, see `Measure`.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> pool = ba.Pool(predictions=[0, 0, 1, 1, 1])
    >>> codes, table = table_for("precision", pool)
    >>> codes.tolist(), table.outputs  # the attribute is the predicted class
    ([0, 0, 1, 1, 1], ('precision',))
    >>> risk = table.mean([[0.3, 0.1], [0.2, 0.4]])  # rows = predicted class, columns = label
    >>> float(table.value(risk)[0].round(12))
    0.666666666667
    >>> table.squared_norms(risk).round(3)  # (y - G)^2 / R2^2 where the prediction is positive
    array([[0.   , 0.   ],
           [1.235, 0.309]])
    """

    losses: DenseLosses | SparseLosses
    nonzero: Bool[Array, "A C"] | Bool[np.ndarray, "A C"]
    parts: tuple[Part, ...]
    outputs: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]
    graded: bool = False

    is_curve: ClassVar[bool] = False  # True of a `PRCurveTable`
    is_of_scores: ClassVar[bool] = False  # True where attributes are levels of the score
    is_ranking: ClassVar[bool] = False  # True of a `RankingTable`
    is_averaged: ClassVar[bool] = False  # True of an `AveragedTable`

    @property
    def n_attributes(self) -> int:
        """Number of attributes, A."""
        return self.nonzero.shape[0]

    @property
    def n_classes(self) -> int:
        """Number of labels, C."""
        return self.nonzero.shape[1]

    @property
    def n_losses(self) -> int:
        """Number of losses, D."""
        return self.losses.size

    @property
    def n_outputs(self) -> int:
        """Number of outputs, K."""
        return len(self.outputs)

    @x64
    def mean(self, share: FloatCells) -> Float[Array, "*batch D"]:
        """Compute the risk R = sum of share * l, (..., D).

        Parameters
        ----------
        share : (..., A, C)
            Probability or importance weight of every cell; rows = attribute, columns = label.
        """
        return self.losses.mean(self._cells(share))

    @x64
    def value(self, risk: FloatRisk) -> Float[Array, "*batch K"]:
        """Compute the measures g(R), (..., K).

        An undefined ratio counts as 0, as in scikit-learn with ``zero_division=0``; nothing is ever NaN.
        """
        return self._every(value, risk)

    @x64
    def defined(self, risk: FloatRisk) -> Bool[Array, "*batch K"]:
        """Tell which measures have a value at R, (..., K): False where a denominator is 0."""
        return self._every(defined, risk)

    def _every(self, function: Callable[[tuple[Part, ...], Array], Array], risk: FloatRisk) -> Array:
        """Apply a function of parts to risks (..., D): entry by entry where parts can, one by one where they cannot."""
        risk = self._risk(risk)
        runs = [(able, tuple(run)) for able, run in groupby(self.parts, lambda part: part.elementwise)]
        if not engine.is_eager() and len(runs) > 1:  # one program for all of them
            runs = [(False, self.parts)]
        blocks = []
        for able, parts in runs:
            of_parts = partial(function, parts)
            blocks.append((of_parts if able else xp.vectorize(of_parts, signature="(d)->(k)"))(risk))
        return blocks[0] if len(blocks) == 1 else xp.concatenate(blocks, axis=-1)

    @x64
    def jacobian(self, risk: Float[Array, " D"]) -> Float[Array, "K D"]:
        """Compute Dg(R), (K, D), by automatic differentiation; 0 where a measure has no derivative."""
        return jacobian(self.parts, self._risk(risk))

    @x64
    def directions(self, risk: Float[Array, " D"]) -> Float[Array, "A C K"]:
        """Compute Dg(R) l(a, y), (A, C, K), the influence of an item on every measure; for few outputs."""
        return self.losses.project(xp.asarray(self.jacobian(risk)))

    def sparse_directions(self, risk: FloatRisk) -> sparse.csr_array:
        """Compute `directions` as a sparse matrix (A C, K), on NumPy; for many outputs of few losses each."""
        from scipy import sparse  # takes long to import

        return self.losses.sparse @ sparse.csc_array(np.asarray(self.jacobian(risk)).T)

    @x64
    def squared_norms(self, risk: Float[Array, " D"]) -> Float[Array, "A C"]:
        """Compute ||Dg(R) l(a, y)||^2, (A, C), the squares summed over the outputs ([NH] Proposition 1)."""
        return self.losses.squares(xp.asarray(self.jacobian(risk)))

    @x64
    def covariance(
        self, risk: Float[Array, " D"], mass: FloatCells, n: Scalar = 1, centres: Float[Array, "H D"] | None = None
    ) -> Float[Array, "K K"]:
        """Compute the covariance of an estimate from `n` draws, (K, K) ([NH] section 3.3.2).

        It is Dg(R) {sum of mass * l l' - R R'} Dg(R)' / n, or less the sum of c c' over `centres` instead of R R'.

        Parameters
        ----------
        risk : (D,)
            R.
        mass : (A, C)
            Mean over the draws of w^2 (or of p^2 / (q_N q_{j-1})) in every cell; the share of every cell where the
            draws are uniform.
        n : float
            Number of draws.
        centres : (H, D), optional
            Of draws that do not all have the mean R.
        """
        matrix, weights = xp.asarray(self.jacobian(risk)), self._cells(mass)
        directions, centre = self.losses.project(matrix), self._centres(matrix, risk, centres)
        moment = xp.einsum("ack,ac,acl->kl", directions, weights, directions, precision="highest")
        return (moment - centre.T @ centre) / n

    @x64
    def variances(
        self, risk: Float[Array, " D"], mass: FloatCells, n: Scalar = 1, centres: Float[Array, "H D"] | None = None
    ) -> Float[Array, " K"]:
        """Compute the diagonal of `covariance` alone, (K,); never below 0, where rounding would carry it."""
        matrix, weights = xp.asarray(self.jacobian(risk)), self._cells(mass)
        centre = self._centres(matrix, risk, centres)
        return xp.maximum(self.losses.weighted_squares(matrix, weights) - (centre**2).sum(0), 0.0) / n

    def _centres(
        self, matrix: Float[Array, "K D"], risk: FloatRisk, centres: Float[Array, "H D"] | None
    ) -> Float[Array, "H K"]:
        return (self._risk(risk)[None] if centres is None else xp.asarray(centres)) @ matrix.T

    @x64
    def influence_ends(
        self,
        risk: Float[Array, " D"],
        weight: Float[Array, " A"],
        seen: Bool[Array, " C"] | None = None,
        n: Scalar = math.inf,
    ) -> Float[Array, "2 K"]:
        """Compute the least and the greatest w_a Dg(R) l(a, y) - Dg(R) R of a draw, (2, K), over attributes and labels.

        Of graded labels none is farther from 0 than the farthest by a label that was seen, on either side, times
        (n + 1) / (n - 1), by which the range of n draws of a uniform variable falls short of its own; unless all that
        were seen are alike.

        Parameters
        ----------
        risk : (D,)
            R.
        weight : (A,)
            Weight p / q of a draw of every attribute; 0 where there is nothing to draw.
        seen : (C,) bool, optional
            Labels that some item has.
        n : number, optional
            Draws that showed them.
        """
        matrix = xp.asarray(self.jacobian(risk))
        center = matrix @ self._risk(risk)
        ends = self.losses.ends(matrix, weight) - center
        if self.graded and seen is not None:
            farthest = xp.abs(self.losses.ends(matrix, weight, seen) - center).max(0)
            some = xp.isfinite(farthest) & (farthest > _ALIKE * xp.abs(ends).max(0))
            farthest = farthest * (1 + 2 / xp.maximum(n - 1, _ALIKE))
            ends = xp.where(some, xp.clip(ends, -farthest, farthest), ends)
        return xp.where(xp.isfinite(ends), ends, 0.0)

    @x64
    def touched(self, drawn: Bool[Array, " A"]) -> Bool[Array, " K"]:
        """Tell which measures depend on an attribute that was drawn, (K,)."""
        return touched(self.parts, self.losses.drawn(xp.asarray(drawn)))

    def _cells(self, values: FloatCells) -> Float[Array, "*batch A C"]:
        return as_cells(values, self.n_attributes, self.n_classes)

    def _risk(self, values: FloatRisk) -> Float[Array, "*batch D"]:
        return as_risk(values, self.n_losses)
