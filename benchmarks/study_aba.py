"""[ABA]'s Tables 3 to 11 and Figures 3, 6, 11 and 15 to 19, with `ba.simulate` on pools whose labels are all known.

    BAYES_ASSESS_POOLS=/path/to/pools python benchmarks/study_aba.py [--quick] [--minutes 5] [--rows aba.jsonl]
        [--parts scores accuracy calibration costs pairs ece reliability] [--pools 20news mnist] [--campaigns 1000]
    python benchmarks/study_aba.py --report [--rows aba.jsonl] [--out aba.md]

The folder, or that of ``--datasets``, holds ``cifar100.npz`` and ``imagenet.npz`` (arrays ``predictions`` and
``labels``), ``20news.npz``, ``cifar10.npz``, ``cifar10_vgg.npz`` and ``mnist.npz`` (``scores`` and ``labels``); what is
missing is left out. They are other models than [ABA]'s, in part on other data, so that not figures but their order is
to be compared.

UPrior labels random items and starts from the uninformative prior, IPrior from the informative one, IPrior+TS chooses
items by Thompson sampling. Pools without scores have no informative prior: there UPrior+TS stands beside UPrior.

Every method on a pool is a row of a file of JSON lines, written when it is done; a run goes on where one stopped.
--report makes a Markdown file from the rows, and its figures beside it. --quick takes a minute or two: 20 campaigns of
the methods of [ABA]'s tables on one pool.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from _aba_figures import RANKS, ece_errors, ranks, reliability
from _aba_pools import CAMPAIGNS_IMAGENET, LABELS_IMAGENET, POOLS, Data
from _aba_report import (
    cost_names,
    figure_verdicts,
    most_campaigns,
    pair_lines,
    score_lines,
    search_lines,
    table,
)
from _aba_runs import KEY, tasks
from _pools import need_folder
from _rows import Clock, Rows, add_row_options, read_rows, sharded, whole

from bayes_assess._tools.compiled_cache import keep_compiled

PARTS = ("scores", "accuracy", "calibration", "costs", "pairs", "ece", "reliability")
QUICK_PARTS = ("scores", "accuracy", "ece", "reliability")


def pools_of(options: argparse.Namespace) -> Iterator[Data]:
    """Read the pools that there are; a quick run takes the first one that has scores."""
    folder = need_folder(options.datasets, "--datasets")
    paths = [path for path in (folder / f"{name}.npz" for name in options.pools) if path.exists()]
    if not paths:
        sys.exit(f"There is none of {', '.join(options.pools)} in {folder}; nothing was run.")
    found = (Data.load(path) for path in paths)
    if options.quick:
        found = (data for data in [next((data for data in found if data.scored), None)] if data is not None)
    return sharded(found, options.shard)


def run(options: argparse.Namespace) -> None:
    """Add the rows that are not there yet."""
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    for data in pools_of(options):
        about = {"part": "pool", "pool": data.name, "method": "", "sought": "", "m": 0, "campaigns": 0}
        if about not in rows:
            rows.add(about | {"facts": data.facts})
        for key, make in tasks(data, options.parts, options.campaigns):
            if key in rows or (options.quick and (key["m"] > 1 or key["method"] in _NOT_QUICK)):
                continue
            if clock.over:
                print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                return
            rows.add(key | make())
            said = " ".join(str(key[name]) for name in ("sought", "method") if key[name])
            print(f"{data.name}, {key['part']}, {said}{', m = ' + str(key['m']) if key['m'] else ''}", flush=True)


_NOT_QUICK = ("UPrior+TTTS", "UPrior+greedy", "UPrior+UCB", "Frequentist", "IPrior+TS, 10", "IPrior+TS, 100", "100")
INTRODUCTION = """# [ABA]'s Tables 3 to 11 and its figures, on other pools

[ABA] is Ji, Logan, Smyth, Steyvers, *Active Bayesian Assessment of Black-Box Classifiers* (AAAI 2021). Its models and
its SVHN and DBpedia are not among these pools: cifar100, imagenet and 20news are other models on its data, cifar10,
cifar10_vgg and mnist are other data. What can be compared is which method is better, and by how much. cifar100 and
imagenet come without scores, so that they have no informative prior: UPrior+TS stands there beside UPrior.

Priors are worth two labels per group (one per row of the confusion matrix, and for costs), as in [ABA], unless a name
says another number. Estimates are posterior means of population values, as in [ABA], except where groups are sought:
there the known labels of this pool count as known, so that every campaign ends with the right answer. ± is one standard
error over campaigns, {campaigns:,} per method at most (imagenet: {imagenet}, to {labels:,} labels). UPrior and IPrior
label the same items. Frequentist is UPrior with a prior worth a thousandth of a label. [ABA]'s published code gives
UPrior a prior worth 1e-6 labels in Tables 3 to 6 and 8, where its text says 2; here it is 2. The code is at
github.com/disiji/active-assess.

