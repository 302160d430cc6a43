"""Means of grades where a judge gives any number: do intervals hold, and what is it worth to see that labels are whole?

    python benchmarks/study_grades.py [--pools 60] [--seed 1] [--minutes 15] [--rows grades.jsonl]
    ... --report

People give one of 2 to 7 grades; a judge, who may be close or hardly look and is biased for some of one to six
systems, gives any number within the range. The mean of every system is asked for, by batches of 30 labels, and looked
at with 30, 120 and 300. A row has a pool, as the package answers ("package") and as if labels might be any number
("anything"): how many 95 % intervals held, their score over the range, and the mean squared error over its square.

Of 80 pools of seed 5 (`benchmarks/results/grades.jsonl`), with standard errors over pools; the score beside the
package's is a geometric mean:

| way | labels | held | score | score / package | RMSE |
|---|--:|--:|--:|--:|--:|
| package | 30 | 0.977 ± 0.011 | 0.203 | | 0.0495 |
| package | 120 | 0.947 ± 0.022 | 0.122 | | 0.0272 |
| package | 300 | 0.929 ± 0.025 | 0.075 | | 0.0167 |
| anything | 30 | 0.938 ± 0.018 | 0.284 | 1.11 ± 0.05 | 0.0635 |
| anything | 120 | 0.859 ± 0.031 | 0.153 | 1.10 ± 0.06 | 0.0324 |
| anything | 300 | 0.879 ± 0.028 | 0.090 | 1.07 ± 0.06 | 0.0193 |

Of 9 and 11 grades, which the package takes for any number, a belief that means lie between these alone was no better:
scores of 1.04, 1.04 and 1.03 (.01, .03, .02) on 30 pools.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from _campaign_rows import scored
from _rows import Rows, add_row_options, read_rows, sharded, without_row

import bayes_assess as ba
from bayes_assess.models._value_terms import Grades

LOOKS, BATCH = (30, 120, 300), 30
WAYS, FIGURES = ("package", "anything"), ("held", "score", "error")
GRADES = (2, 3, 5, 5, 7)
KEY = ("seed", "pool", "way")


def made(seed: int, number: int) -> tuple[ba.Pool, np.ndarray, str | None]:
    """Make a pool, labels from 0 to 1, and what they are grouped by.

    Examples
    --------
    >>> pool, labels, by = made(1, 0)
    >>> len(pool) == len(labels), bool(0 <= labels.min() <= labels.max() <= 1)
    (True, True)
    """
    rng = np.random.default_rng([51, seed, number])
    n, n_systems = int(rng.integers(600, 4001)), int(rng.choice([1, 2, 4, 6]))
    top = GRADES[number % len(GRADES)] - 1
    system = rng.choice(n_systems, n, p=rng.dirichlet(np.full(n_systems, 5.0)))
    worth = rng.normal(rng.normal(0, 0.5, n_systems)[system], 1.0)
    grade = np.clip(np.round(top * (rng.uniform(0.3, 0.8) + rng.uniform(0.1, 0.3) * worth)), 0, top)
    favour = rng.normal(0, 0.5, n_systems) * (rng.random(n_systems) < 0.4)
    heard = worth + favour[system] + rng.normal(0, np.exp(rng.uniform(np.log(0.2), np.log(2.0))), n)
    said = np.clip(rng.uniform(0.3, 0.8) + rng.uniform(0.05, 0.25) * heard, 0, 1)
    groups = {"system": system} if n_systems > 1 else None
    pool = ba.Pool(predictions=said, bounds=(0, 1), groups=groups)
    return pool, grade / top, None if groups is None else "system"


@contextmanager
def answering(way: str) -> Iterator[None]:
    """Let labels be any number, whatever they are, or leave the package as it is."""
    own = Grades.parts
    if way == "anything":
        Grades.parts = lambda _, times, xp: xp.asarray(len(times) - 1)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Grades.parts = own  # type: ignore[method-assign]


def session(pool: ba.Pool, labels: np.ndarray, by: str | None, seed: int) -> dict[str, list[float]]:
    """Return the figures of a session at every look."""
    question = ba.Mean(by=by)
    truth = np.atleast_1d(question.truth(pool, labels))
    a, found = ba.assess(pool, question, seed=seed), {name: [] for name in FIGURES}
    while a.labels_used < LOOKS[-1]:
        ids = np.asarray(a.ask(BATCH).ids)
        a.tell(ids, labels[ids])
        if a.labels_used in LOOKS:
            result = a.result()
            lower, upper = np.asarray(result.interval).reshape(-1, 2).T
            held, _, score = scored(lower, upper, truth)
            found["held"].append(float(held.mean()))
            found["score"].append(float(score.mean()))
            found["error"].append(float(((np.atleast_1d(result.estimate) - truth) ** 2).mean()))
    return found


def report(rows: list[dict]) -> str:
    """Write the table of both ways, on the pools that have either."""
    by = {way: {(row["seed"], row["pool"]): row for row in rows if row["way"] == way} for way in WAYS}
    pools = [key for key in by["package"] if key in by["anything"]]
    lines = [
        f"{len(pools)} pools",
        "",
        "| way | labels | held | score | score / package | RMSE |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    held, score, error = ({way: np.array([by[way][key][name] for key in pools]) for way in WAYS} for name in FIGURES)
    for way in WAYS:
        ratio = np.log(score[way] / score["package"])
        for i, n in enumerate(LOOKS):
            of, spread = np.exp(ratio[:, i].mean()), ratio[:, i].std() / np.sqrt(len(pools))
            hold = f"{held[way][:, i].mean():.3f} ± {held[way][:, i].std() / np.sqrt(len(pools)):.3f}"
            told = (
                f"{score[way][:, i].mean():.3f} | {of:.2f} ± {of * spread:.2f} | {np.sqrt(error[way][:, i].mean()):.4f}"
            )
            lines.append(f"| {way} | {n} | {hold} | {told} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Add rows, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "grades.jsonl")
    parser.add_argument("--pools", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows = Rows(options.rows, KEY)
    cases = (
        ({"seed": options.seed, "pool": number, "way": way}, (number, way))
        for number in sharded(range(options.pools), options.shard)
        for way in WAYS
    )
    for row, (number, way) in without_row(cases, rows, options.minutes):
        pool, labels, by = made(options.seed, number)
        with answering(way):
            rows.add(row | {"grades": len(np.unique(labels))} | session(pool, labels, by, number))


if __name__ == "__main__":
    main()
