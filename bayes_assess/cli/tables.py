"""Tables of results that fit a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import Rounded, figures, one_line, shortened, text_width, told_apart
from bayes_assess.results import (
    BestResult,
    CompareResult,
    ConfusionResult,
    CurveResult,
    GroupResult,
    MetricResult,
    PairsResult,
    PrecisionCurveResult,
    Result,
)

_WIDTH = 80  # characters of a terminal
_THRESHOLDS = 12  # of a curve
_OF_ANY_SIZE = ("estimate", "judge", "share")  # columns whose small numbers keep two digits
_SHORTEST = 8  # characters that names are never cut below


@singledispatch
def narrow(result: Result) -> list[Table]:
    """Tabulate a result in so few columns that they fit a terminal of 80 characters; of one that is unknown, in all."""
    full = result.table()
    return [_bins(full) if "p_overconfident" in full.columns else full]


@narrow.register
def _(result: GroupResult) -> list[Table]:
    full = result.table()
    return [_groups(full, result.sought_column) if "rank" in full.columns else _bins(full)]


@narrow.register
def _(result: PrecisionCurveResult) -> list[Table]:
    return [_over(result.table(), "rank", "band", ",")]


@narrow.register
def _(result: CurveResult) -> list[Table]:
    full = result.table(_THRESHOLDS)
    return [_over(full, "threshold", "interval", told_apart(full["threshold"], 3))]


@narrow.register
def _(result: ConfusionResult) -> list[Table]:
    return [_confusions(result), *([] if result.question.cost_matrix is None else narrow(result.cost))]


@narrow.register
def _(result: CompareResult) -> list[Table]:
    of_measures = "measure" in result.table().columns
    return [_verdict(result), _measures(result) if of_measures else _sides(result)]


@narrow.register
def _(result: BestResult) -> list[Table]:
    return [result.table()]


@narrow.register
def _(result: PairsResult) -> list[Table]:
    return [_pairs(result)]


@narrow.register
def _(result: MetricResult) -> list[Table]:
    return [_measures(result), *map(_judged, result.section.tables())]


def _groups(full: Table, sought: str) -> Table:
    columns = {
        "group": full["group"],
        "items": full["items"],
        "labels": full["labelled"],
        **({"right": full["right"]} if "right" in full.columns else {}),
        "estimate": full["estimate"],
        "interval": _intervals(full),
    }
    if "accuracy" in full.columns:
        columns["accuracy"] = full["accuracy"]
    else:
        ends = zip(full["rank_lower"], full["rank_upper"], strict=True)
        columns["rank"] = [f"{first}-{last}" if last else "-" for first, last in ends]
    short = re.sub(r"p_among_(\d+)_(\w+)", r"p_\2_\1", sought)
    columns[short] = full[sought]
    return _fitted(columns, full.title, ("estimate", "accuracy", short))


def _bins(full: Table) -> Table:
    columns = {
        "bin": full["bin"],
        "items": full["items"],
        "labels": full["labelled"],
        "right": full["right"],
        "confidence": full["confidence"],
        "accuracy": full["accuracy"],
        "interval": _intervals(full),
        "p_over": full["p_overconfident"],
    }
    return _fitted(columns, full.title, ("confidence", "accuracy", "p_over"), names=0)


def _confusions(result: ConfusionResult) -> Table:
    full = result.confusions()
    columns = {
        "predicted": full["predicted"],
        "label": full["label"],
        "items": full["items"],
        "labels": full["labelled"],
        "count": full["count"],
        "share": full["estimate"],
        "interval": _intervals(full),
    }
    title = f"Most frequent errors, as shares of their predicted class, {result.level:.0%} {result.guarantee} intervals"
    return _fitted(columns, title, ("share",), names=2)


def _verdict(result: CompareResult) -> Table:
    full, (first, _) = result.verdict_table(), result.names
    return full.renamed(lambda name: name.replace(first, _cut([first], _WIDTH // 2)[0]))


def _sides(result: CompareResult) -> Table:
    full, (first, second) = result.table(), result.names
    if "systems" in full.columns:
        headings = ("both right", "first right", "second right", "neither")  # in the order of the columns
        named = zip(("systems", "items", "labels", *headings), full.columns, strict=True)
        return _fitted(
            {str(name): full[column] for name, column in named},
            f"Labels by who is right: first {first}, second {second}",
        )
    columns = {name: full[name] for name in ("group", "items")} | {"labels": full["labelled"]}
    columns |= {name: full[name] for name in ("right", "accuracy", "ece") if name in full.columns}
    return _fitted(columns | {"interval": _intervals(full)}, full.title, ("accuracy", "ece"))


def _pairs(result: PairsResult) -> Table:
    full = result.table()
    masses = np.stack([full[name] for name in ("p_worse", "p_equal", "p_better")], axis=-1)
    columns = {
        "first": full["first"],
        "second": full["second"],
        "difference": [figures(difference, sign="+")[0] for difference in full["difference"]],
        "interval": _intervals(full, "+"),
        "first is": [{"equivalent": "equal"}.get(said, said.removeprefix("first is ")) for said in full["verdict"]],
        "probability": masses.max(-1),
    }
    return _fitted(columns, full.title, ("probability",), names=2)


def _measures(result: Any) -> Table:
    full = result.table()
    columns = {"measure": full["measure"], "estimate": full["estimate"], "interval": _intervals(full)}
    if "design_lower" in full.columns:
        design = Table({"lower": full["design_lower"], "upper": full["design_upper"]})
        columns[f"without {result._trusted}"] = _intervals(design)
    return _fitted(columns, f"Measures, {result.level:.0%} {result.guarantee} intervals", ("estimate",))


def _judged(full: Table) -> Table:
    ends = Table({"lower": full["bias_lower"], "upper": full["bias_upper"]})
    columns = {
        "measure": full["measure"],
        "judge": full["judge"],
        "bias": [figures(bias, sign="+")[0] for bias in full["bias"]],
        "interval": _intervals(ends, "+"),
        "random labels": full["random_labels"],
    }
    return _fitted(columns, "What the predictions alone say, and random labels for intervals as narrow", ("judge",))


def _over(full: Table, place: str, ends: str, spec: str) -> Table:
    """Tabulate precision and recall with their ends at every threshold, or rank."""
    columns: dict[str, ArrayLike] = {place: full[place]}
    for name in ("precision", "recall"):
        bounds = Table({"lower": full[f"{name}_lower"], "upper": full[f"{name}_upper"]})
        columns |= {name: full[name], f"{name} {ends}": _intervals(bounds)}
    return Table(
        columns, title=full.title, formats={place: spec, "precision": Rounded(".3f"), "recall": Rounded(".3f")}
    )


def _fitted(
    columns: Mapping[str, ArrayLike], title: str | None, numbers: tuple[str, ...] = (), *, names: int = 1
) -> Table:
    """Make a table, with the names in its first columns cut if they make it wider than a terminal."""
    formats = {name: Rounded(".3f") if name in _OF_ANY_SIZE else ".3f" for name in numbers if name in columns}
    table = Table(columns, title=title, formats=formats)
    if not names or _width(table) <= _WIDTH:
        return table

    def cut(most: int) -> Table:
        short = {name: _cut(values, most) for name, values in list(columns.items())[:names]}
        return Table({**columns, **short}, title=title, formats=formats)

    spare = _WIDTH - _width(cut(_SHORTEST))
    return cut(_SHORTEST + max(spare, 0) // names)


def _width(table: Table) -> int:
    return max(map(text_width, repr(table).splitlines()[1:]))  # below the title


def _cut(names: ArrayLike, most: int) -> np.ndarray:
    values = np.asarray(names)
    if values.dtype.kind not in "UO":
        return values
    texts = [one_line(str(value)) for value in values]
    return np.array(shortened(texts, most))


def _intervals(full: Table, sign: str = "") -> list[str]:
    ends = zip(full["lower"], full["upper"], strict=True)
    return [f"[{', '.join(figures(low, high, sign=sign))}]" for low, high in ends]
