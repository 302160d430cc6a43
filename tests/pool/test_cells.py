import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayes_assess as ba
from bayes_assess.errors import BudgetError, PartitionError
from bayes_assess.pool.cells import label_counts
from bayes_assess.pool.source import ArraySource, ItemSource, random_order

codes = st.lists(st.integers(0, 6), min_size=1, max_size=120)


@settings(deadline=None, max_examples=50)
@given(codes, st.integers(0, 2**64))
def test_cells_hold_every_item_exactly_once_in_its_own_cell(groups, seed):
    pool = ba.Pool(predictions=groups, classes=range(7))
    cells = ba.cells(pool, seed=seed)
    assert sorted(cells.source.order.tolist()) == list(range(len(groups)))
    assert cells.sizes.sum() == len(groups) == cells.n_items
    assert cells.weights.sum() == pytest.approx(1)
    for cell in range(cells.n_cells):
        members = cells.items(cell, 0, int(cells.sizes[cell]))
        assert sorted(members.tolist()) == np.flatnonzero(np.array(groups) == cell).tolist()
        assert cells.source.ranks_of(members).tolist() == list(range(len(members)))


def test_cells_know_their_types_and_names():
    cells = ba.cells(ba.Pool(predictions=["b", "a", "b"], classes=["a", "b", "c"]))
    assert (cells.sizes.dtype, cells.source.starts.dtype, cells.source.order.dtype, cells.source.codes.dtype) == (
        "i8",
        "i8",
        "i4",
        "u1",
    )
    assert cells.names.tolist() == ["a", "b", "c"]
    assert cells.source.starts.tolist() == [0, 1, 3]
    assert cells.description == "prediction"
    assert repr(cells) == "Cells(3 items in 3 cells by prediction)"


def test_the_order_is_a_function_of_the_seed():
    pool = ba.Pool(predictions=np.arange(1000) % 3)
    np.testing.assert_array_equal(ba.cells(pool, seed=5).source.order, ba.cells(pool, seed=5).source.order)
    assert not np.array_equal(ba.cells(pool, seed=5).source.order, ba.cells(pool, seed=6).source.order)


def test_the_order_of_a_seed_never_changes():
    assert ba.cells(ba.Pool(predictions=np.arange(12) % 2), seed=0).source.order.tolist() == [
        10,
        0,
        2,
        8,
        4,
        6,
        11,
        7,
        5,
        3,
        1,
        9,
    ]


def test_the_global_generator_is_neither_read_nor_moved():
    pool = ba.Pool(predictions=np.arange(50) % 3)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    order = ba.cells(pool).source.order
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    np.testing.assert_array_equal(ba.cells(pool).source.order, order)


def test_the_order_within_each_cell_is_uniform_and_independent_of_other_cells():
    # Two cells of three items, interleaved: 6 x 6 equally likely pairs of orders. The threshold is passed by a
    # uniform order with probability 1 - 1e-6; the seeds are fixed, so the test never flickers.
    codes, repeats = np.array([0, 1, 0, 1, 0, 1], dtype=np.uint8), 7200
    pairs = list(itertools.product(itertools.permutations([0, 2, 4]), itertools.permutations([1, 3, 5])))
    place = {first + second: i for i, (first, second) in enumerate(pairs)}
    seen = [place[tuple(random_order(codes, 2, seed).tolist())] for seed in range(repeats)]
    observed = np.bincount(seen, minlength=36)
    statistic = ((observed - repeats / 36) ** 2 / (repeats / 36)).sum()
    assert statistic < stats.chi2.isf(1e-6, df=35)


def test_every_place_in_a_large_cell_is_equally_likely_for_an_item():
    places = [
        ba.cells(ba.Pool(predictions=np.zeros(1000, int)), seed=seed).source.ranks_of(np.array([0]))[0]
        for seed in range(2000)
    ]
    observed = np.histogram(places, bins=10, range=(0, 1000))[0]
    assert ((observed - 200) ** 2 / 200).sum() < stats.chi2.isf(1e-6, df=9)


def test_ties_of_the_sorting_keys_are_broken_by_all_random_bits(monkeypatch):
    class Stuck:
        """Bits that differ only where the cell's code pushes them out of the key."""

        def __init__(self, seed):
            pass

        def random_raw(self, size):
            return np.arange(size, dtype=np.uint64)[::-1] % np.uint64(4)

    monkeypatch.setattr(np.random, "PCG64", Stuck)
    order = random_order(np.array([1, 0, 1, 0], dtype=np.uint8), 4, seed=0)
    assert order.tolist() == [3, 1, 2, 0]


