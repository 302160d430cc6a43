"""What an answer says and what is true: intervals and verdicts of any result, beside the truth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from _audit_questions import Case
from _audit_worlds import World

from bayes_assess.designs import find_design
from bayes_assess.studies.oracles import expected_counts

SURE = 0.95  # probability from which on a verdict is counted as said
BAND = "at one look"  # what the band of a ranked list from random items promises, whatever their number
SLACK = 1e-9  # of ends that are computed in another order than the truth


class Said(NamedTuple):
    """An interval of a quantity, or of several; and what is true."""

    estimate: np.ndarray  # (k,)
    interval: np.ndarray  # (k, 2)
    truth: np.ndarray  # (k,)
    guarantee: str
    unbounded: bool = False  # whether ends may be infinite


def truth_of(case: Case, world: World, question: Any, design: str, seed: int) -> np.ndarray:
    """Compute the exact answer from all labels; of labels that are draws from p(y | x) that of the expected losses."""
    if case.options.get("oracle") != "stochastic":
        return np.asarray(question.truth(world.pool, world.labels), float)
    setting = question.setting(world.pool, seed, find_design(design, 1, question.designs).strata_of(world.pool))
    setting = setting.of_draws()
    return np.asarray(question.truth_of_counts(setting.cells, expected_counts(setting.cells, world.chances)), float)


def full_result(session: Any, world: World) -> Any:
    """Answer from all labels, for truths that a question does not compute by itself."""
    session.tell(world.pool.ids, world.labels)
    return session.result()


def intervals(result: Any, truth: np.ndarray, full: Any) -> dict[str, Said]:
    """Collect all intervals of a result by name.

    Parameters
    ----------
    result : Result
    truth : array
        The exact answer.
    full : Result or None
        That of all labels, of results with more to say than `truth` has.
    """
    found: dict[str, Said] = {}

    def add(name: str, estimate: Any, interval: Any, true: Any, guarantee: str = result.guarantee) -> None:
        known = np.asarray(true, float).ravel()
        ends = np.asarray(interval, float).reshape(-1, 2)
        found[name] = Said(np.asarray(estimate, float).ravel(), ends, known, guarantee)

    if hasattr(type(result), "ranks"):  # of a ranked list: the whole curve at once
        recall, f1 = result.recall(result.ranks), result.f1(result.ranks)
        kind = BAND if result.guarantee == "asymptotic" and not result.bounding.by_windows else result.guarantee
        add("precision", result.estimate, result.interval, truth[0], kind)
        add("recall", recall.estimate, np.stack([recall.lower, recall.upper], -1), truth[1], kind)
        add("f1", f1.estimate, np.stack([f1.lower, f1.upper], -1), truth[2], kind)
        area = result.average_precision
        add("average precision", area.estimate, [area.lower, area.upper], truth[3][:1], kind)
        return found
    if hasattr(full, "positives"):  # recall, of groups that have positive items
        truth = np.where(full.positives > 0, truth, np.nan)
    add("answer", result.estimate, result.interval, _of_items(result, truth))
    if getattr(result, "design_interval", None) is not None and result.guarantee != "exact":
        add("design interval", result.estimate, result.design_interval, truth, "anytime")
    if full is None:
        return found
    for name in ("overall", "maximum_error", "group_accuracy", "accuracy"):
        if name == "overall" and hasattr(type(full), name) and np.ndim(result.estimate) == 1:
            estimate, ends = result.overall
            add(name, estimate, ends, full.overall[0])
        elif name != "overall" and hasattr(full, f"{name}_interval"):
            known = _of_items(result, getattr(full, name))
            if name == "accuracy":  # of bins, of which some have no items
                known = np.where(np.reshape(result.cells.sizes, known.shape) > 0, known, np.nan)
            add(name, getattr(result, name), getattr(result, f"{name}_interval"), known)
    if getattr(result.question, "cost_matrix", None) is not None and hasattr(type(result), "cost"):
        add("cost", result.cost.estimate, result.cost.interval, _of_items(result, full.cost.estimate))
        estimate, ends = result.cost.overall
        add("overall cost", estimate, ends, full.cost.overall[0])
    if hasattr(result, "difference_interval") and np.ndim(result.estimate) == 1:  # where these are not the answer
        add("difference", result.difference, result.difference_interval, full.difference)
    return found


def _of_items(result: Any, truth: Any) -> np.ndarray:
    """Truths of groups that have items; of the others, of which there is nothing to know, no number."""
    known = np.array(truth, float)
    if not hasattr(result, "size") or not known.ndim or len(known) != np.size(result.size):
        return known
    known[np.asarray(result.size) == 0] = np.nan
    return known


def verdicts(result: Any, truth: np.ndarray) -> list[tuple[float, bool]]:
    """Collect probabilities of all verdicts, and whether they are right."""
    found: list[tuple[float, bool]] = []
    rope: Any = getattr(result.question, "rope", None)
    if hasattr(result, "probability_good"):  # the best of several systems
        good = np.asarray(truth).ravel() >= -rope - SLACK
        found = list(zip(result.probability_good.tolist(), good.tolist(), strict=True))
    elif hasattr(type(result), "masses"):
        masses, difference = np.asarray(result.masses), np.asarray(truth)
        if masses.ndim == 3:
            difference = difference if difference.ndim == 2 else difference[:, None] - difference[None, :]
            upper = np.triu_indices(len(difference), 1)
            masses, difference = masses[upper], difference[upper]
        near = np.abs(np.abs(difference) - rope) <= SLACK  # both are right
        event = np.where(difference < -rope, 0, np.where(difference <= rope, 1, 2))
        said = masses.reshape(-1, 3)
        right = (said.argmax(-1) == event.ravel()) | near.ravel()
        found = list(zip(said.max(-1).tolist(), right.tolist(), strict=True))
    elif hasattr(type(result), "probability_worst") and hasattr(type(result), "size") and np.ndim(truth) == 1:
        values = np.where(np.asarray(result.size) > 0, truth, np.nan)
        low, high = np.nanmin(values), np.nanmax(values)
        worst, best = (low, high) if result.question.low_is_worst else (high, low)
        for probability, extreme in ((result.probability_worst, worst), (result.probability_best, best)):
            right = np.abs(values - extreme) <= SLACK
            found += list(zip(np.asarray(probability).tolist(), right.tolist(), strict=True))
    return [(p, right) for p, right in found if np.isfinite(p)]
