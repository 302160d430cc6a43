"""The attributes of a pool's items: the distinct things that losses may depend on, beside the label.

Shapes: items M, attributes A, classes C.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.arrays import listing, show
from bayes_assess._tools.coded import CodedColumn, factorised
from bayes_assess._tools.shapes import Float, Int
from bayes_assess.errors import PoolError, QuestionError
from bayes_assess.pool._classes import codes_of
from bayes_assess.pool._scores import both_columns
from bayes_assess.pool.counting import count, distinct_codes
from bayes_assess.pool.pool import Pool

OWN = "prediction"  # the pool's own predictions, where a column is named


@dataclass(frozen=True, eq=False)
class Attributes:
    """What the losses know of the items."""

    codes: Int[np.ndarray, " M"]  # attribute of every item
    predicted: tuple[Int[np.ndarray, " A"], ...]  # predicted class, for every system
    scores: dict[str, np.ndarray]  # "positive" and "confidence" (A,), "rows" (A, C)
    group: Int[np.ndarray, " A"]  # sub-population
    group_names: tuple[str, ...]
    group_shares: Float[np.ndarray, " V"]  # of the pool's items


def positive_code(pool: Pool, positive: object) -> int | None:
    """Return the code of the positive class: the one named, else the second of two, else None.

    A name in another case, or True for ``"true"``, is taken for a class if there is but one like it.

    Raises
    ------
    QuestionError
        If it is not a class of the pool.
    """
    if positive is None:
        return 1 if pool.n_classes == 2 else None
    if np.asarray(positive).ndim:
        raise _several(positive)
    codes, wrong = codes_of(np.asarray([positive]), pool.classes)
    if wrong is not None:
        folded = str(positive).strip().casefold()
        alike = [code for code, name in enumerate(pool.classes.tolist()) if str(name).strip().casefold() == folded]
        if len(alike) == 1:
            return alike[0]
        if isinstance(positive, set | frozenset):
            raise _several(positive)
        raise QuestionError(
            f"The positive class {show(positive)} is not a class of the pool ({listing(pool.classes)}); declare all "
            "classes if a label can be it."
        )
    return int(codes[0])


def item_scores(pool: Pool, kind: str, positive: int | None, name: str) -> np.ndarray:
    """Return what a loss takes as s, float64 (M,) or (M, C).

    Raises
    ------
    QuestionError
        If the pool does not have it.
    """
    if kind == "confidence" and pool.confidence is not None:
        return pool.confidence
    if kind == "positive" and positive is not None:
        if pool.scores is not None:
            scores = pool.scores if pool.scores.ndim == 2 else both_columns(pool.scores)
            return scores[:, positive].astype(np.float64)
        if pool.confidence is not None and pool.n_classes == 2:
            return np.where(pool.predictions == positive, pool.confidence, 1 - pool.confidence)
    if kind == "rows" and pool.scores is not None:
        return (pool.scores if pool.scores.ndim == 2 else both_columns(pool.scores)).astype(np.float64)
    what = "a confidence" if kind == "confidence" else "scores"
    raise QuestionError(f"Measure {name!r} needs {what}, which this pool lacks; give it some by scores=[...].")


def system_codes(pool: Pool, system: str) -> Int[np.ndarray, " M"]:
    """Return the predictions of a system as codes of the pool's classes."""
    try:
        return pool.system_codes(system)
    except PoolError as error:
        raise QuestionError(str(error)) from None


def attributes_of(pool: Pool, systems: Sequence[str], by: str | None, scores: dict[str, np.ndarray]) -> Attributes:
    """Find the distinct combinations of systems' predictions, sub-population and scores.

    A pool's own predictions alone have all C classes as attributes, predicted or not.
    """
    predicted = [system_codes(pool, system) for system in systems]
    if tuple(systems) == (OWN,) and by is None and not scores:
        every = np.arange(pool.n_classes)
        none = np.zeros(pool.n_classes, np.int64)
        return Attributes(pool.predictions.astype(np.int64), (every,), {}, none, ("",), np.ones(1))
    group_names, group = _groups(pool, by)
    columns = [*predicted, group, *(_ranks(values) for values in scores.values())]
    codes, first = _distinct(columns, pool.n_rows)
    shares = count(group, len(group_names), pool.multiplicity) / pool.n_items
    return Attributes(
        codes=codes,
        predicted=tuple(column[first] for column in predicted),
        scores={kind: values[first] for kind, values in scores.items()},
        group=group[first],
        group_names=group_names,
        group_shares=shares,
    )


def _groups(pool: Pool, by: str | None) -> tuple[tuple[str, ...], Int[np.ndarray, " M"]]:
    if by is None:
        return ("",), np.zeros(pool.n_rows, np.int64)
    if by == OWN:
        predicted, place = distinct_codes(pool.predictions, pool.n_classes)
        names, group = factorised(CodedColumn(pool.classes[predicted], place))
    else:
        _check_column(pool, by, "sub-population")
        names, group = pool.groups.factorised(by)
    return tuple(f"{by} {name}" for name in names.tolist()), group


def _check_column(pool: Pool, name: str, what: str) -> None:
    if name not in pool.groups:
        known = listing(list(pool.groups)) if pool.groups else "none"
        raise QuestionError(f"There is no group column {name!r} to take as {what}; the pool's group columns: {known}.")


def _ranks(values: np.ndarray) -> Int[np.ndarray, " M"]:
    """Return a number for each of the distinct values (or rows) of an array."""
    axis = 0 if values.ndim == 2 else None  # rows are slow to sort
    return np.unique(values, return_inverse=True, axis=axis)[1].reshape(-1)


def _distinct(
    columns: Iterable[Int[np.ndarray, " M"]], n_items: int
) -> tuple[Int[np.ndarray, " M"], Int[np.ndarray, " A"]]:
    """Return numbers of the distinct combinations of columns, and an item of each."""
    codes, n = np.zeros(n_items, np.int64), 1
    for column in columns:  # at most M codes are left after each, so that products stay far below 2^63
        below = int(column.max()) + 1
        distinct, codes = distinct_codes(codes * below + column, n * below)
        n = len(distinct)
    first = np.empty(n, np.int64)
    first[codes[::-1]] = np.arange(n_items)[::-1]
    return codes, first


def _several(positive: object) -> QuestionError:
    """Say what is asked about several classes together."""
    return QuestionError(
        f"The positive class is the name of one class; found {show(positive)}. The share of the items whose label is "
        "one of several classes is ba.Mean(values={...}), with 1 for these and 0 for all others; --question mean with "
        "--values on the command line."
    )
