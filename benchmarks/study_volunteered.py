"""Labels that nobody asked for, of items that were chosen in some way: do answers of the default design hold?

    python benchmarks/study_volunteered.py [--pools 30] [--seed 1] [--minutes 15] [--rows volunteered.jsonl]
    ... --groups [--rows volunteered_groups.jsonl]
    ... [--groups] --report

Pools are those of `fitted_pools.py`. A campaign asks for F1; before it does, 10, 40 or 150 items are labelled that it
did not ask for: random ones, those of the highest scores, positives alone, errors alone, or those that a further score
chose, which tells more of labels than the pool's own. Answers are looked at with no label besides, with 30 and 120
more, as they are, and if these labels were always taken for random ones, or for known ones alone. --report writes how
often 95 % intervals hold and their score, with standard errors of means over campaigns, and how often which is done;
and what other odds would do that labels are random, which are even at first and then 20 to 1.

With --groups campaigns ask for accuracies by prediction, of which items may have been told whose scores are in doubt,
too, as a campaign for F1 asks for; figures are means over groups. Labels are taken for chosen by the same odds, or if
chance makes them so unlike those that were asked for, or the scores of their items unlike those of random ones, with a
probability below one in a hundred; what other probabilities would do is said.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from _rows import Rows, add_row_options, read_rows, sharded, without_row
from fitted_pools import fitted

import bayes_assess as ba
from bayes_assess.sessions import volunteered
from bayes_assess.sessions.volunteered import chance_of_labels, chance_of_scores, log_odds_of_random

LOOKS, BATCH, MISS = (0, 30, 120), 10, 2 / (1 - 0.95)
TOLD = (10, 40, 150)
N_DRAWS = 4_000
KEY = ("choice", "told", "seed", "pool")
WAYS, FIGURES, FEWEST = ("package", "random", "known"), ("held", "score"), 5
AS_THEY_ARE, ODDS = np.array([1.0, 20.0, 20.0]), (1.0, 4.0, 20.0, 100.0)  # by look
CHOICES = ("random", "highest scores", "positives", "errors", "another score")
OF_GROUPS, CHANCES = (*CHOICES, "in doubt"), (0.05, 0.01, 0.001, 0.0001)


def chosen(
    choice: str, n: int, rng: np.random.Generator, score: np.ndarray, predictions: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Choose items whose labels are told, at most `n`.

    Examples
    --------
    >>> labels = np.array([1, 0, 1, 0])
    >>> rng, score, predictions = np.random.default_rng(0), np.array([0.9, 0.8, 0.2, 0.1]), np.array([1, 1, 0, 0])
    >>> [chosen(choice, 2, rng, score, predictions, labels).tolist() for choice in ("highest scores", "errors")]
    [[0, 1], [1, 2]]
    """
    order = rng.permutation(len(labels))
    if choice == "highest scores":
        return np.argsort(-score, kind="stable")[:n]
    if choice == "another score":
        return np.argsort(-(rng.normal(2.0 * labels, 1.0)))[:n]
    if choice == "in doubt":
        threshold = (score[predictions == 1].min(initial=1) + score[predictions == 0].max(initial=0)) / 2
        return np.argsort(np.abs(score - threshold), kind="stable")[:n]
    kept = {"random": np.ones(len(labels), bool), "positives": labels == 1, "errors": predictions != labels}[choice]
    return np.sort(order[kept[order]][:n])


