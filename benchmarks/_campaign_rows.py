"""A row of what simulated campaigns of one design found on one pool: errors, coverage, widths and interval scores."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _padded import PaddedMetric

import bayes_assess as ba
from bayes_assess.errors import BayesAssessError

FLOOR = 1e-4  # of a root mean squared error or an interval's score, in ratios: less does not matter
LEVEL = 0.95


def campaign_row(
    pool: ba.Pool,
    labels: np.ndarray,
    measure: str,
    design: Any,
    budgets: list[int],
    campaigns: int,
    batch: int = 1,
) -> dict[str, Any] | None:
    """Simulate the campaigns of a design, and say what they found at every budget; None if it cannot serve the measure.

    Budgets are those of fewer labels than the pool has. As many looks are taken on every pool, so that programs serve
    them all: labels between two budgets stand for those that are left out.
    """
    begin = time.perf_counter(), time.process_time()
    looks = sorted(budget for budget in budgets if budget < pool.n_items)
    if not looks:
        return None
    spare = (look for look in range(looks[-1] - 1, 0, -1) if look not in looks)
    taken = sorted(looks + [next(spare) for _ in range(len(budgets) - len(looks))])
    try:
        study = ba.simulate(
            pool, labels, PaddedMetric(measure), designs={"one": design}, budgets=taken, repeats=campaigns, seed=1,
            batch=batch, level=LEVEL, progress=False,
        )  # fmt: skip
    except BayesAssessError:  # a design that cannot serve the measure
        return None
    shown = np.isin(taken, looks)
    truth, ends = float(study.truth), study.design_intervals["one"]
    scored = scores_of(study.estimates["one"][:, shown], study.intervals["one"][:, shown], truth)
    row = {"truth": truth, "budgets": looks, **scored, "campaigns": campaigns}
    if ends is not None:
        held = (ends[..., 0] <= truth + 1e-12) & (truth <= ends[..., 1] + 1e-12)
        held = np.minimum.accumulate(held, axis=1).mean(0)[shown]  # all intervals up to this one
        row |= {"design_ok": held.tolist(), "design_width": np.diff(ends)[..., 0].mean(0)[shown].tolist()}
    return row | {"seconds": time.perf_counter() - begin[0], "processor": time.process_time() - begin[1]}


def scored(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Say whether 95 % intervals hold, how wide they are, and how they score.

    Examples
    --------
    >>> held, width, score = scored(np.array([0.4, 0.7]), np.array([0.6, 0.8]), np.array([0.6, 0.6]))
    >>> held.tolist(), width.round(3).tolist(), score.round(3).tolist()
    ([True, False], [0.2, 0.1], [0.2, 4.1])
    """
    outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    return outside <= 1e-9, high - low, high - low + 2 / (1 - LEVEL) * outside


def scores_of(estimates: np.ndarray, intervals: np.ndarray, truth: float) -> dict[str, list[float]]:
    """Score estimates (R, B) and intervals (R, B, 2), (B,) each.

    The score of an interval is its width plus 2 / alpha times how far the truth lies outside.

    Examples
    --------
    >>> scores_of(np.array([[0.5], [0.7]]), np.array([[[0.4, 0.6], [0.65, 0.75]]]).reshape(2, 1, 2), 0.6)["score"]
    [1.15]
    """
    low, high = intervals[..., 0], intervals[..., 1]
    outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    rmse = np.sqrt(((estimates - truth) ** 2).mean(0))
    found = {
        "rmse": rmse,
        "log_rmse": np.log(np.maximum(rmse, FLOOR)),
        "coverage": (outside <= 1e-12).mean(0),
        "width": (high - low).mean(0),
        "score": (high - low + 2 / (1 - LEVEL) * outside).mean(0),
    }
    return {name: [round(float(x), 12) for x in values] for name, values in found.items()}
