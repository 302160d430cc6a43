"""How much cheaper a judge makes the mean of ratings, and whether intervals hold the truth, however good the judge is.

    python benchmarks/study_ratings.py [--campaigns 48] [--pools biased,none useless,honest] [--whole]
        [--seed 1]

Made pools of 2,000 items have labels from 1 to 5, normal variables that are cut, in four groups of different means. A
judge's rating is ``biased`` (scatter 0.35; by 0.8, -0.2, 0.4 and 0 in the groups), ``noisy`` (scatter 0.9, and half of
the bias) or ``useless`` (of no relation to the label). Its scores are ``none``, ``honest`` (but for the bias), or
``shuffled`` among items of the same rating. The mean of every group is asked for, or with --whole that of the pool. A
row has the root of the mean squared error and the mean width of 95 % intervals of ``variance_reduction`` relative to
what theory says of as many random labels, and the share of intervals that hold the truth; +- one standard error of the
campaigns.

The last two columns are of the best valid form of prediction-powered inference, PPI++ on random labels or in strata
(`benchmarks/_judge_rivals.py`; the extra `benchmarks`), found with the truth in hand. With --campaigns 24 (standard
errors about 0.06 and 0.025):

| judge, scores | labels | RMSE / random | held | width / random | rival's | held, rival |
|---|--:|--:|--:|--:|--:|--:|
| biased,none | 50 | 0.48 | 0.927 | 0.49 | 0.56 | 0.901 |
| | 100 | 0.47 | 0.917 | 0.49 | 0.50 | 0.938 |
| | 250 | 0.52 | 0.927 | 0.50 | 0.49 | 0.976 |
| | 500 | 0.50 | 0.958 | 0.52 | 0.47 | 0.985 |
| noisy,none | 50 | 0.70 | 0.969 | 0.64 | 0.83 | 0.893 |
| | 100 | 0.81 | 0.927 | 0.70 | 0.79 | 0.913 |
| | 250 | 0.81 | 0.938 | 0.74 | 0.76 | 0.960 |
| | 500 | 0.77 | 0.969 | 0.78 | 0.75 | 0.980 |
| useless,none | 50 | 0.96 | 0.948 | 0.86 | 1.06 | 0.902 |
| | 100 | 0.97 | 0.938 | 0.95 | 1.01 | 0.931 |
| | 250 | 1.04 | 0.948 | 1.01 | 1.00 | 0.963 |
| | 500 | 0.89 | 0.969 | 1.03 | 0.98 | 0.980 |
| useless,honest | 50 | 1.14 | 0.896 | 0.92 | 1.07 | 0.907 |
| | 100 | 1.04 | 0.938 | 0.98 | 1.02 | 0.924 |
| | 250 | 1.01 | 0.958 | 1.02 | 0.99 | 0.961 |
| | 500 | 0.96 | 0.948 | 1.04 | 0.97 | 0.983 |

A judge whose ratings stand alone leaves little to be gained beyond a line: errors are smaller than the rival's with few
labels and about the same from 100 to 250 on. Of seeds 1 to 3, ``biased,none`` and ``noisy,none`` hold the truth in
0.945 of the intervals, between 0.885 and 0.990 of a pool and number of labels.
"""

from __future__ import annotations

import argparse

import numpy as np
from _judge_rivals import best_valid
from scipy.stats import norm

import bayes_assess as ba

N_ITEMS, CUTS = 2000, np.array([-1.2, -0.4, 0.3, 1.1])
BIAS, MEANS = np.array([0.8, -0.2, 0.4, 0.0]), np.array([0.3, 0.0, -0.3, 0.6])
SCATTER = {"biased": 0.35, "noisy": 0.9, "useless": 1.0}
SAMPLES = 300  # of a rival
BUDGETS = [50, 100, 250, 500]
POOLS = ["biased,none", "noisy,none", "useless,none", "biased,honest", "noisy,shuffled", "useless,honest"]


