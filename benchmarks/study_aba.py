"""The shape of [ABA]'s Tables 3 to 9, with `ba.simulate` on pools whose labels are all known.

    BAYES_ASSESS_POOLS=/path/to/pools python benchmarks/study_aba.py --out aba.md [--quick]

The folder holds ``cifar100.npz`` and ``imagenet.npz`` (arrays ``predictions`` and ``labels``), ``20news.npz``,
``cifar10.npz``, ``cifar10_vgg.npz`` and ``mnist.npz`` (``scores`` and ``labels``); what is missing is left out. They
are other models than [ABA]'s, in part on other data, so that not figures but their order is to be compared.

UPrior labels random items and starts from the uninformative prior, IPrior from the informative one, IPrior+TS chooses
items by Thompson sampling. Pools without scores have no informative prior: there UPrior+TS stands beside UPrior.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from _aba_tables import ABA

import bayes_assess as ba

SCORED = {
    "UPrior": ("random", "uninformative"),
    "IPrior": ("random", "informative"),
    "IPrior+TS": ("thompson", "informative"),
}
UNSCORED = {"UPrior": ("random", "uninformative"), "UPrior+TS": ("thompson", "uninformative")}
COLUMNS = [*SCORED, "UPrior+TS"]
CLAIMS = [("IPrior", "UPrior"), ("IPrior+TS", "IPrior"), ("UPrior+TS", "UPrior")]  # the first has smaller figures
TWINS = {"cifar100": "CIFAR-100", "imagenet": "ImageNet", "20news": "20 News"}  # our pools on [ABA]'s data
POOLS = [*TWINS, "cifar10", "cifar10_vgg", "mnist"]

PER_GROUP = (2, 5, 10)  # N / K
BINS = 10
CAMPAIGNS_IMAGENET = 100  # at most, to this many labels:
LABELS_IMAGENET = 10_000
PAIRS = 200  # compared at most, drawn at random where there are more
CHUNK = 256  # states of comparisons evaluated at a time, always as many: every other number is compiled anew


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
class Row:
    """Figures of all methods on one pool; `key` is that of the same row of [ABA]'s table, `label` what is shown."""

    pool: str
    key: int | str
    label: str
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Data:
    """A pool with all its labels."""

    name: str
    pool: ba.Pool
    labels: np.ndarray
    campaigns: int

    @classmethod
    def load(cls, path: Path, campaigns: int) -> Data:
        """Read a pool; the largest gets fewer campaigns."""
        with np.load(path) as file:
            labels = file["labels"]
            if "scores" in file.files:
                return cls(path.stem, ba.Pool(scores=file["scores"]), labels, campaigns)
            n_classes = 1 + int(max(labels.max(), file["predictions"].max()))
            pool = ba.Pool(predictions=file["predictions"], classes=range(n_classes))
        return cls(path.stem, pool, labels, min(campaigns, CAMPAIGNS_IMAGENET) if n_classes > 500 else campaigns)

    @property
    def scored(self) -> bool:
        """Whether there are scores, and so an informative prior."""
        return self.pool.confidence is not None

    @cached_property
    def designs(self) -> dict[str, tuple[str, str]]:
        """Design and prior of every method."""
        return SCORED if self.scored else UNSCORED

    @property
    def most_labels(self) -> int:
        """At how many labels campaigns end."""
        return LABELS_IMAGENET if self.pool.n_classes > 500 else self.pool.n_items

    @property
    def m(self) -> int:
        """How many groups are sought beside one."""
        return 10 if self.pool.n_classes >= 100 else 3

    def simulate(self, question, budgets, designs=None, campaigns=None) -> ba.Study:
        """Simulate campaigns of all methods."""
        designs = self.designs if designs is None else designs
        repeats = self.campaigns if campaigns is None else campaigns
        return ba.simulate(self.pool, self.labels, question, designs=designs, budgets=budgets, repeats=repeats)

    def describe(self) -> str:
        """Say what explains the figures: accuracy, confidence, and whether confidence ranks the classes."""
        truth = ba.GroupAccuracy().truth(self.pool, self.labels)
        right = self.pool.predictions == self.pool.label_codes(self.labels)
        row = f"| {self.name} | {self.pool.n_items:,} | {self.pool.n_classes:,} | {100 * right.mean():.1f} | "
        used = np.unique(self.pool.predictions)
        spread = 100 * truth[used].std()
        if not self.scored:
            return row + f"{spread:.1f} | | | |"
        confidence = np.asarray(self.pool.confidence)
        mean = np.array([confidence[self.pool.predictions == k].mean() for k in used])
        ece = ba.Calibration(ba.ScoreBins(BINS, "weight")).truth(self.pool, self.labels)
        correlation = np.corrcoef(mean, truth[used])[0, 1]
        return row + f"{spread:.1f} | {100 * confidence.mean():.1f} | {100 * ece:.1f} | {correlation:.2f} |"


