"""The shape of [NH]'s Figures 2, 3, 5, 6 and 8, with `ba.simulate` on pools whose labels are all known.

    BAYES_ASSESS_POOLS=/path/to/pools python benchmarks/study_nh.py --out nh.md [--quick]

The folder holds ``abt_buy.npz``, ``amzn_goog.npz`` and ``dblp_acm.npz`` (arrays ``probability``, ``predictions`` and
``labels``); what is missing is left out. Figures are written beside the Markdown file. They are pools of entity
resolution as in [NH], of the same sizes and with the same kind of classifier.

Curves have 1,024 precisions and recalls each, all kept at every look: their campaigns are looked at less often, and run
in batches of `BATCH`, of which one is in memory at a time. They take most of the time, an hour of it on two cores;
``--curve-campaigns 200`` shortens it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from _nh_tables import OVERVIEW, Found, Methods, convergence, less_pronounced, summary, table, verdicts

import bayes_assess as ba
from bayes_assess.designs import Adaptive, Design, Importance, Oasis, Passive, Stratified
from bayes_assess.estimators.intervals import measure_interval
from bayes_assess.pool.strata import Kind
from bayes_assess.questions import Metric, PRCurve
from bayes_assess.questions.metric import cells_table

NH_F1 = {"abt_buy": 0.595, "amzn_goog": 0.282, "dblp_acm": 0.947}  # [NH] Table 3
POOLS = list(NH_F1)
STRATA = 256
THRESHOLDS = 1024
EVERY = 16  # threshold, has its intervals checked
BATCH = 100  # campaigns on curves at a time: 60 MB


@dataclass(frozen=True)
class Task:
    """What is estimated, with how many labels."""

    name: str
    title: str
    figures: str  # of [NH]
    shown: tuple[int, ...]  # numbers of labels in tables
    n_looks: int  # for figures, from `first` to the last of these
    first: int = 50
    kind: Kind = "csf"

    def question(self, data: Data) -> Metric:
        """Return the question; the thresholds of a curve lie evenly between the least and the greatest score."""
        if self.name != "curve":
            return Metric(self.name)
        return PRCurve(np.linspace(float(data.scores.min()), float(data.scores.max()), THRESHOLDS))

    def designs(self) -> dict[str, Design]:
        """Return the methods by the names that [NH] gives them."""
        cut = {"n_strata": STRATA, "kind": self.kind}
        published = {"epsilon": 1e-9, "floor": 0.0} | cut
        designs = {
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
    Task("f1", "F1 score", "Figures 2, 3 and 5", (250, 500, 1000, 2000), 16),
    Task("accuracy", "Accuracy", "Figures 6 and 7", (250, 500, 1000), 14),
    Task("curve", "Precision-recall curve", "Figure 8", (1000, 2000, 5000), 8, kind="width"),
]


@dataclass(frozen=True)
class Data:
    """A pool with all its labels."""

    name: str
    pool: ba.Pool
    scores: np.ndarray
    labels: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Data:
        """Read a pool."""
        with np.load(path) as file:
            scores, labels = file["probability"], file["labels"]
            return cls(path.stem, ba.Pool(scores=scores, predictions=file["predictions"]), scores, labels)

    def describe(self) -> str:
        """Say what explains the figures."""
        positives = int((self.labels > 0).sum())
        f1, accuracy = (float(Metric(name).truth(self.pool, self.labels)) for name in ("f1", "accuracy"))
        return (
            f"| {self.name} | {self.pool.n_items:,} | {positives} | {len(self.labels) / positives:,.0f} | "
            f"{int((self.pool.predictions > 0).sum())} | {f1:.3f} | {NH_F1[self.name]:.3f} | {accuracy:.5f} |"
        )


def run(task: Task, data: Data, design: Design, campaigns: int, most: int) -> Found:
    """Simulate the campaigns of one method, in batches of equal size, and keep what tables and figures show."""
    looks, shown = task.looks(most)
    question = task.question(data)
    batches = -(-campaigns // BATCH) if task.name == "curve" else 1
    size = -(-campaigns // batches)

    def simulate(budgets: np.ndarray, seed: int) -> ba.Study:
        designs = {"": design}
        return ba.simulate(data.pool, data.labels, question, designs=designs, budgets=budgets, repeats=size, seed=seed)

    start = time.perf_counter()
    simulate(np.arange(1, len(looks) + 1), 0)  # of the same shapes
    compiled = time.perf_counter()
    parts = [kept(simulate(looks, seed), shown) for seed in range(batches)]
    seconds = time.perf_counter() - compiled
    joined = {key: np.concatenate([part[key] for part in parts])[:campaigns] for key in parts[0]}
    return Found(looks=looks, shown=shown, seconds=seconds, compiling=compiled - start, **joined)


def kept(study: ba.Study, shown: np.ndarray) -> dict[str, np.ndarray]:
    """Sum up a batch of campaigns over outputs: (R, B) or, of intervals, (R, T) each."""
    campaigns = study.campaigns[""]
    record, truth = campaigns.record, np.atleast_1d(study.truth)
    errors = record.value - truth
    checked = slice(None, None, EVERY if len(truth) > 1 else 1)
    ranges = np.array(cells_table(study.cells).ranges)[checked]
    looked = record._replace(
        **{name: array[:, shown, checked] for name, array in record._asdict().items() if array.ndim == 3},
        **{name: array[:, shown] for name, array in record._asdict().items() if array.ndim == 2},
    )

    def intervals(variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = measure_interval(looked._replace(variance=variance), ranges)
        low, high = ends[..., 0], ends[..., 1]
        inside = (low <= truth[checked] + 1e-12) & (truth[checked] <= high + 1e-12)
        return inside.mean(-1), (high - low).mean(-1)

    inside, width = intervals(looked.variance)
    return {
        "squares": (errors**2).sum(-1),
        "errors": errors.mean(-1),
        "draws": record.n_draws,
        "divergence": campaigns.divergence,
        "inside": inside,
        "inside_last": intervals(looked.variance_of_last)[0],
        "width": width,
    }


_START = time.perf_counter()


def found(task: Task, pools: list[Data], campaigns: int, most: int) -> Iterator[tuple[Data, Methods]]:
    """Run all methods on all pools, and say on standard error how long each took."""
    for data in pools:
        methods = {}
        for name, design in task.designs().items():
            methods[name] = run(task, data, design, campaigns, most)
            print(
                f"{task.title}, {data.name}, {name}: {methods[name].seconds:.0f} s, "
                f"compiling {methods[name].compiling:.0f} s, "
                f"{time.perf_counter() - _START:.0f} s in all",
                file=sys.stderr,
                flush=True,
            )
        yield data, methods


INTRODUCTION = """# [NH]'s Figures 2, 3, 5, 6 and 8

