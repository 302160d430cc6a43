"""Precision at the ranks of lists of many shapes, by sets of members of the belief: do intervals hold?

    python benchmarks/study_ranked_lists.py [--set package] [--change weak.prior=.3 ...] [--rough .1]
        [--lists 60] [--seed 1] [--minutes 15] [--shard 0/2] [--rows ranked_lists.jsonl]
    ... --report

Lists of 1,000 to 20,000 items are of five shapes. *rising*: the log odds of a positive rise with the score, by .3 to 4
per standard deviation. *mixed*: scores of positives are normal, some of them those of negatives, some of the highest
negative. *bump*: rates are highest away from the head. *steps*: rates of three to six runs of ranks, whose lengths
grow geometrically, in any order. *fitted*: a class of a system of `fitted_pools.py`. Sessions of `variance_reduction`
ask for 20 labels at a time, and are looked at with 60, 120, 240 and 480. --change replaces constants of members of the
belief, and --rough adds one of that prior probability whose rates rise and fall as they like. --report compares sets
by the score of 95 % intervals of the precision at the question's ranks, their share that holds, and the root mean
square error, on the lists that all sets have.

Of 196 lists of seeds 1 and 2 (`benchmarks/results/ranked_lists.jsonl`), with standard errors over lists:

| shapes | set | held at 60, 120, 240, 480 labels | score / package | RMSE |
|---|---|---|---|---|
| all | package | .94 .92 .93 .95 | | .077 .055 .032 .017 |
| all | rough .1 | .94 .93 .93 .96 | 1.04 (.10) .95 (.07) 1.02 (.07) .89 (.09) | .079 .052 .032 .016 |
| mixed | package | .98 .96 .97 .96 | | .048 .036 .020 .011 |
| mixed | rough .1 | .94 .93 .94 .96 | 1.24 (.13) 1.39 (.22) 1.37 (.21) .97 (.06) | .054 .036 .023 .013 |
| bump | package | .93 .89 .91 .96 | | .085 .070 .038 .022 |
| bump | rough .1 | .91 .92 .93 .99 | .98 (.12) .88 (.15) .90 (.12) .59 (.14) | .092 .065 .037 .016 |
| steps | package | .84 .85 .86 .92 | | .106 .073 .043 .022 |
| steps | rough .1 | .87 .87 .89 .93 | 1.04 (.25) .89 (.12) .89 (.15) 1.05 (.17) | .106 .071 .041 .021 |

What is gained where rates rise and fall is lost where scores are those of a classifier, so that it is not taken.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _campaign_rows import scored
from _rows import Clock, Rows, add_row_options, read_rows, sharded
from fitted_pools import fitted
from study_members import changed, using

import bayes_assess as ba
from bayes_assess.models.curve_members import POSITIVES, Members

LOOKS, BATCH = (60, 120, 240, 480), 20
SHAPES = ("rising", "mixed", "bump", "steps", "fitted")
KEY = ("set", "seed", "list")
FIGURES = ("score", "held", "error")


def rough(members: Members, prior: float) -> Members:
    """Add a member of rates that rise and fall as they like, if it is to be.

    Examples
    --------
    >>> more = rough(POSITIVES, 0.1)
    >>> more.names[-1], len(more.prior) - len(POSITIVES.prior), round(float(more.prior.sum()), 6)
    ('rough', 1, 1.0)
    """
    if not prior:
        return members
    wave = {"roughness": np.log(1.5), "roughness_sd": 0.6, "either_slope": 1.0, "heavy": 0.8}
    cells = {"strength": np.log(300.0), "strength_sd": 1.5, "relative": 1.0, "score_sd": 0.1}
    level = {"from_log_odds": 1.0, "intercept_sd": 1.5, "prediction": 3.0, "prediction_sd": 3.0, "group_sd": 1.0}
    one = Members.of(rough=wave | cells | level | {"prior": prior, "group_heavy": 0.8})
    columns = {
        name: np.concatenate([getattr(members, name), getattr(one, name)]) for name in vars(one) if name != "names"
    }
    columns["prior"][:-1] *= 1 - prior
    return Members(**columns, names=(*members.names, *one.names))


def rates(shape: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the rate of positives by standard scores, highest first."""
    if shape == "rising":
        odds = np.log(rng.uniform(0.005, 0.5)) + np.exp(rng.uniform(np.log(0.3), np.log(4.0))) * x
        return 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    if shape == "bump":
        low, high = np.exp(rng.uniform(np.log(0.003), np.log(0.2))), rng.uniform(0.2, 0.9)
        away = (x - rng.uniform(-0.5, 2.0)) / rng.uniform(0.2, 0.8)
        return low + (high - low) * np.exp(-0.5 * away**2)
    levels = np.exp(rng.uniform(np.log(0.01), np.log(0.95), rng.integers(3, 7)))
    ends = np.geomspace(rng.uniform(20, 200), len(x), len(levels))
    return levels[np.searchsorted(ends, np.arange(len(x)))]


