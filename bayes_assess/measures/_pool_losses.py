"""From measures and a pool to the attribute of every item and a table of losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_one_of, listing, show
from bayes_assess._tools.axes import own_settings
from bayes_assess._tools.engine import xp
from bayes_assess._tools.shapes import Array, Bool, Float, Int
from bayes_assess.errors import QuestionError
from bayes_assess.measures._item_attributes import OWN, Attributes, attributes_of, item_scores, positive_code
from bayes_assess.measures._loss_table import LossTable
from bayes_assess.measures._losses import LARGEST_DENSE, SparseLosses, compress, join, losses_of
from bayes_assess.measures._measure import Measure, Risk, output_names, sizes
from bayes_assess.measures._own_values import check_values
from bayes_assess.measures._pr_curve import PRCurveMeasure, PRCurveTable, curve_table
from bayes_assess.measures._ranking import N_LEVELS, RankingTable, ranking_table
from bayes_assess.measures._ratios import AT_ONCE, slopes_of_ratio
from bayes_assess.measures._registry import measure
from bayes_assess.measures._stacked import Part
from bayes_assess.pool.pool import Pool, check_items

MeasureLike = str | Measure | PRCurveMeasure
Measures = MeasureLike | Iterable[MeasureLike]

_LOOKED_AT = 1_000  # attributes, to see that a measure of one's own keeps to its range
_ONE_BY_ONE = 10_000  # losses, up to which calling the function beats compiling it


def combine(*measures: Measures) -> tuple[Measure, ...] | tuple[PRCurveMeasure]:
    """Return the measures, given by name, as `Measure` or in lists, as one flat tuple: G is the stack of all.

    Raises
    ------
    QuestionError
        If there is none, one is no measure, or a curve or a measure of real numbers stands with others.

    Examples
    --------
    >>> from bayes_assess.measures import combine, measure
    >>> [spec.name for spec in combine("f1", [measure("recall"), "accuracy"])]
    ['f1', 'recall', 'accuracy']
    """
    flat: list[Any] = [spec for given in measures for spec in _each(given)]
    if not flat:
        raise QuestionError("There is no measure; pass at least one.")
    curves = [spec for spec in flat if spec.is_curve]
    if curves:
        if len(flat) > 1:
            raise QuestionError("A precision-recall curve is measured alone; ask for other measures separately.")
        return (curves[0],)
    plain = tuple(flat)
    if len({spec.real for spec in plain}) > 1:
        real = next(spec.name for spec in plain if spec.real)
        raise QuestionError(f"Measure {real!r} is of real numbers and cannot stand with measures of classes.")
    of_order = [spec.name for spec in plain if spec.ranking is not None]
    if 0 < len(of_order) < len(plain):
        unranked = next(spec.name for spec in plain if spec.ranking is None)
        raise QuestionError(
            f"Measure {of_order[0]!r} is of the order of all scores and cannot stand with {unranked!r} in one list: "
            "ask for one of them, and answer the other from the same labels, result(question=...)."
        )
    return plain


def table_for(
    measures: Measures,
    pool: Pool,
    *,
    positive: Hashable | None = None,
    systems: Sequence[str] = (),
    by: str | None = None,
    average: str | None = None,
) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
    """Return the attribute of every item of a pool, and the losses of every attribute and label.

    Parameters
    ----------
    measures : str, Measure, PRCurveMeasure, or a list
        What is measured; a list is measured at once.
    pool : Pool
    positive : class name, optional
        The positive class of two-class measures; by default the second of two classes.
    systems : list of str, optional
        Systems of the pool to assess; "prediction" is its own. By default only that.
    by : str, optional
        A group column (or "prediction"): every measure within every sub-population.
    average : "macro", optional
        The mean over the sub-populations instead. In a pool of pairs of an item and a label that it may have, by
        label, this is the macro average of multi-label classification; the micro average is that of the whole pool.

    Returns
    -------
    codes : (M,) int
        Attribute of every item, 0..A-1. Where nothing but the pool's predictions matters it is the predicted class,
        and A = C; else A is the number of distinct combinations in the pool.
    table : LossTable or PRCurveTable
        Outputs are ordered by measure, then system, then sub-population, then class.

    Raises
    ------
    QuestionError
        If a measure does not fit the pool: no positive class, no scores, real labels, no such column; or an average
        has no sub-populations.

    Notes
    -----
    A sub-population's losses are divided by its share of the pool, which is known, so that its risk is a mean over
    the sub-population; a mean, such as accuracy, is a ratio there, of its loss and of being in the sub-population.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> from bayes_assess.measures import table_for
    >>> pool = ba.Pool(predictions=["cat", "dog", "dog"], systems={"b": ["dog", "dog", "cat"]})
    >>> codes, table = table_for("accuracy", pool, systems=["prediction", "b"])
    >>> codes.tolist(), table.outputs
    ([0, 2, 1], ('accuracy (system prediction)', 'accuracy (system b)'))
    """
    check_items(pool, "table_for takes measures first, then a Pool")
    _check_single(pool)
    specs: tuple[Any, ...] = combine(measures)
    columns = [systems] if isinstance(systems, str) else list(systems)
    if average is not None and not is_one_of(average, ("macro",)):
        raise QuestionError(f"An average over sub-populations is 'macro'; found {average!r}.")
    if average is not None and by is None:
        raise QuestionError("A macro average is over sub-populations: name their column, by=...")
    if specs[0].is_curve:
        if columns or by is not None:
            raise QuestionError("A precision-recall curve is that of the pool's own scores, over the whole pool.")
        scores, code = curve_scores(pool, positive)
        return curve_table(specs[0], scores, pool.n_classes, code)
    if specs[0].ranking is not None:
        return _of_ranking(specs, pool, positive, columns, by, N_LEVELS)
    code = positive_code(pool, positive)
    fixed = [spec.for_classes(pool.n_classes) for spec in specs]
    _check_fit(fixed, pool, code, columns)
    kinds = {spec.score_kind: spec.name for spec in fixed if spec.score_kind is not None}
    scores = {kind: item_scores(pool, kind, code, name) for kind, name in kinds.items()}
    attributes = attributes_of(pool, columns or [OWN], by, scores)
    return attributes.codes, _Builder(pool, attributes, code, tuple(columns), average).table(fixed)


def exact_table_for(
    measures: Measures,
    pool: Pool,
    *,
    positive: Hashable | None = None,
    systems: Sequence[str] = (),
    by: str | None = None,
    **more,
) -> tuple[Int[np.ndarray, " M"], LossTable | PRCurveTable]:
    """Return what `table_for` does, with an attribute for every score where the order of all scores matters."""
    specs = combine(measures)
    if specs[0].ranking is not None:
        columns = [systems] if isinstance(systems, str) else list(systems)
        return _of_ranking(specs, pool, positive, columns, by, None)
    return table_for(measures, pool, positive=positive, systems=systems, by=by, **more)


def _of_ranking(
    specs: tuple[Any, ...],
    pool: Pool,
    positive: Hashable | None,
    systems: list[str],
    by: str | None,
    n_levels: int | None,
) -> tuple[Int[np.ndarray, " M"], RankingTable]:
    name = specs[0].name
    if by is not None or any(system != OWN for system in systems):
        raise QuestionError(
            f"Measure {name!r} is of the pool's own scores, over the whole pool; leave out systems= and by=, or make a "
            "pool of the group, or of the other system's scores."
        )
    scores, code = curve_scores(pool, positive, name)
    return ranking_table(specs, scores, pool.n_classes, code, n_levels)


def curve_scores(
    pool: Pool, positive: Hashable | None = None, name: str = "pr_curve"
) -> tuple[Float[np.ndarray, " M"], int]:
    """Return the score of every item, most often P(positive), and the code of the positive class.

    Raises
    ------
    QuestionError
        If there is no positive class, or there are no scores.
    """
    _check_single(pool)
    code = _needed(positive_code(pool, positive), name, pool)
    if pool.margins is not None:
        return (pool.margins if code == 1 else -pool.margins), code
    return item_scores(pool, "positive", code, name), code


def _check_single(pool: Pool) -> None:
    if pool.multilabel:
        raise QuestionError("A table of losses is of items with one label each; use multilabel_measure on this pool.")


def _each(given: object) -> list[Measure | PRCurveMeasure]:
    if isinstance(given, str):
        return [measure(given)]
    if isinstance(given, Measure | PRCurveMeasure):
        return [given]
    if isinstance(given, list | tuple):
        return [spec for item in given for spec in _each(item)]
    raise QuestionError(f"A measure is a name, a Measure, or a list of these; found {show(given)}.")


def _needed(code: int | None, name: str, pool: Pool) -> int:
    if code is None and pool.exact is not None:
        raise QuestionError(
            f"Measure {name!r} is of two classes, and labels of this pool are numbers: ask for their mean, Mean(), or "
            "how far off predictions are, Metric('mae')."
        )
    if code is None:
        raise QuestionError(
            f"Measure {name!r} is of two classes, and the pool has {pool.n_classes} ({listing(pool.classes)}): name "
            "the positive class, positive=..., or ask for an average, such as 'f1_macro'."
        )
    return code


def _check_fit(measures: Sequence[Measure], pool: Pool, code: int | None, systems: Sequence[str]) -> None:
    for spec in measures:
        if spec.real and pool.exact is not None:
            raise QuestionError(
                f"Measure {spec.name!r} is of labels that are real numbers: it is asked for alone or with others of "
                f"these, Metric({spec.name!r}, by=...), and of the pool's own predictions; systems are not compared by "
                "it, nor groups."
            )
        if spec.real:
            raise QuestionError(
                f"Measure {spec.name!r} is of labels that are real numbers, which have no table over classes; say that "
                "labels are numbers by bounds=(0, 100), or bounds=(-inf, inf), of a pool of predictions."
            )
        if spec.binary:
            _needed(code, spec.name, pool)
        if spec.score_kind is not None and any(system != OWN for system in systems):
            raise QuestionError(f"Measure {spec.name!r} needs scores, and only the pool's own predictions have them.")


@dataclass(frozen=True, eq=False)
class _Builder:
    """Lays the losses of measures, systems and sub-populations side by side; equal losses are laid once."""

    pool: Pool
    attributes: Attributes
    positive: int | None
    systems: tuple[str, ...]
    average: str | None = None

    def table(self, measures: Sequence[Measure]) -> LossTable:
        n_groups = len(self.attributes.group_names)
        blocks: dict[object, int] = {}  # where the losses of a system begin in the common risk
        columns: list[tuple[np.ndarray, np.ndarray]] = []
        parts, outputs, ranges, width = [], [], [], 0
        for spec in measures:
            size, k = sizes(spec, self.pool.n_classes)
            # A mean: with the group's share estimated, too, draws count among those of the group alone.
            is_ratio = n_groups > 1 and size == 1
            size += is_ratio
            starts = []
            for system, predicted in enumerate(self.attributes.predicted):
                key = (spec.loss, spec.binary, spec.score_rows, system)
                if key not in blocks:
                    index, values = self._losses(spec, predicted, is_ratio)
                    columns.append((index + self._shift(size, width), values))
                    blocks[key], width = width, width + size * n_groups
                starts += [blocks[key] + group * size for group in range(n_groups)]
            averaged = 1 if self.average is None else n_groups
            g, defined = (_WithinGroup(_function(spec)), _is_drawn) if is_ratio else (_function(spec), spec.defined)
            derivative = _SlopeWithinGroup(spec.derivative) if is_ratio and spec.derivative else spec.derivative
            at_once = spec.derivative in AT_ONCE
            parts.append(Part(g, defined, size, tuple(starts), averaged, derivative, spec.elementwise, at_once))
            names = output_names(spec, k, self.pool.classes)
            outputs += [name + ending for ending in self._endings() for name in names]
            ranges += [spec.range] * (k * len(starts) // averaged)
        _check_distinct(outputs)
        index, values = (join(side, -1) for side in zip(*columns, strict=True))
        nonzero = (values != 0).any(-1)
        return LossTable(
            losses_of(index, values, width, LARGEST_DENSE),
            nonzero,
            tuple(parts),
            tuple(outputs),
            tuple(ranges),
            graded=all(spec.graded for spec in measures),
        )

    def _losses(self, one: Measure, predicted: Int[np.ndarray, " A"], is_ratio: bool) -> tuple[np.ndarray, np.ndarray]:
        """Losses of one system within each attribute's own sub-population: their places and values."""
        n_classes, kind = self.pool.n_classes, one.score_kind
        if kind is None:  # of every predicted class, then of every attribute
            index, values = _of_codes(one, n_classes, self.positive if one.binary else None)
            index, values = index[predicted], values[predicted]
        else:
            index, values = _evaluate(one, predicted, self.attributes.scores[kind], n_classes, self.positive)
        if one.is_own:
            size = sizes(one, n_classes)[0]
            some = SparseLosses(index[:_LOOKED_AT].astype(np.int32), values[:_LOOKED_AT], size)
            check_values(one, some.dense().reshape(-1, size))
        if is_ratio:
            index = np.concatenate([index, np.ones_like(index[..., :1])], axis=-1)
            values = np.concatenate([values, np.ones_like(values[..., :1])], axis=-1)
        return index, values / self.attributes.group_shares[self.attributes.group][:, None, None]

    def _shift(self, size: int, width: int) -> Int[np.ndarray, "A 1 1"]:
        return (width + size * self.attributes.group)[:, None, None]

    def _endings(self) -> list[str]:
        systems = [f"system {name}" for name in self.systems] or [""]
        groups = self.attributes.group_names if self.average is None else [self.average]
        pairs = [(system, group) for system in systems for group in groups]
        return [f" ({', '.join(filter(None, pair))})" if any(pair) else "" for pair in pairs]


