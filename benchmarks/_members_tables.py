"""Tables of sets of members: interval scores, errors against the best rival, and coverage, over pools.

Geometric means are over pools; standard errors are the jackknife's over pools, which hold what chance does in the
choice of pools and in the campaigns of each, and of quantiles the bootstrap's. Ratios to the first set are of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _campaign_rows import FLOOR

Row = dict[str, Any]
Found = dict[str, dict[str, Row]]  # by set and pool
_RESAMPLED = 400


def jackknife(statistic: Callable[[np.ndarray], float], values: np.ndarray) -> tuple[float, float]:
    """Compute a statistic of pools, and its standard error.

    Examples
    --------
    >>> jackknife(np.mean, np.array([1.0, 2.0, 3.0]))  # that of a mean is the usual one
    (2.0, 0.5773502691896257)
    """
    n = len(values)
    if n < 2:
        return float(statistic(values)) if n else np.nan, np.nan
    without = np.array([statistic(np.delete(values, i)) for i in range(n)])
    return float(statistic(values)), float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


def bootstrap(statistic: Callable[[np.ndarray], float], values: np.ndarray) -> tuple[float, float]:
    """Compute a statistic that is not smooth, and its standard error."""
    if len(values) < 2:
        return float(statistic(values)) if len(values) else np.nan, np.nan
    chosen = np.random.default_rng(0).integers(0, len(values), (_RESAMPLED, len(values)))
    return float(statistic(values)), float(np.std([statistic(values[one]) for one in chosen]))


def geometric(values: np.ndarray) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def report(rows: list[Row], rivals: list[Row]) -> str:
    """Write all tables, measure by measure."""
    parts = []
    for measure in sorted({row["measure"] for row in rows}):
        found = common_pools([row for row in rows if row["measure"] == measure])
        best = best_rivals([row for row in rivals if row["measure"] == measure])
        parts += [f"# {measure}\n", *_tables(found, best)]
    return "\n".join(parts) if parts else "There are no rows yet."


def common_pools(rows: list[Row]) -> Found:
    """Arrange rows by set and pool, of the pools that all sets have; of one pool the row of most campaigns."""
    found: Found = {}
    for row in sorted(rows, key=lambda row: row["campaigns"]):
        found.setdefault(row["set"], {})[row["pool"]] = row
    shared = set.intersection(*(set(pools) for pools in found.values()))
    return {name: {pool: row for pool, row in pools.items() if pool in shared} for name, pools in found.items()}


def best_rivals(rivals: list[Row]) -> dict[tuple[str, int], float]:
    """Return the least root mean squared error of the rivals by pool and number of labels."""
    best: dict[tuple[str, int], float] = {}
    for row in rivals:
        for budget, rmse in zip(row["budgets"], row["rmse"], strict=True):
            best[row["pool"], budget] = min(best.get((row["pool"], budget), np.inf), max(rmse, FLOOR))
    return best


def _tables(found: Found, best: dict[tuple[str, int], float]) -> list[str]:
    kinds: dict[str, Callable[[Row], bool]] = {
        "made pools": lambda row: row["kind"] == "zoo",
        "made pools with hidden positives": lambda row: row["facts"].get("hidden", 0) > 0,
        "made pools without hidden positives": lambda row: row["facts"].get("hidden") == 0,
        "real pools": lambda row: row["kind"] == "real",
    }
    parts = []
    for title, within in kinds.items():
        some = {name: {p: row for p, row in pools.items() if within(row)} for name, pools in found.items()}
        if next(iter(some.values())):
            parts += [f"## {title}\n", over_pools(some, best)]
    real = {name: {p: row for p, row in pools.items() if row["kind"] == "real"} for name, pools in found.items()}
    if next(iter(real.values())):
        parts += ["## real pools, one by one (geometric means over budgets)\n", one_by_one(real, best)]
        parts += ["## the best set by the score without one real pool, and how it does on that\n", left_out(found)]
    return parts


def over_pools(found: Found, best: dict[tuple[str, int], float]) -> str:
    """Write a line per set and number of labels."""
    head = "labels set pools score score/first rmse mse/rival 9th-decile worst coverage 10th-percentile worst-coverage"
    lines, first = [_heading(head.split())], next(iter(found.values()))
    for labels in sorted({budget for row in first.values() for budget in row["budgets"]}):
        scores: dict[str, np.ndarray] = {}
        for name, pools in found.items():
            rows = {
                pool: (row, row["budgets"].index(labels)) for pool, row in pools.items() if labels in row["budgets"]
            }
            column = {
                what: np.array([row[what][b] for row, b in rows.values()]) for what in ("score", "rmse", "coverage")
            }
            scores[name] = np.maximum(column["score"], FLOOR)
            rmse = np.maximum(column["rmse"], FLOOR)
            rival = np.array([best.get((pool, labels), np.nan) for pool in rows])
            ratios = ((rmse / rival) ** 2)[np.isfinite(rival)]
            relative = scores[name] / next(iter(scores.values()))[: len(rmse)]
            coverage = column["coverage"]
            cells = [
                jackknife(geometric, scores[name]),
                jackknife(geometric, relative),
                jackknife(geometric, rmse),
                jackknife(geometric, ratios) if len(ratios) else (np.nan, np.nan),
                bootstrap(lambda x: float(np.quantile(x, 0.9)), ratios),
                (ratios.max(initial=-np.inf) if len(ratios) else np.nan, np.nan),
                jackknife(np.mean, coverage),
                bootstrap(lambda x: float(np.quantile(x, 0.1)), coverage),
                (coverage.min(), np.nan),
            ]
            lines.append(_line([str(labels), name, str(len(rows)), *(_with_error(*cell) for cell in cells)]))
    return "\n".join(lines) + "\n"


def one_by_one(found: Found, best: dict[tuple[str, int], float]) -> str:
    """Write a line per pool and set."""
    lines = [_heading("pool set score rmse mse/rival coverage least-coverage".split())]
    for pool in next(iter(found.values())):
        for name, pools in found.items():
            row = pools[pool]
            rmse = np.maximum(row["rmse"], FLOOR)
            rival = np.array([best.get((pool, budget), np.nan) for budget in row["budgets"]])
            numbers = [total_score(row), geometric(rmse), geometric((rmse / rival) ** 2)]
            numbers += [float(np.mean(row["coverage"])), min(row["coverage"])]
            lines.append(_line([pool, name, *(f"{x:.3g}" for x in numbers)]))
    return "\n".join(lines) + "\n"


def total_score(row: Row) -> float:
    """Return the geometric mean of a pool's interval scores over budgets."""
    return geometric(np.maximum(row["score"], FLOOR))


def left_out(found: Found) -> str:
    """Write which set has the least score without each real pool, and its score there relative to the best set's."""
    lines = [_heading("without chosen its-score-there best-there best-score-there ratio".split())]
    scores = {name: {pool: total_score(row) for pool, row in pools.items()} for name, pools in found.items()}
    real = [pool for pool, row in next(iter(found.values())).items() if row["kind"] == "real"]
    for pool in real:
        without = {
            name: geometric(np.array([score for other, score in own.items() if other != pool]))
            for name, own in scores.items()
            if len(own) > 1
        }
        if not without:
            continue
        chosen, there = min(without, key=lambda n: without[n]), min(scores, key=lambda n: scores[n][pool])
        own, least = scores[chosen][pool], scores[there][pool]
        lines.append(_line([pool, chosen, f"{own:.3g}", there, f"{least:.3g}", f"{own / least:.3f}"]))
    return "\n".join(lines) + "\n"


def _with_error(value: float, error: float) -> str:
    return f"{value:.3g}" + ("" if np.isnan(error) else f" ± {error:.1g}")


def _heading(names: list[str]) -> str:
    return _line(names) + "\n" + _line(["---"] * len(names))


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
