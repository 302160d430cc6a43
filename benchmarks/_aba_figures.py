"""Figures in the shape of [ABA]'s: mean reciprocal ranks against labels, errors of the ECE, reliability diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from _aba_report import chosen, pools_of
from matplotlib.axes import Axes

from bayes_assess.results.plots._drawing import line_style

Rows = list[dict[str, Any]]
RANKS = {  # figure: what is sought, methods, and what it compares
    "Figure 3": ("cost", ("UPrior", "IPrior", "IPrior+TS", "UPrior+TS"), "most costly classes"),
    "Figure 11": ("accuracy", ("UPrior+TS", "UPrior+TTTS"), "TS and top-two TS"),
    "Figure 15": ("accuracy", ("UPrior+TS", "UPrior+greedy", "UPrior+UCB"), "TS, epsilon greedy and Bayesian UCB"),
    "Figure 16": ("accuracy", ("IPrior+TS", "UPrior+TS"), "informative and uninformative priors"),
    "Figure 18": (
        "accuracy", ("IPrior+TS", "IPrior+TS, 10", "IPrior+TS, 100", "Frequentist"), "strengths of the prior",
    ),
    "Figure 19": (
        "calibration", ("IPrior+TS", "IPrior+TS, 5", "IPrior+TS, 10", "Frequentist"), "strengths of the prior",
    ),
}  # fmt: skip
DEAR = ("human 10", "superclass 10")  # costs of Figure 3


def ranks(path: Path, figure: str, rows: Rows, facts: dict[str, dict]) -> bool:
    """Draw MRR against labels, a column per pool, one group sought above and m below.

    Returns
    -------
    Whether there were two methods to compare on some pool.
    """
    sought, methods, words = RANKS[figure]
    kinds = DEAR if sought == "cost" else (sought,)
    own = [row for row in chosen(rows, part="search") if row["sought"] in kinds and row["method"] in methods]
    columns = [(pool, kind) for pool in pools_of(own) for kind in kinds if len(_names(own, pool, kind)) > 1]
    if not columns:
        return False
    depth = 1 if figure == "Figure 11" else 2
    grid, axes = plt.subplots(
        depth, len(columns), figsize=(max(2.9 * len(columns) + 1, 7.0), 0.8 + 2.5 * depth), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for column, (pool, kind) in zip(axes.T, columns, strict=True):
        for ax, m in zip(column, (1, facts[pool]["m"]), strict=False):
            for i, name in enumerate(methods):
                for row in chosen(own, pool=pool, sought=kind, m=m, method=name):
                    _curve(ax, row, i, name, 100 / facts[pool]["items"])
            ax.set_visible(bool(ax.lines))
            _finish(ax, f"{pool}{f', {kind}' if sought == 'cost' else ''}, m = {m}", "percent of the pool labelled")
    for ax in axes[:, 0]:
        ax.set_ylabel("mean reciprocal rank")
    handles: dict[str, Any] = {}
    for ax in axes.flat:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    grid.legend(list(handles.values()), list(handles), loc="outside right", frameon=False, fontsize=8)
    n = max(row["campaigns"] for row in own)
    grid.suptitle(f"{figure}'s shape: {words},\nup to {n:,} campaigns ± 2 standard errors", fontsize=11)
    grid.savefig(path, dpi=130)
    plt.close(grid)
    return True


def _names(rows: Rows, pool: str, kind: str) -> set[str]:
    return {row["method"] for row in chosen(rows, pool=pool, sought=kind)}


def _curve(ax: Axes, row: dict[str, Any], i: int, name: str, percent: float) -> None:
    x, y = percent * np.array(row["looks"]), np.array(row["mrr"])
    error = np.nan_to_num(np.array(row["mrr_error"], np.float64))
    style: dict[str, Any] = line_style(i, len(x)) | {"markersize": 3.5, "linewidth": 1.5}
    ax.fill_between(x, y - 2 * error, y + 2 * error, color=style["color"], alpha=0.18, linewidth=0)
    ax.plot(x, y, label=name, **style)
    ax.set_ylim(0, 1.03)


def ece_errors(path: Path, rows: Rows) -> bool:
    """Draw errors of the ECE against labels, as [ABA] Figure 6; return whether there were any."""
    own = chosen(rows, part="ece")
    if not own:
        return False
    grid, axes = plt.subplots(1, len(own), figsize=(max(2.9 * len(own), 7.0), 3.3), squeeze=False, layout="constrained")
    for ax, row in zip(axes[0], own, strict=True):
        for i, (key, name) in enumerate((("plain", "frequentist"), ("bayes", "posterior mean"))):
            x, y = np.array(row["looks"]), np.array(row[key])
            error, style = np.nan_to_num(np.array(row[f"{key}_error"], np.float64)), line_style(i, len(row["looks"]))
            ax.fill_between(x, y - 2 * error, y + 2 * error, color=style["color"], alpha=0.18, linewidth=0)
            ax.plot(x, y, label=name, **style)
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        _finish(ax, f"{row['pool']}, ECE {100 * row['truth']:.1f} %", "labels")
    axes[0, 0].set_ylabel("error of the ECE, percent of it")
    axes[0, -1].legend(frameon=False, fontsize=8)
    grid.suptitle(
        f"Figure 6's shape: {max(row['campaigns'] for row in own):,} campaigns ± 2 standard errors", fontsize=11
    )
    grid.savefig(path, dpi=130)
    plt.close(grid)
    return True


def reliability(path: Path, rows: Rows) -> bool:
    """Draw reliability diagrams, a column per pool, rows by strength of the prior and labels, as [ABA] Figure 17."""
    own = chosen(rows, part="reliability")
    pools, strengths = pools_of(own), sorted({float(row["method"]) for row in own})
    if not own:
        return False
    depth = len(own[0]["at"])
    grid, axes = plt.subplots(
        depth * len(strengths), len(pools), figsize=(max(2.3 * len(pools), 7.5), 2.1 * depth * len(strengths)),
        sharex=True, sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for column, pool in enumerate(pools):
        for s, strength in enumerate(strengths):
            for row in chosen(own, pool=pool, method=f"{strength:g}"):
                for t, at in enumerate(row["at"]):
                    ax = axes[s * depth + t, column]
                    _diagram(ax, at)
                    _finish(ax, f"{pool}, prior {strength:g}, {at['n']:,} labels", "")
    for ax in axes[-1]:
        ax.set_xlabel("confidence")
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy")
    grid.suptitle("Figure 17's shape: posterior means and 95 % intervals; bars are shares of the labels", fontsize=11)
    grid.savefig(path, dpi=110)
    plt.close(grid)
    return True


def _diagram(ax: Axes, at: dict[str, Any]) -> None:
    x, y, n = (np.array(at[name]) for name in ("confidence", "accuracy", "labelled"))
    ax.bar(x, n / max(n.sum(), 1), width=0.05, color="#56B4E9", alpha=0.5)
    ax.plot([0, 1], [0, 1], color="#808080", linewidth=1, linestyle="--")
    ax.vlines(x, at["lower"], at["upper"], color="#D55E00", linewidth=1.2)
    ax.vlines(x, np.minimum(x, y), np.maximum(x, y), color="#B0B0B0", linewidth=5, alpha=0.5)
    ax.plot(x, y, "o", color="#D55E00", markersize=4)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


def _finish(ax: Axes, title: str, xlabel: str) -> None:
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(xlabel)
    ax.grid(color="#E3E3E3", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