[NH] is Marchant, Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under Extreme Class Imbalance* (KDD
2021). These pools have its numbers of items and of items per positive (Table 3); classifiers differ, see F1.

Methods: **Passive** draws all items alike, with replacement. **Stratified** allocates labels to strata in proportion to
their sizes, without replacement, and collapses strata without labels with their neighbours, which [NH]'s published code
leaves out. **IS** is static importance sampling by the scores (here averaged over the items of a stratum
with the same prediction). **OASIS** serves the F1 score alone. **Ours-8** and **Ours-1** adapt the proposal to a
Dirichlet tree of depth 8 and 1. **Ours-1, blockwise** gives all items of a block the same probability, labelled or not,
as [NH]'s published code does where its partition is flat (which squares mean norms where this averages squares). There
are {strata} strata at most, by the cumulated square root of frequencies, and of equal width for curves. Labels count
items, each once; an item drawn again is free.

MSE is the mean of squared errors over campaigns, ± its standard error; bands are the percentiles 2.5 and 97.5 of
{resamples:,} bootstrap samples. Bias is the mean error. Coverage is that of nominal 95 % intervals (an interval of a
measure that the draws do not define yet is [0, 1], and covers); those "from the last" have the variance of [NH] 3.3.2,
`variance_of_last`. Divergence is KL(best proposal || proposal), in nats.

| pool | items | positives | items per positive | predicted positives | F1 | F1 in [NH] | accuracy |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""

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


