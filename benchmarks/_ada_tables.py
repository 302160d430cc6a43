"""What sessions on ranked lists found: a table and figures in the shape of [ADA]'s, and what becomes of its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bayes_assess.results.plots._drawing import line_style

METHODS = ("AdaStrat", "LogStrat", "PAULA", "random")
PROMISED = ("AdaStrat", "LogStrat", "random")
FACTOR = 1.05 * 1.03  # beta (1 + epsilon), which is promised
DELTA = 0.05
DRAWN = 400  # ranks of a curve
PAPER = {  # [ADA] Figures 2 and 3, as far as numbers are given: queries and labels by items
    35_615: {"AdaStrat": ("18", ""), "LogStrat": ("78", "18K"), "PAULA": ("78", "")},
    356_150: {"LogStrat": ("156", "35K"), "PAULA": ("156", "")},
    3_561_500: {"AdaStrat": ("18", "24K"), "LogStrat": ("234", "53K"), "PAULA": ("234", ""), "random": ("", "284K")},
    35_615_000: {"AdaStrat": ("18-21", "28K"), "LogStrat": ("312", "73K"), "PAULA": ("312", ""), "random": ("", "1M")},
}
Lists = dict[int, dict[str, list[dict[str, Any]]]]


def by_list(rows: list[dict[str, Any]]) -> Lists:
    """Sort rows by items and method."""
    found: Lists = {}
    for n in sorted({row["items"] for row in rows}):
        at = {name: [row for row in rows if (row["items"], row["method"]) == (n, name)] for name in METHODS}
        found[n] = {name: sessions for name, sessions in at.items() if sessions}
    return found


def values(sessions: list[dict[str, Any]], what: str) -> np.ndarray:
    """Return a number of every session."""
    return np.array([row[what] for row in sessions], np.float64)


def mean_error(x: np.ndarray) -> tuple[float, float]:
    """Return the mean with its Monte-Carlo standard error; NaN for one session."""
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else np.nan


def shown(x: np.ndarray, style: str) -> str:
    """Write a mean, with its standard error where there is any."""
    mean, error = mean_error(x)
    return f"{mean:{style}}" + (f" ± {error:.2g}" if error > 0 else "")


def table(lists: Lists) -> str:
    """Write means over sessions, beside the paper's numbers."""
    lines = [
        "| items | method | sessions | queries | [ADA] | labels | [ADA] | greatest error | within 1.0815 | band |",
        "|--:|---|" + "--:|" * 8,
    ]
    for n, by_method in lists.items():
        for name, sessions in by_method.items():
            paper_queries, paper_labels = PAPER.get(n, {}).get(name, ("", ""))
            queries = "" if name == "random" else shown(values(sessions, "queries"), ".1f")
            within = np.mean(values(sessions, "error") <= FACTOR)
            band = "" if name == "PAULA" else f"{values(sessions, 'held').mean():.2f}"
            lines.append(
                f"| {n:,} | {name} | {len(sessions)} | {queries} | {paper_queries} | "
                f"{shown(values(sessions, 'labels'), ',.0f')} | {paper_labels} | "
                f"{values(sessions, 'error').max():.4f} | {within:.2f} | {band} |"
            )
    return "\n".join(lines)


def verdicts(lists: Lists) -> str:
    """Write which statements of [ADA] hold here."""
    rows = [row for row in (*_of_queries(lists), *_of_labels(lists), *_of_promises(lists)) if row]
    lines = ["| [ADA] | here | figures |", "| --- | --- | --- |", *rows]
    held = sum("| yes |" in row for row in rows)
    return f"Statements that hold here: {held} of {len(rows)}.\n\n" + "\n".join(lines)


def _row(words: str, holds: bool, figures: str) -> str:
    return f"| {words} | {'yes' if holds else 'no'} | {figures} |"


def _ratio(lists: Lists, n: int, what: str, first: str, second: str) -> tuple[float, float] | None:
    """Return one method's mean over another's with its standard error; None where either is missing."""
    if not {first, second} <= set(lists.get(n, {})):
        return None
    (one, e1), (two, e2) = (mean_error(values(lists[n][name], what)) for name in (first, second))
    return one / two, one / two * float(np.hypot(np.nan_to_num(e1) / one, np.nan_to_num(e2) / two))


def _of_queries(lists: Lists) -> list[str]:
    rows = []
    for n, times in ((35_615, 4.3), (3_561_500, 13.0)):
        ratio = _ratio(lists, n, "queries", "LogStrat", "AdaStrat")
        if ratio:
            words = f"{n:,} items: AdaStrat queries {times:g} times fewer points than LogStrat and PAULA (sec. 1)"
            rows.append(_row(words, ratio[0] >= times, f"{ratio[0]:.1f} ± {ratio[1]:.1g}"))
    largest = max(lists)
    if "AdaStrat" in lists[largest] and largest >= 35_615_000:
        most = values(lists[largest]["AdaStrat"], "queries").max()
        rows.append(_row("AdaStrat uses only 21 queries even for 35 million items (Fig. 2)", most <= 21, f"{most:.0f}"))
    grown = [(n, mean_error(values(at["LogStrat"], "queries"))[0]) for n, at in lists.items() if "LogStrat" in at]
    if len(grown) > 1:
        steps = np.diff([q for _, q in grown]) / np.diff(np.log10([n for n, _ in grown]))
        even = bool(np.ptp(steps) < 2)
        said = ", ".join(f"{q:.0f}" for _, q in grown)
        rows.append(_row("Queries of LogStrat and PAULA grow in proportion to log N (Fig. 2)", even, said))
    return rows