def mean(values: np.ndarray) -> Figure:
    """Mean over campaigns, with its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
    return Figure(float(values.mean()), error)


def score_rows(data: Data, question: ba.Calibration, n_groups: int, score: str, scale=1.0, study=None) -> list[Row]:
    """Mean scores at 2, 5 and 10 labels per group, times `scale`."""
    budgets = [k * n_groups for k in PER_GROUP]
    study = data.simulate(question, budgets) if study is None else study
    return [
        Row(
            data.name,
            k,
            f"{k} ({k * n_groups:,})",
            {method: mean(scale * scores[score][:, j]) for method, scores in study.scores.items()},
        )
        for j, k in enumerate(PER_GROUP)
    ]


def accuracy(pools: list[Data]) -> dict[str, list[Row]]:
    """Table 3."""
    rows = []
    for data in timed(pools, "Table 3"):
        rows += score_rows(data, ba.GroupAccuracy(target="population"), data.pool.n_classes, "rmse", 100.0)
    return {"RMSE, percent": rows}


def confusion(pools: list[Data]) -> dict[str, list[Row]]:
    """Table 4: errors and squared errors, over those of the informative prior without labels."""
    plain, squared = [], []
    for data in timed([data for data in pools if data.scored], "Table 4"):
        question = ba.ConfusionMatrix(target="population")
        n_groups = data.pool.n_classes
        study = data.simulate(question, [k * n_groups for k in PER_GROUP])
        prior = study.campaigns["IPrior"].prior
        start = float(question.evaluate(study.cells, prior, np.zeros_like(study.full), study.full)["rmse"])
        plain += score_rows(data, question, n_groups, "rmse", 1 / start, study)
        for j, k in enumerate(PER_GROUP):
            figures = {name: mean((scores["rmse"][:, j] / start) ** 2) for name, scores in study.scores.items()}
            squared.append(Row(data.name, k, f"{k} ({k * n_groups:,})", figures))
    return {"Mean squared error, scaled (as [ABA]'s code)": squared, "Mean RMSE, scaled (as [ABA]'s text)": plain}


def calibration(pools: list[Data]) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """Tables 5 and 8, of the same campaigns."""
    ece, rmse = [], []
    question = ba.Calibration(bins=ba.ScoreBins(BINS, "weight"), target="population")
    for data in timed([data for data in pools if data.scored], "Tables 5 and 8"):
        study = data.simulate(question, [k * BINS for k in PER_GROUP])
        ece += score_rows(data, question, BINS, "ece_error", 1.0, study)
        rmse += score_rows(data, question, BINS, "rmse", 100.0, study)
    return {"Error of the ECE, percent of it": ece}, {"RMSE, percent": rmse}


def extremes(pools: list[Data], make: Callable, number: int, designs=None) -> dict[str, list[Row]]:
    """Tables 6 and 9: labels until the true extremes are found, on the curve of all campaigns and by campaign."""
    curve, each = [], []
    for data in timed(pools, f"Table {number}"):
        methods = data.designs if designs is None else designs
        at_random = {name: method for name, method in methods.items() if method[0] == "random"}
        chosen = {name: method for name, method in methods.items() if method[0] != "random"}
        n, percent = data.most_labels, 100 / data.pool.n_items
        looks = np.union1d(np.geomspace(10, n, 40).round(), np.linspace(n / 80, n, 80).round()).astype(int)
        random = data.simulate(make(1), looks, at_random)  # the same campaigns whatever is sought
        for key, m in (("1", 1), ("m", data.m)):
            study = data.simulate(make(m), looks, chosen)
            study = replace(study, campaigns={**random.campaigns, **study.campaigns})
            found = study.labels_to("mrr")
            figures = {k: Figure(percent * (n if to is None else to), None, to is None) for k, to in found.items()}
            curve.append(Row(data.name, key, f"{m}", figures))
            figures = {}
            for name, labels in study.labels_each("mrr").items():
                one = mean(percent * np.minimum(labels, n))
                figures[name] = Figure(one.value, one.error, bool(np.isinf(labels).any()))
            each.append(Row(data.name, key, f"{m}", figures))
    return {
        "Mean MRR of all campaigns above 0.99 (as [ABA]'s code)": curve,
        "Mean over campaigns, each until its own MRR is above 0.99 (as one may read [ABA]'s text)": each,
    }


def comparisons(pools: list[Data]) -> dict[str, list[Row]]:
    """Table 7: mean labels until a comparison of two predicted classes succeeds, over pairs of classes."""
    rows = []
    for data in timed([data for data in pools if data.pool.n_classes <= 500], "Table 7"):
        used = np.unique(data.pool.predictions)
        pairs = list(itertools.combinations(used, 2))
        if len(pairs) > PAIRS:
            chosen = np.random.default_rng(0).choice(len(pairs), PAIRS, replace=False)
            pairs = [pairs[i] for i in chosen]
        repeats = max(2, -(-data.campaigns // len(pairs)))
        labels = [pair_labels(data, *pair, repeats) for pair in pairs]
        figures = {}
        for name in data.designs:
            found = np.array([one[name] for one in labels])  # (pairs, campaigns)
            error = np.sqrt(found.var(1, ddof=1).sum() / repeats) / len(pairs)
            figures[name] = Figure(float(found.mean()), float(error))
        rows.append(Row(data.name, "", f"{len(pairs)} x {repeats}", figures))
    return {"Labels": rows}


def pair_labels(data: Data, first: int, second: int, repeats: int) -> dict[str, np.ndarray]:
    """Labels until one comparison succeeds, (campaigns,) by method: ``study.labels_each("success")`` without compiling.

    Looks are as many for every pair, and states evaluated `CHUNK` at a time, so that all pairs share compiled code.
    """
    n = int(np.isin(data.pool.predictions, (first, second)).sum())
    looks = np.concatenate([np.arange(2, 41, 2), np.geomspace(40, n, 22)[1:].round().astype(int)])
    question = ba.Compare(*data.pool.classes[[first, second]].tolist(), by="prediction", rope=0.05, target="population")
    study = data.simulate(question, looks, campaigns=repeats)
    found = {}
    for name, campaigns in study.campaigns.items():
        states = campaigns.counts.reshape(-1, *study.full.shape)
        distinct, place = np.unique(np.concatenate([states, study.full[None]]), axis=0, return_inverse=True)
        padded = np.resize(distinct, (-(-len(distinct) // CHUNK) * CHUNK, *study.full.shape))
        masses = [
            question.masses(study.cells, campaigns.prior, part) for part in np.split(padded, len(padded) // CHUNK)
        ]
        masses = np.concatenate(masses)[place.ravel()]
        full, best = masses[-1].max(), masses.max(-1)
        success = (masses.argmax(-1) == masses[-1].argmax()) & (np.abs(best - full) < 0.05 * full)
        found[name] = looks[success[:-1].reshape(-1, len(looks)).argmax(1)]
    return found


def markdown(number: int, title: str, parts: dict[str, list[Row]], note: str, key: str, digits: int = 1) -> str:
    """Write a table: our figures beside [ABA]'s, its own data sets below, and what the figures say."""
    published = ABA[number]
    lines = [f"## Table {number}. {title}", "", note]
    for part, (subtitle, rows) in enumerate(parts.items()):
        ours = [name for name in COLUMNS if any(name in row.figures for row in rows)]
        theirs = [i for i, name in enumerate(SCORED) if name in ours]
        names = [f"[ABA] {list(SCORED)[i]}" for i in theirs]
        lines += ["", f"{subtitle}:", "", f"| pool | {key} | {' | '.join(ours + names)} |"]
        lines += ["| --- | --- |" + " ---: |" * len(ours + names)]
        for row in rows:
            figures = [row.figures[name].show(digits) if name in row.figures else "" for name in ours]
            beside = published.get(TWINS.get(row.pool, ""), {}).get(row.key)
            figures += [_shown(beside[i]) if beside else "" for i in theirs]
            lines.append(f"| {row.pool} | {row.label} | {' | '.join(figures)} |")
        shown = {(TWINS.get(row.pool), row.key) for row in rows}
        for name, their_rows in published.items():
            for their_key, values in their_rows.items():
                if part == 0 and (name, their_key) not in shown:
                    figures = [""] * len(ours) + [_shown(values[i]) for i in theirs]
                    lines.append(f"| {name} in [ABA] | {their_key} | {' | '.join(figures)} |")
        lines += ["", verdict(rows, published)]
    return "\n".join(lines) + "\n"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def verdict(rows: list[Row], published: dict[str, dict]) -> str:
    """Say, from the figures alone, which method needs or errs less, here and in [ABA]."""
    said = []
    for better, worse in CLAIMS:
        pairs = [(row.figures[better], row.figures[worse]) for row in rows if {better, worse} <= set(row.figures)]
        if not pairs:
            continue
        less = sum(one.value < other.value for one, other in pairs)
        text = f"{better} is below {worse} in {less} of {len(pairs)} rows"
        if all(one.error is not None and other.error is not None for one, other in pairs):
            gaps = [(other.value - one.value) / np.hypot(one.error, other.error) for one, other in pairs]
            below, above = sum(gap > 2 for gap in gaps), sum(gap < -2 for gap in gaps)
            text += f" (by more than two standard errors in {below}, above in {above})"
        text += f", the median ratio is {np.median([one.value / other.value for one, other in pairs]):.2f}"
        places = {name: i for i, name in enumerate(SCORED)}
        if better in places:
            theirs = [(row[places[better]], row[places[worse]]) for d in published.values() for row in d.values()]
            theirs = [(one, other) for one, other in theirs if one is not None and other is not None]
            if theirs:
                ratio = np.median([one / other for one, other in theirs if other])
                less = sum(one < other for one, other in theirs)
                text += f" ([ABA]: {less} of {len(theirs)}, {ratio:.2f})"
        said.append(text)
    return "**" + "; ".join(said) + ".**"


