"""Figures in the shape of [NH]'s: convergence, errors by pool and method, and a hundred precision-recall curves."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from _nh_tables import Found, Methods
from matplotlib.axes import Axes

# Colours of Okabe and Ito, which the colour-blind tell apart; dashes and markers tell lines apart in grey.
STYLES = {
    "Passive": ("#000000", ":", "x"),
    "Stratified": ("#56B4E9", "-.", "P"),
    "IS": ("#E69F00", "--", "s"),
    "OASIS": ("#CC79A7", (0, (5, 1, 1, 1, 1, 1)), "D"),
    "Ours-8": ("#0072B2", "-", "o"),
    "Ours-1": ("#D55E00", (0, (8, 2)), "^"),
    "Ours-1, blockwise": ("#009E73", (0, (1, 1)), "v"),
}
CURVES_OF = ("Ours-8", "IS", "Passive")  # [NH] Figure 4, from left to right


def convergence(path: Path, title: str, methods: Methods, ylabel: str) -> None:
    """Draw divergence and mean squared error against labels, in the shape of [NH] Figure 2."""
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(8.5, 6.5), sharex=True, height_ratios=(1, 1.6), layout="constrained"
    )
    for name, found in methods.items():
        color, dash, marker = STYLES[name]
        style = {"color": color, "linestyle": dash, "marker": marker, "markersize": 4, "linewidth": 1.5}
        for ax, mean, band in ((upper, found.divergence, found.divergence_band), (lower, found.mse, found.band)):
            ax.fill_between(found.looks, band[:, 0], band[:, 1], color=color, alpha=0.18, linewidth=0)
            ax.plot(found.looks, mean, label=name, **style)
    lower.set_yscale("log")
    lower.set_xscale("log")
    upper.set_ylim(bottom=0)
    upper.set_ylabel("KL divergence from\nthe best proposal")
    lower.set_ylabel(ylabel)
    lower.set_xlabel("labels")
    looks = next(iter(methods.values())).looks
    _label_ticks(lower, int(looks[0]), int(looks[-1]))
    for ax in (upper, lower):
        _tidy(ax)
    n = next(iter(methods.values())).n_campaigns
    upper.set_title(f"{title}:\n{n:,} campaigns, 95 % bootstrap bands", fontsize=11, loc="left")
    handles, names = lower.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False, handlelength=3.5)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def summary(path: Path, title: str, pools: dict[str, Methods], xlabel: str) -> None:
    """Draw mean squared errors when all labels are used, by pool and method, in the shape of [NH] Figure 3."""
    heights = [len(methods) for methods in pools.values()]
    figure, axes = plt.subplots(
        len(pools),
        1,
        figsize=(7.5, 0.9 + 0.27 * sum(heights)),
        sharex=True,
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
    )
    for ax, (pool, methods) in zip(axes[:, 0], pools.items(), strict=True):
        for y, (name, found) in enumerate(methods.items()):
            color, _, marker = STYLES[name]
            ax.hlines(y, *found.band[-1], color=color, linewidth=2.5)
            ax.plot(found.mse[-1], y, marker=marker, color=color, markersize=7)
        ax.set_yticks(range(len(methods)), list(methods))
        ax.set_ylim(len(methods) - 0.4, -0.6)
        ax.set_ylabel(pool)
        ax.set_xscale("log")
        _tidy(ax)
    axes[-1, 0].set_xlabel(xlabel)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def hundred_curves(path: Path, pool: str, methods: Methods) -> bool:
    """Draw estimated precision-recall curves of some campaigns over the true one, in the shape of [NH] Figure 4.

    Returns
    -------
    Whether there were any to draw.
    """
    shown: dict[str, tuple[Found, dict]] = {}
    for name in CURVES_OF:
        curves = methods[name].curves if name in methods else None
        if curves is not None:
            shown[name] = methods[name], curves
    if not shown:
        return False
    figure, axes = plt.subplots(
        1, len(shown), figsize=(3.4 * len(shown), 4.2), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for ax, (name, (_, curves)) in zip(axes[0], shown.items(), strict=True):
        n = len(curves["truth"]) // 2
        for curve in curves["estimates"]:
            ax.plot(curve[n:], curve[:n], color="#404040", linewidth=0.5, alpha=0.35)
        ax.plot(curves["truth"][n:], curves["truth"][:n], color="#D55E00", linewidth=2)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall")
        ax.set_title(f"{name}: {len(curves['estimates'])} campaigns", fontsize=11)
        _tidy(ax)
    axes[0, 0].set_ylabel("precision")
    labels = next(iter(shown.values()))[0].looks[-1]
    figure.suptitle(f"{pool}: estimated curves (grey) after {labels:,} labels, and the true one", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return True


def _tidy(ax: Axes) -> None:
    ax.grid(color="#D9D9D9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _label_ticks(ax: Axes, first: int, last: int) -> None:
    """Write plain numbers under a logarithmic axis."""
    ticks = [k * 10**p for p in range(6) for k in (1, 2, 5) if first <= k * 10**p <= last]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.minorticks_off()
