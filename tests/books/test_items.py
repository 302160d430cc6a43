"""The book of a session's items: every cell's order is gone through once, whoever labels what."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.books.items import ItemBook
from bayes_assess.pool.source import ArraySource


class Reference:
    """What the book does, one item at a time, with lists."""

    def __init__(self, cells):
        self.order = [cells.items(k, 0, int(n)).tolist() for k, n in enumerate(cells.sizes)]
        self.waiting = [list(items) for items in self.order]

    def next_items(self, cells):
        return [self.waiting[cell].pop(0) for cell in cells]

    def take(self, cells, items):
        for cell, item in zip(cells, items, strict=True):
            self.waiting[cell].remove(item)

    def reorder(self, cells, unasked):
        """Take the order that these items lead to where nothing was handed out and nothing else told before."""
        book = ItemBook(cells)
        book.accept(unasked)
        book.take_labels(unasked, np.zeros(len(unasked), int))
        for k, n in enumerate(book.remaining):
            rest = book.next_items(np.full(n, k)).tolist()
            self.order[k] = [*unasked[book.cells_of(unasked) == k].tolist(), *rest]
            self.waiting[k] = [item for item in rest if item in self.waiting[k]]

    def put_back(self, cells, items):
        for cell in set(cells.tolist()):
            self.waiting[cell] = sorted(
                {*self.waiting[cell], *items[cells == cell].tolist()}, key=self.order[cell].index
            )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.data())
def test_items_come_in_the_order_of_their_cells_without_those_labelled_unasked(groups, data):
    cells = ba.cells(ba.Pool(predictions=groups, classes=range(4)), seed=5)
    book, reference = ItemBook(cells), Reference(cells)
    while book.remaining.any():
        left = np.repeat(np.arange(4), book.remaining)
        kind = data.draw(st.sampled_from(["next", "others", "unasked"]))
        if kind == "next":
            n = data.draw(st.integers(1, len(left)))
            asked = np.array(data.draw(st.permutations(left.tolist())))[:n]
            items = book.next_items(asked)
            assert items.tolist() == reference.next_items(asked)
            book.hand_out(items, np.ones(n))
        else:
            unseen = np.flatnonzero(book.unseen(np.arange(len(groups))))
            n = data.draw(st.integers(1, len(unseen)))
            items = np.array(data.draw(st.permutations(unseen.tolist())))[:n]
            if kind == "others":
                book.hand_out(items, np.ones(n))
            else:
                book.accept(items)
                book.take_labels(items, np.zeros(n, int))
            reference.take(book.cells_of(items), items)
            if kind == "unasked":
                reference.reorder(cells, book.told[0])
        assert book.remaining.tolist() == [len(waiting) for waiting in reference.waiting]
    assert book.n_asked + book.n_volunteered == len(groups)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.data())
def test_items_put_back_come_in_their_place_and_items_set_aside_never(groups, data):
    cells = ba.cells(ba.Pool(predictions=groups, classes=range(4)), seed=5)
    book, reference = ItemBook(cells), Reference(cells)
    for _ in range(data.draw(st.integers(1, 12))):
        kind = data.draw(st.sampled_from(["next", "skip", "put back"]))
        unseen = book.unseen(np.arange(len(groups)))
        free = {"next": unseen, "skip": unseen | book.pending, "put back": book.pending | book.skipped}[kind]
        if not free.any():
            continue
        items = np.array(data.draw(st.permutations(np.flatnonzero(free).tolist())))
        items = items[: data.draw(st.integers(1, len(items)))]
        of = book.cells_of(items)
        if kind == "next":
            items = book.next_items(of)
            assert items.tolist() == reference.next_items(of)
            book.hand_out(items, np.ones(len(items)))
        elif kind == "skip":
            reference.take(of[unseen[items]], items[unseen[items]])
            book.skip(items)
        else:
            reference.put_back(of, items)
            book.put_back(items)
        assert book.remaining.tolist() == [len(waiting) for waiting in reference.waiting]
        assert (book.n_pending, book.n_skipped) == (book.pending.sum(), book.skipped.sum())
        assert book.skipped_by_cell.sum() == book.n_skipped


def order_after_unasked(seed, by):
    """Return places within the order of the pool's cells of items that come after a label that nobody asked for."""
    cells = ba.cells(ba.Pool(predictions=[0] * 400, groups={"half": [0, 1] * 200}), by, seed=0)
    book = ItemBook(cells, seed)
    book.accept(np.array([0]))
    book.take_labels(np.array([0]), np.array([0]))
    whole = ba.cells(ba.Pool(predictions=[0] * 400), seed=0)
    return whole.source.ranks_of(book.next_items(np.zeros(book.remaining[0], int)))


def test_beside_labels_that_nobody_asked_for_items_come_in_an_order_of_these_cells_alone():
    orders = [order_after_unasked(0, "prediction"), order_after_unasked(1, "prediction")]
    halves = order_after_unasked(0, "half")
    np.testing.assert_array_equal(orders[0], order_after_unasked(0, "prediction"))
    others = [np.arange(399), orders[1], np.argsort(halves), np.arange(199)]
    pairs = [(orders[0], others[0]), (orders[0], others[1]), (halves, others[3])]
    for one, other in pairs:  # rank correlations of two random orders, within four standard errors
        ranks = np.argsort(np.argsort(one)), np.argsort(np.argsort(other))
        assert abs(np.corrcoef(*ranks)[0, 1]) < 4 / np.sqrt(len(one) - 1)


