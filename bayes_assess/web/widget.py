"""The labelling page in a notebook: the same module as an anywidget, on a session of the notebook."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayes_assess._tools.arrays import show
from bayes_assess.errors import BayesAssessError, OutputError
from bayes_assess.sessions.session import AnySession, Session
from bayes_assess.web.acts import ANSWERING, AWAY, Acts
from bayes_assess.web.cards import Pictures
from bayes_assess.web.desk import Desk
from bayes_assess.web.standing import check_goal

if TYPE_CHECKING:
    import anywidget

_STATIC = Path(__file__).parent / "static"


def label(
    session: AnySession,
    *,
    show_answer: bool = False,
    width: float | None = None,
    level: float | None = None,
    images: str | None = None,
    annotator: str | None = None,
) -> anywidget.AnyWidget:
    """Label item by item in a notebook: the page of ``bayes-assess label`` below a cell.

    Labels go to the session: cells below read ``a.result()``. It works in Jupyter, VS Code and marimo.

    Parameters
    ----------
    session : Session
        What `assess` or `resume` returned.
    show_answer : bool
        Whether the answer so far can be seen.
    width : float, optional
        What the interval is to be wide when one may stop.
    level : float in (0, 1), optional
        Of the intervals.
    images : str, optional
        The beginning of addresses that pictures are shown from, such as ``"https://pictures.example.org/"``. Folders
        are for the page of the command line.
    annotator : str, optional
        Who labels.

    Returns
    -------
    anywidget.AnyWidget
        As the last expression of a cell it is shown.

    Raises
    ------
    OutputError
        If anywidget is not installed, or `session` is none.
    QuestionError, BudgetError
        If the level or the width is none, or the answer that they are of is not shown.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["cat", "dog"], show={"text": ["It purrs.", "It barks."]})
    >>> a = ba.assess(pool, ba.GroupAccuracy())
    >>> widget = ba.label(a)
    >>> a.n_pending  # the items that are open in it
    2
    """
    try:
        import anywidget
    except ImportError:
        raise OutputError('Labelling in a notebook needs anywidget: pip install "bayes-assess[notebooks]".') from None
    if not isinstance(session, Session):
        raise OutputError(f"The page asks for the items of a session, which assess(...) starts; found {show(session)}.")
    check_goal(width, level, show_answer)
    pictures = Pictures.of(images)
    if pictures.folder is not None:
        raise OutputError("A notebook shows pictures by their addresses; bayes-assess label shows those of a folder.")

    class LabelWidget(anywidget.AnyWidget):
        """One labelling page in a notebook."""

        _esm = _STATIC / "label.js"
        _css = _STATIC / "label.css"

    widget = LabelWidget()
    person = {"person": "notebook", "name": annotator}
    acts = Acts(Desk(session, pictures=pictures), show_answer=show_answer, width=width, level=level)
    looked = False

    def take(_: object, message: Mapping[str, Any], __: object) -> None:
        nonlocal looked
        reply, act = {"id": message.get("id")}, str(message.get("act"))
        try:
            if act == "stream":
                looked = show_answer
            else:
                reply["found"] = acts.do(act, {**(message.get("payload") or {}), **person})
        except BayesAssessError as error:
            reply |= {"error": str(error), "away": isinstance(error, AWAY)}
        except (ValueError, AttributeError):
            reply["error"] = "This is not what the page sends."
        widget.send(reply)
        if looked and act in ("stream", *ANSWERING):
            widget.send({"kind": "standing", "found": acts.look()})

    acts.do("open", person)  # the first items are chosen before the page is there
    widget.on_msg(take)
    return widget