| pool | items | classes | accuracy, % | sd of classwise accuracy | confidence, % | ECE, % | correlation of classwise \
confidence and accuracy |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def describe(name: str, facts: dict[str, Any]) -> str:
    """Say what explains the figures of a pool."""
    row = f"| {name} | {facts['items']:,} | {facts['classes']:,} | {100 * facts['accuracy']:.1f} | "
    row += f"{100 * facts['spread']:.1f} | "
    if "ece" not in facts:
        return row + "| | |"
    return row + f"{100 * facts['confidence']:.1f} | {100 * facts['ece']:.1f} | {facts['correlation']:.2f} |"


def report(options: argparse.Namespace) -> str:
    """Write the tables from the rows, and figures beside the file."""
    found = [row for row in read_rows(options.rows) if row["pool"] in options.pools]
    rows = most_campaigns(found)
    facts = {row["pool"]: row["facts"] for row in rows if row["part"] == "pool"}
    if len(rows) == len(facts):
        sys.exit(f"There are no rows in {options.rows}; run without --report first.")
    mpl.use("agg")
    campaigns = max(row["campaigns"] for row in rows)
    introduction = INTRODUCTION.replace("\\\n", "").format(
        campaigns=campaigns, imagenet=min(campaigns, CAMPAIGNS_IMAGENET), labels=LABELS_IMAGENET
    )
    parts = [introduction + "\n".join(describe(*one) for one in facts.items()) + "\n"]

    def add(number: int, title: str, lines: dict[str, list], key: str, digits: int = 1) -> None:
        lines = {name: rows for name, rows in lines.items() if rows}
        if lines:
            parts.append(table(number, title, lines, key, digits))

    def searched(sought: list[str], percent: bool = True) -> dict[str, list]:
        both = [
            [line for name in sought for line in search_lines(rows, name, facts, each, percent)]
            for each in (False, True)
        ]
        first = "Mean MRR of all campaigns above 0.99 (as [ABA]'s code)"
        second = "Mean over campaigns, each until its own MRR is above 0.99 (as one may read [ABA]'s text)"
        return {first: both[0], second: both[1]} if percent else {first: both[0]}

    scaled = {"Mean squared error, scaled (as [ABA]'s code)": score_lines(rows, "confusion", "mse")}
    scaled |= {"Mean RMSE, scaled (as [ABA]'s text)": score_lines(rows, "confusion", "rmse")}
    ece, bins = score_lines(rows, "calibration", "ece_error"), score_lines(rows, "calibration", "rmse", 100.0)
    add(3, "Accuracy of predicted classes", {"RMSE, percent": score_lines(rows, "accuracy", "rmse", 100.0)}, "N/K (N)")
    add(4, "Confusion matrix", scaled, "N/K (N)", 3)
    add(5, "Expected calibration error", {"Error of the ECE, percent of it": ece}, "N/10 (N)")
    add(6, "Least accurate classes", searched(["accuracy"]), "m")
    add(7, "Comparison of two classes", {"Labels": pair_lines(rows)}, "pairs x campaigns")
    add(8, "Accuracy of bins", {"RMSE, percent": bins}, "N/10 (N)")
    add(9, "Least calibrated classes", searched(["calibration"]), "m")
    add(10, "Most costly classes, people", searched(cost_names("human"), percent=False), "m")
    add(11, "Most costly classes, superclasses", searched(cost_names("superclass"), percent=False), "m")
    parts += _figures(options.out, rows, facts)
    return "\n".join(parts)


def _figures(out: Path, rows: list[dict[str, Any]], facts: dict[str, dict]) -> list[str]:
    """Draw the figures that there are rows for, and write what becomes of the statements about them."""

    def path(figure: str) -> Path:
        return out.with_name(f"{out.stem}_{figure.lower().replace(' ', '_')}.png")

    drawn = [figure for figure in RANKS if ranks(path(figure), figure, rows, facts)]
    drawn += ["Figure 6"] * ece_errors(path("Figure 6"), rows) + ["Figure 17"] * reliability(path("Figure 17"), rows)
    verdicts = figure_verdicts(rows)
    parts = [f"## Figures\n\n{verdicts}\n"] if verdicts else []
    for figure in sorted(drawn, key=lambda name: int(name.split()[1])):
        parts.append(f"### In the shape of {figure}\n\n![{figure}]({path(figure).name})\n")
    return parts


def main(arguments: list[str] | None = None) -> None:
    """Add rows, or make the report from them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "aba.jsonl")
    parser.add_argument("--datasets", type=Path, help="folder of the pools; else BAYES_ASSESS_POOLS")
    parser.add_argument("--out", type=Path, default=Path("aba.md"), help="file of --report; figures go beside it")
    parser.add_argument("--campaigns", type=whole, default=1000, help="per method")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--pools", nargs="+", choices=POOLS, default=POOLS)
    parser.add_argument("--quick", action="store_true", help="for trying: 20 campaigns of few methods on one pool")
    options = parser.parse_args(arguments)
    if options.quick:
        options.campaigns = min(options.campaigns, 20)
        options.parts = [part for part in options.parts if part in QUICK_PARTS] or options.parts
    if options.report:
        options.out.write_text(report(options))
        print(f"Written to {options.out}.")
        return
    keep_compiled()
    run(options)


if __name__ == "__main__":
    main()
