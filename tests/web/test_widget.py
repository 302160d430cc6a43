"""The page in a notebook: labels go to the session of the cells below."""

from __future__ import annotations

import json

import pytest

import bayes_assess as ba
from web.browsers import served, until

pytest.importorskip("anywidget", reason="Labelling in a notebook needs anywidget.")


@pytest.fixture
def session():
    texts = {"text": [f"text {i}" for i in range(20)]}
    return ba.assess(ba.Pool(predictions=["cat", "dog"] * 10, show=texts), ba.GroupAccuracy(), design="random")


def talk(widget, sent: list, act: str, **payload) -> list:
    """Send what the page sends, and return what comes back."""
    sent.clear()
    widget._handle_custom_msg({"id": 7, "act": act, "payload": payload}, [])
    return list(sent)


def test_answers_of_the_page_are_labels_of_the_session(session, monkeypatch):
    widget, sent = ba.label(session, annotator="anna", show_answer=True), []
    monkeypatch.setattr(widget, "send", sent.append)
    (opened,) = talk(widget, sent, "open", have=[])
    json.dumps(opened, allow_nan=False)
    assert opened["id"] == 7
    assert opened["found"]["show_answer"]
    key = opened["found"]["open"][0]["key"]
    _, standing = talk(widget, sent, "stream")
    assert standing["found"]["labels"] == 0
    answered, standing = talk(widget, sent, "answer", key=key, answers=[1], have=[])
    assert answered["found"]["counts"]["used"] == 1
    assert standing["found"]["estimate"] == pytest.approx(session.result().overall[0])
    assert session.labelled[1].tolist() == ["dog"]
    (told,) = [event for event in session.events if event.kind == "annotate"]
    assert told.payload["annotators"].tolist() == ["anna"]


def test_what_cannot_be_taken_is_said_and_nothing_breaks(session, monkeypatch):
    widget, sent = ba.label(session), []
    monkeypatch.setattr(widget, "send", sent.append)
    assert "No class has the number 5" in talk(widget, sent, "answer", key="0", answers=[5], have=[])[0]["error"]
    assert "not what the page sends" in talk(widget, sent, "fly")[0]["error"]
    assert "not what the page sends" in talk(widget, sent, "answer", have=3)[0]["error"]
    assert not session.labels_used


def test_what_is_no_session_and_no_goal_is_refused(session):
    with pytest.raises(ba.OutputError, match=r"items of a session, which assess\(\.\.\.\) starts; found Pool"):
        ba.label(ba.Pool(predictions=["cat", "dog"]))
    with pytest.raises(ba.BudgetError, match="is a positive number; found -1"):
        ba.label(session, width=-1)
    with pytest.raises(ba.QuestionError, match="which is not shown; add show_answer"):
        ba.label(session, width=0.1)
    with pytest.raises(ba.QuestionError, match="found 95"):
        ba.label(session, level=95)
    assert not session.n_pending


def test_a_widget_has_no_folder_to_show(session, tmp_path):
    for folder in (str(tmp_path), tmp_path):
        with pytest.raises(ba.OutputError, match="by their addresses"):
            ba.label(session, images=folder)
    with pytest.raises(ba.LabelError, match="Pictures are shown from a folder"):
        ba.label(session, images=5)


_HOST = """
const model = {
  on(event, act) { this.act = act; },
  off() {},
  send(message) {
    fetch(`api/${message.act}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ person: "p", ...message.payload }),
    }).then((answer) => answer.json()).then((found) => this.act({ id: message.id, found }));
  },
};
const cell = document.createElement("div");
cell.id = "cell";
document.body.replaceChildren(cell);
import("/label.js").then((module) => module.default.render({ model, el: cell }));
"""


def test_the_module_works_in_the_hands_of_a_notebook(session, browser):
    with served(session) as address:
        browser.open(address)
        browser.run(_HOST)
        until(lambda: browser.text("#cell .card .field p").startswith("text"))
        before = browser.text("#cell .card .field p")
        browser.all("#cell .choice")[0].click()
        until(lambda: browser.text("#cell .card .field p") not in ("", before))
        until(lambda: session.labels_used == 1)
        browser.press("2")  # keys work where the focus is
        until(lambda: session.labels_used == 2)
    assert set(session.labelled[1]) <= {"cat", "dog"}
