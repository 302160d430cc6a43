"""[NH]'s Figures 2 to 8, with `ba.simulate` on its own pools, and verdicts on what it says of them.

    python benchmarks/study_nh.py --datasets FOLDER [--quick] [--minutes 5] [--campaigns 1000] [--rows nh.jsonl]
    python benchmarks/study_nh.py --report [--rows nh.jsonl] [--out nh.md]

The folder is `datasets` of github.com/ngmarchant/activeeval-experiments (HDF5; some files are kept outside Git), or one
of NPZ files named ``nh_abt_buy.npz`` and so on, with arrays ``probability``, ``predictions`` and ``labels``; without
the option BAYES_ASSESS_POOLS names it. Where neither has a pool, ``abt_buy.npz``, ``amzn_goog.npz`` or ``dblp_acm.npz``
stands in for it: another classifier on the same data. What is missing is left out.

Settings are those of the authors' scripts: proposals are updated after every 50 labels, the F1 score is judged at 2,000
labels, accuracy at 1,000 and curves of 1,024 thresholds at 5,000; 100 campaigns per method, where the paper has 1,000.
Every method on a pool is a row of a file of JSON lines, written when it is done; a run goes on where one stopped.
--report makes the Markdown file from the rows, and its figures beside it. --quick takes a minute: 20 campaigns of three
methods to 500 labels on one pool.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from _nh_claims import less_pronounced, verdicts
from _nh_figures import CURVES_OF, convergence, hundred_curves, summary
from _nh_pools import POOLS, Data, pools_in
from _nh_tables import INTRODUCTION, KEY, pool_row, read_tasks, table, times
from _pools import need_folder
from _rows import Clock, Rows, add_row_options, sharded, whole
from scipy.special import expit

import bayes_assess as ba
from bayes_assess._tools.compiled_cache import keep_compiled
from bayes_assess.designs import Adaptive, Design, Importance, Oasis, Passive, Stratified
from bayes_assess.estimators.intervals import bootstrap_interval, measure_interval
from bayes_assess.pool.strata import Kind, Strata
from bayes_assess.questions import Metric, PRCurve
from bayes_assess.questions._measures_answered import cells_table

STRATA = 256
THRESHOLDS = 1024
EVERY = 16  # threshold, has its intervals checked
DRAWN = 4  # every so many thresholds are drawn of a curve
CURVES = 100  # drawn at most
AT_ONCE = 100  # campaigns on curves at a time: 60 MB
STATIC = ("Passive", "Stratified", "IS")  # draw alike whatever labels say, so that batches change nothing but the time
METHODS = (*STATIC, "OASIS", "Ours-8", "Ours-1", "Ours-1, blockwise")


@dataclass(frozen=True)
class Task:
    """What is estimated, with how many labels."""

    name: str
    title: str
    figures: str  # of [NH]
    overview: str  # figure that compares pools
    ylabel: str
    shown: tuple[int, ...]  # numbers of labels in tables
    n_looks: int  # for figures, from `first` to the last of these
    pools: tuple[str, ...] = tuple(POOLS)
    first: int = 50
    kind: Kind = "csf"

    def question(self, data: Data) -> Metric:
        """Return the question; the thresholds of a curve lie evenly between the least and the greatest score."""
        if self.name != "curve":
            return Metric(self.name)
        thresholds = np.linspace(data.scores.min(), data.scores.max(), THRESHOLDS)
        logistic = np.allclose(data.probability, expit(data.scores), rtol=1e-6)
        if not logistic:  # probabilities that are no function of the scores have thresholds of their own
            thresholds = np.linspace(data.probability.min(), data.probability.max(), THRESHOLDS)
        return PRCurve(expit(thresholds) if logistic else thresholds)

    def designs(self, data: Data) -> dict[str, Design]:
        """Return the methods by the names that [NH] gives them; scores are cut, not probabilities."""
        cut: dict[str, Any] = {"strata": Strata(STRATA, self.kind, of=data.scores)}
        published: dict[str, Any] = {"epsilon": 1e-9, "floor": 0.0} | cut
        designs: dict[str, Design] = {
            "Passive": Passive(),
            "Stratified": Stratified(**cut),
            "IS": Importance(**published),
            "OASIS": Oasis(**cut),
            "Ours-8": Adaptive(depth=8, branching=2, **published),
            "Ours-1": Adaptive(depth=1, **published),
            "Ours-1, blockwise": Adaptive(depth=1, level="block", **published),
        }
        return {name: design for name, design in designs.items() if self.name == "f1" or name != "OASIS"}

    def looks(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return at how many labels to look, and the positions of those in tables; `most` labels at most."""
        shown = np.unique(np.minimum(self.shown, most))
        first = min(self.first, int(shown[-1]))
        looks = np.union1d(np.geomspace(first, shown[-1], self.n_looks).round().astype(int), shown)
        return looks, np.searchsorted(looks, shown)


