"""Means of two systems' ratings compared by pairs: what the belief on ratings tells beside random pairs.

    python benchmarks/study_paired_means.py [--pools 60] [--seed 1] [--minutes 15]
        [--rows benchmarks/results/paired_means.jsonl]
    ... --report [--by-kind]

Two systems answer the same 300 to 1,500 prompts, some of which are easy for both, and some of which one fails at
altogether; labels have 3 to 7 classes, and the judge is of one of the six kinds of `_rating_pools.py`, for both systems
or for each in a way of its own. Pairs are asked for ten at a time by ``variance_reduction`` and ``passive``, and looked
at after 15 to 200. A row has, for a pool and every number of pairs, whether 95 % intervals of the difference hold,
their width, their interval score (Gneiting and Raftery 2007) and the error of the estimate.

--report has shares with standard errors, and ratios of the first design to the second in the geometric mean: 120 pools
of seeds 3 and 4,

| judge | pools | pairs | held | by random pairs | width | score | squared error |
|---|--:|--:|--:|--:|--:|--:|--:|
| all | 120 | 15 | 1.000 ± 0.000 | 0.992 ± 0.008 | 0.70 ± 0.03 | 0.69 ± 0.03 | 0.49 ± 0.27 |
| all | 120 | 30 | 0.992 ± 0.008 | 0.967 ± 0.016 | 0.69 ± 0.03 | 0.67 ± 0.04 | 0.56 ± 0.22 |
| all | 120 | 100 | 0.933 ± 0.023 | 0.983 ± 0.012 | 0.71 ± 0.03 | 0.77 ± 0.05 | 0.74 ± 0.19 |
| all | 120 | 200 | 0.958 ± 0.018 | 0.958 ± 0.018 | 0.73 ± 0.03 | 0.73 ± 0.04 | 0.73 ± 0.21 |

By kind of judge scores are .37 (copies) to .93 (constant) times those of random pairs, but for a judge of no use after
100 (1.06 ± .13). Where 2 or 5 % of one system's answers to 1,000 prompts are a 1, all others are alike, and the judge
sees no difference, intervals held in 1, .98, .98 and .95 of 40 campaigns after 15, 30, 60 and 120 pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from _rating_pools import JUDGES, _said
from _rows import Rows, add_row_options, read_rows, without_row
from study_calibration_prior import scored

import bayes_assess as ba

DESIGNS, LOOKS, KEY = ("variance_reduction", "passive"), (15, 30, 100, 200), ("seed", "pool")
PAIRS_AT_ONCE = 10


def pools(n: int, seed: int) -> Iterator[tuple[str, str, ba.Pool, np.ndarray]]:
    """Yield names, judges, pools of both systems' answers, and labels."""
    for i in range(n):
        rng = np.random.default_rng([47, seed, i])
        n_prompts, n_classes = int(rng.integers(300, 1500)), int(rng.choice([3, 5, 5, 7]))
        prompt = rng.normal(0, rng.uniform(0.2, 1.5), n_prompts)
        cuts, sides = np.sort(rng.normal(rng.normal(0, 0.7), 1.2, n_classes - 1)), []
        for fails in (0.3, 0.4):
            quality = prompt + rng.normal(0, 0.2) + rng.normal(0, rng.uniform(0.1, 1.2), n_prompts)
            rate = np.exp(rng.uniform(np.log(0.002), np.log(0.15))) if rng.random() < fails else 0.0
            sides.append(np.where(rng.random(n_prompts) < rate, 0, (quality[:, None] > cuts).sum(1)))
        judge, labels, side = JUDGES[i % len(JUDGES)], np.concatenate(sides), np.repeat([0, 1], n_prompts)
        said = _said(rng, judge, labels, side if rng.random() < 0.5 else np.zeros_like(side), n_classes)
        groups = {"system": np.array(["old", "new"])[side], "prompt": np.tile(np.arange(n_prompts), 2)}
        yield f"{seed}-{i}", judge, ba.Pool(predictions=said, classes=list(range(n_classes)), groups=groups), labels


def campaign(pool: ba.Pool, labels: np.ndarray, design: str, seed: int) -> list[list[float]]:
    """Return whether intervals hold, their widths and scores, and errors, by number of pairs."""
    question = ba.Compare("new", "old", by="system", pair="prompt", measure="mean", rope=0.1)
    session = ba.assess(pool, question, design=design, seed=seed)
    truth, found = question.truth(pool, labels), []
    for look in LOOKS:
        while session.labels_used < 2 * look:
            queries = session.ask(min(2 * PAIRS_AT_ONCE, 2 * look - session.labels_used))
            session.tell(queries.ids, labels[queries.ids])
        result = session.result()
        low, high = np.ravel(result.interval)
        figures = scored(low, high, np.asarray(truth))
        found.append([*(float(x) for x in figures), float(np.ravel(result.estimate)[0] - truth)])
    return found


def report(rows: list[dict[str, Any]], by_kind: bool = False) -> str:
    """Write shares that hold, and ratios of the belief to random pairs."""
    head = "| judge | pools | pairs | held | by random pairs | width | score | squared error |"
    lines = [head, "|---" + "|--:" * 7 + "|"]
    for kind in dict.fromkeys(row["kind"] for row in rows) if by_kind else ("all",):
        some = [row for row in rows if kind in ("all", row["kind"])]
        figures = np.array([[row[design] for design in DESIGNS] for row in some])  # (pools, designs, looks, figures)
        figures[..., 3] = figures[..., 3] ** 2 + 1e-6
        ratio = np.log(figures[:, 0, :, 1:] / figures[:, 1, :, 1:])
        mean, error = np.exp(ratio.mean(0)), ratio.std(0) / np.sqrt(len(some))
        held = figures[..., 0].mean(0)
        spread = np.sqrt(held * (1 - held) / len(some))
        for i, look in enumerate(LOOKS):
            shares = (f"{held[d, i]:.3f} ± {spread[d, i]:.3f}" for d in range(len(DESIGNS)))
            ratios = (f"{mean[i, j]:.2f} ± {error[i, j]:.2f}" for j in range(3))
            lines.append(f"| {kind} | {len(some)} | {look} | {' | '.join([*shares, *ratios])} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run campaigns, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "paired_means.jsonl")
    parser.add_argument("--by-kind", action="store_true", help="report kinds of judges apart")
    parser.add_argument("--pools", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows), options.by_kind))
        return
    rows = Rows(options.rows, KEY)
    population = (({"seed": options.seed, "pool": name}, of) for name, *of in pools(options.pools, options.seed))
    for place, (key, (kind, pool, labels)) in enumerate(without_row(population, rows, options.minutes)):
        found = {design: np.round(campaign(pool, labels, design, place), 5).tolist() for design in DESIGNS}
        rows.add(key | {"kind": kind, **found})


if __name__ == "__main__":
    main()
