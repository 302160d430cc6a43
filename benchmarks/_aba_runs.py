"""Rows of the study of [ABA]: what campaigns of one method found on one pool, for one table or figure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from _aba_pools import BINS, COSTS, METHODS, Data

import bayes_assess as ba

PER_GROUP = (2, 5, 10)  # N / K
PAIRS = 200  # compared at most, drawn at random where there are more
CHUNK = 256  # states of comparisons evaluated at a time, always as many: every other number is compiled anew
KEY = ("part", "pool", "method", "sought", "m", "campaigns")
TABLES = ("UPrior", "IPrior", "IPrior+TS", "UPrior+TS")  # without scores UPrior+TS stands beside UPrior
ACCURACY = (
    *TABLES, "UPrior+TTTS", "UPrior+greedy", "UPrior+UCB", "Frequentist", "IPrior+TS, 10", "IPrior+TS, 100",
)  # fmt: skip
CALIBRATION = ("IPrior", "IPrior+TS", "Frequentist", "IPrior+TS, 5", "IPrior+TS, 10")
STRENGTHS, SAMPLES = (10.0, 100.0), (100, 1000, None)  # of Figure 17; None: all items
Make = Callable[[], dict[str, Any]]


def tasks(data: Data, parts: list[str], wanted: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Yield the key of every row of a pool, and what makes the row."""
    for part in parts:
        yield from {
            "scores": _scores, "accuracy": _accuracy, "calibration": _calibration, "costs": _costs,
            "pairs": _pairs, "ece": _ece, "reliability": _reliability,
        }[part](data, data.campaigns(wanted))  # fmt: skip


def _key(part: str, data: Data, method: str, campaigns: int, sought: str = "", m: int = 0) -> dict[str, Any]:
    return {"part": part, "pool": data.name, "method": method, "sought": sought, "m": m, "campaigns": campaigns}


