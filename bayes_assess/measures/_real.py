"""Measures of labels that are real numbers, side by side: losses of items, values and Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import CHUNK
from bayes_assess._tools.axes import any_engine, x64
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import jax, jit, jnp
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.measures._measure import Measure, output_names, sizes
from bayes_assess.measures._own_values import check_range
from bayes_assess.measures._pool_losses import Measures, combine
from bayes_assess.measures._stacked import Part, defined, jacobian, value

_LEAST = 64  # items of a compiled call, which has powers of two of them


@dataclass(frozen=True)
class RealMeasures:
    """Measures of labels that are real numbers ([NH] Table 2), which share one risk R, (D,).

    Parameters
    ----------
    measures : tuple of Measure
        All of real numbers.

    Examples
    --------
    >>> spec = RealMeasures.of(["mae", "r2"])
    >>> losses = spec.losses(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]))
    >>> spec.outputs, spec.value(losses.mean(0)).round(6).tolist()
    (('mean_absolute_error', 'r2'), [0.333333, 0.5])
    """

    measures: tuple[Measure, ...]

    @classmethod
    def of(cls, measures: Measures) -> RealMeasures | None:
        """Return the measures, or None if they are not of real numbers."""
        specs: tuple[Any, ...] = combine(measures)
        real = tuple(spec for spec in specs if spec.real)
        return cls(real) if len(real) == len(specs) else None

    @property
    def shift_invariant(self) -> bool:
        """Whether a number added to all labels and predictions changes nothing."""
        return all(spec.shift_invariant for spec in self.measures)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the k outputs."""
        none = np.zeros(0)
        return tuple(name for spec in self.measures for name in output_names(spec, sizes(spec, 2)[1], none))

    @property
    def n_outputs(self) -> int:
        """Number of outputs, k."""
        return len(self.outputs)

    @cached_property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Where the outputs lie, (k, 2)."""
        return tuple(spec.range for spec in self.measures for _ in range(sizes(spec, 2)[1]))

    @property
    def first_losses(self) -> tuple[int, ...]:
        """Number of the first loss of every output, (k,).

        Examples
        --------
        >>> RealMeasures.of(["r2", "mae"]).first_losses
        (0, 3)
        """
        starts = np.cumsum([0, *(sizes(spec, 2)[0] for spec in self.measures)]).tolist()
        return tuple(
            start for spec, start in zip(self.measures, starts, strict=False) for _ in range(sizes(spec, 2)[1])
        )

    @cached_property
    def n_losses(self) -> int:
        """Number of losses, D."""
        return sum(sizes(spec, 2)[0] for spec in self.measures)

    @property
    def _each(self) -> list[Callable[..., Any]]:
        """The losses of every measure, all of which have some."""
        return [spec.loss for spec in self.measures if spec.loss is not None]

    def losses(self, labels: Float[np.ndarray, " n"], predictions: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n D"]:
        """Compute the losses of items, (n, D)."""
        losses = np.empty((len(labels), self.n_losses))
        for start in range(0, len(labels), CHUNK):
            y, f = (np.asarray(values[start : start + CHUNK], np.float64) for values in (labels, predictions))
            losses[start : start + CHUNK] = self._losses(y, f)
        return losses

    def _losses(self, labels: Float[np.ndarray, " n"], predictions: Float[np.ndarray, " n"]) -> Any:
        if all(spec.derivative is not None for spec in self.measures):  # written for either engine, and for many items
            with engine.eager():
                return np.concatenate([loss(labels, predictions) for loss in self._each]).T
        n = max(_LEAST, 1 << (len(labels) - 1).bit_length())
        padded = (np.pad(values, (0, n - len(labels))) for values in (labels, predictions))
        return _compiled_losses(self, *padded)[: len(labels)]

    def check_ranges(self, losses: Float[np.ndarray, "n D"]) -> None:
        """Raise QuestionError if a measure of one's own leaves its range of items with these losses."""
        start = 0
        for spec in self.measures if len(losses) else ():
            size = sizes(spec, 2)[0]
            check_range(spec, losses[:, start : start + size])
            start += size

    @any_engine
    def value(self, risk: Float[np.ndarray, " D"]) -> Float[np.ndarray, " k"]:
        """Compute the measures at the risk, 0 where they have no value."""
        return np.asarray(value(self._parts, xp.asarray(risk)))

    @any_engine
    def defined(self, risk: Float[np.ndarray, " D"]) -> Bool[np.ndarray, " k"]:
        """Tell which measures have a value at the risk."""
        return np.asarray(defined(self._parts, xp.asarray(risk)))

    @any_engine
    def jacobian(self, risk: Float[np.ndarray, " D"]) -> Float[np.ndarray, "k D"]:
        """Compute the derivatives of the measures, 0 where they have none."""
        return np.asarray(jacobian(self._parts, xp.asarray(risk)))

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        parts, start = [], 0
        for spec in self.measures:
            assert spec.g is not None
            n = sizes(spec, 2)[0]
            parts.append(Part(spec.g, spec.defined, n, (start,), 1, spec.derivative, spec.elementwise))
            start += n
        return tuple(parts)


