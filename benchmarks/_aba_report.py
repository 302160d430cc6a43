"""Tables in the shape of [ABA]'s from rows, and what becomes of its statements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _aba_pools import COSTS, TWINS
from _aba_runs import PER_GROUP, TABLES
from _aba_tables import ABA

PUBLISHED = TABLES[:3]  # methods of [ABA]'s tables, in the order of its columns
CLAIMS = [("IPrior", "UPrior"), ("IPrior+TS", "IPrior"), ("UPrior+TS", "UPrior")]  # the first has smaller figures
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """A number in a table."""

    value: float
    error: float | None = None  # its standard error
    bound: bool = False  # the number is at least this

    def show(self, digits: int) -> str:
        """Write it with its standard error."""
        error = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return f"{'≥ ' if self.bound else ''}{self.value:.{digits}f}{error}"


@dataclass(frozen=True)
class Line:
    """Figures of all methods; `set` and `key` are data set and row of [ABA]'s table, `pool` and `label` are shown."""

    pool: str
    set: str | None
    key: int | str
    label: str
    figures: dict[str, Figure]


def most_campaigns(rows: Iterable[dict[str, Any]]) -> Rows:
    """Keep, of rows that differ in campaigns alone, those with most."""
    found: dict[tuple, dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("part", "pool", "method", "sought", "m"))
        if key not in found or found[key]["campaigns"] < row["campaigns"]:
            found[key] = row
    return list(found.values())


def chosen(rows: Rows, **values: Any) -> Rows:
    """Keep rows with these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def pools_of(rows: Rows) -> list[str]:
    """Return the pools of rows, in their order."""
    return list(dict.fromkeys(row["pool"] for row in rows))


def score_lines(rows: Rows, sought: str, score: str, scale: float = 1.0) -> list[Line]:
    """Lines of Tables 3, 4, 5 and 8."""
    lines = []
    own = [row for row in chosen(rows, part="scores", sought=sought) if score in row]
    for pool in pools_of(own):
        by_method = {row["method"]: row for row in own if row["pool"] == pool}
        for j, k in enumerate(PER_GROUP):
            figures = {
                name: Figure(scale * row[score][j], _times(scale, row[f"{score}_error"][j]))
                for name, row in by_method.items()
            }
            n = k * next(iter(by_method.values()))["groups"]
            lines.append(Line(pool, TWINS.get(pool), k, f"{k} ({n:,})", figures))
    return lines


def search_lines(rows: Rows, sought: str, facts: dict[str, dict], each: bool, percent: bool = True) -> list[Line]:
    """Lines of Tables 6, 9, 10 and 11: labels on the curve of all campaigns, or means of each campaign's own."""
    own = [row for row in chosen(rows, part="search", sought=sought) if row["method"] in TABLES]
    lines = []
    for pool in pools_of(own):
        most = facts[pool]["most"]
        scale = 100 / facts[pool]["items"] if percent else 0.001
        for key, m in (("1", 1), ("m", facts[pool]["m"])):
            figures = {}
            for row in chosen(own, pool=pool, m=m):
                to = row["curve_labels"]
                figures[row["method"]] = (
                    Figure(scale * row["each"], _times(scale, row["each_error"]), row["each_bound"])
                    if each
                    else Figure(scale * (most if to is None else to), None, to is None)
                )
            if figures:
                name = sought if not percent and pool == "cifar100" else TWINS.get(pool)
                lines.append(Line(pool if percent else f"{pool}, {sought}", name, key, f"{m}", figures))
    return lines


def pair_lines(rows: Rows) -> list[Line]:
    """Lines of Table 7: mean labels over pairs of classes, with the error of the campaigns of each."""
    lines, own = [], chosen(rows, part="pairs")
    for pool in pools_of(own):
        pairs = chosen(own, pool=pool)
        repeats, figures = max(row["campaigns"] for row in pairs), {}
        pairs = [row for row in pairs if row["campaigns"] == repeats]
        for name in pairs[0]["labels"]:
            found = np.array([row["labels"][name] for row in pairs], np.float64)
            error = np.sqrt(found.var(1, ddof=1).sum() / repeats) / len(pairs) if repeats > 1 else None
            figures[name] = Figure(float(found.mean()), None if error is None else float(error))
        lines.append(Line(pool, TWINS.get(pool), "", f"{len(pairs)} x {repeats}", figures))
    return lines


def _times(scale: float, error: float | None) -> float | None:
    return None if error is None else scale * error