def made(shape: str, seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a list: scores and labels of its items.

    Examples
    --------
    >>> scores, labels = made("bump", 1, 2)
    >>> len(scores) == len(labels), set(labels.tolist()) == {0, 1}
    (True, True)
    """
    rng = np.random.default_rng([seed, number])
    if shape == "fitted":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that have not converged
            scores, _, labels, _ = fitted(number // len(SHAPES), rng)
        return scores, labels
    n = int(np.exp(rng.uniform(np.log(1000), np.log(20_000))))
    if shape == "mixed":
        labels = (rng.random(n) < np.exp(rng.uniform(np.log(0.01), np.log(0.5)))).astype(int)
        seen = np.where(labels == 1, rng.random(n) >= rng.choice([0, rng.beta(1, 3)]), rng.random(n) < 0.003)
        return rng.normal(rng.uniform(1.5, 5) * seen, 1.0), labels
    x = np.sort(rng.normal(size=n))[::-1]
    labels = (rng.random(n) < rates(shape, x, rng)).astype(int)
    scores = 1 / (1 + np.exp(-x)) if rng.random() < 0.5 else x
    return scores, labels


def session(scores: np.ndarray, labels: np.ndarray, seed: int) -> dict[str, list[float]]:
    """Return the figures of a session at every look."""
    pool = ba.RankedList.from_scores(scores)
    ranks = np.unique(np.geomspace(50, len(scores), 20).round().astype(int))
    order = pool.ids_at(np.arange(1, len(scores) + 1))
    truth = (np.cumsum(labels[order]) / np.arange(1, len(scores) + 1))[ranks - 1]
    a = ba.assess(pool, ba.PrecisionCurve(), design="variance_reduction", seed=seed)
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    while a.labels_used < LOOKS[-1]:
        ids = a.ask(min(BATCH, LOOKS[-1] - a.labels_used)).ids
        if not len(ids):
            break
        a.tell(ids, labels[np.asarray(ids)])
        if a.labels_used in LOOKS:
            curve = a.result().at(ranks)
            held, _, score = scored(curve.lower, curve.upper, truth)
            found["score"].append(float(score.mean()))
            found["held"].append(float(held.mean()))
            found["error"].append(float(((curve.estimate - truth) ** 2).mean()))
    return found


def report(rows: list[dict]) -> str:
    """Write tables of sets by shape."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    by = {(row["set"], row["seed"], row["list"]): row for row in rows}
    lists = [
        key for key in dict.fromkeys((row["seed"], row["list"]) for row in rows) if all((s, *key) in by for s in sets)
    ]
    lines = [f"{len(lists)} lists; by look at {', '.join(map(str, LOOKS))} labels: held, score, RMSE of precisions", ""]
    lines += ["| shape | set | lists | held | score | of the first set's | RMSE |", "|---|---|--:|--:|--:|--:|--:|"]
    for shape in ("all", *SHAPES):
        of = [key for key in lists if shape in ("all", by[sets[0], *key]["shape"])]
        of = [key for key in of if len(by[sets[0], *key]["score"]) == len(LOOKS)]
        if not of:
            continue
        first = np.array([by[sets[0], *key]["score"] for key in of])
        for name in sets:
            held, score, error = (
                np.array([by[name, *key][figure] for key in of]) for figure in ("held", "score", "error")
            )
            ratio = score.mean(0) / first.mean(0)
            spread = (score - first * ratio).std(0) / first.mean(0) / np.sqrt(len(of))
            cells = [
                " ".join(f"{v:.2f}" for v in held.mean(0)),
                " ".join(f"{v:.3f}" for v in score.mean(0)),
                " ".join(f"{v:.2f} ({s:.2f})" for v, s in zip(ratio, spread, strict=True)),
                " ".join(f"{v:.3f}" for v in np.sqrt(error.mean(0))),
            ]
            lines.append(f"| {shape} | {name} | {len(of)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "ranked_lists.jsonl")
    parser.add_argument("--set", default="package", help="what the set of members is called")
    parser.add_argument("--rough", type=float, default=0.0, metavar="PRIOR", help="of a further member")
    parser.add_argument("--change", nargs="*", default=[], metavar="MEMBER.COLUMN=NUMBER")
    parser.add_argument("--lists", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows, clock = Rows(options.rows, KEY), Clock(options.minutes)
    with using("POSITIVES", changed(rough(POSITIVES, options.rough), options.change)):
        for number in sharded(range(options.lists), options.shard):
            row = {"set": options.set, "seed": options.seed, "list": number}
            if row in rows:
                continue
            if clock.over:
                print(f"Stopped after {options.minutes:g} minutes; the same command goes on.")
                return
            shape = SHAPES[number % len(SHAPES)]
            scores, labels = made(shape, options.seed, number)
            rows.add(
                row
                | {"shape": shape, "items": len(labels), "rate": float(labels.mean())}
                | session(scores, labels, number)
            )


if __name__ == "__main__":
    main()
