"""Is the number of negatives among the last predicted positives without a label what the belief expects?

    BAYES_ASSESS_ZOO=zoo.py python benchmarks/study_last_labels.py [--seeds 22 23 24 25] [--zoo 20]

The precision of pools of the generator with 30 to 700 predicted positives, a campaign of the default design each. With
half, three quarters and nine tenths as many labels as predicted positives, a row has over all pools how many of the
others are negative, how many the belief expects, and the share of 95 % intervals that hold the truth.
"""

from __future__ import annotations

import argparse

import numpy as np
from _pools import Binary, zoo

import bayes_assess as ba

SHARES = (0.5, 0.75, 0.9)
PREDICTED = (30, 700)
BATCH = 10


def campaign(binary: Binary) -> list[tuple[int, float, bool]]:
    """Return at every share the negatives left, those expected, and whether the interval holds the truth."""
    pool, labels, predicted = binary.pool, np.asarray(binary.labels), np.asarray(binary.predictions) == 1
    question, n = ba.Metric("precision", positive=1), int(predicted.sum())
    truth, found = float(np.ravel(question.truth(pool, labels))[0]), []
    session = ba.assess(pool, question, seed=1)
    for share in SHARES:
        while session.labels_used < int(share * n):
            ids = session.ask(min(BATCH, int(share * n) - session.labels_used)).ids
            session.tell(ids, labels[pool.positions(ids)])
        result, told = session.result(), np.isin(np.arange(len(labels)), pool.positions(session.labelled[0]))
        negatives = n * (1 - np.asarray(result.evidence.joint)[:, 0].mean())
        known = int((predicted & told & (labels == 0)).sum())
        low, high = np.ravel(result.interval)
        left = int((predicted & ~told & (labels == 0)).sum())
        found.append((left, float(negatives - known), bool(low - 1e-9 <= truth <= high + 1e-9)))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="*", type=int, default=(22, 23, 24, 25))
    parser.add_argument("--zoo", type=int, default=20)
    options = parser.parse_args()
    pools = [binary for seed in options.seeds for _, binary in zoo(options.zoo, seed)]
    found = [campaign(one) for one in pools if PREDICTED[0] <= int(np.sum(one.predictions)) <= PREDICTED[1]]
    print("share,pools,negative,expected,held")
    for share, rows in zip(SHARES, zip(*found, strict=True), strict=True):
        left, expected, held = (np.array(column, float) for column in zip(*rows, strict=True))
        print(share, len(rows), int(left.sum()), f"{expected.sum():.1f},{held.mean():.3f}", sep=",")


if __name__ == "__main__":
    main()