NOTES = {
    3: "N labels, N/K per predicted class.",
    4: "Errors over that of the informative prior without labels, as in [ABA], which says RMSE; its code averages "
    "squared errors and divides them by a squared error, so that the squared ratio stands beside its figures. Its "
    "divisors are far larger relative to its errors than ours: the same code's stored output has an error of 4e-8 for "
    "the identity matrix on DBpedia, so its truth there was diagonal, and its order, not its size, can be compared.",
    5: "10 bins of equal weight, N labels, N/10 per bin. [ABA] says 10 equal-sized bins; its code makes bins of equal "
    "numbers of items (the equal width of its supplement is for reliability diagrams).",
    6: "Percent of the pool labelled until the least accurate m predicted classes are found (m = 1, and 10 or 3). "
    "[ABA] asks for the fewest labels with MRR > 0.99; its code takes the MRR averaged over campaigns, which needs "
    "nearly all campaigns to be right, and so do the first figures here (from there on; `labels_to`). The second are "
    "means of every campaign's own first time (`labels_each`): smaller, because a campaign may be right by luck and "
    "wrong again later. ≥: not reached within the labels allowed.",
    7: "Labels until the verdict of a comparison (rope 0.05) is that of full labels, and its probability within 5 % of "
    "that at full labels, first time in each campaign; shown: pairs of classes x campaigns per pair. On cifar100 pairs "
    "of classes are drawn at random, where [ABA] compares superclasses. [ABA]'s code counts a campaign that never "
    "succeeds as one that needs a single look; here all succeed at full labels at the latest.",
    8: "The same campaigns as Table 5; p_b-weighted RMSE of the accuracies of 10 bins of equal weight.",
    9: "As Table 6, for the classes with the greatest ECE: 10 bins of equal width inside every predicted class.",
    10: "Thousands of labels until the m most costly classes are found (as Table 6, first figures), where mistaking a "
    "person of CIFAR-100 for anything else costs 1, 2, 5 or 10 times as much as other mistakes.",
    11: "The same where mistakes between superclasses cost more; superclasses of 20news are the first parts of its "
    "groups' names.",
}


def table(number: int, title: str, parts: dict[str, list[Line]], key: str, digits: int = 1) -> str:
    """Write a table: our figures beside [ABA]'s, its own data sets below, and what the figures say."""
    published = ABA[number]
    lines = [f"## Table {number}. {title}", "", NOTES[number]]
    for part, (subtitle, rows) in enumerate(parts.items()):
        ours = [name for name in TABLES if any(name in row.figures for row in rows)]
        theirs = [i for i, name in enumerate(PUBLISHED) if name in ours]
        names = [f"[ABA] {PUBLISHED[i]}" for i in theirs]
        lines += ["", f"{subtitle}:", "", f"| pool | {key} | {' | '.join(ours + names)} |"]
        lines += ["| --- | --- |" + " ---: |" * len(ours + names)]
        for row in rows:
            figures = [row.figures[name].show(digits) if name in row.figures else "" for name in ours]
            beside = published.get(row.set or "", {}).get(row.key)
            figures += [_shown(beside[i]) if beside else "" for i in theirs]
            lines.append(f"| {row.pool} | {row.label} | {' | '.join(figures)} |")
        shown = {(row.set, row.key) for row in rows}
        for name, their_rows in published.items():
            for their_key, values in their_rows.items():
                if part == 0 and (name, their_key) not in shown:
                    figures = [""] * len(ours) + [_shown(values[i]) for i in theirs]
                    lines.append(f"| {name} in [ABA] | {their_key} | {' | '.join(figures)} |")
        lines += ["", verdict(rows, published)]
    return "\n".join(lines) + "\n"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def verdict(rows: list[Line], published: dict[str, dict]) -> str:
    """Say, from the figures alone, which method needs or errs less, here and in [ABA]."""
    said = []
    for better, worse in CLAIMS:
        pairs = [(row.figures[better], row.figures[worse]) for row in rows if {better, worse} <= set(row.figures)]
        if not pairs:
            continue
        less = sum(one.value < other.value for one, other in pairs)
        text = f"{better} is below {worse} in {less} of {len(pairs)} rows"
        if all(one.error is not None and other.error is not None for one, other in pairs):
            errors = [np.hypot(one.error or 0.0, other.error or 0.0) for one, other in pairs]
            gaps = [(two.value - one.value) / max(e, 1e-300) for (one, two), e in zip(pairs, errors, strict=True)]
            below, above = sum(gap > 2 for gap in gaps), sum(gap < -2 for gap in gaps)
            text += f" (by more than two standard errors in {below}, above in {above})"
        text += f", the median ratio is {np.median([one.value / other.value for one, other in pairs]):.2f}"
        places = {name: i for i, name in enumerate(PUBLISHED)}
        if better in places:
            theirs = [(row[places[better]], row[places[worse]]) for d in published.values() for row in d.values()]
            theirs = [(one, other) for one, other in theirs if one is not None and other is not None]
            if theirs:
                ratio = np.median([one / other for one, other in theirs if other])
                less = sum(one < other for one, other in theirs)
                text += f" ([ABA]: {less} of {len(theirs)}, {ratio:.2f})"
        said.append(text)
    return "**" + "; ".join(said) + ".**"


