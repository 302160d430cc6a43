"""Campaigns of the shipped designs on pools of [SEME]'s kind: from a pool to rows, and from rows to what was found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from _rows import read_rows
from _seme_pools import RATIOS, Binary, LabelSets, Pool
from _seme_tables import LEVEL, Certainty, Facts, Found, Study

import bayes_assess as ba
from bayes_assess.acquisition.poisson import draws_for_distinct, inclusion_of_deviations
from bayes_assess.designs import Importance, Passive, Poisson, Stratified
from bayes_assess.estimators.horvitz_thompson import moment_interval
from bayes_assess.measures import Measure
from bayes_assess.studies.multilabel_campaigns import MultilabelCampaigns
from bayes_assess.studies.simulated import StudiedDesign

SHARES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75)  # of the pool that is labelled
FEWER_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)
METHODS = ("Uniform, repl.", "Uniform", "Importance", "Poisson")
KEY = ("pool", "method", "measure", "share", "repeats")
_ASIDE = 1e-6  # times the measures that are estimated beside the one that is sampled for: they do not sway the design
_LEAST = 1e-10  # that is added to squared deviations, [SEME] footnote 3
_DIGITS = 7


def design_of(method: str, pool: Pool) -> Any:
    """Return the design of that name, as published; scores are trusted as far as the pool says."""
    if isinstance(pool, LabelSets):
        return {"Uniform": Passive(), "Poisson": Poisson(floor=0.0)}[method]
    return {
        "Uniform, repl.": Passive(),
        "Uniform": Stratified(n_strata=1),
        "Importance": Importance(lam=pool.lam, epsilon=1e-9, floor=0.0),
        "Poisson": Poisson(lam=pool.lam, floor=0.0),
    }[method]


def methods_of(pool: Pool) -> tuple[str, ...]:
    """Return the methods that serve a pool: of several labels per item only those that know inclusion probabilities."""
    return ("Uniform", "Poisson") if isinstance(pool, LabelSets) else METHODS


@lru_cache
def beside(first: str, measures: tuple[str, ...]) -> Measure:
    """Make the measure by which designs sample for one measure, and estimate all, those beside it times `_ASIDE`.

    A design looks at the sum of squared deviations over outputs, of which the others make a share of 1e-12.
    """
    f, g = (np.stack([RATIOS[name][part] for name in measures], axis=-1).astype(np.float64) for part in (0, 1))
    scale = np.where(np.array(measures) == first, 1.0, _ASIDE)

    def loss(y: Any, predicted: Any) -> Any:
        cell = jnp.stack([(1 - predicted) * (1 - y), (1 - predicted) * y, predicted * (1 - y), predicted * y])
        return jnp.concatenate([cell @ f.reshape(4, -1), cell @ g.reshape(4, -1)])

    def value(risk: Any) -> Any:
        top, bottom = jnp.split(risk, 2)
        return scale * jnp.where(bottom > 0, top / jnp.where(bottom > 0, bottom, 1.0), 0.0)

    return Measure(
        loss=loss, g=value, name=f"{first} first", binary=True, outputs=measures, range=(0.0, 1.0),
        defined=lambda risk: jnp.split(risk, 2)[1] > 0,
    )  # fmt: skip


def new_rows(pool: Pool, method: str, measure: str, shares: list[float], repeats: int) -> Iterator[dict[str, Any]]:
    """Simulate campaigns that sample for a measure, and yield a row per share of the pool that they label.

    A batch of Poisson sampling is for one number of labels; the other designs are looked at on their way.
    """
    budgets = np.array([round(share * pool.n_items) for share in shares])
    runs = [[t] for t in range(len(shares))] if method == "Poisson" else [list(range(len(shares)))]
    for places in runs:
        looks = budgets[places]
        batch = int(looks[-1]) if method == "Poisson" else 1
        values, variances, ends = _simulated(pool, method, measure, looks, repeats, batch)
        for i, t in enumerate(places):
            row = {"pool": pool.name, "method": method, "measure": measure, "share": shares[t], "repeats": repeats}
            row |= {"labels": int(budgets[t]), "estimates": _short(values[:, i]), "variances": _short(variances[:, i])}
            yield row | {"ends": _short(ends[:, i])}


def _simulated(pool: Any, method: str, measure: str, looks: np.ndarray, repeats: int, batch: int) -> tuple:
    """Return estimates and variances, (R, B, Q), and the package's own intervals of the first measure, (R, B, 2)."""
    design, at = design_of(method, pool), pool.measures.index(measure)
    if isinstance(pool, LabelSets):
        items = ba.Pool(scores=pool.probabilities, predictions=pool.predicted, multilabel=True)
        setting = ba.Metric(measure).for_pool(items).setting(items, 0, design.strata_of(items), None, None)
        codes = items.label_space.complete_codes(pool.labels.astype(int), items.n_items)
        asked: Any = ba.Metric(list(pool.measures)).for_pool(items)
        plan = StudiedDesign(design, setting, np.zeros(0, np.int64))
        campaigns = MultilabelCampaigns(plan, items, codes, asked, looks, batch, 0, LEVEL)
        record = campaigns.run(repeats, lambda _: None).record
        return record.value, record.variance, record.interval(campaigns.spec.ranges, LEVEL)[..., at, :]
    items = ba.Pool(scores=pool.probability, predictions=pool.predicted.astype(int))
    question, labels = ba.Metric(beside(measure, pool.measures)), pool.labels.astype(int)
    study = ba.simulate(
        items, labels, question, designs={"": design}, budgets=looks, repeats=repeats, batch=batch, level=LEVEL,
        progress=False,
    )  # fmt: skip
    record, scale = study.campaigns[""].record, np.where(np.array(pool.measures) == measure, 1.0, _ASIDE)
    ends = study.intervals[""].reshape(repeats, len(looks), len(scale), 2)
    return record.value / scale, record.variance / scale**2, ends[..., at, :]


