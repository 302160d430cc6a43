"""[SEME]'s Figures 1 to 11, with `ba.simulate`: Poisson sampling against importance sampling and uniform sampling.

    BAYES_ASSESS_POOLS=/path/to/pools python benchmarks/study_seme.py [--quick] [--minutes 5] [--rows seme.jsonl]
    python benchmarks/study_seme.py --report [--rows seme.jsonl] [--out seme.md]

The folder, or that of ``--datasets``, holds ``mnist.npz`` and ``20news.npz`` (arrays ``scores`` of all classes,
``labels`` and ``classes``); what is missing is left out. A pool whose items have 20 labels each is made here and needs
no folder. Samples are those of the designs as they are shipped: `Poisson` (one batch of the whole budget) and
`Importance`, without a floor and with scores trusted to 0.9 as in [SEME], `Passive`, and `Stratified` with one stratum.

Every number of labels of a method is a row of a file of JSON lines, written when it is done; a run goes on where one
stopped. --report makes a Markdown file from the rows, with figures beside it: what becomes of [SEME]'s statements;
errors of estimates against distinct labels, coverage of nominal 90 % intervals, items drawn with certainty, one
experiment step by step, and errors of every measure when sampled for every other. Everything takes about half an hour
on two cores, most of it to compile a batch of every size; --quick takes a minute or two: 30 repeats on the first pool.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
from _pools import folder, need_folder
from _rows import Clock, Rows, add_row_options, sharded, whole
from _seme_claims import verdicts
from _seme_figures import certain_items, coverage, crossed, errors, one_experiment
from _seme_pools import (
    Binary,
    LabelSets,
    Pool,
    mnist,
    multi_label,
    newsgroup,
    newsgroups,
    overconfident,
    shuffled,
    trusted,
)
from _seme_runs import FEWER_SHARES, KEY, METHODS, SHARES, methods_of, new_rows, pool_row, read_study
from _seme_tables import (
    Study,
    certainty_table,
    coverage_table,
    cross_table,
    describe,
    error_table,
    one_run,
    worse_table,
)

from bayes_assess._tools.compiled_cache import keep_compiled

WORSE = {", over-confident": overconfident, ", shuffled": shuffled, ", lam 1": trusted}
QUICK_SHARES = (0.01, 0.1, 0.5)


def pools_of(options: argparse.Namespace) -> list[tuple[Pool, bool]]:
    """Read or make the pools, those with several measures with worse scores, too, which are marked."""
    path = need_folder(options.datasets, "--datasets") if options.datasets else folder()
    found: list[tuple[Pool, bool]] = []
    if path is None:
        print("Without --datasets or BAYES_ASSESS_POOLS only the simulated pool is studied.")
    else:
        path = need_folder(path, "--datasets")
        makers = {"mnist.npz": (mnist,), "20news.npz": (newsgroup, newsgroups)}
        for name, makes in makers.items():
            found += [(make(path), False) for make in makes if (path / name).exists()]
        if not found:
            sys.exit(f"There is neither mnist.npz nor 20news.npz in {path}; nothing was run.")
    honest = [pool for pool, _ in found if isinstance(pool, Binary) and len(pool.measures) > 1]
    return [*found, (multi_label(), False), *((change(pool), True) for pool in honest for change in WORSE.values())]


def sampled_for(pool: Pool) -> str:
    """Return the measure that is sampled for first."""
    return pool.measures[0] if isinstance(pool, LabelSets) or len(pool.measures) == 1 else "f1"


def methods_on(pool: Pool, worse: bool) -> tuple[str, ...]:
    """Return the methods whose samples are worth a look; trust in the scores changes only what follows them."""
    if worse and isinstance(pool, Binary) and pool.lam == 1:
        return ("Importance", "Poisson")
    return METHODS[1:] if worse else methods_of(pool)


def run(options: argparse.Namespace) -> None:
    """Add the rows that are not there yet."""
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    pools = pools_of(options)
    first = pools[0][0]
    for pool, worse in sharded(pools[:1] if options.quick else pools, options.shard):
        own = sampled_for(pool)
        about = {"pool": pool.name, "method": "", "measure": own, "share": 0.0, "repeats": 0}
        if about not in rows:
            rows.add(pool_row(pool, own))
        sought = [(method, own, FEWER_SHARES if worse else SHARES) for method in methods_on(pool, worse)]
        if not worse and not options.quick and (pool is first or isinstance(pool, LabelSets)):
            both = [method for method in ("Poisson", "Importance") if method in methods_of(pool)]
            sought += [(method, other, FEWER_SHARES) for method in both for other in pool.measures if other != own]
        sought = [(method, measure, QUICK_SHARES if options.quick else shares) for method, measure, shares in sought]
        tasks = [(*task, options.repeats) for task in sought]
        tasks += [("Poisson", own, (1.0,), 2)] * (
            not worse and not options.quick
        )  # all labels: exact whatever is drawn
        for method, measure, shares, repeats in tasks:
            key = {"pool": pool.name, "method": method, "measure": measure, "repeats": repeats}
            missing = [share for share in shares if key | {"share": share} not in rows]
            # Poisson sampling makes a row at a time, the others make all of theirs at once.
            for part in [[share] for share in missing] if method == "Poisson" else [missing] * bool(missing):
                if clock.over:
                    print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                    return
                for row in new_rows(pool, method, measure, part, repeats):
                    rows.add(row)
                print(f"{pool.name}, {method} for {measure}: {', '.join(f'{100 * s:g} %' for s in part)}", flush=True)


INTRODUCTION = """# [SEME]'s Figures 1 to 11 on other pools

