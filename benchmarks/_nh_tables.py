"""What campaigns on the pools of [NH] found, by method: from rows of a file to tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from _nh_pools import PUBLISHED, is_published
from _rows import read_rows

KEY = ("task", "pool", "method", "campaigns", "batch", "labels")
INTRODUCTION = """# [NH]'s Figures 2 to 8

[NH] is Marchant, Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under Extreme Class Imbalance* (KDD
2021). Its own pools are those that have its F1 score (Table 3); others stand in for these.

Methods: **Passive** draws all items alike, with replacement. **Stratified** allocates labels to strata in proportion to
their sizes, without replacement, and collapses strata without labels with their neighbours, which [NH]'s published code
leaves out. **IS** is static importance sampling by the scores (here averaged over the items of a stratum
with the same prediction). **OASIS** serves the F1 score alone. **Ours-8** and **Ours-1** adapt the proposal to a
Dirichlet tree of depth 8 and 1. **Ours-1, blockwise** gives all items of a block the same probability, labelled or not,
as [NH]'s published code does where its partition is flat (which takes the norm of mean losses, not the mean of squared
norms). There are 256 strata at most, by the cumulated square root of frequencies, and of equal width for curves. Labels
count items, each once; an item drawn again is free.

MSE is the mean of squared errors over campaigns, ± its standard error; bands are the percentiles 2.5 and 97.5 of
1,000 bootstrap samples. Bias is the mean error. Coverage is that of nominal 95 % intervals (an interval of a
measure that the draws do not define yet is [0, 1], and covers); those "from the last" have the variance of [NH] 3.3.2,
`variance_of_last`. Divergence is KL(best proposal || proposal), in nats.

| pool | file | [NH]'s own | items | positives | items per positive | predicted positives | F1 | F1 in [NH] | accuracy |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


@dataclass(frozen=True, eq=False)
class Found:
    """What the campaigns of one method found on one pool: B looks, T of them in tables.

    Attributes
    ----------
    looks : (B,)
        Labels.
    shown : (T,)
        Positions of those in tables.
    mse, mse_error, bias, draws, divergence : (B,)
        Means over campaigns; squares are summed over precisions and recalls where there are many, errors averaged.
    band, divergence_band : (B, 2)
        Bootstrap 95 % bands.
    coverage, coverage_last, width : (T,)
        Of intervals, and of those from `variance_of_last`.
    seconds, compiling : float
        Of all campaigns, and of a first call with next to no labels (NaN: in `seconds`, too).
    curves : mapping, optional
        True precisions and recalls, (2 T,), and those of some campaigns, (R, 2 T).
    """

    n_campaigns: int
    batch: int
    looks: np.ndarray
    shown: np.ndarray
    mse: np.ndarray
    mse_error: np.ndarray
    band: np.ndarray
    bias: np.ndarray
    draws: np.ndarray
    divergence: np.ndarray
    divergence_band: np.ndarray
    coverage: np.ndarray
    coverage_last: np.ndarray
    width: np.ndarray
    seconds: float
    compiling: float
    curves: dict[str, np.ndarray] | None = None

    @classmethod
    def of(cls, row: dict[str, Any]) -> Found:
        """Read a row."""
        names = "looks shown mse mse_error band bias draws divergence divergence_band coverage coverage_last width"
        arrays = {name: np.array(row[name]) for name in names.split()}
        curves = {name: np.array(values) for name, values in row["curves"].items()} if "curves" in row else None
        compiling = np.nan if row["compiling"] is None else row["compiling"]
        return cls(row["campaigns"], row["batch"], **arrays, seconds=row["seconds"], compiling=compiling, curves=curves)

    @property
    def ms_per_label(self) -> float:
        """Wall-clock milliseconds of one label of one campaign, compiling apart."""
        return np.nan if np.isnan(self.compiling) else 1000 * self.seconds / (self.n_campaigns * int(self.looks[-1]))


Methods = dict[str, Found]
Tasks = dict[str, dict[str, Methods]]


