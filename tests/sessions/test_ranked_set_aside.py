"""Items of ranked lists that nobody can label, sheets that were lost, and what annotators see."""

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.errors import JournalError, LabelError, PoolError, UnknownIdError
from bayes_assess.sessions.journal import Journal
from sessions.test_ranked import ASKED, DESIGNS, N, labels_of, precision

NAMED = ba.RankedList(id_at=lambda ranks: [f"item-{rank}" for rank in ranks], n_items=N)


def finished_with_gaps(a, labels, refused):
    """Label until the design is done; nobody can label items of `refused` ranks."""
    while not a.done:
        ranks = a.ask(700).ranks
        gap = np.isin(ranks, refused)
        a.skip(ranks[gap])
        a.tell(ranks[~gap], labels[ranks[~gap] - 1].astype(int))
    return a


@pytest.mark.parametrize("design", DESIGNS)
def test_others_take_the_places_of_items_set_aside_and_the_band_holds(design):
    labels, rng = labels_of(N), np.random.default_rng(4)
    refused = np.append([1, 5, 50], rng.choice(np.arange(100, N), N // 50, replace=False))
    a = finished_with_gaps(ba.assess(ba.RankedList(N), ASKED, design=design, seed=1), labels, refused)
    assert a.n_skipped >= 3
    assert set(a.skipped) <= set(refused.tolist())
    r = a.result()
    assert f"{a.n_skipped} items were set aside" in r.summary()
    ranks = np.unique(np.geomspace(1, N, 200).astype(int))
    _, lower, upper = r.at(ranks)
    truth, slack = precision(labels, ranks), 0.02 if design == "paula" else 0.0
    assert (lower - slack <= truth).all()
    assert (truth <= upper + slack).all()
    assert (lower[-1], upper[-1]) != (0, 1)
    head = int(r.queried[0])
    _, lower, upper = r.at(head)
    missing = np.isin(np.arange(1, head + 1), refused).sum()
    assert upper - lower == pytest.approx(missing / head)  # whatever their labels are


@pytest.mark.parametrize("design", DESIGNS)
def test_a_short_list_of_which_nobody_can_label_the_rest_is_done(design):
    """Of few items the precision is bounded by all labels of the rest, which may never come."""
    a = ba.assess(ba.RankedList(30), ba.PrecisionCurve(epsilon=0.8, beta=2.0), design=design)
    ids = a.ask(30).ids
    a.tell(ids[2:], np.arange(28) % 2)
    a.skip(ids[:2])
    assert a.done
    r = a.result()
    assert (r.labels_used, r.n_skipped, r.guarantee) == (28, 2, "asymptotic")
    assert r.at(30).lower <= 14 / 30 < 16 / 30 <= r.at(30).upper  # whatever the labels of the two are


@pytest.mark.parametrize("design", DESIGNS)
def test_a_list_of_which_nobody_can_label_an_item_is_done(design):
    a = ba.assess(ba.RankedList(1), ba.PrecisionCurve(epsilon=0.8, beta=2.0), design=design)
    a.skip(a.ask(1).ids)
    assert a.done
    assert a.result().at(1) == (0.5, 0.0, 1.0)


def test_counts_follow_what_is_set_aside_released_and_labelled_after_all():
    a = ba.assess(ba.RankedList(N), ASKED, seed=3)
    ids = a.ask(10).ids
    lacking = a.n_remaining
    assert a.skip(ids[:4]) == 4
    assert a.skip(ids[:4]) == 0
    assert (a.n_pending, a.n_skipped) == (6, 4)
    head = np.isin(a.skipped, np.arange(1, int(a.result().queried[0]) + 1)).sum()
    assert a.n_remaining == lacking + 4 - head  # nobody takes the place of one in the head, which is labelled whole
    a.tell(ids[:1], [1])
    assert (a.n_skipped, a.labels_used) == (3, 1)
    assert a.release(ids[1:6]) == 5
    assert (a.n_pending, a.n_skipped) == (4, 0)
    assert sorted(a.pending) == sorted(ids[6:])
    again = a.ask(lacking + 10).ids
    assert len(np.unique(again)) == len(again)
    assert not np.isin(again, ids[6:]).any()
    for call in (a.skip, a.release):
        with pytest.raises(LabelError, match="has a label and cannot be"):
            call(ids[:1])
        with pytest.raises(UnknownIdError, match="not asked for"):
            call([N - 1 if N - 1 not in again else N - 2])


def test_the_sheet_of_items_that_were_released_may_come_back(tmp_path):
    a = ba.assess(NAMED, ASKED, seed=3, journal=tmp_path / "run.db")
    ids = a.ask(10).ids
    a.skip(ids[:4])
    assert a.release(ids) == 10
    a.tell(ids[2:6], [1, 0, 1, 0])
    assert a.skip(ids[6:7]) == 1
    assert (a.labels_used, a.n_pending, a.n_skipped) == (4, 0, 1)
    a.journal.close()
    b = ba.resume(tmp_path / "run.db", NAMED)
    np.testing.assert_array_equal(b.labelled, a.labelled)
    assert b.handed_out.ids.tolist() == a.handed_out.ids.tolist()
    more = b.ask(50).ids
    assert not np.isin(more, ids[2:7]).any()  # which are not drawn again
    b.tell(more, np.ones(len(more), int))
    b.journal.close()


def test_a_journal_replays_what_was_set_aside_and_released(tmp_path):
    labels, whole = labels_of(N), NAMED
    a = ba.assess(whole, ASKED, seed=3, journal=tmp_path / "run.db")
    for _ in range(4):
        queries = a.ask(100)
        a.skip(queries.ids[:5])
        a.release(queries.ids[3:20])
        a.tell(queries.ids[20:], labels[queries.ranks[20:] - 1].astype(int))
    a.journal.close()
    b = ba.resume(tmp_path / "run.db", whole)
    assert (b.n_skipped, b.n_pending, b.labels_used) == (a.n_skipped, a.n_pending, a.labels_used)
    assert (a.n_skipped, a.n_pending) == (12, 0)
    assert b.skipped.tolist() == a.skipped.tolist()
    np.testing.assert_array_equal(b.labelled, a.labelled)
    assert b.result().summary() == a.result().summary()
    assert b.ask(50).ids.tolist() == [f"item-{rank}" for rank in a._items.draw(50)]
    b.journal.close()


@pytest.mark.parametrize("kind", ["tell", "skip", "release"])
def test_a_journal_that_does_not_follow_is_refused(tmp_path, kind):
    a = ba.assess(ba.RankedList(N), ASKED, journal=tmp_path / "run.db")
    ids = a.ask(3).ids
    a.tell(ids, [1, 1, 1])
    a.journal.close()
    with Journal.open(tmp_path / "run.db") as journal:
        journal.append(kind, {"ids": ids[:1], "labels": [0]}, expected=None)
    with pytest.raises(JournalError, match="does not follow from those before it"):
        ba.resume(tmp_path / "run.db", ba.RankedList(N))


def test_annotators_see_what_they_need_and_not_the_rank(tmp_path):
    text = np.array([f"text {i}" for i in range(300)])
    ranked = ba.RankedList.from_scores(np.random.default_rng(2).random(300), show={"text": text})
    a = ba.assess(ranked, ba.PrecisionCurve(p_min=0.5))
    queries = a.ask(5)
    assert queries.sheet().columns == ("id", "text", "label")
    assert queries.sheet()["text"].tolist() == text[queries.ids].tolist()
    assert queries.sheet(show_prediction=True).columns == ("id", "text", "rank", "label")
    pool = ba.Pool(scores=np.linspace(0, 1, 300), show={"text": text})
    queries = ba.assess(pool, ba.PrecisionCurve(p_min=0.5), design="adastrat").ask(5)
    assert queries.show["text"].tolist() == text[queries.ids].tolist()
    assert queries.choices == (0, 1)
    with pytest.raises(PoolError, match="299"):
        ba.RankedList(300, show={"text": text[1:]})


def test_a_label_of_one_of_many_classes_is_not_told_differently():
    rng = np.random.default_rng(1)
    pool = ba.Pool(scores=rng.dirichlet(np.ones(3), 400), classes=["cat", "cow", "dog"])
    a = ba.assess(pool, ba.PrecisionCurve(p_min=0.5, positive="dog"), design="adastrat")
    ids = a.ask(3).ids
    a.tell(ids, ["cat", "dog", "cow"])
    assert dict(zip(*a.labelled, strict=True)) == dict(zip(ids, ["cat", "dog", "cow"], strict=True))
    with pytest.raises(LabelError, match="is already labelled"):
        a.tell(ids[:1], ["dog"])
    assert a.correct(ids[:1], ["cow"]) == 1