def test_the_order_beside_such_labels_is_of_all_their_items_and_of_no_way_in_which_they_came():
    cells, orders = ba.cells(ba.Pool(predictions=[0] * 400), seed=0), {}
    for told in ([[0]], [[0, 1]], [[1], [0]], [[0], [1, 2]]):
        book = ItemBook(cells)
        for items in map(np.array, told):
            book.accept(items)
            book.take_labels(items, np.zeros(len(items), int))
            book.next_items(np.zeros(2, int))  # which is looked at in between, and changes nothing
        known = tuple(book.told[0].tolist())
        items = book.next_items(np.zeros(book.remaining[0], int))
        np.testing.assert_array_equal(orders.setdefault(known, items), items)
    one, both, three = (np.argsort(orders[known])[-397:] for known in ((0,), (0, 1), (0, 1, 2)))
    for first, second in ((one, both), (one, three), (both, three)):  # ranks, within four standard errors
        assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(396)


def test_items_of_tables_come_in_another_order_then_too():
    table = pl.LazyFrame({"id": range(300), "answer": [0, 1, 1] * 100})
    source = ba.cells(ba.scan_pool(table, id="id", predictions="answer"), seed=0).source
    cells, ranks = np.repeat([0, 1], [100, 200]), np.concatenate([np.arange(100), np.arange(200)])
    items, again = source.take(cells, ranks), source.reordered(7)
    others = again.take(cells, ranks)
    np.testing.assert_array_equal(np.sort(items), np.sort(others))  # which are the same numbers
    np.testing.assert_array_equal(source.ids_of(others), again.ids_of(others))
    for k in (0, 1):
        places = source.ranks_of(others[cells == k])
        assert abs(np.corrcoef(places, np.arange(len(places)))[0, 1]) < 4 / np.sqrt(len(places) - 1)


def test_sources_that_have_one_order_keep_it():
    class Tape(ArraySource):
        reordered = property()  # as if there were none

    class OnTape(ba.Pool):
        def source_of(self, codes, sizes, seed):
            return Tape(self, codes, np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes)

    a = ba.assess(OnTape(predictions=["a"] * 6), ba.GroupAccuracy(), design="random")
    a.tell([2], ["a"])
    assert a.ask(5).ids.tolist() == [0, 1, 3, 4, 5]


def test_a_book_comes_back_from_its_arrays_with_the_weights_of_what_is_out():
    cells = ba.cells(ba.Pool(predictions=[0, 0, 1, 1, 0, 1]), seed=5)
    book, again = ItemBook(cells), ItemBook(cells)
    book.hand_out(book.next_items(np.array([1, 0, 0])), np.array([0.5, 2.0, 1.0]))
    book.accept(np.flatnonzero(book.unseen(np.arange(6)))[:1])
    again.restore(book.arrays())
    for one, other in zip(again.out, book.out, strict=True):
        np.testing.assert_array_equal(one, other)
    assert set(again.out[1]) == {0.5, 1.0, 2.0}
    assert again.remaining.tolist() == book.remaining.tolist()


@pytest.mark.parametrize(
    ("take", "message"),
    [
        (lambda cells, ranks: np.full(len(cells), 10**6), r"a number from 0 to 5; found \[1000000"),
        (lambda cells, ranks: np.full(len(cells), -1), "returns by `take` an item for each of"),
        (lambda cells, ranks: np.zeros(1, int), "returns by `take` an item for each of"),
        (lambda cells, ranks: None, "a number from 0 to 5; found "),
        (lambda cells, ranks: ranks + 0.5, "a number from 0 to 5; found "),
        (lambda cells, ranks: np.zeros(len(cells), int), "Tape hands out the same item at several places"),
    ],
)
def test_sources_that_return_no_items_are_refused(take, message):
    class Tape(ArraySource):
        def take(self, cells, ranks):
            return take(cells, ranks)

    class OnTape(ba.Pool):
        def source_of(self, codes, sizes, seed):
            return Tape(self, codes, np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes)

    a = ba.assess(OnTape(predictions=["a", "b", "a", "b", "a", "b"]), ba.GroupAccuracy(), design="random")
    with pytest.raises(ba.PoolError, match=message):
        a.ask(4)


def test_items_beside_those_that_nobody_asked_for_are_random_ones_of_the_same_cells():
    pool = ba.Pool(predictions=np.repeat([0, 1, 2, 3], [1_000, 500, 12, 100]))
    told = np.r_[0:10, 1_000:1_100, 1_500:1_509]
    firsts = []
    for seed in range(30):
        book = ItemBook(ba.cells(pool, seed=seed), seed)
        book.accept(told)
        book.take_labels(told, np.zeros(len(told), int))
        random = book.random_beside(told)
        assert len(np.unique(random)) == len(random)
        assert not np.isin(random, told).any()
        assert np.bincount(book.cells_of(random), minlength=4).tolist() == [40, 256, 3, 0]
        firsts.append(random[random < 1_000])
    mean, error = np.mean(firsts), 990 / np.sqrt(12 * np.size(firsts))
    assert abs(mean - np.arange(10, 1_000).mean()) < 4 * error