@settings(deadline=None, max_examples=50)
@given(codes, st.data())
def test_the_mean_score_is_that_of_the_items_and_of_the_pool_where_there_are_none(groups, data):
    confidence = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(groups), max_size=len(groups))))
    cells = ba.cells(ba.Pool(predictions=groups, classes=range(7), confidence=confidence))
    for cell in range(7):
        inside = confidence[np.array(groups) == cell]
        expected = inside.mean() if inside.size else confidence.mean()
        assert cells.mean_score[cell] == pytest.approx(expected, abs=1e-12)


def test_cells_without_confidence_have_no_mean_score():
    assert ba.cells(ba.Pool(predictions=[0, 1])).mean_score is None


def test_mean_scores_of_single_precision_are_summed_in_double():
    scores = np.full(2_000_000, 0.9, dtype=np.float32)
    assert ba.cells(ba.Pool(scores=scores)).mean_score[1] == pytest.approx(float(np.float32(0.9)), rel=1e-12)


def test_cells_follow_any_partition():
    pool = ba.Pool(scores=[0.9, 0.8, 0.3], groups={"site": ["y", "x", "y"]})
    assert ba.cells(pool, "site").sizes.tolist() == [1, 2]
    assert ba.cells(pool, ba.ScoreBins(2)).sizes.tolist() == [0, 3]
    assert ba.cells(pool, ba.partition(pool, [1, 1, 2])).sizes.tolist() == [2, 1]


def test_items_beyond_a_cell_are_refused():
    cells = ba.cells(ba.Pool(predictions=["cat", "dog", "cat"]))
    assert cells.items(0, 1, 1).tolist() == []
    with pytest.raises(BudgetError, match=r"Cell 0 \('cat'\) has 2 items; items 1 to 3 cannot be taken\."):
        cells.items(0, 1, 3)
    with pytest.raises(BudgetError, match="items -1 to 1 cannot be taken"):
        cells.items(0, -1, 1)
    with pytest.raises(BudgetError, match="no cell 2; the cells are 0 to 1"):
        cells.items(2, 0, 1)


@pytest.mark.parametrize("seed", [-1, 1.5, None, "0"])
def test_a_seed_is_a_non_negative_integer(seed):
    with pytest.raises(PartitionError, match="non-negative integer"):
        ba.cells(ba.Pool(predictions=[0, 1]), seed=seed)


@settings(deadline=None, max_examples=50)
@given(codes, st.data())
def test_label_counts_are_a_cross_table(groups, data):
    outcomes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(groups), max_size=len(groups))))
    table = label_counts(ba.cells(ba.Pool(predictions=groups, classes=range(7))), outcomes, 3)
    assert table.dtype == np.int64
    for cell, outcome in itertools.product(range(7), range(3)):
        assert table[cell, outcome] == np.sum((np.array(groups) == cell) & (outcomes == outcome))


def test_label_counts_accept_booleans_and_refuse_what_is_out_of_range():
    cells = ba.cells(ba.Pool(predictions=[0, 1]))
    assert label_counts(cells, np.array([True, False]), 2).tolist() == [[0, 1], [1, 0]]
    for outcomes in ([0, 2], [0, -1], [0.0, 1.0]):
        with pytest.raises(PartitionError, match="integers from 0 to 1"):
            label_counts(cells, outcomes, 2)
    with pytest.raises(PartitionError, match="one for each of the 2 items"):
        label_counts(cells, [0], 2)


# Where the items are


def test_a_source_finds_items_by_place_by_id_and_by_row():
    ids = [f"i{i}" for i in range(60)]
    source = ba.cells(ba.Pool(predictions=np.arange(60) % 7, ids=ids), seed=2).source
    assert isinstance(source, ItemSource)
    items = np.arange(60)
    np.testing.assert_array_equal(source.take(source.cells_of(items), source.ranks_of(items)), items)
    np.testing.assert_array_equal(source.locate(source.ids_of(items[::-1])), items[::-1])
    np.testing.assert_array_equal(source.cells_of(items), items % 7)


def test_cells_hold_k_numbers_and_leave_items_to_their_source():
    cells = ba.cells(ba.Pool(scores=np.linspace(0, 1, 1000)), ba.ScoreBins(4))
    assert all(len(array) == 4 for array in (cells.sizes, cells.names, cells.mean_score))
    assert [len(array) for part in cells.parts for array in (part.names, part.edges)] == [4, 5]
    arrays = [value for value in vars(cells).values() if isinstance(value, np.ndarray)]
    assert max(array.size for array in arrays) == 4


