"""Labels: what counts as no label, what is refused, and in which words."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayes_assess as ba
from bayes_assess.errors import LabelError, PartitionError, PoolError
from made import play_on_numpy

UNLABELLED = {
    "None": ["cat", None, "dog"],
    "NaN": ["cat", float("nan"), "dog"],
    "masked": np.ma.array(["cat", "cow", "dog"], mask=[False, True, False]),
    "object masked": np.ma.array(np.array(["cat", "cow", "dog"], object), mask=[False, True, False]),
    "pandas": pd.Series(["cat", None, "dog"]),
    "pandas category": pd.Series(["cat", None, "dog"], dtype="category"),
    "pandas string": pd.Series(["cat", pd.NA, "dog"], dtype="string"),
    "Polars": pl.Series(["cat", None, "dog"]),
    "empty text": ["cat", "", "dog"],
}


def session(predictions, **options):
    a = ba.assess(ba.Pool(predictions=predictions, **options), ba.GroupAccuracy(), design="random")
    a.ask(3)
    return a


@pytest.mark.filterwarnings("ignore:Left out")
@pytest.mark.parametrize("labels", UNLABELLED.values(), ids=UNLABELLED.keys())
def test_an_item_without_a_label_stays_pending(labels):
    a = session(["cat", "cat", "dog"])
    a.tell([0, 1, 2], labels)
    assert (a.labels_used, a.pending.tolist()) == (2, [1])
    assert a.result().estimate[1] == 1.0  # the dog, whose group is fully labelled


@pytest.mark.filterwarnings("ignore:Left out")
@pytest.mark.parametrize(
    "labels",
    [
        [0, None, 1],
        [0, np.nan, 1],
        np.ma.array([0, 1, 1], mask=[False, True, False]),
        pd.Series([0, None, 1]),
        pd.Series([0, None, 1], dtype="Int64"),
        ["0", None, "1"],
        [False, None, True],
    ],
)
def test_integer_labels_may_be_missing_too(labels):
    a = session([0, 0, 1])
    a.tell([0, 1, 2], labels)
    assert (a.labels_used, a.pending.tolist()) == (2, [1])


@pytest.mark.filterwarnings("ignore:Left out")
def test_no_label_at_all_is_an_acceptable_tell():
    a = session(["cat", "cat", "dog"])
    a.tell([0, 1, 2], [None, np.nan, None])
    a.tell([0, 1, 2], [np.nan] * 3)
    assert a.labels_used == 0


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, None], dtype="Float64"),
        pd.Series([1, None], dtype=object),
        pl.Series([1, None]),
        np.ma.array([1, 0], mask=[False, True]),
        np.array([1, None], dtype=object),
    ],
    ids=["Int64", "Float64", "object", "Polars", "masked", "array of objects"],
)
def test_nothing_is_said_of_nan_where_labels_are_missing_in_another_way(labels):
    a = session([0, 1, 1])
    a.tell([0, 1], labels)  # warnings are errors in tests
    assert a.pending.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("predictions", "label", "said"),
    [
        (
            ["yes", "no"],
            "Yes",
            r"'Yes', which is not one of the classes \('no', 'yes'\); spell it as the class is, 'yes'\.",
        ),
        (["yes", "no"], "yes ", r"'yes ', which is .*; spell it as the class is, 'yes'\."),
        (
            ["yes", "no"],
            "nan",
            r"'nan', which is .*; if the item has no label, tell None or leave it out: this is a text\.",
        ),
        (["ja", "f\u00fcnf"], "fu\u0308nf", r"composed in another way: tell unicodedata\.normalize\('NFC', label\)\."),
        (["ja", "fu\u0308nf"], "f\u00fcnf", r"composed in another way: tell unicodedata\.normalize\('NFD', label\)\."),
        (["New York", "Ur"], "new  york", r"spell it as the class is, 'New York'\."),
        (["yes", "no"], "maybe", r"pass every class as classes=\['maybe', 'no', 'yes'\]"),
        (
            [True, False],
            "True",
            r"'True', which is not one of the classes \(0, 1\); label with these names, which are whole numbers\.",
        ),
        ([1, 2], "3", r"pass every class as classes=\[1, 2, 3\]"),
    ],
)
def test_what_to_do_about_a_label_that_is_no_class(predictions, label, said):
    a = ba.assess(ba.Pool(predictions=predictions), ba.GroupAccuracy())
    with pytest.raises(LabelError, match=said):
        a.tell([0], [label])


NAMES = [f"item-{number}" for number in range(6)]
FRAME = pd.DataFrame({"id": NAMES, "label": [0, 1, 0, 1, 1, 0]})


@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        (NAMES, FRAME.set_index("id")["label"]),
        (range(6), FRAME["label"]),
        (pd.date_range("2024-05-01", periods=6), FRAME["label"].set_axis(pd.date_range("2024-05-01", periods=6))),
    ],
    ids=["texts", "row numbers", "dates"],
)
@pytest.mark.parametrize("annotator", [None, "ann"])
def test_labels_that_have_the_ids_for_an_index_are_told_in_their_order(ids, labels, annotator):
    a = ba.assess(ba.Pool(predictions=[0, 1] * 3, ids=ids), ba.GroupAccuracy())
    asked = a.pool.ids[[4, 1, 2]]
    with pytest.raises(LabelError, match=r"index of the labels is the ids in another order.*nothing was taken"):
        a.tell(asked, labels.iloc[[1, 2, 4]], annotator=annotator)  # as frame[frame.id.isin(asked)] has them
    assert a.labels_used == 0
    a.tell(asked, labels.iloc[[4, 1, 2]], annotator=annotator)
    assert a.labelled[1].tolist() == [1, 0, 1]


def test_an_index_that_is_not_the_ids_says_nothing_of_the_order():
    a = ba.assess(ba.Pool(predictions=[0, 1] * 3, ids=[3, 1, 2, 7, 8, 9]), ba.GroupAccuracy())
    shuffled = FRAME.assign(id=[1, 2, 3, 7, 8, 9]).iloc[[2, 1, 3]]
    a.tell(shuffled["id"], shuffled["label"])  # a row's own id and label, whatever its index
    a.tell([9, 7], FRAME["label"].iloc[[5, 3]])
    rows = ba.assess(ba.Pool(predictions=[0, 1] * 3), ba.GroupAccuracy())
    rows.tell([2, 0, 1], FRAME["label"].iloc[[1, 2, 0]].reset_index(drop=True))
    rows.tell([3, 4, 5], FRAME["label"].iloc[[3, 4, 5]])
    assert rows.labels_used == 6


def test_all_labels_that_have_the_ids_for_an_index_are_in_their_order():
    pool = ba.Pool(predictions=[0, 1] * 3, ids=NAMES)
    labels = FRAME.set_index("id")["label"]
    shuffled = labels.iloc[[3, 4, 1, 0, 2, 5]]
    assert ba.Metric("accuracy").truth(pool, labels) == pytest.approx(4 / 6)
    for ask in (
        lambda: ba.Metric("accuracy").truth(pool, shuffled),
        lambda: ba.GroupAccuracy().truth(pool, shuffled),
        lambda: ba.simulate(pool, shuffled, ba.GroupAccuracy(), budgets=[3], repeats=2),
    ):
        with pytest.raises(LabelError, match="index of the labels is the ids in another order"):
            ask()
    rows = ba.Pool(predictions=[0, 1] * 3)  # of a frame that was shuffled before it was predicted
    ba.Metric("accuracy").truth(rows, FRAME["label"].iloc[[3, 4, 1, 0, 2, 5]])


@pytest.mark.parametrize("act", ["tell", "correct"])
def test_a_warning_on_labels_points_at_the_line_that_told_them(act):
    a = session([0, 1, 1])
    if act == "correct":
        a.tell([0, 1], [0, 1])
    with pytest.warns(UserWarning, match="Left out 1 of 2 labels") as said:
        getattr(a, act)([0, 1], np.ma.array([0, np.nan]))
    assert [one.filename for one in said] == [__file__]


def test_labels_that_are_nan_are_left_out_and_that_is_said():
    a = session(["cat", "cat", "dog"])
    with pytest.warns(UserWarning, match="Left out 1 of 2 labels that are missing, some of them NaN; their items stay"):
        a.tell([0, 1], ["cat", np.nan])
    a.tell([1, 2], ["cat", None])  # nobody says None by accident
    assert a.labels_used == 2


def test_masked_ids_are_refused_and_masked_arrays_without_a_mask_are_arrays():
    a = session(["cat", "cat", "dog"])
    with pytest.raises(LabelError, match="id at position 1 is missing"):
        a.tell(np.ma.array([0, 1], mask=[False, True]), ["cat", "cat"])
    a.tell(np.ma.array([0, 1]), np.ma.array(["cat", "cat"]))
    assert a.labels_used == 2


@pytest.mark.parametrize("labels", [["cat", None, np.nan, "dog"], pd.Series(["cat", None, None, "dog"])])
@pytest.mark.parametrize("declared", [None, ["cat", "dog"]])
def test_all_labels_are_needed_for_the_truth_and_missing_rows_are_named(labels, declared):
    pool = ba.Pool(predictions=["cat", "dog", "cat", "dog"], classes=declared)
    expected = r"The label of every item is needed, but 2 of 4 are missing, in rows 1, 2; leave such items out of the"
    with pytest.raises(LabelError, match=expected):
        ba.simulate(pool, labels, ba.GroupAccuracy(), budgets=[2], repeats=1)
    with pytest.raises(LabelError, match=expected):
        ba.GroupAccuracy().truth(pool, labels)


def test_many_missing_rows_are_not_all_named():
    pool = ba.Pool(predictions=np.zeros(9, int))
    with pytest.raises(LabelError, match=r"9 of 9 are missing, in rows 0, 1, 2, 3, 4, \.\.\.;"):
        ba.GroupAccuracy().truth(pool, np.full(9, np.nan))
    with pytest.raises(LabelError, match=r"1 of 9 are missing, in row 3;"):
        ba.GroupAccuracy().truth(pool, [0, 0, 0, None, 0, 0, 0, 0, 0])


LISTS = [["cat"], ["cat", "dog"], ["dog"]]


@pytest.mark.parametrize("labels", [LISTS, pd.Series(LISTS), pl.Series(LISTS), np.array(LISTS, object)])
def test_lists_of_labels_are_refused_in_a_sentence(labels):
    a = session(["cat", "cat", "dog"])
    with pytest.raises(LabelError, match=r"The label of item 0 .*is \['cat'\].*an item has exactly one label here\."):
        a.tell([0, 1, 2], labels)
    with pytest.raises(LabelError, match=r"exactly one label here"):
        ba.simulate(a.pool, labels, ba.GroupAccuracy(), budgets=[2], repeats=1)


def test_lists_are_refused_wherever_an_item_has_one_value():
    with pytest.raises(PoolError, match=r"class names or integer codes, but are \['cat'\]"):
        ba.Pool(predictions=LISTS)
    with pytest.raises(PoolError, match=r"row 0 has \['cat'\]"):
        ba.Pool(predictions=[0, 1, 0], ids=LISTS)
    with pytest.raises(PoolError, match=r"'site' has \['cat'\] in row 0; an item is in exactly one group"):
        ba.Pool(predictions=[0, 1, 0], groups={"site": LISTS})
    with pytest.raises(PartitionError, match=r"row 0 has \['cat'\], but an item is in exactly one group"):
        ba.partition(ba.Pool(predictions=[0, 1, 0]), LISTS)
    with pytest.raises(PoolError, match="rows of equal length"):
        ba.Pool(scores=[[0.5, 0.5], [1.0]])


def test_labels_of_another_kind_never_become_classes():
    pool = ba.Pool(predictions=["cat", "dog"])
    with pytest.raises(LabelError, match=r"position 0.* is 0, .*not with numbers"):
        ba.simulate(pool, [0, 1], ba.GroupAccuracy(), budgets=[2], repeats=1)
    with pytest.raises(LabelError, match=r"position 0.* is 'cat', .*label with these names"):
        ba.simulate(ba.Pool(predictions=[0, 1]), ["cat", "dog"], ba.GroupAccuracy(), budgets=[2], repeats=1)


def test_text_of_whole_numbers_widens_integer_classes(monkeypatch):
    play_on_numpy(monkeypatch)
    pool, options = ba.Pool(predictions=[0, 1, 1]), {"designs": "random", "budgets": [2], "repeats": 1}
    study = ba.simulate(pool, ["0", "1", "3"], ba.GroupAccuracy(), prior="uninformative", **options)
    assert study.truth[:2].tolist() == [1.0, 0.5]


def test_messages_show_values_without_the_types_of_numpy():
    a = session(np.array(["cat", "cat", "dog"]), ids=np.array([280, 281, 282]))
    a.tell(np.array([280]), np.array(["cat"]))
    for ids, labels in (
        (np.array([280]), np.array(["dog"])),
        (np.array([281, 281]), np.array(["cat", "dog"])),
        (np.array([281]), np.array(["cow"])),
        (np.array([7]), np.array(["cat"])),
    ):
        with pytest.raises(LabelError) as caught:
            a.tell(ids, labels)
        assert "np." not in str(caught.value)


@pytest.mark.parametrize("bins", [255, 256, 257])
def test_calibration_takes_any_number_of_bins(bins):
    pool = ba.Pool(scores=np.linspace(0.5, 1, 50))
    cells = ba.Calibration(bins=bins).cells(pool, 0)
    assert (cells.n_cells, cells.n_items) == (bins, 50)
    assert (cells.source.cells_of(np.arange(50)) == ba.partition(pool, ba.ScoreBins(bins)).codes).all()