def _of_labels(lists: Lists) -> list[str]:
    rows = []
    for other, low, high in (("LogStrat", 0.2, 0.61), ("random", 0.41, 0.97)):
        saved = {n: _ratio(lists, n, "labels", "AdaStrat", other) for n in lists}
        saved = {n: (1 - ratio[0], ratio[1]) for n, ratio in saved.items() if ratio}
        if saved:
            holds = all(value >= low for value, _ in saved.values())
            said = ", ".join(f"{100 * value:.0f} ± {100 * error:.1g} %" for value, error in saved.values())
            words = f"AdaStrat takes {100 * low:.0f} to {100 * high:.0f} % fewer labels than {other}, or still fewer"
            rows.append(_row(f"{words} (sec. 5.1)", holds, f"by items: {said}"))
    for name, some, words in (("PAULA", (35_615, 356_150), "smaller"), ("AdaStrat", (3_561_500, 35_615_000), "larger")):
        there = [n for n in some if set(METHODS) <= set(lists.get(n, {}))]
        if there:
            means = [{m: mean_error(values(lists[n][m], "labels"))[0] for m in METHODS} for n in there]
            holds = all(min(mean, key=mean.__getitem__) == name for mean in means)
            said = "; ".join(
                ", ".join(f"{m} {mean[m]:,.0f}" for m in sorted(mean, key=mean.__getitem__)) for mean in means
            )
            rows.append(_row(f"{name} needs the fewest labels on the two {words} lists (Fig. 3)", holds, said))
    grown = [(n, mean_error(values(at["random"], "labels"))[0]) for n, at in lists.items() if "random" in at]
    if len(grown) > 1:
        (n0, first), (n1, last) = grown[-2:]
        slope = float(np.log(last / first) / np.log(n1 / n0))
        words = "Random sampling grows like the root of N, a slope of about 0.5 (Fig. 3)"
        rows.append(_row(words, abs(slope - 0.5) < 0.1, f"{slope:.2f} from {n0:,} to {n1:,} items"))
    return rows


def _of_promises(lists: Lists) -> list[str]:
    rows = []
    for name in PROMISED:
        errors = np.concatenate([values(at[name], "error") for at in lists.values() if name in at] or [np.zeros(0)])
        if len(errors):
            within = float(np.mean(errors <= FACTOR))
            words = f"{name} is within beta (1 + epsilon) with a probability of 95 % (Theorems 1 and 8)"
            said = f"{within:.2f} of {len(errors)} sessions, greatest factor {errors.max():.3f} of {FACTOR:.4f}"
            rows.append(_row(words, within >= 1 - DELTA, said))
    return rows


def draw_growth(path: Path, lists: Lists) -> None:
    """Draw queries and labels against items, in the shape of [ADA] Figures 2 and 3."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for axis, what in zip(axes, ("queries", "labels"), strict=True):
        for i, name in enumerate(METHODS):
            sizes = [n for n in lists if name in lists[n]]
            if not sizes or (what == "queries" and name == "random"):
                continue
            found = [values(lists[n][name], what) for n in sizes]
            style = line_style(i, len(sizes)) | {"markevery": 1}
            axis.plot(sizes, [x.mean() for x in found], label=name, **style)
            ends = np.array([np.quantile(x, [0.05, 0.95]) for x in found])
            axis.fill_between(sizes, *ends.T, color=style["color"], alpha=0.2, linewidth=0)
        # As in the paper: queries on a plain axis, labels on a logarithmic one.
        axis.set(xscale="log", yscale="linear" if what == "queries" else "log", xlabel="items", ylabel=what)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#D9D9D9", linewidth=0.6)
        axis.legend(frameon=False)
    axes[0].set_title("Queries of the precision", loc="left", fontsize=11)
    axes[1].set_title("Labels; bands hold 90 % of the sessions", loc="left", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_curves(path: Path, lists: Lists) -> bool:
    """Draw one session's curve of AdaStrat above, of LogStrat and PAULA below, in the shape of [ADA] Figure 4.

    Returns
    -------
    Whether there was any; of the lists with curves that of 3.6 million items is taken, or the longest.
    """
    curves = {n: {name: row for name in at for row in at[name] if "curve" in row} for n, at in lists.items()}
    curves = {n: at for n, at in curves.items() if at}
    if not curves:
        return False
    n = 3_561_500 if 3_561_500 in curves else max(curves)
    panels = [[name for name in names if name in curves[n]] for names in (("AdaStrat",), ("LogStrat", "PAULA"))]
    panels = [names for names in panels if names]
    if not panels:
        return False
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(8, 3.2 * len(panels)), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, names in zip(axes[:, 0], panels, strict=True):
        first = curves[n][names[0]]
        axis.plot(first["ranks"], first["truth"], color="black", linewidth=2.5, label="true precision")
        for name in names:
            row, style = curves[n][name], line_style(METHODS.index(name), 1)
            axis.plot(row["ranks"], row["curve"], color=style["color"], linestyle=style["linestyle"], label=name)
            points = {"color": style["color"], "marker": style["marker"], "markersize": 4, "linestyle": "none"}
            label = f"its {len(row['queried']) - 1} queries"
            axis.plot(row["queried"], row["at_queried"], label=label, **points)
        axis.set_ylabel("precision")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#D9D9D9", linewidth=0.6)
        axis.legend(frameon=False)
    axes[-1, 0].set_xlabel("rank")
    axes[-1, 0].xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    axes[0, 0].set_title(f"{n:,} items: one session of each design", loc="left", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return True
