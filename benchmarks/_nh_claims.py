"""What [NH] says of its pools, and what campaigns on them say of that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from _nh_tables import Methods, Tasks

PLAIN = ("Passive", "Stratified")
BIASED = ("Ours-8", "Ours-1", "OASIS", "IS")
OTHERS = (*PLAIN, "IS", "OASIS")
ONE_COUNT = 1000  # labels, at which gains for two measures are compared


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
        better, worse = methods[one].band[-1], methods[other].band[-1]
        holds = ratio >= self.factor
        if holds:
            sure = worse[0] > self.factor * better[1]
        else:
            sure = worse[1] < self.factor * better[0]
        verdict = ("yes" if holds else "no") + ("" if sure else ", within the bands")
        if self.ties:
            verdict = "no" if not holds and sure else "yes" if holds else "yes, equal-best within the bands"
        if self.everywhere:
            good = np.min(ratios, axis=0) >= self.factor
            verdict += f"; at {good.sum()} of {len(good)} numbers of labels"
        error = ratio * np.hypot(*(methods[name].mse_error[-1] / methods[name].mse[-1] for name in (one, other)))
        wanted = "" if self.factor == 1 else f", {self.factor:g} wanted"
        return f"| {self.pool} | {self.words} | {verdict} | {other} over {one}: {ratio:.2g} ± {error:.1g}{wanted} |"


OURS_FIRST = '"Ours achieves best or equal-best MSE on all but one of the datasets (dblp-acm)" (5.3)'
RAPIDLY = '"The biased sampling methods [...] converge significantly more rapidly than Passive and Stratified" (J)'
OASIS_LATER = '"Ours generally converges more rapidly than OASIS" (5.3)'
TENDS = '"Ours-8 tends to outperform the non-hierarchical variant Ours-1" (5.3)'
MARKED = '"a marked improvement in the convergence rate—by an order of magnitude or more" (J)'
ORDERS = '"a significant improvement in the MSE compared to Passive and Stratified—by 1\u20132 orders of magnitude" (J)'
VAST = '"the vast improvement of the biased sampling methods (Ours-8 and IS) over Passive" (5.3)'
BEST_8 = '"Ours-8 performs best" (J)'
COMPETITIVE = '"Passive and Stratified are competitive when the class imbalance is less severe" (5.3), at most twice'
BENEFIT = '"the more imbalanced datasets [...] seem to benefit most from biased sampling" (J)'
ALL_BUT_ABT = ("amzn_goog", "dblp_acm", "restaurant", "tweets100k")
CLAIMS = [
    Claim("f1", "abt_buy", '"a lower MSE for all label budgets" (5.3)', ("Ours-8",), OTHERS, everywhere=True),
    Claim("f1", "abt_buy", '"at least one order of magnitude greater" (5.3)', BIASED, PLAIN, 10),
    *(
        Claim("f1", pool, OURS_FIRST, ("Ours-8",), (*OTHERS, "Ours-1"), ties=True)
        for pool in ("abt_buy", "amzn_goog", "restaurant", "safedriver", "creditcard", "tweets100k")
    ),
    *(Claim("f1", pool, BEST_8, ("Ours-8",), ("Ours-1", "OASIS", "IS")) for pool in ("amzn_goog", "restaurant")),
    *(
        Claim("f1", pool, RAPIDLY, BIASED, PLAIN)
        for pool in ("amzn_goog", "dblp_acm", "restaurant", "safedriver", "creditcard")
    ),
    Claim("f1", "dblp_acm", '"Ours-1 performs best" (J)', ("Ours-1",), ("Ours-8", "OASIS", "IS")),
    Claim("f1", "dblp_acm", "the same, blockwise", ("Ours-1, blockwise",), ("Ours-8", "OASIS", "IS")),
    Claim("f1", "creditcard", '"IS performs best" (J)', ("IS",), ("Ours-8", "Ours-1", "OASIS")),
    Claim("f1", "tweets100k", COMPETITIVE, PLAIN, BIASED, 0.5),
    *(Claim("f1", pool, OASIS_LATER, ("Ours-8",), ("OASIS",)) for pool in ("abt_buy", *ALL_BUT_ABT)),
    *(Claim("f1", pool, TENDS, ("Ours-8",), ("Ours-1",)) for pool in ("abt_buy", *ALL_BUT_ABT)),
    *(
        Claim("accuracy", pool, MARKED, ("Ours-8", "Ours-1", "IS"), PLAIN, 10)
        for pool in ("abt_buy", "dblp_acm", "restaurant")
    ),
    Claim("accuracy", "amzn_goog", BENEFIT, ("Ours-8", "Ours-1", "IS"), PLAIN),
    *(Claim("curve", pool, ORDERS, ("Ours-8", "Ours-1", "IS"), PLAIN, 10) for pool in ("abt_buy", "dblp_acm")),
    Claim("curve", "abt_buy", VAST, ("Ours-8", "IS"), ("Passive",), 10),
]


def best(pool: str, methods: Methods) -> str:
    """Say which method has the least error when all labels are used, and which ones the bands do not tell from it."""
    names = sorted(methods, key=lambda name: methods[name].mse[-1])
    first, *rest = names
    high = methods[first].band[-1][1]
    level = [name for name in rest if methods[name].band[-1][0] <= high]
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
        "that the order may be chance; the ratio is of the pair of methods which speaks most against the statement, "
        "± its Monte-Carlo error):",
        "",
    ]
    lines += ["| pool | [NH] | here | least ratio of MSEs |", "| --- | --- | --- | --- |", *rows]
    return "\n".join(lines) + "\n"


def less_pronounced(tasks: Tasks) -> str:
    """Compare gains between the F1 score, and curves and accuracy."""
    return "".join(part for part in (_curves_against_f1(tasks), _accuracy_against_f1(tasks)) if part)


def _curves_against_f1(tasks: Tasks) -> str:
    said = []
    for pool in set(tasks.get("curve", {})) & set(tasks.get("f1", {})):
        gains = {}
        for task in ("f1", "curve"):
            methods = tasks[task][pool]
            if {"IS", "Ours-8", "Ours-1"} <= set(methods):
                gains[task] = methods["IS"].mse[-1] / min(methods["Ours-8"].mse[-1], methods["Ours-1"].mse[-1])
        if len(gains) == 2:
            less = "less" if abs(np.log(gains["curve"])) < abs(np.log(gains["f1"])) else "more"
            said.append(f"{less} on {pool} ({gains['curve']:.2g} for the curve, {gains['f1']:.2g} for F1)")
    if not said:
        return ""
    return (
        '[NH], appendix J: "The difference in the MSE between the AIS-based methods and IS is less pronounced here '
        'than when estimating F1-score." Here the MSE of IS over that of the better of Ours-8 and Ours-1 differs from '
        "1 " + ", ".join(sorted(said)) + ".\n\n"
    )


def _accuracy_against_f1(tasks: Tasks) -> str:
    said = []
    for pool in set(tasks.get("accuracy", {})) & set(tasks.get("f1", {})):
        gains = [_gain(tasks[task][pool]) for task in ("accuracy", "f1")]
        if None not in gains:
            less = "less" if gains[0] < gains[1] else "more"  # type: ignore[operator]
            said.append(f"{less} on {pool} ({gains[0]:.2g} for accuracy, {gains[1]:.2g} for F1)")
    if not said:
        return ""
    return (
        '[NH], appendix J: "We find that gains in label efficiency are less pronounced for the biased sampling methods '
        f'when estimating accuracy." Here the MSE of Passive over that of Ours-8 at {ONE_COUNT:,} labels is '
        + ", ".join(sorted(said))
        + ".\n\n"
    )


def _gain(methods: Methods) -> float | None:
    """Return how many times Passive errs more than Ours-8 at `ONE_COUNT` labels, where both are looked at there."""
    at = [np.flatnonzero(methods[name].looks == ONE_COUNT) for name in ("Passive", "Ours-8") if name in methods]
    if len(at) < 2 or not all(len(places) for places in at):
        return None
    return float(methods["Passive"].mse[at[0][0]] / methods["Ours-8"].mse[at[1][0]])
