"""Estimates and intervals where labels of items that were asked for never come, or the items are set aside.

    python benchmarks/study_missing_labels.py [--designs adaptive] [--back 0.5 0.8] [--aside] [--campaigns 40]

Pools are those of a world of `_audit_worlds.py`, one for every campaign: 700 items of four classes, of which one is
never predicted. The question is by how much two systems differ in macro F1. 240 items are asked for, 10 at a time and
later 30; of every batch a share at random is labelled, the others stay pending or, with --aside, are set aside; with
--release they are released in the end. A row has the mean error and its standard error, the root mean squared error,
and the share of 95 % intervals that hold the truth.
"""

from __future__ import annotations

import argparse

import numpy as np
from _audit_worlds import made

import bayes_assess as ba

WORLD = "four, one never predicted"
QUESTION = ba.Compare("new", "old", measure="f1_macro")
BATCHES = (10,) * 3 + (30,) * 7


def campaign(design: str, back: float, aside: bool, release: bool, seed: int) -> tuple[float, bool]:
    """Return the error of the estimate, and whether the interval holds the truth."""
    world, rng = made(WORLD, seed), np.random.default_rng([seed, 1])
    session = ba.assess(world.pool, QUESTION, design=design, seed=seed)
    for size in BATCHES:
        ids = np.asarray(session.ask(min(size, session.n_remaining)).ids)
        comes = np.isin(np.arange(len(ids)), rng.permutation(len(ids))[: int(np.ceil(back * len(ids)))])
        session.tell(ids[comes], world.labels[ids[comes]])
        if aside:
            session.skip(ids[~comes])
    if release:
        session.release(session.pending)
    result, truth = session.result(), float(np.ravel(QUESTION.truth(world.pool, world.labels))[0])
    low, high = np.ravel(result.interval)
    return float(np.ravel(result.estimate)[0]) - truth, bool(low <= truth <= high)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", default=("adaptive", "importance"))
    parser.add_argument("--back", nargs="*", type=float, default=(0.5, 0.8, 1.0))
    without = parser.add_mutually_exclusive_group()
    without.add_argument("--aside", action="store_true")
    without.add_argument("--release", action="store_true")
    parser.add_argument("--campaigns", type=int, default=40)
    options = parser.parse_args()
    print("design,back,error,standard_error,rmse,held")
    for design in options.designs:
        for back in options.back:
            how = options.aside, options.release
            found = [campaign(design, back, *how, seed) for seed in range(options.campaigns)]
            error, held = (np.array(column, float) for column in zip(*found, strict=True))
            of = error.mean(), error.std(ddof=1) / np.sqrt(len(error)), np.sqrt((error**2).mean()), held.mean()
            print(design, back, *(f"{value:.4f}" for value in of), sep=",", flush=True)


if __name__ == "__main__":
    main()
