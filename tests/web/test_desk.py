"""The desk hands items out, one after the other, to several people, and loses nothing."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.errors import JournalError, LabelError
from bayes_assess.web.desk import AHEAD, RECENT, Desk

N = 60
TEXTS = [f"text {i}" for i in range(N)]


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pool(**options):
    return ba.Pool(predictions=["cat", "dog"] * (N // 2), show={"text": TEXTS}, **options)


def begun(tmp_path, **options):
    session = ba.assess(pool(), ba.GroupAccuracy(), design="random", journal=tmp_path / "run.db")
    return session, Desk(session, **options)


def keys(found) -> list[str]:
    return [card["key"] for card in found["open"]]


def test_what_is_shown_has_no_prediction_and_no_score():
    session = ba.assess(ba.Pool(scores=[0.91234, 0.2], show={"text": ["a", "b"]}), ba.GroupAccuracy(), design="random")
    shown = str(Desk(session).opened("anna"))
    assert "0.91" not in shown
    assert "prediction" not in shown
    (side,) = Desk(session).opened("anna")["open"][0]["sides"]
    assert side["fields"][0]["text"] in ("a", "b")


def test_answers_are_told_and_others_follow(tmp_path):
    session, desk = begun(tmp_path)
    first, *later = keys(desk.opened("anna", "anna"))
    found = desk.answer("anna", first, [1], have=later)
    assert keys(found)[: AHEAD - 1] == later
    assert len(found["open"]) == AHEAD
    assert "sides" not in found["open"][0]  # which the page has
    assert "sides" in found["open"][-1]
    ids, labels = session.labelled
    assert (ids.tolist(), labels.tolist()) == ([int(first)], ["dog"])
    assert found["recent"][-1]["answers"] == [1]


def test_an_earlier_answer_is_corrected_and_only_the_last_can_be(tmp_path):
    session, desk = begun(tmp_path)
    for _ in range(RECENT + 2):
        key = keys(desk.opened("anna", "anna"))[0]
        found = desk.answer("anna", key, [0])
    assert len(found["recent"]) == RECENT
    fifth = found["recent"][4]["key"]
    desk.answer("anna", fifth, [1])
    labels = dict(zip(*(part.tolist() for part in session.labelled), strict=True))
    assert labels[int(fifth)] == "dog"
    assert session.labels_used == RECENT + 2
    assert not session.n_disagreements


def test_a_skipped_item_is_set_aside_and_may_be_labelled_after_all(tmp_path):
    session, desk = begun(tmp_path)
    key = keys(desk.opened("anna", "anna"))[0]
    found = desk.skip("anna", key, note="blurred")
    assert session.skipped.tolist() == [int(key)]
    assert found["recent"][-1]["answers"] is None
    assert [(note.id, note.annotator, note.text) for note in session.notes] == [(int(key), "anna", "blurred")]
    desk.answer("anna", key, [0])
    assert session.labelled[0].tolist() == [int(key)]
    assert not session.n_skipped


@pytest.mark.parametrize("act", ["answer", "skip"])
def test_with_a_note_that_is_too_long_nothing_is_taken(tmp_path, act):
    session, desk = begun(tmp_path)
    key = keys(desk.opened("anna", "anna"))[0]
    before = session.events
    with pytest.raises(LabelError, match="at most 2,000 characters; found 2,001"):
        getattr(desk, act)("anna", key, *([[0]] if act == "answer" else []), note="x" * 2001)
    assert session.events == before


def test_a_label_is_not_taken_back_by_skipping(tmp_path):
    _, desk = begun(tmp_path)
    key = keys(desk.opened("anna", "anna"))[0]
    desk.answer("anna", key, [0])
    with pytest.raises(LabelError, match="can be changed, not taken back"):
        desk.skip("anna", key)


def test_the_same_answer_may_arrive_twice(tmp_path):
    session, desk = begun(tmp_path)
    key = keys(desk.opened("anna", "anna"))[0]
    for _ in range(2):
        desk.answer("anna", key, [0])
    assert session.labels_used == 1
    assert [event.kind for event in session.events].count("annotate") == 1


def test_people_get_different_items_until_somebody_stays_away(tmp_path):
    clock = Clock()
    session, desk = begun(tmp_path, patience=100, clock=clock)
    anna, ben = keys(desk.opened("anna", "anna")), keys(desk.opened("ben", "ben"))
    assert not set(anna) & set(ben)
    clock.now = 90
    desk.opened("ben", "ben")
    clock.now = 130
    desk.opened("ben", "ben")
    assert set(map(str, session.pending)) == set(ben)  # those of anna may be asked for again
    back = keys(desk.opened("anna", "anna"))
    assert len(back) == AHEAD


def test_who_comes_back_before_others_ask_still_has_the_items(tmp_path):
    """Else their labels would be of items that nobody asked for, which weighted estimates leave out."""
    clock = Clock()
    session, desk = begun(tmp_path, patience=100, clock=clock)
    first, *others = keys(desk.opened("anna", "anna"))
    clock.now = 130
    assert keys(desk.answer("anna", first, [1]))[:2] == others
    assert [event.kind for event in session.events] == ["ask", "annotate", "ask"]


def test_after_a_restart_everybody_gets_their_items_and_last_answers_again(tmp_path):
    session, desk = begun(tmp_path)
    first, *anna = keys(desk.opened("anna", "anna"))
    ben = keys(desk.opened("ben", "ben"))
    anna = keys(desk.answer("anna", first, [1]))
    session.journal.close()
    again = ba.resume(tmp_path / "run.db", pool())
    desk = Desk(again)
    assert keys(desk.opened("ben", "ben")) == ben
    found = desk.opened("anna", "anna")
    assert keys(found) == anna
    assert [(card["key"], card["answers"]) for card in found["recent"]] == [(first, [1])]
    assert again.n_pending == 2 * AHEAD


def test_after_a_restart_last_answers_to_a_ranked_list_are_those_of_everybody_and_may_be_changed(tmp_path):
    ranked = ba.RankedList(300, show={"text": [f"r{i}" for i in range(300)]})
    session = ba.assess(ranked, ba.PrecisionCurve(p_min=0.5), journal=tmp_path / "run.db")
    desk = Desk(session)
    people = ("anna", "anna"), ("ben", "ben"), ("#1",)
    hers, his, whose = (keys(desk.opened(*who))[0] for who in people)
    for person, key in (("anna", hers), ("ben", his), ("#1", whose)):
        desk.answer(person, key, [1])
    session.journal.close()
    desk = Desk(ba.resume(tmp_path / "run.db", ranked))
    for who, key in ((("anna", "anna"), hers), (("ben", "ben"), his), (("#2",), whose)):
        assert [(card["key"], card["answers"]) for card in desk.opened(*who)["recent"]] == [(key, [1])]
    desk.answer("ben", his, [0])  # which had been on its way
    assert dict(zip(*desk.session.labelled, strict=True))[int(his)] == 0


def test_what_others_do_with_the_journal_is_followed(tmp_path):
    _, desk = begun(tmp_path)
    first, second, third = keys(desk.opened("anna", "anna"))
    other = ba.resume(tmp_path / "run.db", pool())
    other.tell([int(first)], ["cat"])
    other.release([int(second)])
    found = keys(desk.opened("anna", "anna"))
    assert first not in found
    assert found[0] == third


def test_items_of_a_sheet_are_left_to_it(tmp_path):
    session, desk = begun(tmp_path)
    sheet = set(map(str, session.ask(20).ids))
    assert not sheet & set(keys(desk.opened("anna", "anna")))


@pytest.mark.parametrize("people", [[("anna", "anna")], [("ben", "ben")], [("#1",)], [("#1",), ("anna", "anna")]])
def test_items_of_a_sheet_for_somebody_are_left_to_it_too_by_whoever_opens_the_page_and_however_long(tmp_path, people):
    """Whoever they were asked for got them on the page once more, and others after half an hour."""
    session, _ = begun(tmp_path)
    sheet = set(map(str, session.ask(20, annotator="anna").ids))
    clock = Clock()
    desk = Desk(session, patience=100, clock=clock)
    desk.prepare()
    for clock.now in (0.0, 101.0, 202.0):
        for person in people:
            found = desk.opened(*person)
            assert found["open"]
            assert not sheet & set(keys(found))
            desk.answer(person[0], keys(found)[0], [0])
    assert sheet <= set(map(str, session.pending))
    session.tell([int(key) for key in sheet], ["cat"] * 20, annotator="anna")  # once the sheet is back


def test_items_of_the_page_are_on_it_again_after_a_restart_beside_a_sheet_for_the_same_person(tmp_path):
    session, desk = begun(tmp_path)
    opened = keys(desk.opened("anna", "anna"))
    sheet = set(map(str, session.ask(20, annotator="anna").ids))
    session.journal.close()
    again = Desk(ba.resume(tmp_path / "run.db", pool()))
    assert keys(again.opened("anna", "anna")) == opened
    assert not sheet & set(opened)


def test_a_share_of_the_items_is_labelled_by_two_people(tmp_path):
    session, desk = begun(tmp_path, overlap=0.3)
    assert desk.opened("#1")["names_wanted"]
    assert not desk.opened("#1")["open"]
    told = {"anna": [], "ben": []}
    for _ in range(30):
        for name in told:
            found = desk.opened(name, name)
            if found["open"]:
                key = keys(found)[0]
                told[name].append(key)
                desk.answer(name, key, [int(key) % 2])
    both = set(told["anna"]) & set(told["ben"])
    assert len(told["anna"]) == len(set(told["anna"]))
    n = len(set(told["anna"]) | set(told["ben"]))
    assert abs(len(both) - 0.3 * n) < 4 * np.sqrt(0.3 * 0.7 * n)
    assert both
    assert session.agreement().n_items == len(both)
    assert "100% of the labels" in desk.agreement()


def test_all_items_may_be_labelled_by_two_people(tmp_path):
    session, desk = begun(tmp_path, overlap=1)
    for name in ("anna", "ben"):
        while found := desk.opened(name, name)["open"]:
            desk.answer(name, found[0]["key"], [0])
    assert session.agreement().n_items == session.labels_used == N
    with pytest.raises(LabelError, match=r"lies between 0 and 1; found 1\.5"):
        Desk(session, overlap=1.5)


def test_conflicts_are_queued_and_decided(tmp_path):
    session, desk = begun(tmp_path)
    key = keys(desk.opened("anna", "anna"))[0]
    desk.answer("anna", key, [0])
    session.tell([int(key)], ["dog"], annotator="ben")
    (card,) = desk.decisions()
    assert [(one["name"], one["answer"]) for one in card["said"]] == [("anna", 0), ("ben", 1)]
    assert desk.counts()["to_decide"] == 1
    with pytest.raises(LabelError, match="One label decides; found 0"):
        desk.decide(key, [])
    assert desk.decide(key, [1]) == []
    assert session.labelled[1].tolist() == ["dog"]


def test_ones_own_slip_on_an_item_of_two_people_changes_ones_own_label_alone(tmp_path):
    session, desk = begun(tmp_path)
    key = keys(desk.opened("anna", "anna"))[0]
    desk.answer("anna", key, [0])
    session.tell([int(key)], ["dog"], annotator="ben")
    desk.opened("ben", "ben")
    desk.answer("ben", key, [0])
    assert not session.n_disagreements
    assert session.labelled[1].tolist() == ["cat"]
    again = ba.resume(tmp_path / "run.db", pool())
    assert not again.n_disagreements
    assert again.agreement().raw == 1


def test_a_desk_whose_journal_cannot_be_written_opens_and_says_so_to_whoever_comes(tmp_path, monkeypatch):
    session, desk = begun(tmp_path)
    session.journal._connection.execute("PRAGMA query_only = ON")
    desk.prepare()
    with pytest.raises(JournalError, match="cannot be written"):
        desk.opened("anna", "anna")
    session.journal._connection.execute("PRAGMA query_only = OFF")
    assert len(keys(desk.opened("anna", "anna"))) == AHEAD


def test_at_the_end_it_is_said_that_nothing_is_left(tmp_path):
    session, desk = begun(tmp_path)
    while keys(desk.opened("anna", "anna")):
        desk.answer("anna", keys(desk.next("anna", []))[0], [0])
    assert session.labels_used == N
    assert desk.next("anna", [])["waiting"] == "Nothing is left to label."


def test_several_labels_numbers_and_pairs():
    several = ba.Pool(predictions=["a;b", "-", "b", "a"], multilabel=True, show={"text": list("wxyz")})
    session = ba.assess(several, ba.Metric("f1_micro"), design="passive")
    desk = Desk(session)
    found = desk.opened("anna")
    assert found["answer"]["kind"] == "several"
    assert [one["key"] for one in found["answer"]["choices"]] == ["a", "b", "-"]
    desk.answer("anna", keys(found)[0], [[1, 0]])
    desk.answer("anna", keys(found)[1], [[2]])
    assert sorted(session.labelled[1].tolist()) == ["-", "a;b"]

    session = ba.assess(ba.Pool(predictions=[7.5, 60, 3, 99], bounds=(0, 100)), ba.Mean())
    desk = Desk(session)
    found = desk.opened("anna")
    assert (found["answer"]["kind"], found["answer"]["bounds"]) == ("number", (0.0, 100.0))
    assert found["open"][0]["sides"][0]["id"] == keys(found)[0]  # there is nothing else to show
    desk.answer("anna", keys(found)[0], [33.6])
    assert session.labelled[1].tolist() == ["34"]
    for wrong in (101, 10**400, float("nan")):
        with pytest.raises(LabelError, match=r"100|a number here"):
            desk.answer("anna", keys(found)[1], [wrong])


def test_pairs_show_both_sides_in_an_order_that_tells_nothing():
    n = 40
    groups = {"system": ["a"] * n + ["b"] * n, "prompt": [*range(n), *range(n)]}
    texts = {"text": [f"{s}{i}" for s in "ab" for i in range(n)]}
    session = ba.assess(
        ba.Pool(predictions=[1, 0] * n, groups=groups, show=texts),
        ba.Compare("a", "b", by="system", measure="rate", pair="prompt"),
    )
    desk = Desk(session)
    first = []
    for _ in range(30):
        card = desk.opened("anna", "anna")["open"][0]
        shown = [side["fields"][0]["text"] for side in card["sides"]]
        assert shown[0][1:] == shown[1][1:]
        first.append(shown[0][0])
        desk.answer("anna", card["key"], [int(text[0] == "a") for text in shown])
    assert abs(first.count("a") - 15) < 4 * np.sqrt(30 / 4)
    ids, labels = session.labelled
    assert (labels == (ids < n)).all()


def test_ranked_lists_wait_for_labels_that_decide_what_comes_next():
    ranked = ba.RankedList(300, show={"text": [f"r{i}" for i in range(300)]})
    session = ba.assess(ranked, ba.PrecisionCurve(p_min=0.5))
    desk = Desk(session)
    desk.opened("anna")
    while desk.next("anna", [])["open"]:
        desk.answer("anna", desk.next("anna", [])["open"][0]["key"], [1])
    assert session.done
    assert session.labels_used > 50


def test_many_classes_are_searched_the_most_frequent_first():
    names = [f"class {i:02}" for i in range(30)]
    session = ba.assess(ba.Pool(predictions=["class 17"] * 5 + names, classes=names), ba.Metric("accuracy"))
    spec = Desk(session).kind.spec
    assert spec["search"]
    assert spec["choices"][0]["name"] == "class 17"
    assert spec["choices"][0]["key"] is None
    assert Desk(session).kind.label(spec["choices"][0]["code"]) == "class 17"


@pytest.mark.parametrize(
    ("classes", "keys_of_buttons"),
    [
        (range(11), [*"0123456789", "a"]),
        (["1", "2", "10"], ["1", "2", "a"]),
        (["-1", "0", "1"], ["a", "0", "1"]),
        (["a", "b", "cat"], ["a", "b", "1"]),
        (["n", "u", "x"], ["1", "2", "x"]),
        (["A", "a"], ["1", "2"]),
        (["cat", "dog"], ["1", "2"]),
    ],
)
def test_a_key_that_is_the_name_of_a_class_answers_with_this_class(classes, keys_of_buttons):
    pool = ba.Pool(predictions=[next(iter(classes))], classes=list(classes))
    kind = Desk(ba.assess(pool, ba.GroupAccuracy())).kind
    assert [one["key"] for one in kind.spec["choices"]] == keys_of_buttons


def test_the_key_of_none_is_no_class():
    pool = ba.Pool(predictions=["0;10"], classes=["0", "10"], multilabel=True)
    spec = Desk(ba.assess(pool, ba.Metric("f1_micro"))).kind.spec
    assert [one["key"] for one in spec["choices"]] == ["0", "a", "-"]


@pytest.mark.parametrize("answers", [[7], ["cat"], [True], [None], [], [0, 1], [-1]])
def test_answers_that_no_page_sends_are_refused(answers, tmp_path):
    session, desk = begun(tmp_path)
    key = keys(desk.opened("anna", "anna"))[0]
    with pytest.raises(LabelError):
        desk.answer("anna", key, answers)
    assert not session.labels_used


def test_somebody_without_a_name_finds_the_last_answers_again_but_none_of_sheets(tmp_path):
    session, desk = begun(tmp_path)
    sheet = session.ask(2).ids
    session.tell(sheet, ["cat", "dog"])
    key = keys(desk.opened("#1"))[0]
    desk.answer("#1", key, [0])
    session.journal.close()
    desk = Desk(ba.resume(tmp_path / "run.db", pool()))
    (again,) = desk.opened("#2")["recent"]
    assert (again["key"], again["answers"]) == (key, [0])
    desk.answer("#2", key, [1])
    assert dict(zip(*desk.session.labelled, strict=True))[int(key)] == "dog"
    assert not desk.opened("#3")["recent"]


def test_an_empty_batch_of_random_size_is_drawn_again_until_somebody_has_work():
    scores = np.random.default_rng(0).random(N)
    design = ba.designs.Poisson(n_strata=4, size="random")
    for seed in range(6):
        session = ba.assess(ba.Pool(scores=scores, show={"text": TEXTS}), ba.Metric("f1"), design=design, seed=seed)
        found = Desk(session).opened("anna")
        assert found["open"]
        assert not found["waiting"]


def test_who_cannot_give_a_second_label_is_not_asked_again_and_the_first_one_stays(tmp_path):
    session, desk = begun(tmp_path, overlap=0.99)
    first = keys(desk.opened("anna", "anna"))[0]
    desk.answer("anna", first, [1])
    assert keys(desk.opened("ben", "ben"))[0] == first
    found = desk.skip("ben", first)
    assert first not in keys(found)
    assert first not in keys(desk.opened("carl", "carl"))
    assert found["recent"][-1]["answers"] is None
    desk.answer("anna", first, [0])  # another one in the place of the first
    assert first not in keys(desk.next("carl"))
    again = Desk(ba.resume(tmp_path / "run.db", pool()), overlap=0.99)
    opened = again.opened("ben", "ben")
    assert first not in keys(opened) + keys(again.opened("carl", "carl"))
    assert opened["recent"][-1]["answers"] is None
    assert (session.labels_used, session.n_skipped, session.notes) == (1, 0, ())


def test_items_of_whoever_stays_away_after_a_restart_are_for_others(tmp_path):
    session, desk = begun(tmp_path)
    before = keys(desk.opened("anna", "anna"))
    clock = Clock()
    again = Desk(session, patience=100, clock=clock)
    others = []
    while found := keys(again.opened("ben", "ben")):
        others += found[:1]
        again.answer("ben", found[0], [0])
    assert set(others) == {str(i) for i in range(N)} - set(before)
    assert again.next("ben")["waiting"] == "All other items are with others; wait until they are back."
    clock.now = 101
    assert set(keys(again.next("ben"))) <= set(before)
    assert keys(again.next("ben"))
    assert session.n_pending == len(keys(again.next("ben")))


def test_a_second_label_is_asked_for_once(tmp_path):
    session, desk = begun(tmp_path, overlap=0.999)
    first = keys(desk.opened("anna", "anna"))[0]
    desk.answer("anna", first, [0])
    desk.opened("ben", "ben")
    assert first in keys(desk.next("ben"))
    assert first not in keys(desk.answer("ben", first, [1]))
    assert session.n_disagreements == 1


def test_an_item_whose_columns_are_empty_is_shown_by_its_id():
    pool = ba.Pool(predictions=["cat", "dog"], ids=["c7", "d7"], show={"text": [" ", "It barks."]})
    cards = Desk(ba.assess(pool, ba.GroupAccuracy())).opened("anna")["open"]
    found = {
        card["key"]: [(side["id"], [one["text"] for one in side["fields"]]) for side in card["sides"]] for card in cards
    }
    assert found == {"c7": [("c7", [])], "d7": [(None, ["It barks."])]}
