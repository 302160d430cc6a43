from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.designs import ARMS
from made import made_pool

POOL, LABELS = made_pool([0.9, 0.5, 0.7, 0.8], [30, 20, 1, 25])


def finish(assessment: ba.Assessment, step: int = 7) -> ba.Assessment:
    """Label everything, a few items at a time."""
    while assessment.n_remaining:
        queries = assessment.ask(min(step, assessment.n_remaining))
        assessment.tell(queries.ids, LABELS[queries.ids])
    return assessment


@pytest.mark.parametrize(
    "design", [pytest.param(name, marks=[pytest.mark.slow] if name == "bayes_ucb" else []) for name in ARMS]
)
def test_a_session_asks_every_item_once_and_ends_at_the_exact_accuracies(design):
    assessment, asked = ba.assess(POOL, ba.GroupAccuracy(), design=design), []
    while assessment.n_remaining:
        queries = assessment.ask(min(8, assessment.n_remaining))
        asked += queries.ids.tolist()
        assessment.tell(queries.ids, LABELS[queries.ids])
    result = assessment.result()
    assert sorted(asked) == list(range(POOL.n_items))
    exact = [np.mean(LABELS[POOL.predictions == g] == g) for g in range(4)]
    np.testing.assert_allclose(result.estimate, exact, rtol=0, atol=1e-15)
    np.testing.assert_allclose(result.interval, np.stack([exact, exact], 1), rtol=0, atol=1e-15)
    assert result.guarantee == "exact"


@pytest.mark.slow
def test_no_prediction_is_ever_used_as_a_label():
    """Where labels always differ from predictions, every group's accuracy is 0, not 1."""
    wrong = (POOL.predictions + 1) % 4
    assessment = ba.assess(POOL, ba.GroupAccuracy())
    queries = assessment.ask(POOL.n_items)
    assessment.tell(queries.ids, wrong[queries.ids])
    assert (assessment.result().estimate == 0).all()
    study = ba.simulate(POOL, wrong, ba.GroupAccuracy(), budgets=[POOL.n_items], repeats=2)
    assert (study.truth == 0).all()
    assert all((estimate == 0).all() for estimate in study.estimates.values())


@settings(deadline=None, max_examples=10)
@given(st.data())
def test_labels_may_be_told_in_any_order_and_in_any_chunks(data):
    at_once = ba.assess(POOL, ba.LeastAccurate(), seed=3)
    queries = at_once.ask(24)
    at_once.tell(queries.ids, LABELS[queries.ids])
    apart = ba.assess(POOL, ba.LeastAccurate(), seed=3)
    ids = np.array(data.draw(st.permutations(apart.ask(24).ids.tolist())))
    cuts = sorted(data.draw(st.lists(st.integers(0, 24), max_size=5)))
    for part in np.split(ids, cuts):
        apart.tell(part, LABELS[part])
    np.testing.assert_allclose(apart.result().estimate, at_once.result().estimate, rtol=1e-15)
    np.testing.assert_array_equal(apart.ask(5).ids, at_once.ask(5).ids)


def test_pending_items_are_not_asked_again_even_if_they_are_never_labelled():
    assessment = ba.assess(POOL, ba.LeastAccurate())
    ids = np.concatenate([assessment.ask(19).ids for _ in range(4)])
    assert len(set(ids.tolist())) == 76
    assert assessment.n_pending == 76
    assert set(assessment.pending.tolist()) == set(ids.tolist())


def test_asking_for_more_than_remains_says_how_many_remain():
    assessment = ba.assess(POOL, ba.GroupAccuracy())
    assessment.ask(70)
    with pytest.raises(ba.BudgetError, match=r"Asked for 7 items, but only 6 of 76 .*70 are pending"):
        assessment.ask(7)
    assert len(assessment.ask(6)) == 6


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_asking_for_no_items_is_refused(n):
    with pytest.raises(ba.BudgetError, match="positive whole number"):
        ba.assess(POOL, ba.GroupAccuracy()).ask(n)


def test_the_same_seed_asks_the_same_and_another_seed_other_items():
    asked = [ba.assess(POOL, ba.GroupAccuracy(), seed=seed).ask(20).ids for seed in (5, 5, 6)]
    np.testing.assert_array_equal(asked[0], asked[1])
    assert (asked[0] != asked[2]).any()