def _scores(data: Data, campaigns: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Tables 3, 4, 5 and 8: scores at 2, 5 and 10 labels per group."""
    methods = [name for name in (TABLES[:3] if data.scored else ("UPrior", "UPrior+TS")) if data.can(name)]
    for sought in ("accuracy", "confusion", "calibration") if data.scored else ("accuracy",):
        for name in methods:
            yield (
                _key("scores", data, name, campaigns, sought),
                lambda s=sought, n=name: _score_row(data, s, n, campaigns),
            )


def _score_row(data: Data, sought: str, method: str, campaigns: int) -> dict[str, Any]:
    question: Any = {
        "accuracy": ba.GroupAccuracy(target="population"),
        "confusion": ba.ConfusionMatrix(target="population"),
        "calibration": ba.Calibration(bins=ba.ScoreBins(BINS, "weight"), target="population"),
    }[sought]
    n_groups = BINS if sought == "calibration" else data.pool.n_classes
    study = data.simulate(question, [k * n_groups for k in PER_GROUP], [method], campaigns)[method]
    values = dict(study.scores[method])
    if sought == "confusion":  # errors over that of the informative prior without labels
        prior = data.simulate(question, [1], ["IPrior"], 1)["IPrior"].campaigns["IPrior"].prior
        start = float(question.evaluate(study.cells, prior, np.zeros_like(study.full), study.full)["rmse"])
        values = {"rmse": values["rmse"] / start, "mse": (values["rmse"] / start) ** 2}
    row: dict[str, Any] = {"groups": n_groups}
    for name in [name for name in ("rmse", "mse", "ece_error") if name in values]:
        row[name], row[f"{name}_error"] = _mean(values[name])
    return row


def _accuracy(data: Data, campaigns: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Table 6, Figures 11, 15, 16 and 18: the least accurate classes."""
    methods = [name for name in ACCURACY if data.can(name)]
    methods = ["UPrior", "UPrior+TS"] if data.large else methods
    yield from _searches(data, "accuracy", ba.LeastAccurate, methods, campaigns)


def _calibration(data: Data, campaigns: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Table 9 and Figure 19: the classes whose calibration is worst."""
    methods = list(CALIBRATION) if data.scored else []
    make = partial(ba.LeastCalibrated, by="prediction", bins=BINS)
    yield from _searches(data, "calibration", make, methods, campaigns)


def _costs(data: Data, campaigns: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Figure 3, Tables 10 and 11: the classes whose mistakes cost most."""
    methods = list(TABLES[:3]) if data.scored else ["UPrior", "UPrior+TS"]
    for kind, times in itertools.product(data.costs, COSTS):
        make = partial(ba.MostCostly, data.cost(kind, times))
        yield from _searches(data, f"{kind} {times}", make, methods, campaigns)


def _searches(
    data: Data, sought: str, make: Callable[..., Any], methods: Sequence[str], campaigns: int
) -> Iterator[tuple[dict[str, Any], Make]]:
    for m, name in itertools.product((1, data.m), methods):
        if m == 1 or METHODS[name].design != "top_two":  # which is for one group
            key = _key("search", data, name, campaigns, sought, m)
            yield key, lambda n=name, q=m: _search_row(data, make(m=q), n, campaigns)


def _search_row(data: Data, question: Any, method: str, campaigns: int) -> dict[str, Any]:
    """Score campaigns by the mean reciprocal rank of the groups sought, and count labels until they are found."""
    n = data.most_labels
    even = np.linspace(n / 80, n, 80).round()
    looks = np.union1d(np.geomspace(10, n, 40).round(), even).astype(int)
    study = data.simulate(question, looks, [method], campaigns)[method]
    mrr = study.scores[method]["mrr"]
    values, errors = _mean(mrr)
    area, area_error = _mean(mrr[:, np.isin(looks, even)].mean(1))
    each = study.labels_each("mrr")[method]
    labels, labels_error = _mean(np.minimum(each, n))
    return {
        "looks": looks.tolist(), "mrr": values, "mrr_error": errors, "area": area, "area_error": area_error,
        "curve_labels": study.labels_to("mrr")[method], "each": labels, "each_error": labels_error,
        "each_bound": bool(np.isinf(each).any()),
    }  # fmt: skip


def _pairs(data: Data, campaigns: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Table 7: labels until a comparison of two predicted classes succeeds."""
    if data.large:
        return
    pairs = list(itertools.combinations(np.unique(data.pool.predictions), 2))
    if len(pairs) > PAIRS:
        pairs = [pairs[i] for i in np.random.default_rng(0).choice(len(pairs), PAIRS, replace=False)]
    repeats = max(2, -(-campaigns // len(pairs)))
    methods = [*TABLES[:3]] if data.scored else ["UPrior", "UPrior+TS"]
    for first, second in pairs:
        key = _key("pairs", data, "", repeats, f"{first} {second}")
        yield key, lambda a=int(first), b=int(second): _pair_row(data, a, b, methods, repeats)


def _pair_row(data: Data, first: int, second: int, methods: Sequence[str], repeats: int) -> dict[str, Any]:
    """Count labels until one comparison succeeds: ``study.labels_each("success")`` without compiling.

    Looks are as many for every pair, and states evaluated `CHUNK` at a time, so that all pairs share compiled code.
    """
    n = int(np.isin(data.pool.predictions, (first, second)).sum())
    looks = np.concatenate([np.arange(2, 41, 2), np.geomspace(40, max(n, 62), 22)[1:].round().astype(int)])
    looks = np.unique(np.minimum(looks, n))
    question = ba.Compare(*data.pool.classes[[first, second]].tolist(), by="prediction", rope=0.05, target="population")
    found = {}
    for name, study in data.simulate(question, looks, methods, repeats).items():
        campaigns = study.campaigns[name]
        states = campaigns.counts.reshape(-1, *study.full.shape)
        distinct, place = np.unique(np.concatenate([states, study.full[None]]), axis=0, return_inverse=True)
        padded = np.resize(distinct, (-(-len(distinct) // CHUNK) * CHUNK, *study.full.shape))
        chunks = np.split(padded, len(padded) // CHUNK)
        masses = np.concatenate([question.masses(study.cells, campaigns.prior, part) for part in chunks])[place.ravel()]
        full, best = masses[-1].max(), masses.max(-1)
        success = (masses.argmax(-1) == masses[-1].argmax()) & (np.abs(best - full) < 0.05 * full)
        found[name] = looks[success[:-1].reshape(-1, len(looks)).argmax(1)].tolist()
    return {"labels": found}


def _ece(data: Data, campaigns: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Figure 6: errors of the estimated calibration error, of posterior means and of shares."""
    if data.scored:
        yield _key("ece", data, "IPrior", campaigns), lambda: _ece_row(data, campaigns)


def _ece_row(data: Data, campaigns: int) -> dict[str, Any]:
    question: Any = ba.Calibration(bins=ba.ScoreBins(BINS, "width"), target="population")
    looks = np.unique(np.geomspace(20, data.pool.n_items, 24).round().astype(int))
    study = data.simulate(question, looks, ["IPrior"], campaigns)["IPrior"]
    truth = float(study.truth)
    bayes = 100 * np.abs(study.estimates["IPrior"] - truth) / truth
    counts = study.campaigns["IPrior"].counts  # (R, B, K, 2): wrong and right labels of every bin
    labelled, score = counts.sum(-1), np.asarray(study.cells.mean_score)
    shares = counts[..., -1] / np.maximum(labelled, 1)
    weights = labelled / labelled.sum(-1, keepdims=True)
    plain = 100 * np.abs((weights * np.abs(shares - score)).sum(-1) - truth) / truth
    values, errors = _mean(bayes)
    plain_values, plain_errors = _mean(plain)
    return {
        "looks": looks.tolist(), "bayes": values, "bayes_error": errors, "plain": plain_values,
        "plain_error": plain_errors, "truth": truth,
    }  # fmt: skip


def _reliability(data: Data, campaigns: int) -> Iterator[tuple[dict[str, Any], Make]]:
    """Figure 17: reliability diagrams of one session, by strength of the prior."""
    for strength in STRENGTHS if data.scored else ():
        key = _key("reliability", data, f"{strength:g}", 1)
        yield key, lambda s=strength: _reliability_row(data, s)


def _reliability_row(data: Data, strength: float) -> dict[str, Any]:
    question = ba.Calibration(bins=ba.ScoreBins(BINS, "width"), target="population")
    a = ba.assess(data.pool, question, design="random", prior="informative", prior_strength=strength, seed=0)
    at = []
    for n in SAMPLES:
        n = data.pool.n_items if n is None else min(n, data.pool.n_items)
        while a.labels_used < n:
            ids = a.ask(min(n - a.labels_used, 1024)).ids
            a.tell(ids, data.labels[data.pool.positions(ids)])
        table = a.result(level=0.95).table()
        names = ("confidence", "accuracy", "lower", "upper", "labelled")
        at.append({"n": n, **{name: np.asarray(table[name], np.float64).round(5).tolist() for name in names}})
    return {"at": at}


def _mean(values: np.ndarray) -> tuple[Any, Any]:
    """Return means over campaigns with their standard errors, None where there is one campaign."""
    means = np.asarray(values.mean(0)).tolist()
    if len(values) == 1:
        return means, [None] * len(means) if values.ndim > 1 else None
    return means, np.asarray(values.std(0, ddof=1) / np.sqrt(len(values))).tolist()