def _short(values: np.ndarray) -> list:
    """Return numbers with few digits, and None for what is not finite."""
    if np.ndim(values[0]):
        return [_short(part) for part in values]
    return [float(f"{x:.{_DIGITS}g}") if np.isfinite(x) else None for x in values]


def pool_row(pool: Pool, measure: str) -> dict[str, Any]:
    """Say what a pool is, and how probable its items are to be drawn for a measure, by Poisson and by importance."""
    h = pool.deviation(measure)
    chances: dict[str, list[np.ndarray]] = {"poisson": [], "importance": []}
    proposal = h / h.sum()
    for n in (round(share * pool.n_items) for share in SHARES):
        chances["poisson"].append(inclusion_of_deviations(h, n))
        reached = n < 0.99 * np.count_nonzero(proposal)
        draws = draws_for_distinct(proposal, n) if reached else np.nan
        chances["importance"].append(-np.expm1(draws * np.log1p(-proposal)))
    places = np.unique(np.geomspace(1, pool.n_items, 200).round().astype(int)) - 1
    curves = {name: [_short(np.sort(row)[::-1][places]) for row in rows] for name, rows in chances.items()}
    at = [0, pool.n_items // 10, pool.n_items // 2]
    shown = {name: [_short(np.sort(row)[::-1][at]) for row in rows] for name, rows in chances.items()}
    certain = [float((row == 1).mean()) for row in chances["poisson"]]
    truth = pool.values(np.arange(pool.n_items), np.ones(pool.n_items))
    row = {"pool": pool.name, "method": "", "measure": measure, "share": 0.0, "repeats": 0, "items": pool.n_items}
    row |= {"measures": list(pool.measures), "truth": _short(truth), "onset": float(h.mean() / h.max())}
    row |= {"binary": isinstance(pool, Binary), "certain": certain, "places": places.tolist()}
    return row | {"curves": curves, "chances": shown}


def read_study(path: Any, worse: tuple[str, ...]) -> Study:
    """Read what was found from rows.

    Of rows that differ in repeats those with most are kept; what labels only a share of the pool that others do not
    have is NaN for these.
    """
    study, rows = Study(), read_rows(path)
    for row in rows:
        if row["method"] == "":
            study.facts[row["pool"]] = _facts(row)
    sought = {(row["pool"], row["method"], row["measure"]) for row in rows if row["pool"] in study.facts}
    for pool, method, measure in [key for key in dict.fromkeys(_keys(rows)) if key in sought and key[1]]:
        facts = study.facts[pool]
        own = [row for row in rows if _keys([row]) == [(pool, method, measure)]]
        at = {row["share"]: row for row in sorted(own, key=lambda row: row["repeats"])}
        if 1.0 in at:
            exact = np.abs(np.array(at.pop(1.0)["estimates"]) - facts.truth).max()
            study.exact[pool] = max(study.exact.get(pool, 0.0), float(exact))
        fewer = pool.endswith(worse) or measure != facts.sampled_for
        found = _found(facts, pool, method, measure, FEWER_SHARES if fewer else SHARES, at)
        if found is None:
            continue
        if measure == facts.sampled_for:
            study.found[pool, method, measure] = found
        if facts.crossed and method in ("Poisson", "Importance"):
            study.cross[pool, method, measure] = found.at(FEWER_SHARES)
    alone = [key for key in study.cross if sum(other[:2] == key[:2] for other in study.cross) == 1]
    for key in alone:  # nothing to compare with
        del study.cross[key]
    return study


def _keys(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(row["pool"], row["method"], row["measure"]) for row in rows]


def _facts(row: dict[str, Any]) -> Facts:
    chances, curves = (
        {name: np.array(values, np.float64) for name, values in row[what].items()} for what in ("chances", "curves")
    )
    certain, places = np.array(row["certain"]), np.array(row["places"])
    both = chances["poisson"], chances["importance"]
    certainty = Certainty(row["onset"], np.array(SHARES), certain, *both, places, curves)
    measures, several = tuple(row["measures"]), len(row["measures"]) > 1
    return Facts(row["items"], measures, np.array(row["truth"]), row["measure"], row["binary"], several, certainty)


def _found(facts: Facts, pool: str, method: str, measure: str, shares: Any, at: dict[float, dict]) -> Found | None:
    """Put the rows of one method together; None where there are none."""
    present = {share: row for share, row in at.items() if share in shares}
    if not present:
        return None
    repeats = max(row["repeats"] for row in present.values())
    present = {share: row for share, row in present.items() if row["repeats"] == repeats}
    shape, n_measures = (len(shares), repeats), len(facts.measures)
    labels, own = np.full(shape, np.nan), np.full((*shape, 2), np.nan)
    estimates, ends = np.full((*shape, n_measures), np.nan), np.full((*shape, n_measures, 2), np.nan)
    for t, share in enumerate(shares):
        if share in present:
            row = present[share]
            labels[t], estimates[t], own[t] = row["labels"], row["estimates"], row["ends"]
            known = np.array(row["variances"], np.float64)
            variances = np.where(np.isnan(known), 1.0, known) + _LEAST / row["labels"]  # 1 gives [0, 1]
            ends[t] = moment_interval(np.clip(estimates[t], 0, 1), variances, LEVEL)
    budgets = np.array([round(share * facts.n_items) for share in shares])
    return Found(
        pool, method, measure, facts.measures, facts.truth, np.array(shares), budgets, labels, estimates, ends, own
    )
