"""Pools of classifiers that scikit-learn fitted: a population that anybody can make, in which errors have many causes.

    BAYES_ASSESS_ZOO=benchmarks/fitted_pools.py python benchmarks/tournament.py --kinds zoo --zoo 45 --seed 2 ...
    BAYES_ASSESS_ZOO=benchmarks/fitted_pools.py python benchmarks/study_members.py --no-real --zoo 45 --seed 2 ...
    python benchmarks/fitted_pools.py  # what they are like

Fifteen kinds of classifiers take turns, from a stump to a forest: probabilities, margins, and scores of two values.
They are fitted to few items, of which some have any label, and meet noise, drift and cuts that do not fit; the class is
anything from one item in 125 to half of them. Where labels are noisy, positives lie among the lowest scores and
negatives among the highest, whatever the classifier does.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

_TRAINED = 200, 3000  # items that classifiers are fitted to, at least and at most
_SIZE = 800, 30_000  # of a pool
N_KINDS = 15  # of classifiers
_RATE = 0.008, 0.5  # of positives


def pools(n: int, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]]:
    """Yield names, P(positive) or what comes near it, predictions, labels, and what is known besides."""
    for number in range(n):
        rng = np.random.default_rng([seed, number])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that have not converged, which are as good as others here
            score, predictions, labels, facts = fitted(number, rng)
        if labels.any():
            name = f"fitted-{seed}-{number} {facts['data']} {facts['classifier']}"
            yield name, score, predictions, labels, facts


def fitted(number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Fit the classifier of that number to data that are made, and let it predict others."""
    name, fit = classifier(number, rng)
    data, x, y = _data(rng)
    order = rng.permutation(len(y))
    n_trained = min(_between(_TRAINED, rng), len(y) // 3)
    few = np.flatnonzero(y[order])[:6]  # a classifier sees a few positives
    order = np.concatenate([order[few], np.delete(order, few)])
    train, rest = order[:n_trained], order[n_trained:]
    fit.fit(x[train], y[train])
    inputs, labels = x[rest], y[rest]
    facts = {"data": data, "classifier": name, "drift": bool(rng.random() < 0.3)}
    if facts["drift"]:
        inputs = inputs + rng.normal(0, 0.3, inputs.shape[1]) * inputs.std(0)
    if hasattr(fit, "predict_proba"):
        score = fit.predict_proba(inputs)[:, 1]
    else:
        score = 1 / (1 + np.exp(-fit.decision_function(inputs)))
    predictions = fit.predict(inputs).astype(int)
    facts["cut"] = bool(rng.random() < 0.25)
    if facts["cut"]:  # for another share of positives than there is
        share = min(0.6, rng.uniform(0.5, 2) * max(labels.mean(), 0.01))
        predictions = (score > np.quantile(score, 1 - share)).astype(int)
    if not predictions.any():
        predictions = (score >= np.sort(score)[-max(3, int(labels.sum()))]).astype(int)
    return score.astype(float), predictions, labels, facts


def classifier(number: int, rng: np.random.Generator) -> tuple[str, Any]:
    """Make the classifier of that number, one of `N_KINDS` that take turns, and name it."""
    from sklearn import ensemble, linear_model, naive_bayes, neighbors, neural_network, svm, tree

    state = {"random_state": int(rng.integers(2**31))}
    kinds = {
        "logistic": lambda: linear_model.LogisticRegression(max_iter=500),
        "balanced logistic": lambda: linear_model.LogisticRegression(class_weight="balanced", max_iter=500),
        "Gaussian Bayes": naive_bayes.GaussianNB,
        "3 neighbours": lambda: neighbors.KNeighborsClassifier(3),
        "15 neighbours": lambda: neighbors.KNeighborsClassifier(15),
        "low tree": lambda: tree.DecisionTreeClassifier(max_depth=4, **state),
        "tree": lambda: tree.DecisionTreeClassifier(**state),
        "10 trees": lambda: ensemble.RandomForestClassifier(10, **state),
        "forest": lambda: ensemble.RandomForestClassifier(80, min_samples_leaf=2, **state),
        "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=50, **state),
        "AdaBoost": lambda: ensemble.AdaBoostClassifier(n_estimators=40, **state),
        "support vectors": lambda: svm.LinearSVC(max_iter=2000, **state),
        "network": lambda: neural_network.MLPClassifier((20,), max_iter=60, **state),
        "balanced stump": lambda: tree.DecisionTreeClassifier(max_depth=1, class_weight="balanced", **state),
        "Bernoulli Bayes": naive_bayes.BernoulliNB,
    }
    name = list(kinds)[number % N_KINDS]
    return name, kinds[name]()


def _data(rng: np.random.Generator) -> tuple[str, np.ndarray, np.ndarray]:
    """Make inputs (N, D) and labels (N,)."""
    from sklearn import datasets

    rate, n = float(np.exp(rng.uniform(*np.log(_RATE)))), _between(_SIZE, rng) + _TRAINED[1]
    state = {"random_state": int(rng.integers(2**31))}
    kind = str(rng.choice(["clusters", "clusters", "moons", "shells", "digits"]))
    if kind == "clusters":
        n_features = int(rng.integers(3, 20))
        told = int(rng.integers(2, min(n_features, 8) + 1))
        noisy = float(rng.choice([0, 0.01, 0.05, 0.15])) * min(1, 2 * rate + 0.1)  # have any label
        x, y = datasets.make_classification(
            n, n_features, n_informative=told, n_redundant=0, n_clusters_per_class=1 if told < 3 else 2,
            weights=[1 - rate], flip_y=noisy, class_sep=float(rng.uniform(0.5, 2.5)), **state,
        )  # fmt: skip
        return kind, x, y.astype(int)
    if kind == "digits":
        x, y = datasets.load_digits(return_X_y=True)
        return kind, x + rng.normal(0, rng.uniform(0, 6), x.shape), (y == rng.integers(10)).astype(int)
    if kind == "moons":
        x, y = datasets.make_moons(2 * n, noise=float(rng.uniform(0.1, 0.5)), **state)
    else:
        x, y = datasets.make_gaussian_quantiles(n_samples=2 * n, n_features=3, n_classes=2, **state)
        y = y ^ (rng.random(2 * n) < 0.02)
    kept = (y == 0) | (rng.random(2 * n) < rate / (1 - rate))
    return kind, x[kept][:n], y[kept][:n].astype(int)


def _between(ends: tuple[int, int], rng: np.random.Generator) -> int:
    return int(np.exp(rng.uniform(*np.log(ends))))


def main() -> None:
    """Print a line per pool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=int, default=45, help="how many pools")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name, score, predictions, labels, _ in pools(options.zoo, options.seed):
        f1 = 2 * (predictions & labels).sum() / (predictions.sum() + labels.sum())
        told = f"{len(labels):6,} items, {labels.sum():5,} positive, {predictions.sum():5,} predicted"
        print(f"{name:44} {told}, {len(np.unique(score)):6,} values of the score, F1 {f1:.3f}")


if __name__ == "__main__":
    main()