def test_the_fingerprint_of_a_source_tells_which_items_are_in_which_cell():
    pool = ba.Pool(predictions=[0, 1, 1, 0], groups={"same": ["a", "b", "b", "a"], "other": ["a", "b", "a", "b"]})
    prints = [ba.cells(pool, by, seed=seed).source.fingerprint() for seed in (0, 1) for by in ("same", "other")]
    assert prints[0] == prints[2] == ba.cells(pool).source.fingerprint()
    assert prints[0] != prints[1] == prints[3]


@settings(deadline=None, max_examples=50)
@given(codes, st.data())
def test_splitting_a_cell_keeps_the_others_and_the_order_within_both_parts(groups, data):
    confidence = np.linspace(0, 1, len(groups)) ** 2
    before = ba.cells(ba.Pool(predictions=groups, classes=range(7), confidence=confidence), seed=1)
    cell = data.draw(st.sampled_from(sorted(set(groups))))
    members = before.items(cell, 0, int(before.sizes[cell]))
    moved = np.array(data.draw(st.lists(st.sampled_from(members.tolist()), min_size=1, unique=True)))
    after = before.split(cell, moved, "new")
    assert (after.n_cells, after.n_items) == (8, before.n_items)
    for other in set(range(7)) - {cell}:
        np.testing.assert_array_equal(
            after.items(other, 0, int(after.sizes[other])), before.items(other, 0, int(before.sizes[other]))
        )
    for part, mine in ((cell, ~np.isin(members, moved)), (7, np.isin(members, moved))):
        items = after.items(part, 0, int(after.sizes[part]))
        np.testing.assert_array_equal(items, members[mine])
        np.testing.assert_array_equal(after.source.cells_of(items), part)
        np.testing.assert_array_equal(after.source.ranks_of(items), np.arange(len(items)))
        if len(items):
            assert after.mean_score[part] == pytest.approx(confidence[items].mean(), abs=1e-12)
    assert after.names.tolist() == [*map(str, range(7)), "new"]


def test_splitting_again_and_counting_labels_needs_no_new_numbers():
    rng = np.random.default_rng(4)
    pool = ba.Pool(predictions=rng.integers(3, size=300), classes=range(3))
    labels, cells = rng.integers(2, size=300), ba.cells(pool, seed=3)
    whole = label_counts(cells, labels, 2)
    first = np.flatnonzero(pool.predictions == 1)[::2]
    finer = cells.split(1, first, "1b").split(3, first[:20], "1c")
    counts = label_counts(finer, labels, 2)
    np.testing.assert_array_equal(counts[[0, 2]], whole[[0, 2]])
    np.testing.assert_array_equal(counts[[1, 3, 4]].sum(0), whole[1])
    assert finer.sizes.tolist() == [*(counts.sum(1))]


@pytest.mark.parametrize("items", [[], [1], [0, 0], [3], [-1]])
def test_only_items_of_the_cell_can_be_split_off(items):
    cells = ba.cells(ba.Pool(predictions=["cat", "dog", "cat"]))
    with pytest.raises(PartitionError, match="some of those of cell 0, each once"):
        cells.split(0, items, "more")


def test_a_source_of_255_cells_can_be_split_further():
    codes = np.arange(512, dtype=np.uint8) % 255
    source = ArraySource.shuffled(ba.Pool(predictions=codes), codes, np.bincount(codes), 0)
    for cell in (0, 1, 2):
        items = source.take(np.array([cell]), np.array([0]))
        source = source.split(cell, items)
        np.testing.assert_array_equal(source.cells_of(items), [255 + cell])


def test_numbers_of_items_are_averaged_over_cells():
    pool = ba.Pool(predictions=["cat", "dog", "cat"], classes=["ant", "cat", "dog"])
    found = ba.cells(pool).mean([[0.5, 1], [0.2, 2], [1.0, 6]])  # nothing is predicted to be an ant: the mean of all
    np.testing.assert_allclose(found, [[1.7 / 3, 3], [0.75, 3.5], [0.2, 2]], rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.2], r"each of the 3 items.*shape \(2,\)"),
        (["a"] * 3, "type <U1"),
        ([1, 2, np.nan], "finite"),
        (np.ma.array([1.0, 2.0, 9.0], mask=[False, False, True]), "finite"),
        (pd.Series([1, 2, None], dtype="Int64"), "finite"),
    ],
)
def test_what_is_no_number_of_every_item_is_not_averaged(values, message):
    with pytest.raises(ba.PartitionError, match=message):
        ba.cells(ba.Pool(predictions=[0, 0, 1])).mean(values)
