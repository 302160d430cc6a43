"""Questions, as users pass them on."""

from __future__ import annotations

from bayes_assess._tools.suggestions import near_names
from bayes_assess.errors import QuestionError
from bayes_assess.measures import MEASURES
from bayes_assess.questions import QUESTIONS, Question


def check_question(question: object) -> None:
    """Raise QuestionError unless this is a question; a name is answered with what may have been meant.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> check_question(ba.Metric("f1"))
    """
    if isinstance(question, Question):
        return
    names = ", ".join(QUESTIONS)
    given, meant = type(question).__name__, ""
    itself = next((name for name, kind in QUESTIONS.items() if kind is question), None)
    if itself is not None:
        given, meant = f"ba.{itself} itself", f" Call it, ba.{itself}(...)."
    if isinstance(question, str):
        questions = [f"ba.{name}(...)" for name in near_names(question, QUESTIONS)]
        measures = [f"ba.Metric({name!r})" for name in near_names(question, MEASURES, end="_score")]
        near = measures + questions if question in MEASURES else questions + measures
        given, meant = repr(question), f" Did you mean {near[0]}?" if near else ""
    raise QuestionError(f"A question is one of {names}; found {given}.{meant}")
