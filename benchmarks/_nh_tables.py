"""What campaigns on the pools of [NH] found, as tables, figures, and verdicts on what [NH] says of the same pools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from bayes_assess.estimators.intervals import bootstrap_interval

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
PLAIN = ("Passive", "Stratified")
BIASED = ("Ours-8", "Ours-1", "OASIS", "IS")
OVERVIEW = {"f1": "Figure 3", "accuracy": "Figure 6(b)", "curve": "Figure 8, at its right end"}


@dataclass(frozen=True, eq=False)
class Found:
    """What the campaigns of one method found on one pool: R campaigns, B looks, T of them in tables."""

    looks: np.ndarray  # (B,) labels
    shown: np.ndarray  # (T,) positions of those in tables
    squares: np.ndarray  # (R, B) squared errors, summed over precisions and recalls where there are many
    errors: np.ndarray  # (R, B) errors, averaged over these
    draws: np.ndarray  # (R, B)
    divergence: np.ndarray  # (R, B) from the best proposal
    inside: np.ndarray  # (R, T) share of intervals that hold the truth
    inside_last: np.ndarray  # (R, T) the same for intervals from `variance_of_last`
    width: np.ndarray  # (R, T) of intervals
    seconds: float  # of all campaigns
    compiling: float  # seconds of a first call with next to no labels

    @cached_property
    def mse(self) -> np.ndarray:
        """Mean squared error, (B,)."""
        return self.squares.mean(0)

    @cached_property
    def band(self) -> tuple[np.ndarray, np.ndarray]:
        """Bootstrap 95 % band of the mean squared error, two of (B,)."""
        low, high = bootstrap_interval(self.squares).T
        return low, high

    @property
    def n_campaigns(self) -> int:
        """How many campaigns."""
        return len(self.squares)

    @property
    def ms_per_label(self) -> float:
        """Wall-clock milliseconds of one label of one campaign, compiling apart."""
        return 1000 * self.seconds / (self.n_campaigns * int(self.looks[-1]))


Methods = dict[str, Found]


@dataclass(frozen=True)
class Claim:
    """Words of [NH] on a pool, as an order of mean squared errors when all labels are used."""

    task: str
    pool: str
    words: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    factor: float = 1.0  # times `better`, `worse` is at least
    everywhere: bool = False  # said of all numbers of labels
    ties: bool = False  # equal-best is enough, within the bands

    def row(self, methods: Methods) -> str | None:
        """Write what the figures say of the claim; None where methods are missing."""
        if not {*self.better, *self.worse} <= set(methods):
            return None
        pairs = [(one, other) for one in self.better for other in self.worse]
        ratios = [methods[other].mse / methods[one].mse for one, other in pairs]
        at = int(np.argmin([ratio[-1] for ratio in ratios]))
        (one, other), ratio = pairs[at], ratios[at][-1]
        better, worse = methods[one].band, methods[other].band
        holds = ratio >= self.factor
        if holds:
            sure = worse[0][-1] > self.factor * better[1][-1]
        else:
            sure = worse[1][-1] < self.factor * better[0][-1]
        verdict = ("yes" if holds else "no") + ("" if sure else ", within the bands")
        if self.ties:
            verdict = "no" if not holds and sure else "yes" if holds else "yes, equal-best within the bands"
        if self.everywhere:
            good = np.min(ratios, axis=0) >= self.factor
            verdict += f"; at {good.sum()} of {len(good)} numbers of labels"
        wanted = "" if self.factor == 1 else f", {self.factor:g} wanted"
        return f"| {self.pool} | {self.words} | {verdict} | {other} over {one}: {ratio:.2g}{wanted} |"


OURS_FIRST = '"Ours achieves best or equal-best MSE on all but one of the datasets (dblp-acm)" (5.3)'
RAPIDLY = '"The biased sampling methods [...] converge significantly more rapidly than Passive and Stratified" (J)'
OASIS_LATER = '"Ours generally converges more rapidly than OASIS" (5.3)'
TENDS = '"Ours-8 tends to outperform the non-hierarchical variant Ours-1" (5.3)'
MARKED = '"a marked improvement in the convergence rate—by an order of magnitude or more" (J)'
ORDERS = '"a significant improvement in the MSE compared to Passive and Stratified—by 1\u20132 orders of magnitude" (J)'
OTHERS = ("Passive", "Stratified", "IS", "OASIS")
CLAIMS = [
    Claim("f1", "abt_buy", '"a lower MSE for all label budgets" (5.3)', ("Ours-8",), OTHERS, everywhere=True),
    Claim("f1", "abt_buy", '"at least one order of magnitude greater" (5.3)', BIASED, PLAIN, 10),
    Claim("f1", "amzn_goog", OURS_FIRST, ("Ours-8",), (*OTHERS, "Ours-1"), ties=True),
    Claim("f1", "amzn_goog", '"Ours-8 performs best" (J)', ("Ours-8",), ("Ours-1", "OASIS", "IS")),
    Claim("f1", "amzn_goog", RAPIDLY, BIASED, PLAIN),
    Claim("f1", "dblp_acm", '"Ours-1 performs best" (J)', ("Ours-1",), ("Ours-8", "OASIS", "IS")),
    Claim("f1", "dblp_acm", "the same, blockwise", ("Ours-1, blockwise",), ("Ours-8", "OASIS", "IS")),
    Claim("f1", "dblp_acm", RAPIDLY, BIASED, PLAIN),
    *(Claim("f1", pool, OASIS_LATER, ("Ours-8",), ("OASIS",)) for pool in ("abt_buy", "amzn_goog", "dblp_acm")),
    *(Claim("f1", pool, TENDS, ("Ours-8",), ("Ours-1",)) for pool in ("abt_buy", "amzn_goog", "dblp_acm")),
    *(Claim("accuracy", pool, MARKED, ("Ours-8", "Ours-1", "IS"), PLAIN, 10) for pool in ("abt_buy", "dblp_acm")),
    Claim(
        "accuracy",
        "amzn_goog",
        '"the more imbalanced datasets [...] seem to benefit most from biased sampling" (J)',
        ("Ours-8", "Ours-1", "IS"),
        PLAIN,
    ),
    *(Claim("curve", pool, ORDERS, ("Ours-8", "Ours-1", "IS"), PLAIN, 10) for pool in ("abt_buy", "dblp_acm")),
]


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
            low, high = found.band
            error = found.squares[:, look].std(ddof=1) / np.sqrt(found.n_campaigns) if found.n_campaigns > 1 else np.nan
            bias = found.errors[:, look].mean()
            lines.append(
                f"| {found.looks[look]:,} | {name} | {found.mse[look]:.2e} | {error:.0e} | "
                f"{low[look]:.2e} to {high[look]:.2e} | {bias:+.4f} | {100 * found.inside[:, t].mean():.1f} | "
                f"{found.width[:, t].mean():.3f} | {100 * found.inside_last[:, t].mean():.1f} | "
                f"{found.draws[:, look].mean() / found.looks[look]:.2f} | {found.divergence[:, look].mean():.2f} |"
            )
    return "\n".join(lines)


def best(pool: str, methods: Methods) -> str:
    """Say which method has the least error when all labels are used, and which ones the bands do not tell from it."""
    names = sorted(methods, key=lambda name: methods[name].mse[-1])
    first, *rest = names
    _, high = methods[first].band
    level = [name for name in rest if methods[name].band[0][-1] <= high[-1]]
    last = rest[-1] if rest else first
    ratio = methods[last].mse[-1] / methods[first].mse[-1]
    text = f"{pool}: {first} has the least MSE at {methods[first].looks[-1]:,} labels, {methods[first].mse[-1]:.2e}"
    text += f", {ratio:.3g} times less than {last}" if rest else ""
    return text + (f"; bands overlap with those of {', '.join(level)}" if level else "; no other band reaches its own")


def verdicts(task: str, pools: dict[str, Methods]) -> str:
    """Write which methods are best on each pool, and what becomes of the claims of [NH]."""
    lines = ["**" + ". ".join(best(pool, methods) for pool, methods in pools.items()) + ".**", ""]
    claims = [claim for claim in CLAIMS if claim.task == task and claim.pool in pools]
    rows = [row for row in (claim.row(pools[claim.pool]) for claim in claims) if row is not None]
    if not rows:
        return lines[0] + "\n"
    held = sum(row.split(" | ")[2].startswith("yes") for row in rows)
    lines += [
        f"Statements of [NH] on these pools that hold here: {held} of {len(rows)} (within the bands: bands overlap, so "
        "that the order may be chance; the ratio is of the pair of methods which speaks most against the statement):",
        "",
    ]
    lines += ["| pool | [NH] | here | least ratio of MSEs |", "| --- | --- | --- | --- |", *rows]
    return "\n".join(lines) + "\n"


def less_pronounced(tasks: dict[str, dict[str, Methods]]) -> str:
    """Compare the gain of adapting for curves with that for the F1 score."""
    if not {"f1", "curve"} <= set(tasks):
        return ""
    said = []
    for pool in tasks["curve"]:
        gains = {}
        for task in ("f1", "curve"):
            methods = tasks[task][pool]
            gains[task] = methods["IS"].mse[-1] / min(methods["Ours-8"].mse[-1], methods["Ours-1"].mse[-1])
        less = "less" if abs(np.log(gains["curve"])) < abs(np.log(gains["f1"])) else "more"
        said.append(f"{less} on {pool} ({gains['curve']:.2g} for the curve, {gains['f1']:.2g} for F1)")
    return (
        '[NH], appendix J: "The difference in the MSE between the AIS-based methods and IS is less pronounced here '
        'than when estimating F1-score." Here the MSE of IS over that of the better of Ours-8 and Ours-1 differs from '
        "1 " + ", ".join(said) + ".\n"
    )


def convergence(path: Path, title: str, methods: Methods, ylabel: str) -> None:
    """Draw divergence and mean squared error against labels, in the shape of [NH] Figure 2."""
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(8.5, 6.5), sharex=True, height_ratios=(1, 1.6), layout="constrained"
    )
    for name, found in methods.items():
        color, dash, marker = STYLES[name]
        style = {"color": color, "linestyle": dash, "marker": marker, "markersize": 4, "linewidth": 1.5}
        for ax, values in ((upper, found.divergence), (lower, found.squares)):
            ends = bootstrap_interval(values)
            ax.fill_between(found.looks, ends[:, 0], ends[:, 1], color=color, alpha=0.18, linewidth=0)
            ax.plot(found.looks, values.mean(0), label=name, **style)
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
    rows = {pool: list(methods) for pool, methods in pools.items()}
    heights = [len(names) for names in rows.values()]
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
            low, high = (end[-1] for end in found.band)
            ax.hlines(y, low, high, color=color, linewidth=2.5)
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


def _tidy(ax: Axes) -> None:
    ax.grid(color="#D9D9D9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _label_ticks(ax: Axes, first: int, last: int) -> None:
    """Write plain numbers under a logarithmic axis."""
    ticks = [k * 10**p for p in range(6) for k in (1, 2, 5) if first <= k * 10**p <= last]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.minorticks_off()
