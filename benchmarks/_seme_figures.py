"""Figures in the shape of [SEME]'s: single experiments, errors, coverage, certain items, and measures crossed."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _seme_tables import LEVEL, Certainty, Found, mean_and_error
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_assess.results.plots._drawing import line_style

ORDER = ("Uniform, repl.", "Uniform", "Importance", "Poisson")


def one_experiment(path: Path, title: str, found: list[Found]) -> None:
    """Draw the first repeat's estimates and published intervals, a panel per method, as [SEME] Figures 1, 6 and 7."""
    figure, axes = _panels(len(found), f"{title}: one experiment, {100 * LEVEL:.0f} % intervals")
    for ax, one in zip(axes, found, strict=True):
        q, there = one.measures.index(one.measure), one.reached
        x, y, ends = one.shares[there], one.estimates[there, 0, q], one.ends[there, 0, q]
        ax.fill_between(x, *ends.T, color=_style(one.method)["color"], alpha=0.2, linewidth=0)
        ax.plot(x, y, **_style(one.method))
        ax.axhline(one.truth[q], color="black", linewidth=1)
        _finish(ax, one.method)
    axes[0].set_ylabel(found[0].measure)
    _save(figure, path)


def errors(path: Path, title: str, found: list[Found], logarithms: bool) -> None:
    """Draw mean errors of every measure, a panel each: absolute as in [SEME] Figures 2 and 5, or of Figures 8 and 9."""
    n = found[0].estimates.shape[1]
    words = "mean log (error²)" if logarithms else "mean |error|"
    figure, axes = _panels(len(found[0].measures), f"{title}: {words} ± 2 standard errors, {n} repeats", sharey=False)
    for q, (ax, name) in enumerate(zip(axes, found[0].measures, strict=True)):
        for one in found:
            mean, error = mean_and_error((one.log_errors if logarithms else one.errors)[..., q])
            _line(ax, one, mean, error)
        if not logarithms:
            ax.set_yscale("log")
        _finish(ax, name)
    axes[0].set_ylabel(words)
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside right", frameon=False, fontsize=8)
    _save(figure, path)


def coverage(path: Path, title: str, found: list[Found]) -> None:
    """Draw how often intervals hold the truth: those of all measures as in [SEME] Figure 3, and the package's own."""
    figure, axes = _panels(len(found), f"{title}: coverage of {100 * LEVEL:.0f} % intervals")
    for ax, one in zip(axes, found, strict=True):
        x, cover = one.shares[one.reached], one.inside.mean(1)[one.reached]
        for q, name in enumerate(one.measures):
            ax.plot(x, cover[:, q], label=name, **line_style(q, 1) | {"linewidth": 1.2})
        own = one.own_inside.mean(1)[one.reached]
        ax.plot(x, own, color="black", linewidth=2.2, label=f"{one.measure}, ours")
        ax.axhline(LEVEL, color="#808080", linewidth=1)
        ax.set_ylim(-0.02, 1.02)
        _finish(ax, one.method)
    axes[0].set_ylabel("share of intervals that hold the truth")
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside right", frameon=False, fontsize=8)
    _save(figure, path)


def certain_items(path: Path, title: str, one: Certainty) -> None:
    """Draw the share of items that Poisson draws with certainty, and chances of items, as [SEME] Figure 4."""
    figure, axes = _panels(3, f"{title}: chances of items to be drawn for F1", sharex=False, sharey=False)
    axes[0].plot(one.shares, one.certain, **line_style(3, 1))
    _finish(axes[0], "certain items, Poisson")
    axes[0].set_ylabel("share of the pool")
    shades = plt.get_cmap("viridis")(np.linspace(0.9, 0.1, len(one.shares)))
    for ax, name in zip(axes[1:], ("poisson", "importance"), strict=True):
        for t, share in enumerate(one.shares):
            ax.plot(one.places + 1, one.curves[name][t], color=shades[t], label=f"{100 * share:g} %")
        _finish(ax, name.capitalize())
        ax.set(xscale="log", xlabel="item, most likely first", ylim=(-0.02, 1.05))
    axes[1].set_ylabel("chance")
    figure.legend(
        *axes[2].get_legend_handles_labels(), loc="outside right", frameon=False, fontsize=8, title="labelled"
    )
    _save(figure, path)


def crossed(path: Path, title: str, found: list[Found]) -> None:
    """Draw errors of every measure, a panel each, by the measure sampled for, as [SEME] Figures 6, 10 and 11."""
    figure, axes = _panels(len(found[0].measures), f"{title}: mean log (error²) by the measure sampled for")
    for q, (ax, name) in enumerate(zip(axes, found[0].measures, strict=True)):
        for i, one in enumerate(found):
            mean, _ = mean_and_error(one.log_errors[..., q])
            width = 2.6 if one.measure == name else 1.1
            there = one.reached
            ax.plot(one.shares[there], mean[there], label=one.measure, **line_style(i, 1) | {"linewidth": width})
        _finish(ax, f"estimated: {name}")
    axes[0].set_ylabel("mean log (error²)")
    entries = axes[-1].get_legend_handles_labels()
    figure.legend(*entries, loc="outside right", frameon=False, fontsize=8, title="sampled for")
    _save(figure, path)


def _style(method: str) -> dict:
    return line_style(ORDER.index(method), 1)


def _line(ax: Axes, one: Found, mean: np.ndarray, error: np.ndarray) -> None:
    style, there = _style(one.method), one.reached
    x, mean, error = one.shares[there], mean[there], error[there]
    ax.fill_between(x, mean - 2 * error, mean + 2 * error, color=style["color"], alpha=0.2, linewidth=0)
    ax.plot(x, mean, label=one.method, **style)


def _panels(n: int, title: str, sharex: bool = True, sharey: bool = True) -> tuple:
    figure, axes = plt.subplots(
        1, n, figsize=(max(3.1 * n, 4.5), 3.6), sharex=sharex, sharey=sharey, squeeze=False, layout="constrained"
    )
    figure.suptitle(title, fontsize=11)
    return figure, axes[0]


def _finish(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize=10)
    ax.set_xlabel("share of the pool labelled")
    ax.grid(color="#D9D9D9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=130)
    plt.close(figure)