class TestTell:
    """A tell is all or nothing."""

    def refused(self, ids, labels, error, message):
        assessment = ba.assess(POOL, ba.GroupAccuracy(), seed=1)
        first = assessment.ask(10)
        assessment.tell(first.ids[:5], LABELS[first.ids[:5]])
        before = assessment.result().estimate
        with pytest.raises(error, match=message):
            assessment.tell(ids(first.ids), labels(LABELS[first.ids]))
        np.testing.assert_array_equal(assessment.result().estimate, before)
        assert assessment.labels_used == 5
        assert assessment.n_pending == 5

    def test_an_unknown_id_is_refused(self):
        self.refused(lambda i: [*i[5:7], 999], lambda y: [*y[5:7], 0], ba.UnknownIdError, "999")

    def test_a_label_outside_the_classes_is_refused(self):
        self.refused(lambda i: i[5:7], lambda y: [y[5], 4], ba.LabelError, "4")

    def test_a_contradicting_label_is_refused(self):
        message = "already labelled .* contradicts"
        self.refused(lambda i: [i[5], i[0]], lambda y: [y[5], (y[0] + 1) % 4], ba.LabelError, message)

    def test_two_labels_of_one_item_are_refused(self):
        message = "occurs twice with different labels"
        self.refused(lambda i: [i[5], i[5]], lambda y: [y[5], (y[5] + 1) % 4], ba.LabelError, message)

    def test_lengths_that_differ_are_refused(self):
        self.refused(lambda i: i[5:8], lambda y: y[5:7], ba.LabelError, "3 ids and 2 labels")

    def test_tables_in_the_place_of_lists_are_refused(self):
        self.refused(lambda i: [i[5:7]], lambda y: y[5:7], ba.LabelError, r"ids as a flat list; .*shape \(1, 2\)")
        self.refused(lambda i: i[5:7], lambda y: [y[5:7]], ba.LabelError, r"labels as a flat list; .*shape \(1, 2\)")

    def test_repeating_a_label_changes_nothing(self):
        assessment = ba.assess(POOL, ba.GroupAccuracy())
        queries = assessment.ask(6)
        for _ in range(2):
            assessment.tell(queries.ids, LABELS[queries.ids])
            assessment.tell([queries.ids[0]] * 3, [LABELS[queries.ids[0]]] * 3)
        assert assessment.labels_used == 6

    def test_nothing_is_an_acceptable_tell(self):
        ba.assess(POOL, ba.GroupAccuracy()).tell([], [])

    def test_labels_that_nobody_asked_for_count_and_are_not_asked_later(self):
        assessment = ba.assess(POOL, ba.GroupAccuracy())
        assessment.ask(4)
        free = np.setdiff1d(np.arange(76), assessment.pending)[:20]
        assessment.tell(free, LABELS[free])
        assert assessment.labels_used == 20
        assert "20 labels were told without being asked for" in assessment.result().summary()
        rest = assessment.ask(assessment.n_remaining)
        assert not set(rest.ids.tolist()) & set(free.tolist())
        assessment.tell(rest.ids, LABELS[rest.ids])
        assessment.tell(assessment.pending, LABELS[assessment.pending])
        assert assessment.result().guarantee == "exact"
        assert "20 labels were told without being asked for." in assessment.result().summary()


