"""Plans of groups by blocks of labels against plans by single labels, on the same futures.

    python benchmarks/study_blocks.py [--questions accuracy random two all recall confusion] [--futures 8] [--seeds 0 1]

Sessions on made pools are told some labels and plan, once by blocks and once by the very steps of a session, one label
after the other. A row has the question, the labels that the median of futures needs either way, and the geometric mean
of the ratio, blocks over single labels, with its standard error over futures. A ratio of 1 says that blocks lose
nothing. Single labels take a minute or more for every row.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import bayes_assess as ba
from bayes_assess.sessions.planning import Present, followed, futures_of, labels_needed
from bayes_assess.studies.futures import imagined_labels
from bayes_assess.studies.goals import Goal

STEP = 10  # labels told at a time
ASKED: dict[str, tuple[int, Any, dict[str, Any], dict[str, float]]] = {  # groups, question, options, goal
    "accuracy": (30, lambda: ba.GroupAccuracy(by="site"), {}, {"width": 0.2}),
    "random": (12, lambda: ba.GroupAccuracy(by="site"), {"design": "random"}, {"width": 0.25}),
    "two": (8, lambda: ba.Compare(0, 1, by="site"), {}, {"width": 0.15}),
    "all": (6, lambda: ba.Compare(by="site"), {}, {"width": 0.2}),
    "recall": (8, lambda: ba.GroupRecall("site", positive=1), {}, {"width": 0.3}),
    "confusion": (8, ba.ConfusionMatrix, {}, {"width": 0.15}),
}


def made(n_groups: int, seed: int, n: int = 3000, n_classes: int = 4) -> tuple[ba.Pool, np.ndarray]:
    """Return a pool of groups that are about as large and of unlike accuracy, and its labels."""
    rng = np.random.default_rng(seed)
    site, labels = rng.integers(0, n_groups, n), rng.integers(0, n_classes, n)
    right = rng.random(n) < 1 / (1 + np.exp(-1.2 - rng.normal(size=n_groups)))[site]
    found = np.where(right, labels, (labels + rng.integers(1, n_classes, n)) % n_classes)
    return ba.Pool(predictions=found, confidence=rng.beta(5, 2, n), groups={"site": site}), labels


def needed(name: str, n_futures: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that every future needs by blocks, and by single labels."""
    n_groups, question, options, wanted = ASKED[name]
    pool, labels = made(n_groups, seed)
    session: Any = ba.assess(pool, question(), seed=seed, **options)
    while session.labels_used < 6 * STEP:
        queries = session.ask(STEP)
        session.tell(queries.ids, labels[queries.ids])
    goal = Goal.checked(session.question, session.cells, wanted["width"], None, "widest", 0.95)
    present = Present.of(session)
    unlabelled = imagined_labels(session.design, present.state, session._setting, n_futures, seed)
    found = []
    for one_by_one in (False, True):
        futures = futures_of(session, present, goal, unlabelled, one_by_one)
        looks, _, values = followed(session, present, goal, futures)
        found.append(labels_needed(goal, looks, values, present.n_items) - present.n_told)
    return found[0], found[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", nargs="*", default=tuple(ASKED), choices=tuple(ASKED))
    parser.add_argument("--futures", type=int, default=8)
    parser.add_argument("--seeds", nargs="*", type=int, default=(0, 1))
    options = parser.parse_args()
    print("question,blocks,single,ratio,standard_error,futures")
    for name in options.questions:
        pairs = [needed(name, options.futures, seed) for seed in options.seeds]
        blocks, single = (np.concatenate(side) for side in zip(*pairs, strict=True))
        ratio = np.log(blocks / single)
        error = ratio.std(ddof=1) / np.sqrt(len(ratio))
        row = (name, int(np.median(blocks)), int(np.median(single)), f"{np.exp(ratio.mean()):.3f}", f"{error:.3f}")
        print(*row, len(ratio), sep=",", flush=True)


if __name__ == "__main__":
    main()