@dataclass(frozen=True)
class GroupedRealMeasures:
    """Measures of labels that are real numbers, of every group for itself.

    An item has the losses (1[g] l, 1[g]) of its group g and 0 of the others, so that the risk is (G, D + 1), flat, and
    a group's mean losses are the ratios R_g / P_g: exact at full labels, and a weighted mean of the group's own items
    before.

    Parameters
    ----------
    whole : RealMeasures
    names : tuple of str
        Of the G groups.

    Examples
    --------
    >>> spec = GroupedRealMeasures(RealMeasures.of("mae"), ("site a", "site b"))
    >>> losses = spec.grouped(np.array([[1.0], [3.0], [4.0]]), np.array([0, 0, 1]))
    >>> spec.value(losses.mean(0)).tolist(), spec.jacobian(losses.mean(0)).round(6).tolist()
    ([2.0, 4.0], [[1.5, -3.0, 0.0, 0.0], [0.0, 0.0, 3.0, -12.0]])
    """

    whole: RealMeasures
    names: tuple[str, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, group by group, (G k,)."""
        return tuple(f"{output} ({name})" for name in self.names for output in self.whole.outputs)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Where the outputs lie, (G k, 2)."""
        return self.whole.ranges * len(self.names)

    @property
    def n_losses(self) -> int:
        """Number of losses, G (D + 1)."""
        return len(self.names) * (self.whole.n_losses + 1)

    def grouped(self, losses: Float[np.ndarray, "n D"], group: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n E"]:
        """Return the losses of items of these groups, (n, G (D + 1))."""
        blocks = np.zeros((len(losses), len(self.names), self.whole.n_losses + 1))
        blocks[np.arange(len(losses)), group] = np.append(losses, np.ones((len(losses), 1)), axis=1)
        return blocks.reshape(len(losses), self.n_losses)

    def value(self, risk: Float[np.ndarray, " E"]) -> Float[np.ndarray, " k"]:
        """Compute the measures at the risk, 0 where they have no value."""
        mean, share = self.means(risk)
        return np.concatenate([self.whole.value(own) * (p > 0) for own, p in zip(mean, share, strict=True)])

    def defined(self, risk: Float[np.ndarray, " E"]) -> Bool[np.ndarray, " k"]:
        """Tell which measures have a value at the risk."""
        mean, share = self.means(risk)
        return np.concatenate([self.whole.defined(own) & (p > 0) for own, p in zip(mean, share, strict=True)])

    def jacobian(self, risk: Float[np.ndarray, " E"]) -> Float[np.ndarray, "k E"]:
        """Compute the derivatives of the measures, 0 where they have none."""
        mean, share = self.means(risk)
        k, n = self.whole.n_outputs, len(self.names)
        derivatives = np.zeros((n, k, n, self.whole.n_losses + 1))
        for g in np.flatnonzero(share > 0):
            own = self.whole.jacobian(mean[g]) / share[g]
            derivatives[g, :, g] = np.append(own, -(own @ mean[g])[:, None], axis=1)
        return derivatives.reshape(n * k, -1)

    def means(self, risk: Float[np.ndarray, " E"]) -> tuple[Float[np.ndarray, "G D"], Float[np.ndarray, " G"]]:
        """Return the mean losses of every group, 0 of those without a share, and the shares."""
        table = np.asarray(risk).reshape(len(self.names), -1)
        share = table[:, -1]
        return table[:, :-1] / np.where(share > 0, share, 1.0)[:, None] * (share > 0)[:, None], share


@x64
@partial(jit, static_argnums=0)
def _compiled_losses(
    spec: RealMeasures, labels: Float[Array, " n"], predictions: Float[Array, " n"]
) -> Float[Array, "n D"]:
    def one(y: Array, f: Array) -> Array:
        return jnp.concatenate([jnp.atleast_1d(loss(y, f)) for loss in spec._each])

    return jax.vmap(one)(labels, predictions)
