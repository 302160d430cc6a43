"""What every session answers, whatever its items are."""

import inspect

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.sessions.session import Session

PAIRS = ba.Pool(predictions=[1, 0, 1, 1], groups={"system": ["a", "a", "b", "b"], "prompt": ["p", "q", "q", "p"]})
PLAIN = ba.Pool(predictions=[0, 1, 1], ids=[7, 8, 9])
SESSIONS = {
    "items": lambda: ba.assess(PLAIN, ba.GroupAccuracy()),
    "pairs": lambda: ba.assess(PAIRS, ba.Compare("a", "b", by="system", measure="rate", pair="prompt")),
    "draws": lambda: ba.assess(PLAIN, ba.Metric("accuracy"), design="passive", oracle="stochastic"),
    "ranks": lambda: ba.assess(ba.RankedList(500), ba.PrecisionCurve(p_min=0.5)),
}


@pytest.mark.parametrize("kind", SESSIONS)
def test_every_session_is_one_and_refuses_in_words_what_it_cannot_answer(kind):
    a = SESSIONS[kind]()
    assert isinstance(a, Session)
    queries = a.ask(2)
    assert a.pending_queries.ids.tolist() == a.pending.tolist()
    if kind == "draws":
        assert sorted(a.pending.tolist()) == sorted(queries.ids.tolist())
    assert (a.n_told, a.n_disagreements, a.done, a.why_no_majority()) == (0, 0, False, "")
    a.tell(queries.ids, np.arange(2) % 2)
    assert a.n_told == a.labels_used == 2
    for refused in (a.agreement, a.labelling_error):
        with pytest.raises(ba.LabelError):
            refused()
    other = ba.Rate(positive=1)
    if not a.answers_others:
        with pytest.raises(ba.QuestionError, match=r"answer .* alone"):
            a.result(question=other)
    if kind == "ranks":
        with pytest.raises(ba.QuestionError, match="cannot be planned"):
            a.plan(width=0.1)
    if a.one_annotator:
        with pytest.raises(ba.DesignError, match="do not stand for items"):
            a.export()
    else:
        assert len(a.export()) == 2


def test_items_of_a_pair_are_labelled_together_and_all_others_alone():
    a = SESSIONS["pairs"]()
    assert a.labelled_with([0, 2]).tolist() == [[0, 3], [1, 2]]
    names = a.ask(2) and a.events[0].payload["ids"]
    assert a.recorded_as(names).tolist() == [sorted(a.pending.tolist())]
    assert SESSIONS["items"]().labelled_with([9, 7]).tolist() == [[9], [7]]
    assert SESSIONS["ranks"]().recorded_as([3]).tolist() == [[3]]


def test_what_a_session_answers_is_declared_in_one_place():
    public = {name for name, _ in inspect.getmembers(Session) if not name.startswith("_")}
    own = {
        "items": {"cells", "prior", "engine", "counts", "outcomes_of"},
        "ranks": {"handed_out"},
        "draws": {"cells", "prior", "engine", "counts", "outcomes_of", "label_counts"},
    }
    given = {"pool", "question", "design", "journal"}
    for kind, more in own.items():
        a = SESSIONS[kind]()
        assert {name for name in dir(a) if not name.startswith("_")} <= public | given | more | {"why_not"}