def figure_verdicts(rows: Rows) -> str:
    """Write which statements of [ABA] about its figures hold, by areas under the curves of MRR."""
    claims = [
        ("Fig. 3", "TS is much more efficient for costs than random labels", "cost", ("IPrior+TS", "IPrior"), False),
        ("Fig. 3", "the same without scores", "cost", ("UPrior+TS", "UPrior"), False),
        ("Fig. 11", "TS and TTTS have almost identical performance", "accuracy", ("UPrior+TS", "UPrior+TTTS"), True),
        ("Fig. 15", "TS converges faster than epsilon greedy", "accuracy", ("UPrior+TS", "UPrior+greedy"), False),
        ("Fig. 15", "TS converges faster than Bayesian UCB", "accuracy", ("UPrior+TS", "UPrior+UCB"), False),
        ("Fig. 16", "informative priors rarely hurt TS", "accuracy", ("IPrior+TS", "UPrior+TS"), False),
        ("Fig. 18", "TS beats no active learning", "accuracy", ("IPrior+TS", "Frequentist"), False),
        ("Fig. 18", "so it does with strength 10", "accuracy", ("IPrior+TS, 10", "Frequentist"), False),
        ("Fig. 18", "so it does with strength 100", "accuracy", ("IPrior+TS, 100", "Frequentist"), False),
        ("Fig. 19", "TS beats no active learning for ECE", "calibration", ("IPrior+TS", "Frequentist"), False),
        ("Fig. 19", "so it does with strength 5", "calibration", ("IPrior+TS, 5", "Frequentist"), False),
        ("Fig. 19", "so it does with strength 10", "calibration", ("IPrior+TS, 10", "Frequentist"), False),
    ]
    lines = [_area_line(rows, *claim) for claim in claims]
    lines = [line for line in [*lines, _ece_line(rows)] if line]
    if not lines:
        return ""
    head = [
        "Gaps of the area under a curve of MRR (its mean over numbers of labels) are clear beyond two standard errors; "
        "two methods are almost identical if all gaps are below 0.02.",
        "",
        "| [ABA] | statement | here | figures |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join(head + lines)


def _area_line(rows: Rows, where: str, words: str, sought: str, methods: tuple[str, str], alike: bool) -> str | None:
    """Compare two methods on all pools and numbers of groups that both have."""
    own = [row for row in chosen(rows, part="search") if _kind(row["sought"]) == sought]
    by_key = [{(r["pool"], r["sought"], r["m"]): r for r in own if r["method"] == name} for name in methods]
    shared = [key for key in by_key[0] if key in by_key[1]]
    if not shared:
        return None
    gaps, errors = [], []
    for key in shared:
        one, other = by_key[0][key], by_key[1][key]
        gaps.append(one["area"] - other["area"])
        errors.append(float(np.hypot(one["area_error"] or 0.0, other["area_error"] or 0.0)))
    gap, error = np.array(gaps), np.array(errors)
    more, less = int((gap > 2 * error).sum()), int((gap < -2 * error).sum())
    holds = bool(np.abs(gap).max() < 0.02) if alike else less == 0 and 2 * more >= len(gap)
    if words.endswith("rarely hurt TS"):
        holds = less < more
    said = (
        f"gap {gap.min():+.3f} to {gap.max():+.3f}, mean {gap.mean():+.3f} ± {np.sqrt((error**2).sum()) / len(gap):.3f}"
    )
    said += f"; clearly more in {more}, less in {less} of {len(gap)} curves"
    return f"| {where} | {words} | {'holds' if holds else 'does not hold'} | {said} |"


def _kind(sought: str) -> str:
    return "cost" if sought.split()[0] in ("human", "superclass") else sought


def _ece_line(rows: Rows) -> str | None:
    own = chosen(rows, part="ece")
    if not own:
        return None
    gaps = np.concatenate([np.array(row["plain"]) - np.array(row["bayes"]) for row in own])
    errors = np.concatenate([np.hypot(_numbers(row["plain_error"]), _numbers(row["bayes_error"])) for row in own])
    more, less = int((gaps > 2 * errors).sum()), int((gaps < -2 * errors).sum())
    holds = "holds" if less == 0 and 2 * more >= len(gaps) else "does not hold"
    said = f"of {len(gaps)} figures clearly less in {more}, more in {less}; median gap {np.median(gaps):.0f} percent"
    return f"| Fig. 6 | posterior means of ECE err less than shares | {holds} | {said} |"


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.nan_to_num(np.array(values, np.float64))


def cost_names(kind: str) -> list[str]:
    """Return what is sought in Tables 10 and 11."""
    return [f"{kind} {times}" for times in COSTS]