class TestResume:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "run.db"

    @pytest.mark.parametrize(
        ("question", "design"),
        [
            (ba.GroupAccuracy(), "thompson"),
            (ba.LeastAccurate(m=3), "thompson"),
            (ba.GroupAccuracy(by=ba.ScoreBins(4)), ba.designs.EpsilonGreedy(epsilon=0.3)),
            (ba.MostAccurate(), "bayes_ucb"),
        ],
    )
    def test_a_resumed_session_goes_on_exactly_where_it_stopped(self, path, question, design):
        kept = ba.assess(POOL, question, design=design, seed=4, journal=path)
        asked = kept.ask(10)
        kept.tell(asked.ids[[3, 1, 7]], LABELS[asked.ids[[3, 1, 7]]])
        extra = np.setdiff1d(np.arange(76), asked.ids)[:3]
        kept.tell(extra, LABELS[extra])
        kept.ask(1)
        resumed = ba.resume(path, POOL)
        assert resumed.labels_used == kept.labels_used == 6
        np.testing.assert_array_equal(resumed.pending, kept.pending)
        np.testing.assert_array_equal(resumed.result().interval, kept.result().interval)
        kept.journal = None  # what follows stands in for what it would have done
        np.testing.assert_array_equal(resumed.ask(20).ids, kept.ask(20).ids)

    @pytest.mark.slow
    @pytest.mark.parametrize("design", ["thompson", "adaptive"])
    def test_a_journal_of_a_release_with_another_order_of_items_goes_on(self, path, monkeypatch, design):
        question = ba.Metric("accuracy") if design == "adaptive" else ba.GroupAccuracy()

        def former(codes, n_cells, seed):
            return np.lexsort((np.random.PCG64(seed).random_raw(len(codes)), codes))

        with monkeypatch.context() as earlier:
            earlier.setattr("bayes_assess.pool.source.random_order", former)
            kept = ba.assess(POOL, question, design=design, seed=4, journal=path)
            asked = kept.ask(12)
            kept.tell(asked.ids[:8], LABELS[asked.ids[:8]])
            kept.journal.close()
        resumed = ba.resume(path, POOL)
        np.testing.assert_array_equal(resumed.pending, kept.pending)
        np.testing.assert_allclose(resumed.result().estimate, kept.result().estimate)
        n = resumed.n_remaining
        rest = resumed.ask(n)
        assert sorted([*asked.ids.tolist(), *rest.ids.tolist()]) == list(range(76))
        ids = resumed.pending
        resumed.tell(ids, LABELS[ids])
        resumed.journal.close()
        assert ba.resume(path, POOL).labels_used == 76

    def test_a_journal_that_hands_out_an_item_twice_is_refused(self, path):
        a = ba.assess(POOL, ba.GroupAccuracy(), journal=path)
        ids = a.ask(3).ids
        a.tell(ids[:1], LABELS[ids[:1]])
        a.journal.append("ask", {"ids": ids[:1]}, expected=a._sequence)
        a.journal.close()
        with pytest.raises(ba.JournalError, match=r"Entry 3 of the journal .* does not follow"):
            ba.resume(path, POOL)

    def test_the_journal_of_another_pool_is_refused(self, path):
        ba.assess(POOL, ba.GroupAccuracy(), journal=path)
        other, _ = made_pool([0.9, 0.5, 0.7, 0.8], [30, 20, 1, 25], seed=1)
        with pytest.raises(
            ba.JournalError,
            match=r"another pool: predictions, systems, .* the order of items .* start a session on this one",
        ):
            ba.resume(path, other)

    def test_a_pool_that_has_grown_is_refused_with_what_to_do(self, path):
        ba.assess(POOL, ba.GroupAccuracy(), journal=path)
        grown, _ = made_pool([0.9, 0.5, 0.7, 0.8], [30, 20, 1, 1025], seed=0)
        with pytest.raises(ba.JournalError, match=r"of 76 items, and this one has 1,076: .* start a session"):
            ba.resume(path, grown)

    def test_groups_given_as_an_array_must_be_given_again(self, path):
        site = np.arange(76) % 3
        ba.assess(POOL, ba.GroupAccuracy(by=site), journal=path).ask(3)
        with pytest.raises(ba.JournalError, match="given as an array"):
            ba.resume(path, POOL)
        with pytest.raises(ba.JournalError, match="other groups"):
            ba.resume(path, POOL, ba.GroupAccuracy(by=site[::-1].copy()))
        assert ba.resume(path, POOL, ba.GroupAccuracy(by=site)).n_pending == 3

    def test_an_existing_journal_is_never_overwritten(self, path):
        ba.assess(POOL, ba.GroupAccuracy(), journal=path)
        with pytest.raises(ba.JournalError, match="exists"):
            ba.assess(POOL, ba.GroupAccuracy(), journal=path)

    def test_a_refused_tell_leaves_no_trace_in_the_journal(self, path):
        assessment = ba.assess(POOL, ba.GroupAccuracy(), journal=path)
        queries = assessment.ask(2)
        with pytest.raises(ba.LabelError):
            assessment.tell(queries.ids, [0, 77])
        assert ba.resume(path, POOL).labels_used == 0