_START = time.perf_counter()


def timed(pools: list[Data], what: str) -> Iterator[Data]:
    """Go through pools, and say on standard error how long each took."""
    for data in pools:
        start = time.perf_counter()
        yield data
        now = time.perf_counter()
        print(f"{what}, {data.name}: {now - start:.0f} s, {now - _START:.0f} s in all", file=sys.stderr, flush=True)


INTRODUCTION = """# [ABA]'s Tables 3 to 9 on other pools

[ABA] is Ji, Logan, Smyth, Steyvers, *Active Bayesian Assessment of Black-Box Classifiers* (AAAI 2021). Its models and
its SVHN and DBpedia are not among these pools: cifar100, imagenet and 20news are other models on its data, cifar10,
cifar10_vgg and mnist are other data. What can be compared is which method is better, and by how much. cifar100 and
imagenet come without scores, so that they have no informative prior: UPrior+TS stands there beside UPrior.

Priors are worth two labels per group (one per row of the confusion matrix), as in [ABA]. Estimates are posterior means
of population values, as in [ABA], except where groups are sought (Tables 6, 9): there the known labels of this pool
count as known, so that every campaign ends with the right answer. ± is one standard error over {campaigns:,} campaigns
per method (imagenet: {imagenet}, to {labels:,} labels). UPrior and IPrior label the same items.
[ABA]'s published code gives UPrior a prior worth 1e-6 labels in Tables 3 to 6 and 8, where its text says 2; here it is
2. The code is at github.com/disiji/active-assess.

| pool | items | classes | accuracy, % | sd of classwise accuracy | confidence, % | ECE, % | correlation of classwise \
confidence and accuracy |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""

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
}


def report(pools: list[Data], campaigns: int) -> str:
    """Run all tables and write them down."""
    introduction = INTRODUCTION.replace("\\\n", "").format(
        campaigns=campaigns,
        imagenet=min(campaigns, CAMPAIGNS_IMAGENET),
        labels=LABELS_IMAGENET,
    )
    parts = [introduction + "\n".join(data.describe() for data in pools) + "\n"]

    def add(number: int, title: str, found: dict[str, list[Row]], key: str, digits: int = 1) -> None:
        parts.append(markdown(number, title, found, NOTES[number], key, digits))

    add(3, "Accuracy of predicted classes", accuracy(pools), "N/K (N)")
    add(4, "Confusion matrix", confusion(pools), "N/K (N)", 3)
    ece, rmse = calibration(pools)
    add(5, "Expected calibration error", ece, "N/10 (N)")
    add(6, "Least accurate classes", extremes(pools, lambda m: ba.LeastAccurate(m=m), 6), "m")
    add(7, "Comparison of two classes", comparisons(pools), "pairs x campaigns")
    add(8, "Accuracy of bins", rmse, "N/10 (N)")
    designs = {name: SCORED[name] for name in ("IPrior", "IPrior+TS")}
    scored = [data for data in pools if data.scored]
    found = extremes(scored, lambda m: ba.LeastCalibrated(by="prediction", bins=BINS, m=m), 9, designs)
    add(9, "Least calibrated classes", found, "m")
    return "\n".join(parts)


def main() -> int:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("aba.md"), help="Markdown file to write")
    parser.add_argument("--campaigns", type=int, default=1000, help="campaigns per method")
    parser.add_argument("--quick", action="store_true", help="50 campaigns, for trying")
    options = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if not folder:
        print("Set BAYES_ASSESS_POOLS to the folder of the labelled pools that this study needs.")
        return 0
    campaigns = 50 if options.quick else options.campaigns
    paths = [path for path in (Path(folder) / f"{name}.npz" for name in POOLS) if path.exists()]
    text = report([Data.load(path, campaigns) for path in paths], campaigns)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    minutes, processor = (time.perf_counter() - _START) / 60, time.process_time() / 60
    text += f"\nTime: {minutes:.1f} minutes on {cores} cores, {processor:.1f} minutes of processor time.\n"
    options.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