TASKS = [
    Task(
        "f1", "F1 score", "Figures 2, 3 and 5", "Figure 3", "MSE of the F1 score", (250, 500, 1000, 2000), 16
    ),
    Task("accuracy", "Accuracy", "Figures 6 and 7", "Figure 6(b)", "MSE of accuracy", (250, 500, 1000), 14),
    Task(
        "curve", "Precision-recall curve", "Figures 4 and 8", "Figure 8, at its right end",
        "MSE, summed over the curve", (1000, 2000, 5000), 8, pools=("abt_buy", "dblp_acm"), kind="width",
    ),
]  # fmt: skip
NOTES = {
    "f1": 'In [NH] 5.3 "Ours" is not the best on dblp-acm, where appendix J has Ours-1 the best: "Ours" is read as '
    "Ours-8.",
    "accuracy": "OASIS does not estimate accuracy. Errors are so rare that most campaigns of Passive find none: "
    "few campaigns, and their bands, do not show the MSE of such methods.",
    "curve": f"{THRESHOLDS:,} thresholds evenly between the least and the greatest score; blocks are {STRATA} of "
    "equal width at most, which cut the same range, not exactly at every fourth threshold as in [NH]. MSE is the "
    f"sum over all {2 * THRESHOLDS:,} precisions and recalls, as in [NH]; bias is the average over them, coverage and "
    f"width over every {EVERY}th. Undefined ones are estimated by what the scores, or the model, say.",
}