def read_tasks(path: Any, tasks: list[str], pools: list[str]) -> tuple[Tasks, dict[str, dict[str, Any]]]:
    """Read methods by task and pool, and the facts of pools.

    Of rows of one task that differ in campaigns, batches or labels those with most campaigns are kept, then labels.
    """
    found: dict[str, dict[str, dict[str, dict]]] = {}
    facts: dict[str, dict[str, Any]] = {}
    rows = [row for row in read_rows(path) if row.get("task") in tasks and row.get("pool") in pools]
    for task in tasks:
        settings = {(row["campaigns"], row["labels"], row["batch"]) for row in rows if row["task"] == task}
        for row in rows:
            if row["task"] == task and (row["campaigns"], row["labels"], row["batch"]) == max(settings):
                found.setdefault(task, {}).setdefault(row["pool"], {})[row["method"]] = row
                facts[row["pool"]] = row["facts"]
    read = {
        task: {pool: {name: Found.of(row) for name, row in found[task][pool].items()} for pool in pools if pool in at}
        for task, at in found.items()
    }
    return read, {pool: facts[pool] for pool in pools if pool in facts}


def pool_row(name: str, facts: dict[str, Any]) -> str:
    """Write what explains the figures of a pool."""
    own, positives = "yes" if is_published(name, facts) else "no", facts["positives"]
    per_positive = f"{facts['items'] / positives:,.0f}" if positives else "-"
    return (
        f"| {name} | {facts['file']} | {own} | {facts['items']:,} | {positives:,} | {per_positive} | "
        f"{facts['predicted']:,} | {facts['f1']:.3f} | {PUBLISHED[name].f1:.3f} | {facts['accuracy']:.5f} |"
    )


def table(methods: Methods) -> str:
    """Write a table of one pool, a row per number of labels and method."""
    lines = [
        "| labels | method | MSE | ± | 95 % band | bias | coverage, % | mean width | coverage from the last, % | "
        "draws per label | divergence |",
        "| ---: | --- |" + " ---: |" * 9,
    ]
    any_one = next(iter(methods.values()))
    for t, look in enumerate(any_one.shown):
        for name, found in methods.items():
            low, high = found.band[look]
            lines.append(
                f"| {found.looks[look]:,} | {name} | {found.mse[look]:.2e} | {found.mse_error[look]:.0e} | "
                f"{low:.2e} to {high:.2e} | {found.bias[look]:+.4f} | {100 * found.coverage[t]:.1f} | "
                f"{found.width[t]:.3f} | {100 * found.coverage_last[t]:.1f} | "
                f"{found.draws[look] / found.looks[look]:.2f} | {found.divergence[look]:.2f} |"
            )
    return "\n".join(lines)


def times(tasks: Tasks, facts: dict[str, dict[str, Any]]) -> str:
    """Say how long a query took, beside what is quoted of the implementation of [NH]."""
    lines = [
        "## Time per query",
        "",
        "| task | pool | items | method | compiling, s | campaigns, s | ms per query and campaign |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    ours = []
    for task, by_pool in tasks.items():
        for pool, methods in by_pool.items():
            for name, one in methods.items():
                if np.isnan(one.compiling):
                    continue
                seconds = f"{one.compiling:.0f} | {one.seconds:.0f} | {one.ms_per_label:.3f}"
                lines.append(f"| {task} | {pool} | {facts[pool]['items']:,} | {name} | {seconds} |")
                ours += [one.ms_per_label] if name == "Ours-8" else []
    if not ours:
        return ""
    lines += [
        "",
        f"Ours-8 takes {min(ours):.2g} to {max(ours):.2g} ms of wall clock per query, many campaigns at once, "
        "compiling apart. For [NH]'s published implementation earlier trials gave 14 to 23 ms per query "
        "at 50,000 items and 100 to 480 ms at 500,000: quoted figures, not measured here, of one campaign at a time.",
    ]
    return "\n".join(lines) + "\n"