def times(tasks: dict[str, dict[str, Methods]], pools: list[Data]) -> str:
    """Say how long a query took, beside what is quoted of the implementation of [NH]."""
    sizes = {data.name: data.pool.n_items for data in pools}
    lines = [
        "## Time per query",
        "",
        "| task | pool | items | method | compiling, s | campaigns, s | ms per query and campaign |",
    ]
    lines += ["| --- | --- | ---: | --- | ---: | ---: | ---: |"]
    for task, by_pool in tasks.items():
        for pool, methods in by_pool.items():
            for name, one in methods.items():
                seconds = f"{one.compiling:.0f} | {one.seconds:.0f} | {one.ms_per_label:.3f}"
                lines.append(f"| {task} | {pool} | {sizes[pool]:,} | {name} | {seconds} |")
    ours = [methods["Ours-8"].ms_per_label for by_pool in tasks.values() for methods in by_pool.values()]
    lines += [
        "",
        f"Ours-8 takes {min(ours):.2g} to {max(ours):.2g} ms of wall clock per query, many campaigns at once, "
        "compiling apart. For [NH]'s published implementation earlier trials gave 14 to 23 ms per query "
        "at 50,000 items and 100 to 480 ms at 500,000: quoted figures, not measured here, of one campaign at a time.",
    ]
    return "\n".join(lines) + "\n"


def report(pools: list[Data], names: list[str], out: Path, campaigns: dict[str, int], most: int) -> str:
    """Run all tasks, draw the figures, and write the report."""
    introduction = INTRODUCTION.format(strata=STRATA, resamples=1000)
    parts = [introduction + "\n".join(data.describe() for data in pools) + "\n"]
    tasks: dict[str, dict[str, Methods]] = {}
    for task in [task for task in TASKS if task.name in names]:
        n = campaigns[task.name]
        parts.append(f"## {task.title} ({task.figures})\n\n{n:,} campaigns per method. {NOTES[task.name]}\n")
        ylabel = {"f1": "MSE of the F1 score", "accuracy": "MSE of accuracy"}.get(
            task.name, "MSE, summed over the curve"
        )
        by_pool = tasks[task.name] = {}
        tables = []
        for data, methods in found(task, pools, n, most):
            by_pool[data.name] = methods
            picture = out.with_name(f"{out.stem}_{task.name}_{data.name}.png")
            convergence(picture, f"{task.title}, {data.name}", methods, ylabel)
            alt = f"Divergence and MSE against labels, {data.name}"
            tables.append(f"### {data.name}\n\n{table(methods)}\n\n![{alt}]({picture.name})\n")
        labels = next(iter(by_pool[pools[0].name].values())).looks[-1]
        picture = out.with_name(f"{out.stem}_{task.name}.png")
        title = f"{task.title} at {labels:,} labels: {n:,} campaigns, 95 % bootstrap bands"
        summary(picture, title, by_pool, ylabel)
        shape = f"In the shape of [NH]'s {OVERVIEW[task.name]}:"
        parts += [verdicts(task.name, by_pool), f"{shape}\n\n![MSE by pool and method]({picture.name})\n", *tables]
    parts += [part for part in (less_pronounced(tasks), times(tasks, pools)) if part]
    return "\n".join(parts)


def main() -> int:
    """Write the report."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("nh.md"), help="Markdown file to write; figures go beside it")
    parser.add_argument("--campaigns", type=int, default=1000, help="campaigns per method")
    parser.add_argument("--curve-campaigns", type=int, help="at most so many for curves")
    parser.add_argument("--quick", action="store_true", help="50 campaigns, for trying")
    parser.add_argument("--tasks", nargs="+", choices=[task.name for task in TASKS], help="only these")
    parser.add_argument("--pools", nargs="+", choices=POOLS, help="only these")
    parser.add_argument("--labels", type=int, default=5000, help="end campaigns here, for trying")
    options = parser.parse_args()
    folder = os.environ.get("BAYES_ASSESS_POOLS")
    if not folder:
        print("Set BAYES_ASSESS_POOLS to the folder of the labelled pools that this study needs.")
        return 0
    mpl.use("agg")
    n = 50 if options.quick else options.campaigns
    campaigns = {"f1": n, "accuracy": n, "curve": min(n, options.curve_campaigns or n)}
    paths = [path for path in (Path(folder) / f"{name}.npz" for name in options.pools or POOLS) if path.exists()]
    if not paths:
        print(f"There is none of {', '.join(POOLS)} in {folder}.")
        return 0
    names = options.tasks or [task.name for task in TASKS]
    text = report([Data.load(path) for path in paths], names, options.out, campaigns, options.labels)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    minutes, processor = (time.perf_counter() - _START) / 60, time.process_time() / 60
    text += f"\nTime: {minutes:.1f} minutes on {cores} cores, {processor:.1f} minutes of processor time.\n"
    options.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
