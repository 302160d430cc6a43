"""Pools whose items have several labels each: what they hold and refuse, and how labels are told and read back."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import parquet

import bayes_assess as ba
from bayes_assess.errors import LabelError, PoolError, QuestionError
from bayes_assess.measures import pool_value, pr_curve, table_for
from bayes_assess.pool import MultiLabelPool, MultiLabelSpace
from bayes_assess.pool.labels import check_consistent
from bayes_assess.pool.rank_strata import RankStrata

CLASSES = ["ant", "bee", "cow"]
SCORES = [[0.9, 0.6, 0.1], [0.2, 0.1, 0.3], [0.5, 0.4, 0.8]]
PREDICTED = [[True, True, False], [False, False, False], [True, False, True]]


def made(**options):
    return ba.Pool(scores=SCORES, classes=CLASSES, multilabel=True, **options)


def space(declared=True):
    return MultiLabelSpace(np.array(CLASSES), declared)


# What a pool holds


def test_the_flag_makes_a_pool_of_its_own_kind():
    pool = made(ids=["x", "y", "z"], groups={"site": ["s", "s", "t"]})
    assert isinstance(pool, MultiLabelPool)
    assert isinstance(pool, ba.Pool)
    assert pool.multilabel
    assert not ba.Pool(predictions=[0, 1], multilabel=False).multilabel
    assert (len(pool), pool.n_items, pool.n_classes) == (3, 3, 3)
    assert repr(pool) == "Pool(3 items, 3 classes, multi-label, scores, groups: site)"
    assert pool.positions(["z", "x"]).tolist() == [2, 0]
    assert not pool.indicators.flags.writeable
    with pytest.raises(AttributeError, match="never changes"):
        pool.indicators = None
    copy = pickle.loads(pickle.dumps(pool))
    assert isinstance(copy, MultiLabelPool)
    assert copy.fingerprint() == pool.fingerprint()


def test_a_class_is_predicted_from_a_score_of_one_half():
    assert made().indicators.tolist() == PREDICTED


@pytest.mark.parametrize(
    "predictions",
    [
        PREDICTED,
        np.array(PREDICTED, float),
        pd.DataFrame(PREDICTED, columns=CLASSES)[["cow", "ant", "bee"]],
        pl.DataFrame(np.array(PREDICTED), schema=CLASSES),
        ["bee;ant", "-", " cow ; ant "],
        [["ant", "bee"], [], ("cow", "ant")],
        [{"ant", "bee"}, set(), np.array(["ant", "cow"])],
        pl.Series([["ant", "bee"], [], ["cow", "ant"]]),
        pa.array([["ant", "bee"], [], ["cow", "ant"]]),
        ["['bee', 'ant']", "[]", '["cow", "ant"]'],
        ["[1, 1, 0]", "[False, False, False]", "[1.0, 0.0, 1.0]"],
    ],
)
def test_predictions_are_read_from_every_form(predictions):
    pool = ba.Pool(scores=np.array(SCORES)[:, ::-1], predictions=predictions, classes=CLASSES, multilabel=True)
    assert pool.indicators.tolist() == PREDICTED


def test_classes_follow_from_names_columns_or_places():
    named = ba.Pool(predictions=["bee", "-", "cow;ant"], multilabel=True)
    assert (named.classes.tolist(), named.classes_declared) == (CLASSES, False)
    assert ba.Pool(predictions=[["bee"], ["-"], ["cow", "ant"]], multilabel=True).classes.tolist() == CLASSES
    framed = ba.Pool(predictions=pd.DataFrame(PREDICTED, columns=CLASSES), multilabel=True)
    assert (framed.classes.tolist(), framed.classes_declared) == (CLASSES, True)
    numbered = ba.Pool(predictions=PREDICTED, multilabel=True)
    assert (numbered.classes.tolist(), numbered.classes_declared) == ([0, 1, 2], True)
    scored = ba.Pool(scores=pd.DataFrame(SCORES, columns=CLASSES), multilabel=True)
    assert scored.classes.tolist() == CLASSES


def test_classes_follow_from_lists_in_writing_as_csv_files_have_them():
    lists = pd.Series([["bee"], [], ["cow", "[UNK]"]])
    assert ba.Pool(predictions=lists.map(str), multilabel=True).classes.tolist() == ["[UNK]", "bee", "cow"]
    odd = ba.Pool(predictions=["['bee']"], classes=["['bee']"], multilabel=True)
    assert odd.indicators.tolist() == [[True]]


def test_a_class_that_looks_like_several_others_is_warned_of():
    for text, names in (("bee, cow", "bee;cow"), ("cow|bee", "cow;bee")):
        with pytest.warns(UserWarning, match=f"The class '.*' looks like several others .* such as '{names}'"):
            ba.Pool(predictions=["bee", text, "cow"], multilabel=True)


def test_the_fingerprint_covers_everything_and_is_that_of_no_other_pool():
    one = ba.Pool(predictions=PREDICTED, classes=CLASSES, multilabel=True)
    pools = [
        one,
        made(),
        made(ids=["x", "y", "z"]),
        made(groups={"site": [1, 1, 2]}),
        made(predictions=["-", "-", "-"]),
        ba.Pool(predictions=PREDICTED, classes=["ant", "bee", "elk"], multilabel=True),
        ba.Pool(predictions=~np.array(PREDICTED), classes=CLASSES, multilabel=True),
        ba.Pool(scores=np.array(SCORES) / 2, predictions=PREDICTED, classes=CLASSES, multilabel=True),
    ]
    assert len({pool.fingerprint() for pool in pools}) == len(pools)
    named = ba.Pool(predictions=["ant;bee", "-", "ant;cow"], classes=CLASSES, multilabel=True)
    assert named.fingerprint() == one.fingerprint()


def test_fingerprints_of_pools_with_one_label_per_item_stay_what_they_were():
    pool = ba.Pool(scores=[0.25, 0.75], ids=["a", "b"], groups={"site": ["x", "y"]})
    assert pool.fingerprint() == "914998401bfc93ed4d713f565fe6c1659213ec23988a886bb640f536bff6a675"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("-;ant", "have '-', which says that no class applies, beside other names; leave out the one or the others"),
        ("ant, bee", "label with these names.*; several names stand between semicolons, such as 'ant;bee'"),
        ("ant;", "name '', which is not one of the classes"),
    ],
)
def test_what_is_no_set_is_refused_with_what_to_write(label, said):
    with pytest.raises(LabelError, match=said):
        space().codes([label])


def test_a_pool_may_have_one_class():
    scored = ba.Pool(scores=[[0.9], [0.2]], classes=["ant"], multilabel=True)
    assert scored.indicators.tolist() == ba.Pool(predictions=["ant", "-"], multilabel=True).indicators.tolist()
    with pytest.raises(PoolError, match="one column is no distribution over classes"):
        ba.Pool(scores=[[0.9], [0.2]])


def test_columns_of_indicators_are_asked_for_as_scores(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("id,pred_ant,pred_bee\n1,1,0\n2,0,0\n")
    with pytest.raises(PoolError, match=r"are in one column; found 'pred_ant', 'pred_bee'\. Columns of 0"):
        ba.read_pool(path, prediction=["pred_ant", "pred_bee"], multilabel=True)
    with pytest.raises(PoolError, match=r"no column 'pred_ant,pred_bee'.*one of every class, are given as scores"):
        ba.read_pool(path, prediction="pred_ant,pred_bee", multilabel=True)
    pool = ba.read_pool(path, scores=["pred_ant", "pred_bee"], multilabel=True)
    assert pool.indicators.tolist() == [[True, False], [False, False]]


def test_scores_that_sum_to_one_look_like_those_of_single_labels():
    with pytest.warns(UserWarning, match=r"Every row of scores sums to 1.*Leave out multilabel=True"):
        ba.Pool(scores=[[0.9, 0.1], [0.3, 0.7]], multilabel=True)


# What it refuses

REFUSED = {
    "nothing": ({}, "needs scores or predictions"),
    "confidence": ({"predictions": PREDICTED, "confidence": [1, 1, 1]}, "has no confidence; pass the prob"),
    "systems": ({"predictions": PREDICTED, "systems": {"b": PREDICTED}}, "a pool for each system"),
    "one column": ({"scores": [0.2, 0.9]}, r"one column per class, \(items, classes\); found shape \(2,\)"),
    "above one": ({"scores": [[0.2, 0.9], [0.1, 1.5]]}, r"row 1 of class 1 is 1.5, not a number .*sigmoid them"),
    "below zero": ({"scores": [[-0.2, 0.9]]}, r"row 0 of class 0 is -0.2"),
    "NaN": ({"scores": [[0.2, np.nan]]}, "row 0 of class 1 is nan.*drop the row"),
    "lengths": ({"scores": SCORES, "predictions": PREDICTED[:2]}, "2 predictions but scores of 3 items"),
    "empty": ({"predictions": np.zeros((0, 3))}, "no items"),
    "empty scores": ({"scores": np.zeros((0, 3))}, "no items"),
    "separator": ({"predictions": PREDICTED, "classes": ["a;b", "c", "d"]}, "class name 'a;b' cannot stand"),
    "spaces": ({"predictions": PREDICTED, "classes": ["a ", "c", "d"]}, "class name 'a ' cannot stand"),
    "dash": ({"predictions": PREDICTED, "classes": ["-", "c", "d"]}, "class name '-' cannot stand"),
    "width": ({"predictions": PREDICTED, "classes": ["a", "b"]}, "row 0 are 3 numbers for 2 classes"),
    "missing": ({"predictions": ["ant", None]}, "row 1 are missing; write '-' or an empty list"),
    "missing row": ({"predictions": [[1, 0], [np.nan, np.nan]]}, "row 1 are missing"),
    "unknown": ({"predictions": ["ant", "elk"], "classes": CLASSES}, "row 1 name 'elk', .*'cow'.*pass every class"),
    "no class": ({"predictions": ["-", []]}, "name no class; pass every class"),
    "codes": ({"predictions": [0, 2, 1], "classes": CLASSES}, "row 0 are 0; pass a list of names"),
    "not indicators": ({"predictions": [[0, 1], [2, 1]]}, "row 1 have 2 for class 0; an indicator is 0 or 1"),
    "ids": ({"predictions": PREDICTED, "ids": ["x", "y", "x"]}, "Ids must be unique"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_no_multi_label_pool_is_refused_in_a_sentence(case):
    options, message = case
    with pytest.raises(PoolError, match=message) as caught:
        ba.Pool(**options, multilabel=True)
    assert str(caught.value).endswith(".")
    assert "np." not in str(caught.value)


MISUSES = {
    "predictions": lambda pool: pool.predictions,
    "confidence": lambda pool: pool.confidence,
    "system codes": lambda pool: pool.system_codes("prediction"),
    "more classes": lambda pool: pool.with_classes([*CLASSES, "elk"]),
    "classes of labels": lambda pool: pool.label_space.including(["elk"]),
    "groups by prediction": lambda pool: ba.partition(pool),
    "bins": lambda pool: ba.partition(pool, ba.ScoreBins(2)),
    "strata": lambda pool: ba.partition(pool, ba.Strata(2)),
    "rank strata": lambda pool: ba.partition(pool, RankStrata(2)),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES)
def test_what_is_made_for_single_labels_never_takes_a_multi_label_pool_silently(misuse, n_classes):
    pool = ba.Pool(scores=np.array(SCORES)[:, :n_classes], classes=CLASSES[:n_classes], multilabel=True)
    with pytest.raises(PoolError, match="multi-label pool") as caught:
        misuse(pool)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("question", [ba.GroupAccuracy(), ba.PRCurve(), ba.Calibration()])
def test_questions_of_single_labels_say_what_serves_multi_label_pools(question):
    pool = ba.Pool(scores=np.array(SCORES)[:, :2], classes=CLASSES[:2], multilabel=True)
    labels = ["ant", "bee", "-"]
    for ask in (
        lambda: ba.assess(pool, question),
        lambda: question.truth(pool, labels),
        lambda: question.setting(pool),
        lambda: ba.simulate(pool, labels, question),
    ):
        with pytest.raises(QuestionError, match=r"with one label each.*'f1_micro'.*'poisson' or 'passive'\."):
            ask()


@pytest.mark.parametrize("measure", ["accuracy", "f1_macro", pr_curve(n=3)])
def test_tables_of_losses_are_of_single_labels(measure):
    with pytest.raises(QuestionError, match="use multilabel_measure"):
        table_for(measure, made())
    with pytest.raises(QuestionError, match="use multilabel_measure"):
        pool_value(measure, made(), ["ant", "bee", "-"])


def test_cells_of_groups_and_strata_of_a_class_serve_both():
    pool = made(groups={"site": ["s", "s", "t"]})
    cells = ba.cells(pool, "site")
    assert (cells.sizes.tolist(), cells.mean_score) == ([2, 1], None)
    assert ba.partition(pool, ba.Strata(2, "width", of="cow")).codes.tolist() == [0, 0, 1]


# Labels

SAME = [["ant", "cow"], [], ["bee"], ["cow", "ant"]]
TOLD = {
    "matrix": np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]]),
    "floats": [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]],
    "booleans": np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]], bool),
    "frame in another order": pd.DataFrame({"cow": [1, 0, 0, 1], "ant": [1, 0, 0, 1], "bee": [0, 0, 1, 0]}),
    "lists": SAME,
    "sets": [set(names) for names in SAME],
    "pandas": pd.Series(SAME),
    "Polars": pl.Series(SAME),
    "texts": ["ant;cow", "-", "bee", "cow; ant"],
    "none by name in lists": [["ant", "cow"], ["-"], ["bee"], ["cow", "ant"]],
    "none by name in sets": [{"ant", "cow"}, {"-"}, {"bee"}, {"cow", "ant"}],
    "lists in writing": ["['ant', 'cow']", "['-']", '["bee"]', "['cow', 'ant']"],
    "mixed": ["ant;cow", [], [0, 1, 0], {"cow", "ant"}],
}


@pytest.mark.parametrize("labels", TOLD.values(), ids=TOLD)
def test_labels_of_every_form_have_the_same_codes_in_the_order_of_first_occurrence(labels):
    one = space()
    codes = one.codes(labels)
    assert codes.tolist() == [0, 1, 2, 0]
    assert codes.dtype == np.int32
    assert one.names(codes).tolist() == ["ant;cow", "-", "bee", "ant;cow"]
    assert one.indicators(codes).tolist() == np.array(TOLD["matrix"], bool).tolist()
    assert one.complete_codes(labels, 4).tolist() == [0, 1, 2, 0]
    assert one.n_sets == 3


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 19).flatmap(lambda c: arrays(bool, st.tuples(st.integers(0, 12), st.just(c)))))
def test_names_read_back_and_codes_are_those_of_one_by_one(labels):
    n_classes = labels.shape[1]
    one, alone = (MultiLabelSpace(np.arange(n_classes), True) for _ in range(2))
    codes = one.codes(labels)
    np.testing.assert_array_equal(one.indicators(codes), labels)
    np.testing.assert_array_equal(one.codes(one.names(codes)), codes)
    assert codes.tolist() == [alone.codes(row[None])[0] for row in labels]
    assert one.n_sets == len(np.unique(labels, axis=0))


NOT_YET = {
    "None": ["bee", None, "-"],
    "NaN": ["bee", float("nan"), []],
    "empty text": ["bee", " ", "-"],
    "row of NaN": [[0, 1, 0], [np.nan] * 3, [0, 0, 0]],
    "row of None": [[0, 1, 0], [None] * 3, [0, 0, 0]],
    "masked": np.ma.array([[0, 1, 0], [1, 1, 1], [0, 0, 0]], mask=[[0] * 3, [1] * 3, [0] * 3]),
    "pandas": pd.Series(["bee", None, "-"]),
    "lists": [["bee"], None, []],
    "Polars": pl.Series([["bee"], None, []]),
}


@pytest.mark.parametrize("labels", NOT_YET.values(), ids=NOT_YET)
def test_no_answer_is_not_the_answer_that_no_class_applies(labels):
    one = space()
    ids, rows = one.labelled_only([7, 8, 9], labels)
    assert ids.tolist() == [7, 9]
    assert one.names(one.codes(rows, ids)).tolist() == ["bee", "-"]
    with pytest.raises(LabelError, match=r"of item 8 \(position 1\) are missing; leave.*its labels are '-'\."):
        one.codes(labels, [7, 8, 9])
    with pytest.raises(LabelError, match="1 of 3 are missing, in row 1;"):
        one.complete_codes(labels, 3)


UNREADABLE = {
    "two": ([[0, 1, 0], [0, 2, 0]], "item 'b' .* have 2 for class 'bee'; an indicator is 0 or 1"),
    "share": (np.array([[0, 1, 0], [0, 0.5, 0]]), "item 'b' .* have 0.5 for class 'bee'"),
    "partial": ([[0, 1, 0], [0, np.nan, 1]], "item 'b' .* lack that of class 'bee', and all labels of an item"),
    "partly masked": (np.ma.array([[0, 1, 0]] * 2, mask=[[0] * 3, [0, 0, 1]]), "item 'b' .* lack that of class 'cow'"),
    "width": ([[0, 1], [1, 0]], r"item 'a' .* are 2 numbers for 3 classes \('ant', 'bee', 'cow'\)"),
    "columns": (pd.DataFrame([[0, 1, 0]] * 2, columns=["bee", "elk", "ant"]), "columns 'bee', 'elk', 'ant', and"),
    "width of a row": ([[0, 1, 0], [1]], "item 'b' .* are 1 number for 3 classes.*write names as text"),
    "unknown": (["ant", "bee;elk"], r"item 'b' .* name 'elk', .*\('ant', 'bee', 'cow'\); label with these.*or '-'"),
    "unknown in a set": (["ant", {"elk", "bee"}], "item 'b' .* name 'elk'"),
    "word for none": (["ant", "none"], "item 'b' .* name 'none'.*or '-' where none applies"),
    "trailing": (["ant", "bee;"], "item 'b' .* name ''"),
    "dash among names": (["ant", ["-", "bee"]], "item 'b' .* have '-', which says that no class applies, beside"),
    "number": (["ant", 1], "item 'b' .* are 1; pass a list of names, a text"),
    "codes": ([0, 1], "item 'a' .* are 0; pass a list of names"),
    "text beside numbers": (["ant", ["bee", 1]], r"item 'b' .* are \['bee', 1\], text beside other values"),
    "nested": (["ant", [["bee"], 0, 1]], r"item 'b' .* have \['bee'\] for class 'ant'"),
    "length": (["ant"], "found 2 ids and the labels of 1 item"),
}


@pytest.mark.parametrize("case", UNREADABLE.values(), ids=UNREADABLE)
def test_labels_that_cannot_be_read_are_refused_by_item(case):
    labels, message = case
    one = space()
    for call in (one.codes, lambda told, ids: one.labelled_only(ids, told)):
        with pytest.raises(LabelError, match=message) as caught:
            call(labels, ["a", "b"])
        assert str(caught.value).endswith(".")
        assert "np." not in str(caught.value)
    assert one.n_sets == 0


def test_messages_without_ids_name_the_position_and_undeclared_classes_the_pool():
    with pytest.raises(LabelError, match=r"labels at position 1 name 'elk'.*pass every class as classes=\[\.\.\.\]"):
        space(declared=False).codes(["ant", "elk"])
    with pytest.raises(LabelError, match="found 1 label for 2 items"):
        space().complete_codes(["ant"], 2)


def test_integer_classes_are_named_by_text_or_in_sets_and_numbers_are_indicators():
    one = MultiLabelSpace(np.array([3, 5]), True)
    assert one.names(one.codes(["5;3", {5}, ["3"], [0, 1]])).tolist() == ["3;5", "5", "3", "5"]
    with pytest.raises(LabelError, match="have 3 for class 3; an indicator"):
        one.codes([[3, 5]])


def test_a_single_item_may_be_told_alone():
    one = space()
    for labels in ("cow;ant", {"ant", "cow"}):
        ids, rows = one.labelled_only("x", labels)
        assert (ids.tolist(), one.names(one.codes(rows)).tolist()) == (["x"], ["ant;cow"])


def test_codes_that_stand_for_nothing_are_refused():
    one = space()
    one.codes(["ant", "bee"])
    for codes in (-1, [0, 2]):
        with pytest.raises(LabelError, match="0 to 1 so far"):
            one.indicators(codes)
    assert one.names(1) == "bee"
    assert one.names([]).tolist() == []


def test_contradictions_are_told_by_names():
    one = space()
    codes, items = one.codes(["ant;bee", "-"]), np.array([4, 4])
    with pytest.raises(LabelError, match="occurs twice with different labels, 'ant;bee' and '-'"):
        check_consistent(np.array([-1, -1]), items, codes, items, one)
    with pytest.raises(LabelError, match="Item 4 is already labelled '-', and 'ant;bee' contradicts"):
        check_consistent(codes[[1, 1]], items, codes[[0, 0]], items, one)
    kept, same = check_consistent(np.array([-1, -1]), items, codes[[0, 0]], items, one)
    assert (kept.tolist(), same.tolist()) == ([4], [0])


# Reading


def test_pools_are_read_from_columns_of_every_table(tmp_path):
    table = {"id": ["007", "b", "c"], "prediction": ["ant;bee", "-", "ant;cow"], "site": ["s", "t", "t"]}
    table |= {f"p_{name}": column for name, column in zip(CLASSES, zip(*SCORES, strict=True), strict=True)}
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "a.csv", index=False)
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    scores = np.array(SCORES)
    np.savez(
        tmp_path / "a.npz", ids=table["id"], predictions=PREDICTED, scores=scores, classes=CLASSES, site=table["site"]
    )
    sources = (frame, pl.DataFrame(table), tmp_path / "a.csv", tmp_path / "a.parquet", tmp_path / "a.npz")
    prints = {ba.read_pool(source, groups="site", multilabel=True).fingerprint() for source in sources}
    expected = made(predictions=PREDICTED, ids=table["id"], groups={"site": table["site"]})
    assert prints == {expected.fingerprint()}


def test_predictions_alone_are_read_as_text_and_need_no_confidence(tmp_path):
    (tmp_path / "a.csv").write_text("id,prediction,confidence\n1,3,0.5\n2,-,0.5\n")
    pool = ba.read_pool(tmp_path / "a.csv", multilabel=True, classes=[3, 5])
    assert pool.indicators.tolist() == [[True, False], [False, False]]
    (tmp_path / "a.csv").write_text("id,prediction\n1,3\n2,\n")
    with pytest.raises(PoolError, match="row 3 are missing; write '-'"):
        ba.read_pool(tmp_path / "a.csv", multilabel=True)
