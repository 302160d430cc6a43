"""Tables of sets of members: interval scores, errors against the best rival, and coverage, over pools.

Geometric means are over pools. Ratios to the first set are of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _campaign_rows import FLOOR
from _known_rates import KNOWN
from _pool_means import best_rivals, bootstrap, geometric, heading, jackknife, line, with_error

Row = dict[str, Any]
Found = dict[str, dict[str, Row]]  # by set and pool


def report(rows: list[Row], rivals: list[Row]) -> str:
    """Write all tables, measure by measure."""
    parts = []
    for measure in sorted({row["measure"] for row in rows}):
        found = common_pools([row for row in rows if row["measure"] == measure])
        others = [row for row in rivals if row["measure"] == measure]
        best = best_rivals([row for row in others if row["design"] != KNOWN])
        known = best_rivals([row for row in others if row["design"] == KNOWN])
        parts += [f"# {measure}\n", *(_tables(found, best) or ["No pool has rows of all sets.\n"])]
        if known:
            parts += ["## against the least error if rates of all cells were known\n", against(found, best, known)]
    return "\n".join(parts) if parts else "There are no rows yet."


def common_pools(rows: list[Row]) -> Found:
    """Arrange rows by set and pool, of the pools that all sets have; of one pool the row of most campaigns."""
    found: Found = {}
    for row in sorted(rows, key=lambda row: row["campaigns"]):
        found.setdefault(row["set"], {})[row["pool"]] = row
    shared = sorted(set.intersection(*(set(pools) for pools in found.values())))
    return {name: {pool: pools[pool] for pool in shared} for name, pools in found.items()}


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
    lines, first = [heading(head.split())], next(iter(found.values()))
    for labels in sorted({budget for row in first.values() for budget in row["budgets"]}):
        scores: dict[str, np.ndarray] = {}
        for name, pools in found.items():
            rows = {p: (row, row["budgets"].index(labels)) for p, row in pools.items() if labels in row["budgets"]}
            column = {}
            for what in ("score", "rmse", "coverage"):
                column[what] = np.array([row[what][b] for row, b in rows.values()])
            scores[name] = np.maximum(column["score"], FLOOR)
            rmse = np.maximum(column["rmse"], FLOOR)
            rival = np.array([best.get((pool, labels), np.nan) for pool in rows])
            ratios = ((rmse / rival) ** 2)[np.isfinite(rival)]
            relative = scores[name] / next(iter(scores.values()))  # pools in the same order
            coverage = column["coverage"]
            cells = [
                jackknife(geometric, scores[name]),
                jackknife(geometric, relative),
                jackknife(geometric, rmse),
                jackknife(geometric, ratios) if len(ratios) else (np.nan, np.nan),
                bootstrap(partial(np.quantile, q=0.9), ratios),
                (ratios.max() if len(ratios) else np.nan, np.nan),
                jackknife(np.mean, coverage),
                bootstrap(partial(np.quantile, q=0.1), coverage),
                (coverage.min(initial=1.0), np.nan),
            ]
            lines.append(line([str(labels), name, str(len(rows)), *(with_error(*cell) for cell in cells)]))
    return "\n".join(lines) + "\n"


def against(found: Found, best: dict[tuple[str, int], float], known: dict[tuple[str, int], float]) -> str:
    """Write squared errors over those of Neyman's allocation to cells of known rates, and these over the best rival's.

    The least error is 0 where fewer items than that are of cells with both outcomes: medians are worth more than means.
    """
    lines = [heading("labels kind pools known/rival set mse/known median".split())]
    first = next(iter(found.values()))
    for labels in sorted({budget for row in first.values() for budget in row["budgets"]}):
        for kind in sorted({row["kind"] for row in first.values()}):
            pools = [p for p, row in first.items() if row["kind"] == kind and (p, labels) in known]
            if not pools:
                continue
            least = np.array([known[p, labels] for p in pools])
            rival = np.array([best.get((p, labels), np.nan) for p in pools])
            bound = ((least / rival) ** 2)[np.isfinite(rival)]
            for name, rows in found.items():
                own = [rows[p]["rmse"][rows[p]["budgets"].index(labels)] for p in pools]
                ratios = (np.maximum(own, FLOOR) / least) ** 2
                numbers = [with_error(*jackknife(geometric, x)) if len(x) else "nan" for x in (bound, ratios)]
                cells = [str(labels), kind, str(len(pools)), numbers[0], name, numbers[1], f"{np.median(ratios):.2f}"]
                lines.append(line(cells))
    return "\n".join(lines) + "\n"


def one_by_one(found: Found, best: dict[tuple[str, int], float]) -> str:
    """Write a line per pool and set."""
    lines = [heading("pool set score rmse mse/rival coverage least-coverage".split())]
    for pool in next(iter(found.values())):
        for name, pools in found.items():
            row = pools[pool]
            rmse = np.maximum(row["rmse"], FLOOR)
            rival = np.array([best.get((pool, budget), np.nan) for budget in row["budgets"]])
            numbers = [total_score(row), geometric(rmse), geometric((rmse / rival) ** 2)]
            numbers += [float(np.mean(row["coverage"])), min(row["coverage"])]
            lines.append(line([pool, name, *(f"{x:.3g}" for x in numbers)]))
    return "\n".join(lines) + "\n"


def total_score(row: Row) -> float:
    """Return the geometric mean of a pool's interval scores over budgets."""
    return geometric(np.maximum(row["score"], FLOOR))


def left_out(found: Found) -> str:
    """Write which set has the least score without each real pool, and its score there relative to the best set's."""
    lines = [heading("without chosen its-score-there best-there best-score-there ratio".split())]
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
        lines.append(line([pool, chosen, f"{own:.3g}", there, f"{least:.3g}", f"{own / least:.3f}"]))
    return "\n".join(lines) + "\n"