@dataclass(frozen=True)
class _WithinGroup:
    """A mean over a sub-population as a ratio: `of` at the mean loss over what was drawn of it.

    The share of the sub-population is known, and yet dividing by it is worse: the estimate would rise and fall with the
    number of its items that happen to be drawn.

    Parameters
    ----------
    of : callable
        g, of one loss.
    """

    of: Callable[[Array], Array]

    def __call__(self, risk: Float[Array, "2"]) -> Array:
        return self.of(risk[:1] / risk[1])


@dataclass(frozen=True)
class _SlopeWithinGroup:
    """The derivative of `_WithinGroup`; `of` is that of g."""

    of: Callable[[Array], Array]

    def __call__(self, risk: Float[Array, "2"]) -> Float[Array, "K 2"]:
        inverse, slope = slopes_of_ratio(risk[0], risk[1])
        return self.of(risk[:1] * inverse) * xp.stack([inverse, slope])


def _is_drawn(risk: Float[Array, "2"]) -> Bool[Array, ""]:
    return risk[1] > 0


def _function(one: Measure) -> Callable[[Risk], Array]:
    assert one.g is not None
    return one.g


def _check_distinct(outputs: Sequence[str]) -> None:
    double = [name for name, count in Counter(outputs).items() if count > 1]
    if double:
        raise QuestionError(f"Two measures are called {double[0]!r}; give one of them another name, or leave it out.")


