"""What labels could tell at best if the rates of all cells were known: a bound that no design is expected to pass.

A stratified estimate with n_c random items of cell c has, near the truth, the variance sum_c N_c^2 s_c^2 (1 - n_c /
N_c) / n_c, where s_c is the standard deviation of what the label of an item of the cell adds to the measure. Neyman's
n_c, in proportion to N_c s_c and N_c at most, make it least. Nobody knows s_c, and designs that do not assume it do as
well at best; those that lean on a prior may do better, where it is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _campaign_rows import FLOOR

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.pool.rank_strata import RankStrata

KNOWN = "rates known"  # the name of its rows among those of designs


def known_rates_row(
    pool: ba.Pool, labels: np.ndarray, measure: str, budgets: list[int], n_strata: int = 128
) -> dict[str, Any]:
    """Compute the least standard error at every budget that is less than the items of the pool."""
    looks = sorted(budget for budget in budgets if budget < pool.n_items)
    question = ba.Metric(measure).for_pool(pool)
    setting = question.setting(pool, strata=RankStrata(n_strata))
    size = np.asarray(setting.cells.sizes)
    codes = pool.label_space.complete_codes(labels, pool.n_items)
    held = np.asarray(question.full_counts(pool, setting.cells, codes, setting.n_outcomes))
    with engine.eager():
        risk = setting.reward.risk(held / size.sum())
        table = setting.reward.table
        adds = np.asarray(table.directions(risk))[setting.reward.attribute][..., 0] / size.sum()
    share = held / size[:, None]
    mean = (share * adds).sum(1)
    spread = np.sqrt((share * (adds - mean[:, None]) ** 2).sum(1) * size / np.maximum(size - 1, 1))
    rmse = [least_error(size, spread, n) for n in looks]
    return {"budgets": looks, "rmse": rmse, "log_rmse": np.log(np.maximum(rmse, FLOOR)).tolist()}


def least_error(size: np.ndarray, spread: np.ndarray, n: int) -> float:
    """Compute the standard error of a sum over cells under Neyman's allocation of n labels.

    Examples
    --------
    >>> two, half = np.array([100, 100]), np.array([0.5, 0.5])
    >>> round(least_error(two, half, 50) ** 2, 9), least_error(two, half, 200)  # 2 x 2500 (1/25 - 1/100)
    (150.0, 0.0)
    """
    whole = np.zeros(len(size), bool)
    while True:
        left, need = n - size[whole].sum(), np.where(whole, 0.0, size * spread)
        if left <= 0 or need.sum() == 0:
            break
        drawn = left * need / need.sum()
        if not (over := drawn >= size).any():
            break
        whole |= over
    if need.sum() == 0:
        return 0.0
    drawn = np.maximum(left, 1) * need / need.sum()
    some = need > 0
    return float(np.sqrt((size**2 * spread**2 * np.maximum(1 / np.where(some, drawn, 1) - 1 / size, 0))[some].sum()))