def made(judge: str, scored: str, seed: int = 1) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool and its labels, (M,)."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=N_ITEMS)
    z = rng.normal(MEANS[group])
    labels = (z[:, None] > CUTS).sum(1)
    seen = {
        "biased": z + BIAS[group] + rng.normal(0, SCATTER["biased"], N_ITEMS),
        "noisy": z + BIAS[group] / 2 + rng.normal(0, SCATTER["noisy"], N_ITEMS),
        "useless": rng.normal(size=N_ITEMS),
    }[judge]
    upto = norm.cdf((np.concatenate([[-np.inf], CUTS, [np.inf]]) - seen[:, None]) / SCATTER[judge])
    scores = np.diff(upto, axis=1) + 1e-6
    scores /= scores.sum(1, keepdims=True)
    ratings = scores.argmax(1)
    options = {"groups": {"group": np.array(list("abcd"))[group]}, "classes": [1, 2, 3, 4, 5]}
    if scored == "none":
        return ba.Pool(predictions=ratings + 1, **options), labels + 1
    if scored == "shuffled":
        for rating in range(5):
            alike = np.flatnonzero(ratings == rating)
            scores[alike] = scores[rng.permutation(alike)]
    return ba.Pool(scores=scores, **options), labels + 1


def rows(pool: ba.Pool, labels: np.ndarray, campaigns: int, by: str | None) -> list[list[float]]:
    """Simulate; return labels, error, its standard error, coverage, its standard error and width, for every budget.

    The last two columns are the error and the coverage of the best valid rival.
    """
    study = ba.simulate(
        pool, labels, ba.Mean(by=by), designs=["variance_reduction"], budgets=BUDGETS, repeats=campaigns, seed=0
    )
    truth = np.atleast_1d(study.truth)
    (estimates,), (ends,) = study.estimates.values(), study.intervals.values()
    estimates = estimates.reshape(campaigns, len(BUDGETS), -1)
    ends = ends.reshape(*estimates.shape, 2)
    group = np.zeros(len(labels), int) if by is None else np.unique(pool.groups[by], return_inverse=True)[1]
    items = np.bincount(group)
    variance = np.array([labels[group == g].var() for g in range(len(items))])
    share = np.array(BUDGETS)[:, None] / len(labels)
    random = variance / (share * items) * (1 - share)  # (B, G)
    squares = ((estimates - truth) ** 2).mean(-1) / random.mean(-1)  # (R, B)
    held = ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean(-1)
    theirs = [beside(pool, labels, group, len(items), n) for n in BUDGETS]
    width = np.diff(ends)[..., 0].mean(0) / (2 * norm.ppf(0.975) * np.sqrt(random))
    error, root = np.sqrt(squares.mean(0)), np.sqrt(campaigns)
    columns = (
        np.array(BUDGETS),
        error,
        squares.std(0) / root / (2 * error),
        held.mean(0),
        held.std(0) / root,
        width.mean(-1),
        [np.sqrt(square / random[b].mean()) for b, (square, _) in enumerate(theirs)],
        [share for _, share in theirs],
    )
    return np.stack(columns, axis=1).tolist()


def beside(pool: ba.Pool, labels: np.ndarray, group: np.ndarray, n_groups: int, n: int) -> tuple[float, float]:
    """Return the mean squared error and the coverage of the best valid rival in groups, of all scores' mean ratings."""
    proxy = pool.predictions if pool.scores is None else pool.scores @ np.arange(5)
    found = [
        best_valid(labels[group == g], np.asarray(proxy)[group == g], n // n_groups, SAMPLES) for g in range(n_groups)
    ]
    return float(np.mean([one.squares.mean() for one in found])), float(np.mean([one.held.mean() for one in found]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=48)
    parser.add_argument("--pools", nargs="*", default=POOLS)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="of the pool that is made")
    given = parser.parse_args()
    print("| judge, scores | labels | RMSE / random | held | width / random | rival's | held, rival |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in given.pools:
        judge, scored = name.split(",")
        pool, labels = made(judge, scored, given.seed)
        for n, error, error_se, held, held_se, width, rival, rival_held in rows(
            pool, labels, given.campaigns, None if given.whole else "group"
        ):
            ours = f"| {name} | {n:.0f} | {error:.2f} ± {error_se:.2f} | {held:.3f} ± {held_se:.3f} | {width:.2f} |"
            print(f"{ours} {rival:.2f} | {rival_held:.3f} |", flush=True)


if __name__ == "__main__":
    main()