@lru_cache(maxsize=32)
def _of_codes(
    one: Measure, n_classes: int, positive: int | None
) -> tuple[Int[np.ndarray, "C C Z"], Float[np.ndarray, "C C Z"]]:
    """Losses of every predicted class with every label: the same for all pools."""
    return _evaluate(one, np.arange(n_classes), None, n_classes, positive)


def _evaluate(
    one: Measure, predicted: Int[np.ndarray, " U"], scores: np.ndarray | None, n_classes: int, positive: int | None
) -> tuple[Int[np.ndarray, "U C Z"], Float[np.ndarray, "U C Z"]]:
    """Losses of predictions (and scores) with every label, where they are not 0; evaluated chunk by chunk."""
    size = sizes(one, n_classes)[0]
    largest = max(1, LARGEST_DENSE // (n_classes * size))
    chunk = min(largest, 1 << (len(predicted) - 1).bit_length())  # few shapes, whatever the number of attributes
    parts = []
    for start in range(0, len(predicted), chunk):
        rows = np.minimum(np.arange(start, start + chunk), len(predicted) - 1)
        some = None if scores is None else scores[rows]
        dense = np.asarray(_cells(one, n_classes, positive if one.binary else None, predicted[rows], some))
        parts.append(compress(dense[: len(predicted) - start]))
    index, values = (join(side, 0) for side in zip(*parts, strict=True))
    if not np.isfinite(values).all():
        raise QuestionError(f"The loss of measure {one.name!r} is not finite for every prediction, score and label.")
    return index, values


def _cells(
    one: Measure, n_classes: int, positive: int | None, predicted: Int[np.ndarray, " U"], scores: np.ndarray | None
) -> Float[Array, "U C D"]:
    """Losses (U, C, D)."""
    if one.derivative is not None and len(predicted) * n_classes <= _ONE_BY_ONE:  # written for either engine
        with engine.eager():
            return _all_cells(one.loss, n_classes, positive, predicted, scores)
    with engine.compiled(), own_settings():  # once per pool, over all scores
        return np.asarray(_all_cells(one.loss, n_classes, positive, predicted, scores))


@partial(engine.jit, static_argnums=(0, 1, 2))
def _all_cells(
    loss: Any, n_classes: int, positive: int | None, predicted: Int[Array, " U"], scores: Array | None
) -> Float[Array, "U C D"]:
    labels, f = xp.arange(n_classes), xp.asarray(predicted, xp.int64)
    if positive is not None:
        labels, f = (labels == positive).astype(xp.float64), (f == positive).astype(xp.float64)

    def of_item(*known: Array) -> Array:
        return xp.asarray(loss(*known), xp.float64)  # which may be a list

    if scores is None:
        return engine.vmap(lambda prediction: engine.vmap(lambda y: of_item(y, prediction))(labels))(f)
    return engine.vmap(lambda prediction, s: engine.vmap(lambda y: of_item(y, prediction, s))(labels))(f, scores)
