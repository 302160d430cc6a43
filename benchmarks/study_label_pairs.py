"""Items that may have several labels: one question per item and class beside questions on all classes of an item.

    python benchmarks/study_label_pairs.py [--pools 30] [--seed 1] [--campaigns 2] [--minutes 15] [--shard 0/1]
        [--rows label_pairs.jsonl]
    ... --report

Pools are scikit-learn's made documents of 3 to 11 classes, whose labels are in part those of other documents, and what
one of four kinds of classifiers says of them. F1 over all classes (micro) and its mean over the classes (macro) are
asked of items, each of which answers for all classes at once, by the default design of such pools; and of pairs of an
item and a class, each of which is an item of its own with one label, by the default design of measures. Both have as
many answers of yes or no: 100, 300 and 900. A row has, for a pool, a measure and what is asked, the mean squared error,
the widths of 95 % intervals and their score (Gneiting and Raftery 2007) and the share that holds, at every look.

--report compares pairs with items: geometric means of ratios over pools, with standard errors.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _campaign_rows import scored
from _rows import Rows, add_row_options, read_rows, sharded, without_row

import bayes_assess as ba

ANSWERS, BATCH = (100, 300, 900), 10
TRAINED, MET, CLASSES = (150, 1500), (600, 4000), (3, 12)
ASKED = ("items", "pairs")
MEASURES = {
    "f1_micro": (ba.Metric("f1_micro"), ba.Metric("f1")),
    "f1_macro": (ba.Metric("f1_macro"), ba.Metric("f1", by="class", average="macro")),
}
KEY, FIGURES = ("seed", "pool", "measure", "asked"), ("squared error", "width", "score", "held")


class Made(NamedTuple):
    """A pool of items, the same as pairs, and the labels, (M, C)."""

    items: ba.Pool
    pairs: ba.Pool
    labels: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, names: list[str], labels: np.ndarray) -> Made:
        """Make both pools from the scores of all classes, (M, C)."""
        items = ba.Pool(scores=scores, classes=names, multilabel=True)
        predictions = items.indicators.astype(int).ravel()
        groups = {"class": np.tile(names, len(scores))}
        pairs = ba.Pool(scores=scores.ravel(), predictions=predictions, classes=[0, 1], groups=groups)
        return cls(items, pairs, labels)


def made(seed: int, number: int) -> Made:
    """Fit a classifier to made documents, and let it predict others.

    Examples
    --------
    >>> one = made(1, 0)
    >>> one.pairs.n_items == one.labels.size, one.items.n_items == len(one.labels)
    (True, True)
    """
    from sklearn.datasets import make_multilabel_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng([seed, number])
    n_trained, n = (int(np.exp(rng.uniform(*np.log(ends)))) for ends in (TRAINED, MET))
    state = int(rng.integers(2**31))
    x, y = make_multilabel_classification(
        n_trained + n, n_classes=int(rng.integers(*CLASSES)), n_labels=int(rng.integers(1, 4)),
        length=int(rng.integers(15, 60)), random_state=state,
    )  # fmt: skip
    y = np.where(rng.random(y.shape) < rng.choice([0, 0.02, 0.08]), rng.permuted(y, axis=0), y)
    y = y[:, (y[:n_trained].sum(0) > 2) & (y[n_trained:].sum(0) > 2)]
    kinds = [
        OneVsRestClassifier(LogisticRegression(max_iter=300)),
        OneVsRestClassifier(GaussianNB()),
        RandomForestClassifier(40, random_state=state),
        KNeighborsClassifier(7),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that have not converged
        said = kinds[rng.integers(len(kinds))].fit(x[:n_trained], y[:n_trained]).predict_proba(x[n_trained:])
    scores = np.stack([part[:, 1] for part in said], axis=1) if isinstance(said, list) else np.asarray(said)
    names = [f"class {c}" for c in range(scores.shape[1])]
    return Made.of(scores, names, y[n_trained:])


def campaign(one: Made, measure: str, asked: str, seed: int) -> list[list[float]]:
    """Ask for a measure; return the figures at every look."""
    question = MEASURES[measure][ASKED.index(asked)]
    each = one.labels.shape[1] if asked == "items" else 1  # answers for one item
    pool, labels = (one.items, one.labels) if asked == "items" else (one.pairs, one.labels.ravel())
    truth, session, found = float(question.for_pool(pool).truth(pool, labels)), ba.assess(pool, question, seed=seed), []
    for answers in ANSWERS:
        while session.labels_used < min(answers // each, pool.n_items):
            ids = session.ask(min(BATCH, answers // each - session.labels_used)).ids
            session.tell(ids, labels[ids])
        result = session.result()
        held, width, score = scored(*np.ravel(result.interval), truth)
        found.append([(float(np.ravel(result.estimate)[0]) - truth) ** 2, width, score, held])
    return found


def report(rows: list[dict[str, Any]]) -> str:
    """Compare pairs with items, by measure and look."""
    lines = ["| measure | pools | answers | width | interval score | error | held, items | pairs |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|--:|")
    for measure in MEASURES:
        of = {asked: {} for asked in ASKED}
        for row in rows:
            if row["measure"] == measure:
                of[row["asked"]][row["seed"], row["pool"]] = row
        both = sorted(of["items"].keys() & of["pairs"].keys())
        for look, answers in enumerate(ANSWERS if both else ()):
            items, pairs = (
                {name: np.array([of[asked][key][name][look] for key in both]) for name in FIGURES} for asked in ASKED
            )
            told = []
            for name in ("width", "score"):
                ratio = np.log(pairs[name] / items[name])
                told.append(f"{np.exp(ratio.mean()):.2f} ± {ratio.std() / np.sqrt(len(both)):.2f}")
            told.append(f"{np.sqrt(pairs['squared error'].mean() / items['squared error'].mean()):.2f}")
            told += [f"{one['held'].mean():.3f}" for one in (items, pairs)]
            lines.append(" | ".join([f"| {measure}", str(len(both)), str(answers), *told]) + " |")
    return "\n".join(lines)


def _cases(options: argparse.Namespace) -> Iterator[tuple[dict[str, Any], int]]:
    for number in sharded(range(options.pools), options.shard):
        for measure in MEASURES:
            for asked in ASKED:
                yield {"seed": options.seed, "pool": number, "measure": measure, "asked": asked}, number


def main(arguments: list[str] | None = None) -> None:
    """Run campaigns, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "label_pairs.jsonl")
    parser.add_argument("--pools", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaigns", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.report:
        print(report(read_rows(options.rows)))
        return
    rows = Rows(options.rows, KEY)
    for row, number in without_row(_cases(options), rows, options.minutes):
        one = made(options.seed, number)
        found = np.mean(
            [campaign(one, row["measure"], row["asked"], seed) for seed in range(options.campaigns)], axis=0
        )
        figures = {name: found[:, at].round(9).tolist() for at, name in enumerate(FIGURES)}
        rows.add(row | {"classes": one.labels.shape[1], "campaigns": options.campaigns, **figures})


if __name__ == "__main__":
    main()