[SEME] is Yilmaz, Hayes, Habib, Burgess, Barber, *Sample Efficient Model Evaluation*. Its MNIST, 20
Newsgroups and Toxic Comments have other classifiers, and Toxic Comments is not among these pools: a simulated pool with
20 labels per item stands in its place. What can be compared is which method errs less, and by how much.

Methods: **Uniform, repl.** draws all items alike with replacement, as in [SEME]; **Uniform** without. **Importance**
draws with replacement by the optimal probabilities, **Poisson** a batch of fixed size with the optimal inclusion
probabilities of Poisson sampling; both are alike for the items of a stratum of 256. All are campaigns of
the shipped designs that end at the same number of distinct labels. Samples are for the F1 score (micro F1; accuracy
where all classes count), scores trusted to 0.9. An estimate that the draws do not define is what the scores say.

± is one standard error over repeats. Errors are mean absolute errors in percentage points; "log" is the mean of
log (error^2), errors below 1e-6 counting as that. "Beta" is the published interval, "ours" the one that the design
gives by default. "-": not run, or out of reach. Onset: percent of the pool labelled from which on items are drawn with
certainty.

| pool | items | truth | onset, % |
| --- | ---: | --- | ---: |
"""
CROSS_NOTE = "The least errors are bold."
PRECISION_NOTE = (
    "Samples for precision hold next to no item that is predicted negative before they hold all others, so that what "
    "is said of recall hangs on few items, or on none."
)


def report(options: argparse.Namespace) -> str:
    """Write the report from the rows, and figures beside the file; pools with worse scores share a table."""
    found: Study = read_study(options.rows, tuple(WORSE))
    if not found.found:
        sys.exit(f"There are no rows in {options.rows}; run without --report first.")
    mpl.use("agg")
    out, worse = options.out, [name for name in found.facts if name.endswith(tuple(WORSE))]

    def picture(name: str, what: str) -> Path:
        return out.with_name(f"{out.stem}_{''.join(c if c.isalnum() else '_' for c in name)}_{what}.png")

    rows = [describe(name, facts) for name, facts in found.facts.items()]
    parts = [INTRODUCTION + "\n".join(rows) + "\n", f"## [SEME]'s statements\n\n{verdicts(found)}\n"]
    for name in [name for name in found.facts if name not in worse and found.of(name)]:
        methods = found.of(name)
        made = {what: picture(name, what) for what in ("errors", "log", "coverage", "experiment")}
        errors(made["errors"], name, methods, logarithms=False)
        errors(made["log"], name, methods, logarithms=True)
        coverage(made["coverage"], name, methods)
        one_experiment(made["experiment"], name, methods)
        shown = {what: f"![{name}, {what}]({path.name})" for what, path in made.items()}
        parts += [
            f"## {name}, sampled for {methods[0].measure}, {methods[0].estimates.shape[1]} repeats\n",
            f"Errors (Figures 2 and 5):\n\n{error_table(methods)}\n\n{shown['errors']}\n",
            f"log (error^2) (Figures 8 and 9):\n\n{error_table(methods, logarithms=True)}\n\n{shown['log']}\n",
            f"Coverage of 90 % intervals, percent (Figure 3):\n\n{coverage_table(methods)}\n\n{shown['coverage']}\n",
            f"The first experiment (Figures 1, 6 and 7):\n\n{one_run(methods)}\n\n{shown['experiment']}\n",
        ]
    certain = picture(next(iter(found.facts)), "certain")
    certain_items(certain, next(iter(found.facts)), next(iter(found.facts.values())).certainty)
    parts.append(f"## Certain items (Figure 4)\n\n{certainty_table(found)}\n\n![Certain items]({certain.name})\n")
    for pool in dict.fromkeys(key[0] for key in found.cross):
        for method, figure in (("Poisson", "Figures 6 and 10"), ("Importance", "Figure 11")):
            methods = [one for key, one in found.cross.items() if key[:2] == (pool, method)]
            if not methods:
                continue
            path = picture(pool, f"crossed_{method}")
            crossed(path, f"{pool}, {method}", methods)
            title = f"## {pool}, {method}, every measure for every other ({figure})"
            note = f"{CROSS_NOTE} {PRECISION_NOTE}" if found.facts[pool].binary else CROSS_NOTE
            parts.append(f"{title}\n\n{note}\n\n{cross_table(methods)}\n\n![Crossed]({path.name})\n")
    if any(found.of(name) for name in worse):
        table = worse_table(one for name in worse for one in found.of(name))
        parts.append(f"## Worse scores, and scores trusted wholly (not in [SEME])\n\n{table}\n")
    return "\n".join(parts)


def main(arguments: list[str] | None = None) -> None:
    """Add rows, or make the report from them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "seme.jsonl")
    parser.add_argument("--datasets", type=Path, help="folder of the pools; else BAYES_ASSESS_POOLS")
    parser.add_argument("--out", type=Path, default=Path("seme.md"), help="file of --report; figures go beside it")
    parser.add_argument("--repeats", type=whole, default=200, help="samples per method and number of labels")
    parser.add_argument("--quick", action="store_true", help="for trying: 30 repeats on the first pool")
    options = parser.parse_args(arguments)
    if options.quick:
        options.repeats = min(options.repeats, 30)
    if options.report:
        options.out.write_text(report(options))
        print(f"Written to {options.out}.")
        return
    keep_compiled()
    run(options)


if __name__ == "__main__":
    main()
