"""Items that nobody can label, and items that may be asked for again."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.designs import Draw
from bayes_assess.sessions.open_steps import OpenSteps
from bayes_assess.sessions.planning import Present
from sessions.courses import BINARY, CASES, POSITIVE, N, assert_same, every_case, started

TOTALS = "passive", "stratified", "poisson"  # of which the weights of all draws sum to their number


def unseen_by(a: ba.Assessment) -> np.ndarray:
    return np.flatnonzero(a._items.unseen(np.arange(N)))


def run(a: ba.Assessment, case: str) -> tuple[np.ndarray, np.ndarray]:
    """Label two batches but for items that are set aside or released; return the items set aside and released."""
    labels = CASES[case][-1]
    first = a.ask(12).ids
    a.tell(first[6:], labels[first[6:]])
    assert a.skip(first[:2]) == 2
    a.tell(first[2:6], labels[first[2:6]])
    second = a.ask(16).ids
    a.tell(second[:9], labels[second[:9]])
    assert a.release(second[9:11]) == 2
    others = np.setdiff1d(unseen_by(a), second)[:3]
    a.skip(others)
    a.tell(second[12:], labels[second[12:]])
    a.skip(second[11:12])  # the last that was pending
    return np.array([*first[:2], *others, second[11]]), second[9:11]


@every_case
def test_a_resumed_session_goes_on_exactly_where_it_stopped(case, tmp_path):
    a = started(case, journal=tmp_path / "run.db")
    skipped, released = run(a, case)
    assert a.skipped.tolist() == sorted(skipped.tolist())
    assert a._items.unseen(released).all()
    assert (a.n_skipped, a.n_pending, a.labels_used, a.n_remaining) == (6, 0, 23, N - 29)
    b = ba.resume(tmp_path / "run.db", CASES[case][0])
    a.journal.close()
    a.journal = None
    assert_same(a, b)
    for session in (a, b):
        ids = session.ask(10).ids
        assert not set(ids.tolist()) & set(skipped.tolist())
        session.tell(ids[3:], CASES[case][-1][ids[3:]])
    assert_same(a, b)


@every_case
def test_an_answer_is_never_exact_while_items_are_set_aside(case):
    a = started(case)
    skipped, _ = run(a, case)
    rest = a.ask(a.n_remaining).ids
    assert not set(rest.tolist()) & set(skipped.tolist())
    a.tell(rest, CASES[case][-1][rest])
    result = a.result()
    ends, value = np.atleast_2d(result.interval), np.atleast_1d(result.estimate)
    assert result.guarantee != "exact"
    assert (np.diff(ends) > 0).any()
    assert ((ends[:, 0] <= value) & (value <= ends[:, 1])).all()
    assert "6 items were set aside: nobody could label them; the answer takes them to be like" in result.summary()
    pool, question, _, labels = CASES[case]
    truth = np.atleast_1d(question.truth(pool, labels))
    filled = a.cells.sizes > 0 if case.endswith("arms") else slice(None)
    assert (np.abs(value - truth)[filled] < 0.2).all()  # 84 of 90 labels are known
    a.release(skipped)
    a.tell(skipped, labels[skipped])
    np.testing.assert_allclose(np.atleast_1d(a.result().estimate)[filled], truth[filled])
    assert a.result().guarantee == "exact"


@pytest.mark.parametrize("case", TOTALS)
def test_items_that_are_labelled_stand_for_those_set_aside(case):
    """The weights of all draws sum to their number, as if the pool were whole: a mean of ones is one."""
    a = started(case)
    run(a, case)
    for n in (10, 20, a.n_remaining - 30):
        ids = a.ask(n).ids
        a.tell(ids[1:], CASES[case][-1][ids[1:]])
        a.skip(ids[:1])
        with engine.eager():
            draws, _ = a.design.weighed(a._state)
        assert np.asarray(draws.weights).sum() == pytest.approx(float(draws.n))


@pytest.mark.parametrize("case", ["label sets", "label sets at random"])
def test_label_sets_stand_for_those_set_aside(case):
    a = started(case)
    run(a, case)
    for n in (20, a.n_remaining - 20):
        ids = a.ask(n).ids
        a.tell(ids[1:], CASES[case][-1][ids[1:]])
        a.skip(ids[:1])
        items = np.flatnonzero(a._items.label >= 0)
        weights = a._rounds.weights(items, a._items.cells_of(items))
        assert weights.total.sum() == pytest.approx(N)


def test_items_set_aside_might_have_been_drawn_in_later_steps():
    """As in `test_items_that_never_come_back_are_as_if_nobody_had_asked_for_them` of weighted designs."""
    a = started("passive")
    ids = a.ask(60).ids
    told, aside = ids[np.arange(60) % 3 > 0], ids[::3]
    a.tell(told[:11], POSITIVE[told[:11]])
    a.skip(aside[:12])
    a.tell(told[11:], POSITIVE[told[11:]])
    a.skip(aside[12:])
    assert float(a._state.draws.n) == pytest.approx(N * (1 / np.arange(51, 91)).sum())  # until 40 of 90 were seen
    assert len(a._steps.take()[1].cell) == 0  # all is settled
    again = a.ask(20).ids
    a.tell(again, POSITIVE[again])
    assert float(a._state.draws.n) == pytest.approx(N * (1 / np.arange(31, 91)).sum())


@pytest.mark.parametrize("case", ["adaptive", "importance"])
def test_drawn_items_set_aside_are_stood_for_as_pending_ones_are(case, tmp_path):
    """Those that were drawn are the ones that the proposal prefers: items that were not drawn yet are unlike them."""
    waiting, aside = started(case), started(case, journal=tmp_path / "run.db")
    for n in (12, 12, 12):
        ids = [a.ask(n).ids for a in (waiting, aside)]
        np.testing.assert_array_equal(*ids)
        for a in (waiting, aside):
            a.tell(ids[0][::2], POSITIVE[ids[0][::2]])
        before = aside.result().estimate
        aside.skip(ids[0][1::2])
        assert aside.result().estimate == before == waiting.result().estimate
    assert (aside.n_skipped, aside.n_pending, waiting.n_pending) == (18, 0, 18)
    assert_same(aside, ba.resume(tmp_path / "run.db", CASES[case][0]))
    aside.release(aside.skipped)
    waiting.release(waiting.pending)
    for a in (aside, waiting):
        assert a.result().estimate == pytest.approx(float(before), rel=1e-12)  # labels alone move it
    np.testing.assert_array_equal(aside._state.remaining, waiting._state.remaining)
    np.testing.assert_array_equal(aside._state.pending, 0)


@pytest.mark.parametrize("case", ["adaptive", "importance"])
def test_labels_of_items_that_had_been_set_aside_are_those_of_their_draws(case, tmp_path):
    """Not of items that nobody asked for: the proposal preferred them."""
    waiting, aside = started(case), started(case, journal=tmp_path / "run.db")
    for _ in range(2):
        ids = waiting.ask(12).ids
        np.testing.assert_array_equal(ids, aside.ask(12).ids)
        aside.skip(ids[:5])
        for a in (waiting, aside):
            a.tell(ids[5:], POSITIVE[ids[5:]])
            a.tell(ids[:3], POSITIVE[ids[:3]])
        assert aside.result().estimate == waiting.result().estimate
        assert (aside.n_skipped, aside.n_pending, aside._items.n_volunteered) == (2, 0, 0)
        aside.release(ids[3:5])
        waiting.release(ids[3:5])
    assert_same(waiting, aside)
    assert_same(aside, ba.resume(tmp_path / "run.db", CASES[case][0]))


@pytest.mark.parametrize("case", ["adaptive", "importance"])
def test_items_set_aside_are_not_planned_for(case):
    a = started(case)
    ids = a.ask(20).ids
    a.tell(ids[:8], POSITIVE[ids[:8]])
    a.skip(ids[8:14])
    present = Present.of(a)
    assert present.n_items == N - 6
    assert int(np.asarray(present.state.pending).sum()) == 0


def test_withdrawn_steps_leave_their_mass_to_the_steps_after_them():
    whole, apart = OpenSteps(n_items=10), OpenSteps(n_items=10)
    draws = Draw(weight=np.array([1.0, 0.5, 2.0, 1.0]), p_new=np.array([1.0, 0.9, 0.7, 0.65]),
                 p_pending=np.array([0.0, 0.1, 0.3, 0.35]))  # fmt: skip
    for steps in (whole, apart):
        steps.ask(np.arange(4), np.zeros(4, int), draws)
        steps.tell(np.array([2, 3]), np.array([0, 1]))
    _, expected = whole.take()  # 0 and 1 are missing
    for item in (1, 0):
        apart.withdraw(np.array([item]))
    settled, later = apart.take()
    np.testing.assert_allclose(settled.p_new, expected.p_new[2:])
    assert settled.outcome.tolist() == [0, 1]
    assert len(later.cell) == 0


@pytest.mark.slow
@pytest.mark.parametrize("design", [ba.designs.Importance(n_strata=8), ba.designs.Stratified(n_strata=8)])
def test_estimates_are_right_on_average_where_setting_aside_says_nothing_of_labels(design):
    """A quarter of the items cannot be labelled; over 240 campaigns, within 3 standard errors."""
    rng, found = np.random.default_rng(4), []
    question = ba.Metric("zero_one_loss")
    for seed in range(240):
        a = ba.assess(BINARY, question, design=design, seed=seed)
        unclear = rng.random(N) < 0.25
        for n in (12, 12, 12):
            ids = a.ask(n).ids
            known = ids[~unclear[ids]]
            a.tell(known, POSITIVE[known])
            a.skip(ids[unclear[ids]])
        found.append(float(a.result().estimate))
    error = np.array(found) - question.truth(BINARY, POSITIVE)
    assert abs(error.mean()) < 3 * error.std(ddof=1) / np.sqrt(len(error))


class TestWhatTheyCouldBe:
    """Where many items were set aside, a summary says what it would make if all were of one kind."""

    def test_accuracy_if_all_were_right_or_all_wrong(self):
        a = started("arms")
        a.skip([0, 1, 2])
        rest = np.arange(3, N)
        a.tell(rest, POSITIVE[rest])
        right = (POSITIVE == BINARY.predictions)[3:].sum()
        most, least = (right + 3) / N, right / N
        assert (
            f"The overall accuracy, with a 95% credible interval, would be if all of them were right, {most:.3f} "
            f"[{most:.3f}, {most:.3f}]; if all of them were wrong, {least:.3f} [{least:.3f}, {least:.3f}]."
        ) in a.result().summary()
        assert least < a.result().overall[0] < most

    @pytest.mark.parametrize("name", ["f1", "accuracy", "rate"])
    def test_measures_if_all_were_right_or_all_wrong_and_rates_if_all_were_positive_or_negative(self, name):
        question = ba.Rate() if name == "rate" else ba.Metric(name)
        a = ba.assess(BINARY, question, seed=0)
        aside = [*np.flatnonzero(BINARY.predictions == 0)[:2], *np.flatnonzero(BINARY.predictions == 1)[:2]]
        a.skip(aside)
        rest = np.setdiff1d(np.arange(N), aside)
        a.tell(rest, POSITIVE[rest])
        ends = []
        for high in (1, 0):
            labels = POSITIVE.copy()
            predicted = BINARY.predictions[aside]
            labels[aside] = high if name == "rate" else predicted if high else 1 - predicted
            ends.append(float(question.truth(BINARY, labels)))
        assert ends[1] < float(a.result().estimate) < ends[0]
        first, second = (f"{value:.3f} [{value:.3f}, {value:.3f}]" for value in ends)
        kinds = ("positive", "negative") if name == "rate" else ("right", "wrong")
        said = f"would be if all of them were {kinds[0]}, {first}; if all of them were {kinds[1]}, {second}."
        assert said in a.result().summary()

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["groups", "accuracy", "rate"])
    def test_they_are_labels_from_which_like_items_are_learned(self, kind):
        """Where nobody labels the errors, many of the items that nobody asked for are errors, too."""
        question = {"groups": ba.GroupAccuracy(), "accuracy": ba.Metric("accuracy"), "rate": ba.Rate()}[kind]
        rng = np.random.default_rng(0)
        scores = rng.random(800)
        truth = (rng.random(800) < scores).astype(int)
        pool = ba.Pool(scores=scores)
        a = ba.assess(pool, question, seed=0)
        ids = a.ask(80).ids
        aside, rest = ids[60:], ids[:60]
        a.tell(rest, truth[rest])
        a.skip(aside)
        (said,) = (line for line in a.result().summary().splitlines() if "would be if all" in line)
        numbers = [float(number) for number in re.findall(r"-?[0-9][.][0-9]{3}", said)]
        assert pickle.loads(pickle.dumps(a.result())).summary() == a.result().summary()
        for high, (mean, low, upper) in zip((1, 0), (numbers[:3], numbers[3:]), strict=True):
            right = np.ones(20, int) if kind == "rate" else pool.predictions[aside]
            told = ba.assess(pool, question, seed=0)
            np.testing.assert_array_equal(told.ask(80).ids, ids)
            told.tell(rest, truth[rest])
            told.tell(aside, right if high else 1 - right)
            result = told.result()
            expected, ends = result.overall if kind == "groups" else (float(result.estimate), result.interval)
            # The mean over 256 particles, of which half are effective, and rounding; without learning it is .05 off.
            error = 4 * (ends[1] - ends[0]) / 4 / np.sqrt(128) + 5e-4
            assert abs(mean - expected) < error
            np.testing.assert_allclose([low, upper], ends, atol=2 * error)

    def test_few_items_are_only_counted(self):
        a = started("arms")
        a.skip([0])
        a.tell(np.arange(1, 61), POSITIVE[1:61])
        summary = a.result().summary()
        assert "1 item was set aside: nobody could label it; the answer takes it to be like the others" in summary
        assert "were right" not in summary

    def test_nothing_is_said_where_none_was_set_aside(self):
        assert "set aside" not in started("arms").result().summary()


class TestRefusals:
    """Setting aside and releasing are all or nothing."""

    def test_labelled_items_are_refused(self):
        a = started("arms")
        ids = a.ask(4).ids
        a.tell(ids[:1], POSITIVE[ids[:1]])
        for act, said in ((a.skip, "set aside"), (a.release, "released")):
            with pytest.raises(ba.LabelError, match=f"Item {ids[0]} has a label and cannot be {said}"):
                act(ids)
        assert (a.n_pending, a.n_skipped) == (3, 0)

    def test_unknown_items_are_refused(self):
        with pytest.raises(ba.UnknownIdError, match=str(N)):
            started("arms").skip([N])

    def test_repeating_changes_nothing(self):
        a = started("arms")
        ids = a.ask(4).ids
        assert (a.skip(ids[[0, 0]]), a.skip(ids[:2])) == (1, 1)
        assert (a.release(ids[[1, 2, 2]]), a.release(ids[1:3])) == (2, 0)
        assert (a.n_pending, a.n_skipped, a.n_remaining) == (1, 1, N - 2)

    def test_a_label_of_an_item_set_aside_is_taken_as_one_that_nobody_asked_for_and_said_to_come_late(self):
        a = started("arms")
        ids = a.ask(4).ids
        a.skip(ids)
        a.tell(ids[:1], POSITIVE[ids[:1]])
        assert (a.n_skipped, a.labels_used, a.n_remaining) == (3, 1, N - 4)
        said = a.result().summary()
        assert "1 label was told after its item had been set aside or given back, and taken for chosen at" in said
        assert "without being asked for" not in said
        unseen = np.setdiff1d(np.arange(N), ids)[:2]
        a.tell([*ids[1:2], *unseen], POSITIVE[[*ids[1:2], *unseen]])
        said = a.result().summary()
        assert "2 labels were told without being asked for, and taken" in said
        assert "2 labels were told after their items had been set aside or given back, and taken" in said
        assert a.result().volunteered == 4
        others = started("arms")
        others.tell(others.ask(2).ids[:1], POSITIVE[:1])
        others.skip(others.pending)
        assert "had been set aside" not in others.result().summary()

    @pytest.mark.parametrize("kind", ["skip", "release"])
    def test_a_journal_that_does_so_with_labelled_items_is_refused(self, kind, tmp_path):
        a = started("arms", journal=tmp_path / "run.db")
        ids = a.ask(2).ids
        a.tell(ids, POSITIVE[ids])
        a.journal.append(kind, {"ids": ids}, expected=2)
        a.journal.close()
        with pytest.raises(ba.JournalError, match=r"Entry 3 of the journal .* does not follow"):
            ba.resume(tmp_path / "run.db", BINARY)


def test_released_items_are_asked_for_again():
    a = started("arms")
    ids = a.ask(N).ids
    a.release(ids[::2])
    assert sorted(a.ask(a.n_remaining).ids.tolist()) == sorted(ids[::2].tolist())


def test_who_asks_where_nothing_is_left_is_told_what_became_of_the_items():
    a = ba.assess(ba.Pool(predictions=[0, 1] * 4), ba.GroupAccuracy())
    a.tell([0, 1, 2], [0, 1, 0])
    a.skip([3, 4, 5, 6, 7])
    said = r"Asked for 1 item, but only 0 of 8 .* \(0 are pending, 5 set aside\); nothing is left to ask for"
    with pytest.raises(ba.BudgetError, match=said):
        a.ask()


@pytest.mark.parametrize("way", ["label", "skip", "release"])
def test_random_labels_that_wait_for_an_item_are_said_to_wait_and_how_they_come_to_count(way):
    """Bets on random items are made in the order of asking: a row that is left empty holds back all that follow."""
    rng = np.random.default_rng(0)
    labels = (rng.random(2_000) < 0.3).astype(int)
    a = ba.assess(ba.Pool(predictions=np.where(rng.random(2_000) < 0.8, labels, 1 - labels)), ba.Metric("accuracy"))
    first = a.ask(40).ids
    a.tell(first[1:], labels[first[1:]])
    queries = a.ask(60)
    a.tell(queries.ids, labels[queries.ids])
    result, wait = a.result(), "Random labels count in the order of asking, and some wait for 1 item that has no label"
    assert result.evidence.found.audits.sum() == 0
    assert result.summary().splitlines()[-1].startswith(wait)
    assert wait not in a.result(question=ba.Metric("f1")).summary()  # which bounds nothing by random items
    if way == "label":
        a.tell(first[:1], labels[first[:1]])
    else:
        getattr(a, way)(first[:1])
    result = a.result()
    assert result.evidence.found.audits.sum() > 3
    assert wait not in result.summary()


def test_nothing_waits_where_no_label_is_missing_before_a_random_one():
    steps = OpenSteps(n_items=10)
    steps.ask(np.arange(4), np.zeros(4, int), Draw(np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4), np.zeros(4)))
    steps.tell(np.array([0, 3]), np.array([1, 1]))
    steps.settle()
    assert steps.awaited() == 0  # the label that waits is of no random item
    steps.tell(np.array([2]), np.array([1]))
    assert steps.awaited() == 1


def test_of_groups_without_items_set_aside_nothing_is_supposed():
    """The rate of b is the same whatever the items of a turn out to be."""
    pool = ba.Pool(predictions=np.arange(80) % 2, groups={"site": np.repeat(["a", "b"], 40)})
    session = ba.assess(pool, ba.Rate(by="site"))
    session.tell(range(20, 60), np.arange(40) % 2)
    session.skip(range(6))
    supposed = [line for line in session.result().summary().splitlines() if "would be if all of them" in line]
    assert [line[:13] for line in supposed] == ["Rate (site a)"]


@pytest.mark.parametrize(
    ("question", "design"),
    [
        (ba.GroupAccuracy(), "thompson"),
        (ba.Metric("f1"), "variance_reduction"),
        (ba.Rate(), "passive"),
        (ba.PRCurve(), "poisson"),
    ],
    ids=["groups", "belief", "weights", "batches"],
)
def test_many_labels_that_are_missing_of_batches_that_came_back_in_part_are_said(question, design):
    """Whole batches that are still out are no reason to think that their items are of another kind."""
    scores = (np.arange(200) + 0.5) / 200
    a = ba.assess(ba.Pool(scores=scores), question, design=design)
    first = a.ask(20)
    a.ask(20)
    said = "of batches that came back in part have no label yet; the answer takes them to be like the others."
    assert "in part" not in a.result().summary()
    a.tell(first.ids[:15], (scores[first.ids[:15]] > 0.6).astype(int))
    assert f"5 items {said}" in a.result().summary()
    a.tell(first.ids[15:19], (scores[first.ids[15:19]] > 0.6).astype(int))
    assert "in part" not in a.result().summary()  # one of twenty


@pytest.mark.parametrize("question", [ba.GroupAccuracy(), ba.Metric("f1")])
def test_many_items_that_were_given_back_of_batches_that_came_back_in_part_are_said(question):
    """Whoever gives hard items back has chosen which labels there are."""
    scores = (np.arange(200) + 0.5) / 200
    a = ba.assess(ba.Pool(scores=scores), question)
    first, lost = a.ask(20).ids, a.ask(20).ids
    a.release(lost)  # a sheet that was lost says nothing
    a.tell(first[:14], (scores[first[:14]] > 0.6).astype(int))
    a.release(first[14:18])
    taken = "the answer takes them to be like the others."
    said = f"6 items of batches that came back in part have no label yet, 4 of them given back; {taken}"
    assert said in a.result().summary()
    a.release(first[18:])
    said = f"6 items of batches that came back in part have no label yet, and were given back; {taken}"
    assert said in a.result().summary()
    a.tell(first[14:], (scores[first[14:]] > 0.6).astype(int))
    assert "in part" not in a.result().summary()