class TestQueries:
    def test_ids_cells_weights_and_groups_belong_together(self):
        pool = ba.Pool(predictions=list("aabbc"), ids=["i1", "i2", "i3", "i4", "i5"])
        queries = ba.assess(pool, ba.GroupAccuracy()).ask(5)
        by_id = dict(zip(queries.ids.tolist(), queries.groups.tolist(), strict=True))
        assert by_id == {"i1": "a", "i2": "a", "i3": "b", "i4": "b", "i5": "c"}
        assert queries.weights.tolist() == [1.0] * 5
        np.testing.assert_array_equal(pool.classes[queries.cells], queries.groups)

    def test_the_sheet_for_annotators_has_ids_and_empty_labels_but_no_predictions(self, tmp_path):
        queries = ba.assess(POOL, ba.GroupAccuracy()).ask(2)
        queries.to_csv(tmp_path / "sheet.csv")
        lines = (tmp_path / "sheet.csv").read_text().splitlines()
        assert lines == ["id,label", *(f"{i}," for i in queries.ids)]

    def test_a_frame_and_a_printed_table_show_the_items(self):
        queries = ba.assess(POOL, ba.GroupAccuracy()).ask(3)
        assert queries.to_frame()["id"].tolist() == queries.ids.tolist()
        assert str(queries.ids[0]) in repr(queries)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones(3), ba.GroupAccuracy()), ba.QuestionError, "takes a Pool first; found ndarray"),
        ((POOL, "accuracy"), ba.QuestionError, "one of GroupAccuracy, .*PrecisionCurve, Rate, Mean; found 'accuracy'"),
        ((POOL, ba.GroupAccuracy), ba.QuestionError, r"found ba\.GroupAccuracy itself\. Call it, ba\.GroupAccuracy\("),
        ((POOL, ba.Compare), ba.QuestionError, r"found ba\.Compare itself\. Call it, ba\.Compare\("),
    ],
)
def test_things_that_are_no_pool_or_question_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ba.assess(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ba.resume(POOL, "run.db"), ba.QuestionError, "path of a journal first, then its Pool; found str"),
        (lambda: ba.resume("run.db", None), ba.QuestionError, "then its Pool; found NoneType"),
        (lambda: ba.resume(POOL, POOL), ba.JournalError, r"path of its file, such as 'run.db'; found Pool"),
        (lambda: ba.assess(POOL, ba.GroupAccuracy(), journal=5), ba.JournalError, "such as 'run.db'; found 5"),
        (lambda: ba.cells(ba.RankedList(9)), ba.QuestionError, "cells takes a Pool first; found RankedList"),
        (
            lambda: ba.partition(ba.RankedList(9), "site"),
            ba.QuestionError,
            "partition takes a Pool first; found",
        ),
        (lambda: ba.cells("site", POOL), ba.QuestionError, "cells takes a Pool first; found str"),
        (lambda: ba.simulate([0, 1], POOL, ba.GroupAccuracy()), ba.QuestionError, "simulate takes a Pool first"),
        (
            lambda: ba.plan([0, 1], ba.GroupAccuracy(), width=0.1),
            ba.QuestionError,
            "plan takes a Pool first; found list",
        ),
        (lambda: ba.read_labels(POOL, "a.csv"), ba.LabelError, "by the path of its file, .*; found Pool"),
    ],
)
def test_arguments_in_another_order_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_seed_must_be_a_whole_number():
    with pytest.raises(ba.BayesAssessError, match="seed"):
        ba.assess(POOL, ba.GroupAccuracy(), seed=-1)


@pytest.mark.parametrize(
    ("pool", "question", "label"),
    [
        (ba.Pool(predictions=[0, 1] * 5, ids=[f"item {i}" for i in range(10)]), ba.GroupAccuracy(), 1),
        (ba.Pool(predictions=["a", "b"], classes=["a", "b"], multilabel=True), ba.Metric("hamming_loss"), "a;b"),
        (ba.Pool(predictions=[1.0, 2.0], bounds=(0, 5)), ba.Mean(), 3),
        (ba.RankedList(20), ba.PrecisionCurve(), 1),
    ],
)
def test_queries_stand_for_their_ids(pool, question, label):
    """They were taken for a single id."""
    a = ba.assess(pool, question)
    queries = a.ask(2)
    a.tell(queries, [label] * 2)
    assert (a.labels_used, len(a.pending)) == (2, 0)
    assert np.asarray(queries).tolist() == list(queries) == queries.ids.tolist()
    with pytest.raises(ba.LabelError, match=r"found 2 ids and .*3 "):
        a.tell(queries, [label] * 3)