def method_row(task: Task, data: Data, method: str, campaigns: int, batch: int, most: int, warm: bool) -> dict:
    """Simulate the campaigns of one method, in parts of equal size, and say what they found."""
    looks, shown = task.looks(most)
    question, design = task.question(data), task.designs(data)[method]
    parts = -(-campaigns // AT_ONCE) if task.name == "curve" else 1
    size = -(-campaigns // parts)

    def simulate(budgets: np.ndarray, seed: int) -> ba.Study:
        return ba.simulate(
            data.pool, data.labels, question, designs={"": design}, budgets=budgets, repeats=size, seed=seed,
            batch=1 if method in STATIC else batch, progress=False,
        )  # fmt: skip

    start = time.perf_counter()
    if warm:
        simulate(np.arange(1, len(looks) + 1), 0)  # of the same shapes
    compiled = time.perf_counter()
    curves: list[np.ndarray] = []
    found, truth = [], np.zeros(0)
    for seed in range(parts):
        study = simulate(looks, seed)
        found.append(kept(study, shown))
        truth = np.atleast_1d(study.truth)
        if task.name == "curve" and method in CURVES_OF and sum(map(len, curves)) < CURVES:
            curves.append(study.campaigns[""].record.value[:, -1, ::DRAWN])
    seconds = time.perf_counter() - compiled
    one = {key: np.concatenate([part[key] for part in found])[:campaigns] for key in found[0]}
    error = one["squares"].std(0, ddof=1) / np.sqrt(campaigns)
    row = {"looks": looks, "shown": shown, "mse": one["squares"].mean(0), "mse_error": error}
    row |= {"band": bootstrap_interval(one["squares"]), "divergence_band": bootstrap_interval(one["divergence"])}
    names = {"bias": "errors", "draws": "draws", "divergence": "divergence"}
    names |= {"coverage": "inside", "coverage_last": "inside_last", "width": "width"}
    row |= {name: one[key].mean(0) for name, key in names.items()}
    row = {name: value.tolist() for name, value in row.items()}
    if curves:
        drawn = np.concatenate(curves)[: min(CURVES, campaigns)]
        row["curves"] = {"truth": truth[::DRAWN].round(4).tolist(), "estimates": drawn.round(4).tolist()}
    return row | {"seconds": seconds, "compiling": compiled - start if warm else None}


def kept(study: ba.Study, shown: np.ndarray) -> dict[str, np.ndarray]:
    """Sum up campaigns over outputs: (R, B) or, of intervals, (R, T) each."""
    campaigns = study.campaigns[""]
    record, truth = campaigns.record, np.atleast_1d(study.truth)
    errors = record.value - truth
    checked = slice(None, None, EVERY if len(truth) > 1 else 1)
    ranges = np.array(cells_table(study.cells).ranges)[checked]
    looked = record._replace(
        **{name: array[:, shown, checked] for name, array in record._asdict().items() if np.ndim(array) == 3},
        **{name: array[:, shown] for name, array in record._asdict().items() if np.ndim(array) == 2},
        possible=None if record.possible is None else record.possible[:, shown, checked],
    )

    def intervals(variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = measure_interval(looked._replace(variance=variance), ranges)
        low, high = ends[..., 0], ends[..., 1]
        inside = (low <= truth[checked] + 1e-12) & (truth[checked] <= high + 1e-12)
        return inside.mean(-1), (high - low).mean(-1)

    inside, width = intervals(looked.variance)
    assert campaigns.divergence is not None
    return {
        "squares": (errors**2).sum(-1),
        "errors": errors.mean(-1),
        "draws": record.n_draws,
        "divergence": campaigns.divergence,
        "inside": inside,
        "inside_last": intervals(looked.variance_of_last)[0],
        "width": width,
    }


def run(options: argparse.Namespace) -> None:
    """Add the rows that are not there yet."""
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    folder = need_folder(options.datasets, "--datasets")
    tasks = [task for task in TASKS if task.name in options.tasks]
    n = {task.name: options.campaigns for task in tasks}
    if options.curve_campaigns is not None and "curve" in n:
        n["curve"] = min(n["curve"], options.curve_campaigns)
    pools = sharded(pools_in(folder, options.pools), options.shard)
    found = False
    for data in [next(pools, None)] if options.quick else pools:
        if data is None:
            break
        found = True
        facts = data.facts()
        for task in [task for task in tasks if data.name in task.pools]:
            labels = min(task.shown[-1], options.labels)
            if labels > facts["items"]:
                sys.exit(f"{data.name} has {facts['items']:,} items, fewer than {labels:,} labels; see --labels.")
            for method in [name for name in task.designs(data) if name in options.methods]:
                row = {"task": task.name, "pool": data.name, "method": method}
                row |= {"campaigns": n[task.name], "batch": options.batch, "labels": labels}
                if row in rows:
                    continue
                if clock.over:
                    print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                    return
                new = method_row(task, data, method, n[task.name], options.batch, labels, not options.quick)
                rows.add(row | new | {"facts": facts})
                error = f"{new['mse'][-1]:.3g} ± {new['mse_error'][-1]:.1g}"
                print(f"{task.title}, {data.name}, {method}: MSE {error}, {new['seconds']:.0f} s", flush=True)
    if not found:
        sys.exit(f"There is no pool of {', '.join(options.pools)} in {folder}.")


def report(options: argparse.Namespace) -> str:
    """Write tables and verdicts from the rows, and figures beside the file."""
    tasks, facts = read_tasks(options.rows, options.tasks, options.pools)
    if not tasks:
        sys.exit(f"There are no rows of {', '.join(options.tasks)} in {options.rows}; run without --report first.")
    mpl.use("agg")
    out = options.out
    parts = [INTRODUCTION + "\n".join(pool_row(pool, found) for pool, found in facts.items()) + "\n"]
    for task in [task for task in TASKS if task.name in tasks]:
        by_pool, tables = tasks[task.name], []
        for pool, methods in by_pool.items():
            pictures = [out.with_name(f"{out.stem}_{task.name}_{pool}.png")]
            convergence(pictures[0], f"{task.title}, {pool}", methods, task.ylabel)
            if task.name == "curve":
                pictures.append(out.with_name(f"{out.stem}_curves_{pool}.png"))
                pictures = pictures if hundred_curves(pictures[1], pool, methods) else pictures[:1]
            shown = "\n\n".join(f"![{task.title}, {pool}]({picture.name})" for picture in pictures)
            tables.append(f"### {pool}\n\n{table(methods)}\n\n{shown}\n")
        one = next(iter(next(iter(by_pool.values())).values()))
        said = f"{one.n_campaigns:,} campaigns per method, labels in batches of {one.batch}."
        picture = out.with_name(f"{out.stem}_{task.name}.png")
        title = f"{task.title} at {one.looks[-1]:,} labels: {one.n_campaigns:,} campaigns, 95 % bootstrap bands"
        summary(picture, title, by_pool, task.ylabel)
        parts += [f"## {task.title} ({task.figures})\n\n{said} {NOTES[task.name]}\n", verdicts(task.name, by_pool)]
        parts += [f"In the shape of [NH]'s {task.overview}:\n\n![MSE by pool and method]({picture.name})\n", *tables]
    parts += [part for part in (less_pronounced(tasks), times(tasks, facts)) if part]
    return "\n".join(parts)


def main(arguments: list[str] | None = None) -> None:
    """Add rows, or make the report from them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "nh.jsonl")
    names = [task.name for task in TASKS]
    parser.add_argument("--datasets", type=Path, help="folder of the pools; else BAYES_ASSESS_POOLS")
    parser.add_argument("--out", type=Path, default=Path("nh.md"), help="file of --report; figures go beside it")
    parser.add_argument("--campaigns", type=whole, default=100, help="per method; the paper has 1,000")
    parser.add_argument("--curve-campaigns", type=whole, help="at most so many for curves")
    parser.add_argument("--batch", type=whole, default=50, help="labels between two updates of a proposal")
    parser.add_argument("--labels", type=whole, default=5000, help="end campaigns here at the latest")
    parser.add_argument("--tasks", nargs="+", choices=names, default=names)
    parser.add_argument("--pools", nargs="+", choices=POOLS, default=POOLS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--quick", action="store_true", help="for trying: 20 campaigns of three methods on one pool")
    options = parser.parse_args(arguments)
    if options.quick:
        options.campaigns, options.labels, options.methods = 20, 500, CURVES_OF
        options.tasks = [name for name in options.tasks if name != "accuracy"] or options.tasks
    if options.report:
        options.out.write_text(report(options))
        print(f"Written to {options.out}.")
        return
    keep_compiled()
    run(options)


if __name__ == "__main__":
    main()
