"""The answer so far, as the page shows it beside the items: the numbers of `status`, as plain values for JSON."""

from __future__ import annotations

import math

import numpy as np

from bayes_assess._tools.arrays import is_number, show
from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import Json
from bayes_assess._tools.strict_json import plain
from bayes_assess._tools.text import labels_suggest, plural
from bayes_assess.errors import BayesAssessError, BudgetError, QuestionError
from bayes_assess.results import Result
from bayes_assess.sessions.planning import items_asked_of, labels_to_width
from bayes_assess.sessions.session import AnySession

_FEWEST = 10  # labels, before which nothing is foreseen
_ALL = "All is labelled that the answer depends on."


def check_goal(width: float | None, level: float | None, show_answer: bool = True) -> None:
    """Raise QuestionError or BudgetError if these are no level of an interval and no width that it may have.

    So they are where the answer so far, whose interval it would be, is not shown.

    Examples
    --------
    >>> check_goal(-1, None)
    Traceback (most recent call last):
    bayes_assess.errors.BudgetError: The width that an interval is to have is a positive number; found -1.
    """
    if level is not None:
        checked_level(level)
    if width is not None and not (is_number(width) and 0 < width < math.inf):
        raise BudgetError(f"The width that an interval is to have is a positive number; found {show(width)}.")
    if not show_answer and (width, level) != (None, None):
        raise QuestionError("Width and level are those of the answer so far, which is not shown; add show_answer.")


def standing(session: AnySession, width: float | None = None, level: float | None = None) -> dict[str, Json]:
    """Answer the session's question from the labels so far.

    Parameters
    ----------
    session : Session
    width : float, optional
        What the interval is to be wide when the campaign may stop.
    level : float, optional
        Of the intervals.

    Returns
    -------
    dict
        ``lines``, the summary; ``estimate``, ``interval`` and ``second`` (the interval that leans on nothing), None
        where the answer is not one number; ``verdict`` and ``needed``, sentences on whether to stop, None where no goal
        can be set.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 100), ba.GroupAccuracy(), design="random")
    >>> a.tell(a.ask(20).ids, ["cat", "dog"] * 10)
    >>> answer = standing(a, width=0.1)
    >>> answer["labels"], answer["interval"][0] < answer["estimate"] < answer["interval"][1], answer["stop"]
    (20, True, False)
    """
    result = session.result() if level is None else session.result(level)
    estimate, interval, second = _numbers(result)
    answer: dict[str, object] = {
        "labels": result.labels_used,  # somebody may have told others since
        "what": "Overall accuracy" if np.size(result.estimate) > 1 and estimate is not None else None,
        "lines": result.summary().splitlines(),
        "headline": result.headline,
        "level": result.level,
        "guarantee": result.guarantee,
        "estimate": estimate,
        "interval": interval,
        "second": second,
        "stop": None,
        "verdict": None,
        "needed": None,
    }
    return plain(answer | _verdict(session, result, interval, width))


def _numbers(result: Result) -> tuple[float | None, np.ndarray | None, np.ndarray | None]:
    """Return the one number that the answer is about, with its intervals; None where there are several."""
    estimate, interval = np.asarray(result.estimate, float), np.asarray(result.interval, float)
    second = getattr(result, "design_interval", None)
    if estimate.size == 1:
        ends = None if second is None else np.asarray(second, float).reshape(2)
        return float(estimate.reshape(())), interval.reshape(2), ends
    overall = getattr(result, "overall", None)
    if isinstance(overall, tuple) and len(overall) >= 2 and np.ndim(overall[0]) == 0:
        return float(overall[0]), np.asarray(overall[1], float), None
    return None, None, None


def _verdict(
    session: AnySession, result: Result, interval: np.ndarray | None, width: float | None
) -> dict[str, object]:
    """Say whether the goal is reached, of the one interval or of the widest, and how many labels it may still take."""
    n_left = session.n_pending + session.n_remaining
    if n_left == 0 or (session.done and session.pool.is_ranked):  # others are done while items are still out
        aside = session.n_skipped * (n_left == 0 and result.guarantee != "exact")
        said = f"All is labelled but {plural(aside, 'item')} that nobody could label." if aside else _ALL
        return {"stop": True, "verdict": said}
    sure = getattr(result, "probability", None)
    if sure is not None and width is None:
        sure = float(sure)
        goal = 0.95
        expected = not result.labels_used and result.guarantee != "exact"  # by the prior alone
        done = sure >= goal and not expected
        shown = math.floor(1000 * sure) / 1000  # a probability of .9499 is not that which is wanted
        then = "is reached: you may stop" if done else "is wanted"
        so = f", as {labels_suggest(0)}" * expected
        return {"stop": done, "verdict": f"The verdict has probability {shown:.3f}{so}; {goal:g} {then}."}
    if width is None:
        return {}
    try:
        goal = session.goal(width, level=result.level)
        widths = np.diff(np.asarray(result.interval if interval is None else interval, float), axis=-1)[..., 0]
    except (BayesAssessError, AttributeError, TypeError, ValueError):
        return {}
    wide = float(widths.max())
    which = "widest interval" if widths.size > 1 else "interval"
    shown = _as_wide(wide, width)
    if bool(goal.reached(np.asarray(wide))):
        return {"stop": True, "verdict": f"The {which} is {shown} wide, {width:g} was wanted: you may stop."}
    said = {"stop": False, "verdict": f"The {which} is {shown} wide; {width:g} is wanted."}
    n, n_items = result.labels_used, items_asked_of(session.question, session.labels_used + n_left + session.n_skipped)
    if n >= _FEWEST and wide > 0:
        more = math.ceil(labels_to_width(width, wide, n, n_items)) - n
        few = f"The {n_left:,} that are left may not be enough for a width of {width:g}."
        enough = f"About {_round(more):,} more for a width of {width:g}, if it goes on to shrink as it should."
        said["needed"] = enough if more <= n_left else few
    return said


def _as_wide(wide: float, width: float) -> str:
    """Write a width so that it is no more than the one that is wanted, or more, as it is.

    Examples
    --------
    >>> _as_wide(0.0503, 0.05), _as_wide(0.0497, 0.05), _as_wide(0.00041, 0.0003)
    ('0.0503', '0.050', '0.0004')
    """
    texts = (f"{wide:.{digits}f}" for digits in range(3, 10))
    return next((text for text in texts if 0 < float(text) and (float(text) <= width) == (wide <= width)), f"{wide:g}")


def _round(n: int) -> int:
    """Round to two digits: more are not known."""
    step = 10 ** max(len(str(max(n, 1))) - 2, 0)
    return max(round(n / step) * step, 1)