@lru_cache(1)
def made(seed: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, predictions and labels of one of `fitted_pools.pools`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that have not converged
        return fitted(number, np.random.default_rng([seed, number]))[:3]


@contextmanager
def taken_for(way: str) -> Iterator[None]:
    """Let labels that nobody asked for be taken for random ones, or for known ones alone, whatever they show."""
    own, models = volunteered._of_asked_alone, {"random": lambda session: None, "known": _asked_alone}
    volunteered._of_asked_alone = models.get(way, own)
    try:
        yield
    finally:
        volunteered._of_asked_alone = own


def _asked_alone(session: Any) -> Any:
    return session._volunteered.model


def looks(session: ba.Assessment, labels: np.ndarray) -> Iterator[None]:
    """Ask for labels and tell them, from one look to the next."""
    n_told = session.labels_used
    for look in LOOKS:
        while session.labels_used < min(n_told + look, session.pool.n_items - BATCH):
            ids = session.ask(BATCH).ids
            session.tell(ids, labels[ids])
        yield


def campaign(pool: ba.Pool, labels: np.ndarray, told: np.ndarray, seed: int) -> dict[str, Any]:
    """Tell labels, ask for others, and say what every look found."""
    question = ba.Metric("f1", positive=1)
    truth, found = float(question.truth(pool, labels)), {f"{way} {x}": [] for way in WAYS for x in FIGURES}
    found |= {"log_odds": [], "unlike": []}
    session = ba.assess(pool, question, seed=seed, engine="eager")
    session.tell(told, labels[told])
    for _ in looks(session, labels):
        for way in WAYS:
            with taken_for(way):
                low, high = session.result().interval
            outside = max(low - truth, truth - high, 0)
            for name, value in zip(FIGURES, (outside <= 1e-9, high - low + MISS * outside), strict=True):
                found[f"{way} {name}"].append(round(float(value), 5))
        seen = session._volunteered
        found["log_odds"].append(round(float(seen.log_odds), 2))
        found["unlike"].append(bool(seen.unlike))
    return found


def campaign_on_groups(pool: ba.Pool, labels: np.ndarray, told: np.ndarray, seed: int) -> dict[str, Any]:
    """Tell labels, ask for others of groups by prediction, and say what every look found."""
    question = ba.GroupAccuracy()
    truth, found = question.truth(pool, labels), {f"{way} {x}": [] for way in WAYS[1:] for x in FIGURES}
    found |= {"log_odds": [], "chance of labels": [], "chance of scores": []}
    session = ba.assess(pool, question, seed=seed, engine="eager")
    session.tell(told, labels[told])
    for _ in looks(session, labels):
        known = session.result().evidence
        for way in WAYS[1:]:
            evidence = replace(known, known_alone=len(told) if way == "known" else 0)
            low, high = evidence.interval(lambda evidence=evidence: evidence.draws(N_DRAWS)).T
            outside = np.maximum(np.maximum(low - truth, truth - high), 0)
            for name, value in zip(FIGURES, (outside <= 1e-9, high - low + MISS * outside), strict=True):
                found[f"{way} {name}"].append(round(float(value.mean()), 5))
        counts = known.random.counts, known.random.known
        found["log_odds"].append(round(log_odds_of_random(question, session.prior, session.cells, *counts), 2))
        found["chance of labels"].append(chance_of_labels(question, *counts))
        found["chance of scores"].append(chance_of_scores(session, session.cells))
    return found


def report_on_groups(rows: list[dict[str, Any]]) -> str:
    """Write a table of means by choice and the chance below which labels are taken for chosen."""
    lines = [
        "| labels told | chance below | campaigns | chosen | held | interval score |",
        "|" + "---|" * 6,
    ]
    for choice in OF_GROUPS:
        some = [row for row in rows if row["choice"] == choice]
        chance = np.array([np.minimum(row["chance of labels"], row["chance of scores"]) for row in some])
        for below in (0.0, *CHANCES, 2.0):
            by_odds = np.array([row["log_odds"] for row in some]) < 0
            chosen = (chance < below) | (by_odds & (below > 0))
            held, score = (
                np.where(chosen, *(np.array([row[f"{way} {x}"] for row in some]) for way in ("known", "random")))
                for x in FIGURES
            )
            said = {0.0: "never", 2.0: "always"}.get(below, f"{below:g}")
            figures = f"{_figures(chosen.mean(0))} | {_figures(held.mean(0))} | {_with_errors(score)}"
            lines.append(f"| {choice} | {said} | {len(some)} | {figures} |")
    return "\n".join(lines)


def report(rows: list[dict[str, Any]]) -> str:
    """Write a table of means by choice and way, and one of other odds."""
    lines = ["| labels told | taken for | campaigns | held | interval score |", "|" + "---|" * 5]
    for choice in CHOICES:
        some = [row for row in rows if row["choice"] == choice]
        chosen = np.array([(np.array(row["log_odds"]) < 0) | row["unlike"] for row in some])
        ways = dict(
            zip(WAYS, (f"chosen in {_figures(chosen.mean(0))}", "random ones", "known ones alone"), strict=True)
        )
        for way, said in ways.items():
            held, score = (np.array([row[f"{way} {x}"] for row in some]) for x in FIGURES)
            lines.append(f"| {choice} | {said} | {len(some)} | {_figures(held.mean(0))} | {_with_errors(score)} |")
    lines += ["", "| odds | labels told | taken for chosen | interval score less that as it is |", "|" + "---|" * 4]
    for odds in ODDS:
        for choice in CHOICES:
            some = [row for row in rows if row["choice"] == choice]
            as_now, scores = (_scores(some, each) for each in (AS_THEY_ARE, np.full(3, odds)))
            lines.append(
                f"| {odds:g} | {choice} | {_figures(scores[1].mean(0))} | {_with_errors(scores[0] - as_now[0])} |"
            )
    return "\n".join(lines)


def _scores(rows: list[dict[str, Any]], odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores by other odds that labels are random, and whether they are taken for chosen, (rows, looks)."""
    log_odds, unlike, random, known = (
        np.array([row[x] for row in rows]) for x in ("log_odds", "unlike", "random score", "known score")
    )
    chosen = (log_odds + np.log(odds / AS_THEY_ARE) < 0) | unlike
    return np.where(chosen, known, random), chosen


def _figures(values: np.ndarray) -> str:
    return " ".join(f"{value:.2f}" for value in values)


def _with_errors(values: np.ndarray) -> str:
    errors = values.std(0) / np.sqrt(len(values))
    return " ".join(f"{m:.2f} ({e:.2f})" for m, e in zip(values.mean(0), errors, strict=True))


def main(arguments: list[str] | None = None) -> None:
    """Run a set, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_row_options(parser, "volunteered.jsonl")
    parser.add_argument("--pools", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--groups", action="store_true")
    options = parser.parse_args(arguments)
    if options.report:
        print((report_on_groups if options.groups else report)(read_rows(options.rows)))
        return
    rows = Rows(options.rows, KEY)
    choices, follow = (OF_GROUPS, campaign_on_groups) if options.groups else (CHOICES, campaign)
    turns = [(number, (number + i) % len(choices)) for number in range(options.pools) for i in range(len(choices))]
    wanted = (
        ({"choice": choices[i], "told": TOLD[number % len(TOLD)], "seed": options.seed}, number, i)
        for number, i in turns
    )
    keyed = ((row | {"pool": number}, i) for row, number, i in sharded(wanted, options.shard))
    for row, i in without_row(keyed, rows, options.minutes):
        score, predictions, labels = made(row["seed"], row["pool"])
        rng = np.random.default_rng([93, row["seed"], row["pool"], i])
        told = chosen(row["choice"], row["told"], rng, score, predictions, labels)
        if len(told) >= FEWEST:
            pool = ba.Pool(scores=score, predictions=predictions, classes=[0, 1])
            rows.add(row | follow(pool, labels, told, row["pool"]))


if __name__ == "__main__":
    main()
