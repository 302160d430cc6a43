import pickle
import subprocess
import sys
from datetime import date
from uuid import UUID

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import bayes_assess as ba
from bayes_assess.errors import LabelError, PoolError, UnknownIdError
from bayes_assess.pool import _ids

SCORES = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]


def test_importing_a_pool_imports_nothing_heavy():
    code = "import sys, bayes_assess.pool; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"jax", "pandas", "narwhals", "scipy"}.isdisjoint(run.stdout.split())


# What a pool holds


def test_predictions_default_to_the_argmax():
    pool = ba.Pool(scores=SCORES)
    assert pool.predictions.dtype == np.int32
    assert pool.predictions.tolist() == [0, 1, 2]
    assert pool.confidence.tolist() == [0.7, 0.6, 0.4]
    assert pool.classes.tolist() == [0, 1, 2]
    assert (len(pool), pool.n_items, pool.n_classes, pool.classes_declared) == (3, 3, 3, True)


def test_the_first_class_wins_ties_for_any_number_of_classes():
    assert ba.Pool(scores=[[0.5, 0.5]]).predictions.tolist() == [0]
    assert ba.Pool(scores=[[0.2, 0.4, 0.4]]).predictions.tolist() == [1]


def test_one_dimensional_scores_predict_the_second_class_from_one_half():
    pool = ba.Pool(scores=[0.5, 0.49, 1.0], classes=["no", "yes"])
    assert pool.predictions.tolist() == [1, 0, 1]
    assert pool.confidence.tolist() == [0.5, 0.51, 1.0]


def test_confidence_is_the_score_of_the_given_prediction():
    assert ba.Pool(scores=SCORES, predictions=[1, 1, 0]).confidence.tolist() == [0.2, 0.6, 0.3]
    assert ba.Pool(scores=[0.9], predictions=[0]).confidence == pytest.approx([0.1])


def test_confidence_is_never_above_one():
    assert ba.Pool(scores=[[1.0005, 0.0]]).confidence.tolist() == [1.0]


def test_confidence_alone_is_kept_and_none_is_none():
    assert ba.Pool(predictions=[0, 1], confidence=[0.6, 1]).confidence.tolist() == [0.6, 1.0]
    assert ba.Pool(predictions=[0, 1]).confidence is None


def test_single_precision_is_kept():
    assert ba.Pool(scores=np.float32(SCORES)).scores.dtype == np.float32
    assert ba.Pool(scores=np.float16(SCORES)).scores.dtype == np.float32
    assert ba.Pool(scores=[[1, 0], [0, 1]]).scores.dtype == np.float64


@pytest.mark.parametrize(
    ("predictions", "classes", "codes"),
    [
        ([500, 200, 404, 200], [200, 404, 500], [2, 0, 1, 0]),
        ([0, 3, 1], [0, 1, 3], [0, 2, 1]),
        ([5.0, 2.0], [2, 5], [1, 0]),
        ([90210, 10**12], [90210, 10**12], [0, 1]),
        ([1, 2], [1, 2], [0, 1]),
        ([0, 0], [0, 1], [0, 0]),
        ([1, 1], [0, 1], [1, 1]),
        ([2, 2], [2], [0, 0]),
        (["01", "10"], ["01", "10"], [0, 1]),
        ([False, False], [0, 1], [0, 0]),
        ([-1, 4, -1], [-1, 4], [0, 1, 0]),
        (["dog", "cat", "dog"], ["cat", "dog"], [1, 0, 1]),
    ],
)
def test_classes_are_inferred_from_predictions_alone(predictions, classes, codes):
    pool = ba.Pool(predictions=predictions)
    assert pool.classes.tolist() == classes
    assert pool.predictions.tolist() == codes
    assert not pool.classes_declared


def test_classes_of_other_systems_count_where_classes_are_inferred():
    pool = ba.Pool(predictions=[200, 200], systems={"new": [404, 500]})
    assert pool.classes.tolist() == [200, 404, 500]
    assert pool.systems["new"].tolist() == [1, 2]
    assert ba.Pool(predictions=[0, 0], systems={"new": [0, 0]}).classes.tolist() == [0, 1]


def test_codes_stay_codes_where_scores_have_columns():
    pool = ba.Pool(scores=SCORES, predictions=[2, 2, 2])
    assert pool.classes.tolist() == [0, 1, 2]
    assert pool.label_codes([0, 1]).tolist() == [0, 1]
    assert ba.Pool(scores=[0.1, 0.2]).classes.tolist() == [0, 1]


def test_a_label_that_is_never_predicted_is_refused_with_what_to_do():
    stars = ba.Pool(predictions=[1, 2, 3, 5])
    with pytest.raises(LabelError, match=r"only these are predicted: pass .* classes=\[1, 2, 3, 4, 5\] to the pool"):
        stars.label_codes([4])
    assert stars.with_classes([1, 2, 3, 4, 5]).label_codes([4]).tolist() == [3]
    assert ba.Pool(predictions=[0, 0]).label_codes([1]).tolist() == [1]


def test_declared_classes_keep_their_order():
    pool = ba.Pool(predictions=["dog", "cat"], classes=["dog", "bird", "cat"])
    assert pool.classes.tolist() == ["dog", "bird", "cat"]
    assert pool.predictions.tolist() == [0, 2]
    assert pool.classes_declared


def test_integer_predictions_are_codes_where_classes_are_text_and_names_where_they_are_integers():
    assert ba.Pool(predictions=[1, 0], classes=["cat", "dog"]).predictions.tolist() == [1, 0]
    assert ba.Pool(predictions=[1, 2], classes=[2, 1]).predictions.tolist() == [1, 0]


def test_a_frame_of_scores_names_the_classes():
    frame = pd.DataFrame(SCORES, columns=["cat", "dog", "bird"])
    for scores in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        pool = ba.Pool(scores=scores)
        assert pool.classes.tolist() == ["cat", "dog", "bird"]
        np.testing.assert_array_equal(pool.scores, SCORES)
    assert ba.Pool(scores=frame, classes=["a", "b", "c"]).classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])])
def test_every_kind_of_array_gives_the_same_pool(make):
    names, ids = ["cat", "dog", "cat"], [10, 30, 20]
    plain = ba.Pool(
        scores=SCORES, predictions=[0, 1, 0], ids=ids, classes=["cat", "dog", "owl"], groups={"site": names}
    )
    pool = ba.Pool(
        scores=SCORES,
        predictions=make(names),
        ids=make(ids),
        classes=["cat", "dog", "owl"],
        groups={"site": make(names)},
    )
    assert pool.fingerprint() == plain.fingerprint()
    assert pool.groups["site"].tolist() == names


def test_jax_arrays_are_accepted():
    pool = ba.Pool(scores=jnp.asarray(SCORES), predictions=jnp.asarray([0, 1, 1]))
    assert pool.scores.dtype == np.float32
    assert pool.fingerprint() == ba.Pool(scores=np.float32(SCORES), predictions=[0, 1, 1]).fingerprint()


class Tensor:
    """What refuses to be an array as PyTorch's do: part of a gradient, or on a device."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."),
        TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()."),
    ],
)
def test_tensors_that_are_no_arrays_are_refused_with_what_to_do(error):
    said = r"A Tensor cannot be read as it is: .an.t .*\. Pass a NumPy array of it, such as tensor\.detach"
    a = ba.assess(ba.Pool(scores=SCORES), ba.GroupAccuracy())
    for refused in (
        lambda: ba.Pool(scores=Tensor(error)),
        lambda: ba.Pool(predictions=Tensor(error)),
        lambda: a.tell([0, 1, 2], Tensor(error)),
    ):
        with pytest.raises(PoolError, match=said):
            refused()


def test_text_of_every_kind_is_accepted():
    for dtype in ("S3", "U9", object, np.dtypes.StringDType()):
        assert ba.Pool(predictions=np.array(["dog", "cat"], dtype=dtype)).classes.tolist() == ["cat", "dog"]
    categories = pd.Series(["dog", "cat"], dtype="category")
    assert ba.Pool(predictions=categories).classes.tolist() == ["cat", "dog"]


def test_a_pool_cannot_be_changed_and_leaves_the_callers_arrays_writeable():
    scores, site = np.array(SCORES), np.array(["a", "b", "c"])
    pool = ba.Pool(scores=scores, groups={"site": site})
    for array in (pool.scores, pool.predictions, pool.confidence, pool.classes, pool.ids, pool.groups["site"]):
        assert not array.flags.writeable
    assert scores.flags.writeable
    assert site.flags.writeable
    with pytest.raises(AttributeError, match="never changes"):
        pool.scores = None
    with pytest.raises(AttributeError, match="never changes"):
        del pool.predictions
    with pytest.raises(TypeError):
        pool.groups["site"] = site


def test_a_pool_survives_pickling():
    pool = ba.Pool(scores=SCORES, ids=["a", "b", "c"], groups={"site": ["x", "y", "z"]})
    copy = pickle.loads(pickle.dumps(pool))
    assert copy.fingerprint() == pool.fingerprint()
    assert copy.positions(["c"]).tolist() == [2]


def test_the_representation_is_one_line():
    assert repr(ba.Pool(predictions=[7])) == "Pool(1 item, 1 class)"
    assert repr(ba.Pool(predictions=[0, 1], confidence=[1, 1])) == "Pool(2 items, 2 classes, confidence)"
    pool = ba.Pool(
        predictions=np.zeros(10_000, int), classes=range(10), groups={"site": np.zeros(10_000), "age": np.ones(10_000)}
    )
    assert repr(pool) == "Pool(10,000 items, 10 classes, groups: site, age)"


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_an_array():
    pool = ba.Pool(scores=np.matrix([[0.25, 0.75], [0.5, 0.5]]))
    assert pool.predictions.tolist() == [1, 0]
    assert type(pool.scores) is np.ndarray


INDEXED = pd.Series([0.25, 0.5, 1.0], index=["a", "b", "c"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"scores": INDEXED}, "scores"),
        ({"scores": pd.DataFrame({"x": INDEXED, "y": 1 - INDEXED})}, "scores"),
        ({"predictions": INDEXED > 0.3}, "predictions"),
        ({"predictions": INDEXED, "bounds": (0, 1)}, "predictions"),
        ({"predictions": INDEXED, "bounds": (0, np.inf)}, "predictions"),
        (
            {"predictions": INDEXED.map(lambda score: ["x"] * int(score)), "classes": ["x"], "multilabel": True},
            "predictions",
        ),
        ({"predictions": [0, 1, 1], "confidence": INDEXED}, "confidence"),
        ({"predictions": [0, 1, 1], "groups": {"site": INDEXED}}, "'site' in groups"),
        ({"predictions": [0, 1, 1], "groups": pd.DataFrame({"site": INDEXED})}, "groups"),
        ({"predictions": [0, 1, 1], "systems": {"new": INDEXED > 0.3}}, "'new' in systems"),
        ({"predictions": [0, 1, 1], "show": {"text": INDEXED}}, "'text' in show"),
    ],
)
def test_what_has_the_ids_for_an_index_is_in_their_order(arguments, named):
    with pytest.raises(PoolError, match=f"The index of {named} is the ids in another order, and rows go by position"):
        ba.Pool(**arguments, ids=["c", "a", "b"])
    ba.Pool(**arguments, ids=["a", "b", "c"])
    ba.Pool(**arguments, ids=["a", "b", "d"])  # not these
    ba.Pool(**arguments, ids=pd.Series(["c", "a", "b"], index=INDEXED.index))  # a frame with ids and an index
    ba.Pool(**arguments)


@pytest.mark.parametrize("index", [["x", "y", "z"], [0, 1, 2], [7, 5, 9], pd.date_range("2030", periods=3)])
@pytest.mark.parametrize("ids", [None, ["c", "a", "b"]])
def test_columns_of_pandas_are_in_one_order(index, ids):
    scores = pd.Series([0.25, 0.5, 1.0], index=index)
    groups = {"site": pd.Series(["n", "s", "s"], index=scores.index)}
    turned = groups["site"].iloc[::-1]
    for wrong, named in (({"site": turned}, "'site' in groups"), (pd.DataFrame({"site": turned}), "groups")):
        with pytest.raises(PoolError, match=f"The index of {named} is that of scores in another order, and rows go by"):
            ba.Pool(scores=scores, groups=wrong, ids=ids)
    ba.Pool(scores=scores, groups=groups, ids=ids)
    ba.Pool(scores=scores, groups={"site": turned.loc[scores.index]}, ids=ids)
    ba.Pool(scores=scores, groups={"site": turned.to_numpy()}, ids=ids)
    ba.Pool(scores=scores, groups={"site": turned.set_axis(["x", "y", "y"])}, ids=ids)
    ba.Pool(scores=scores, groups={"site": turned.reset_index(drop=True)[:3].set_axis([4, 6, 8])}, ids=ids)


def test_ids_of_pandas_are_in_the_order_of_the_columns():
    scores, ids = pd.Series([0.25, 0.5, 1.0]), pd.Series(["a", "b", "c"])
    with pytest.raises(PoolError, match="The index of scores is that of ids in another order"):
        ba.Pool(scores=scores.sort_values(ascending=False), ids=ids)


# What a pool refuses


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs scores or predictions"),
        ({"confidence": [0.5]}, "needs scores or predictions"),
        ({"predictions": []}, "no items"),
        ({"scores": []}, "no items"),
        ({"scores": np.zeros((0, 3))}, "no items"),
        ({"scores": [[0.5, 0.5], [np.nan, 0.5]]}, "row 1, column 0 is NaN"),
        ({"scores": [[0.5, 0.5], [None, 0.5]]}, "row 1, column 0 is NaN"),
        ({"scores": [[0.5, 0.5], [0.5, np.inf]]}, "row 1, column 1 is infinite.*not logits"),
        ({"scores": [[0.5, 0.5], [1.5, -0.5]]}, "row 1, column 1 is -0.5, a negative probability"),
        ({"scores": [[0.5, 0.5], [0.5, 1.5]]}, "row 1, column 1 is 1.5, more than 1"),
        ({"scores": [[0.5, 0.5], [0.5, 0.4]]}, r"row 1 sum to 0.9, not 1 .*normalise: scores / scores.sum"),
        (
            {"scores": [[0.5, 0.5], [0.9, 0.8]]},
            r"row 1 sum to 1.7, .* may have several labels, or none, .*multilabel=T",
        ),
        ({"scores": [0.5, np.nan]}, "score in row 1 is NaN"),
        ({"scores": [0.5, -np.inf]}, "score in row 1 is infinite"),
        ({"scores": [0.5, 1 + 1e-7]}, r"row 1 is 1.0000001; P\(positive\) .* rounding, pass np.clip\(scores, 0, 1\)"),
        ({"scores": [0.5, -1e-9], "predictions": [1, 0]}, "row 1 is -1e-09; .* rounding, pass np.clip"),
        ({"scores": [[0.5, 0.5], [1.0, -1e-9]]}, "is -1e-09, a negative .* rounding, pass np.clip"),
        ({"scores": [0.5, 1.25]}, r"score in row 1 is 1.25; P\(positive\) must lie in \[0, 1\]"),
        ({"scores": np.ones((1, 1, 1))}, "3 dimensions"),
        ({"scores": 0.5}, "0 dimensions"),
        ({"scores": {0.5, 0.7}}, "0 dimensions"),
        (
            {"scores": sparse.csr_array([[0.5, 0.5]])},
            "A csr_array is sparse; pass all of its values, as",
        ),
        ({"predictions": sparse.csr_matrix([[1, 0]]), "multilabel": True}, "A csr_matrix is sparse"),
        ({"predictions": [0], "ids": pl.DataFrame({"id": [7]}).lazy()}, r"A LazyFrame has no values yet.*collect\(\)"),
        ({"scores": (one for one in [0.5])}, r"A generator is no list or array of values; pass list\(...\) of it"),
        ({"scores": {"cat": [0.5], "dog": [0.5]}}, "A dict is no list or array of values"),
        ({"predictions": map(str, [0, 1])}, "A map is no list or array of values"),
        ({"predictions": [0, 1], "ids": {7: "a", 8: "b"}.keys()}, "A dict_keys is no list or array of values"),
        ({"predictions": [0, 1], "ids": {7, 8}}, r"A set of ids has no order.*such as sorted\(ids\)"),
        ({"predictions": ["a", "b"], "classes": {"a", "b"}}, "A set of classes has no order.*such as sorted"),
        ({"scores": [[1.0], [1.0]]}, "one column is no distribution.*one-dimensional"),
        ({"scores": [[0.5, 0.5], [1.0]]}, "rows of equal length"),
        ({"scores": [["a", "b"]]}, "must be numbers, but row 0 has 'a'; convert them"),
        ({"scores": np.array([[0.5, 0.5], [0.1, "b"]], object)}, "must be numbers, but row 1 has 'b'"),
        ({"scores": np.array([], str)}, "The pool has no scores"),
        ({"scores": SCORES, "predictions": [0, 1]}, "2 predictions but scores of 3 items"),
        ({"scores": SCORES, "confidence": [1, 1, 1]}, "not both"),
        ({"scores": SCORES, "classes": ["a", "b"]}, "2 classes .* for scores with 3 columns"),
        ({"scores": [0.5], "classes": ["a"]}, "1 classes .* for binary scores"),
        ({"predictions": [0, 1], "confidence": [0.5]}, "Confidence has shape .1,., but the pool has 2"),
        ({"predictions": [0, 1], "confidence": [0.5, 1.5]}, "confidence in row 1 is 1.5"),
        ({"predictions": [0, 1], "confidence": [0.5, None]}, "confidence in row 1 is NaN"),
        ({"predictions": [0, 1], "confidence": ["a", "b"]}, "Confidence must be numbers"),
        ({"predictions": [0, 1], "ids": [1, 2, 3]}, "Ids have shape .3,., but the pool has 2"),
        ({"predictions": [0, 1, 1], "ids": ["a", "b", "a"]}, "'a' is the id of rows 0 and 2"),
        ({"predictions": [0, 1, 1], "ids": [9, 4, 4]}, "4 is the id of rows 1 and 2"),
        ({"predictions": [0, 1], "ids": ["a", None]}, "id in row 1 is missing"),
        ({"predictions": [0, 1], "ids": ["a", ""]}, "id in row 1 is missing"),
        ({"predictions": [0, 1], "ids": [1.0, np.nan]}, "id in row 1 is missing"),
        ({"predictions": [0, 1], "ids": [1.0, 1.5]}, "row 1 has 1.5"),
        ({"predictions": [0, 1], "ids": [1.0, 1e30]}, "row 1 has 1e.30"),
        ({"predictions": [0, 1], "ids": ["a", 1]}, "Ids must be all of one kind, but row 1 has 1 and row 0 has 'a'; c"),
        ({"predictions": [0, 1], "ids": [1, "a"]}, "Ids must be all of one kind, but row 0 has 1 and row 1 has 'a'; c"),
        ({"predictions": [0, 1], "ids": [{1}, {2}]}, r"row 0 has \{1\}; convert them to text"),
        ({"predictions": [0, 1], "ids": np.array([1, 2**63], dtype=np.uint64)}, "beyond 64-bit"),
        ({"predictions": [0, 1], "classes": ["a", "b", "a"]}, "'a' names classes 0 and 2"),
        ({"predictions": [0, 1], "classes": ["a", None]}, "Class 1 has no name"),
        ({"predictions": [0, 1], "classes": ["a", 1]}, "all text or all integers"),
        ({"predictions": [0, 1], "classes": [0.5, 1]}, "all text or all integers"),
        ({"predictions": [0, 1], "classes": []}, "list of names"),
        ({"predictions": [0, 1], "classes": np.array([1, 2**63], dtype=np.uint64)}, "class 1 is 9.*8, beyond 64-bit"),
        (
            {"predictions": [0, 2], "classes": ["a", "b"]},
            "row 1 is 2, which is not among the 2 classes .the codes 0 to 1",
        ),
        (
            {"predictions": ["a", "c"], "classes": ["a", "b"]},
            "row 1 is 'c', which is not among the 2 classes .'a', 'b'",
        ),
        ({"predictions": ["a", "0"], "classes": [0, 1]}, "row 0 is 'a'"),
        ({"predictions": [0, -1], "classes": [0, 1]}, "row 1 is -1"),
        ({"scores": SCORES, "predictions": ["a", "b", "c"]}, "row 0 is 'a'"),
        ({"predictions": ["a", None]}, "prediction in row 1 is missing"),
        ({"predictions": [0, np.nan]}, "prediction in row 1 is missing"),
        ({"predictions": [0, 0.7]}, "prediction in row 1 is 0.7, not a class.*pass them as scores"),
        ({"predictions": [0.0, np.inf]}, "prediction in row 1 is inf, not a class"),
        ({"predictions": np.array([1, 2**63], dtype=np.uint64)}, "prediction in row 1 is 9.*8, beyond 64-bit"),
        ({"predictions": [[0, 1]]}, r"shape \(1, 2\).*Probabilities go into scores"),
        ({"predictions": ["a", 1]}, "class names or integer codes"),
        ({"predictions": [0, 1], "groups": {"site": ["x"]}}, "'site' has shape .1,."),
        ({"predictions": [0, 1], "groups": {"site": ["x", None]}}, "'site' has no value in row 1"),
        ({"predictions": [0, 1], "groups": {"site": ["x", np.nan]}}, "'site' has no value in row 1"),
        ({"predictions": [0, 1], "groups": {"prediction": ["x", "y"]}}, "predicted class; rename"),
        ({"predictions": [0, 1], "groups": {3: ["x", "y"]}}, "needs a text as its name"),
        ({"predictions": [0, 1], "groups": ["x", "y"]}, "must map names to arrays"),
    ],
)
def test_bad_input_is_refused_with_its_place(arguments, message):
    with pytest.raises(PoolError, match=message):
        ba.Pool(**arguments)


def test_columns_and_classes_in_different_orders_are_refused():
    frame = pd.DataFrame({"dog": [0.1], "cat": [0.9]})
    with pytest.raises(PoolError, match="another order"):
        ba.Pool(scores=frame, classes=["cat", "dog"])


def test_masked_entries_count_as_missing():
    with pytest.raises(PoolError, match="row 1 is missing"):
        ba.Pool(predictions=np.ma.array([0, 1], mask=[False, True]))


@pytest.mark.parametrize("row", [0, 65_535, 65_536, 100_000])
def test_a_bad_row_is_found_wherever_it_lies(row):
    scores = np.full((100_001, 4), 0.25, dtype=np.float32)
    scores[row] = [0.25, 0.25, 0.25, 0.2]
    with pytest.raises(PoolError, match=f"row {row} sum to 0.95"):
        ba.Pool(scores=scores)


def test_rounded_rows_are_accepted_within_the_tolerance():
    ba.Pool(scores=[[0.3333, 0.3333, 0.3333]])
    ba.Pool(scores=[[0.125, 0.375, 0.499]])  # three decimals, and 0.001 off but for rounding
    ba.Pool(scores=np.array([[0.125, 0.375, 0.499]], np.float32))
    with pytest.raises(PoolError, match=r"sum to 0\.998"):
        ba.Pool(scores=[[0.333, 0.333, 0.332]])


# Labels


@pytest.mark.parametrize("given", ["scores", "groups", "systems", "show"])
def test_frames_of_two_columns_of_one_name_are_refused_in_a_sentence(given):
    frame = pd.DataFrame([[0.4, 0.6], [0.1, 0.9]], columns=["a", "a"])
    with pytest.raises(PoolError, match=r"need names that differ; found 'a' 2 times\. Rename them\."):
        ba.Pool(**{"predictions": [0, 1], given: frame})


def test_labels_are_coded_by_name():
    assert ba.Pool(predictions=["cat", "dog"]).label_codes(["dog", "cat", "dog"]).tolist() == [1, 0, 1]
    assert ba.Pool(predictions=[7, 3], classes=[7, 3]).label_codes([3, 7]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "labels", [[1, 0], [1.0, 0.0], ["1", "0"], [True, False], np.array([1, 0], np.uint8), pd.Series([1, 0])]
)
def test_integer_classes_accept_every_plain_form_of_a_code(labels):
    codes = ba.Pool(scores=[0.1, 0.9]).label_codes(labels)
    assert codes.dtype == np.int32
    assert codes.tolist() == [1, 0]


def test_no_labels_are_no_codes():
    assert ba.Pool(predictions=["cat"]).label_codes([]).tolist() == []


@pytest.mark.parametrize(
    ("classes", "labels", "message"),
    [
        (["cat", "dog"], ["cat", "cow"], "at position 1 is 'cow', .*'cat', 'dog'"),
        (["cat", "dog"], [0, 1], "position 0 is 0.* not with numbers"),
        (["cat", "dog"], [True], "not with numbers"),
        (["cat", "dog"], ["cat", 1], "position 1 is 1"),
        (["0", "1"], [0], "position 0 is 0.*not with numbers"),
        (["cat", "dog"], ["cat", None], "position 1 is missing"),
        (["cat", "dog"], ["cat", ""], "position 1 is missing"),
        ([0, 1], [0, np.nan], "position 1 is missing"),
        ([0, 1], [0, 2], "position 1 is 2"),
        ([0, 1], [0, -1], "position 1 is -1"),
        ([0, 1], [0.0, 0.5], "position 1 is 0.5"),
        ([0, 1], ["1", "01"], "position 1 is '01'"),
        ([0, 1, 2], [True, False], "position 0 is True"),
        ([0, 1], [[0], [1]], "one label per item"),
        ([0, 1], np.array(["2020-01-01"], dtype="M8[D]"), "position 0"),
    ],
)
def test_labels_outside_the_classes_are_refused(classes, labels, message):
    with pytest.raises(LabelError, match=message):
        ba.Pool(predictions=[0], classes=classes).label_codes(labels)


def test_a_refused_label_names_its_item():
    pool = ba.Pool(predictions=["cat", "dog"], ids=["a7", "b9"])
    with pytest.raises(LabelError, match=r"of item 'b9' \(position 1\) is 'cow'.*pass every class as classes="):
        pool.label_codes(["cat", "cow"], ids=["a7", "b9"])
    with pytest.raises(LabelError, match="1 labels for 2 ids"):
        pool.label_codes(["cat"], ids=["a7", "b9"])


# Ids


@pytest.mark.parametrize("ids", [[0, 2, 1], ["0", "2", "1"], [0.0, 2.0, 1.0], pl.Series([0, 2, 1])])
def test_row_numbers_are_the_default_ids(ids):
    pool = ba.Pool(predictions=[0, 1, 0])
    assert pool.ids.tolist() == [0, 1, 2]
    assert pool.positions(ids).tolist() == [0, 2, 1]
    assert pool.positions(ids).dtype == np.intp


def test_ids_of_half_precision_are_their_numbers():
    assert ba.Pool(predictions=[0, 1, 0], ids=np.array([3, 7, 9], np.float16)).ids.tolist() == [3, 7, 9]


def test_explicit_row_numbers_are_the_default_ids():
    explicit = ba.Pool(predictions=[0, 1, 0], ids=np.arange(3, dtype=np.int16))
    assert explicit._index is None
    assert explicit.fingerprint() == ba.Pool(predictions=[0, 1, 0]).fingerprint()


@pytest.mark.parametrize("ids", [[30, 10, 20], ["30", "10", "20"], ["x", "é", "long id"], [-1, 5, 3]])
def test_positions_find_ids_in_any_order_and_repeated(ids):
    pool = ba.Pool(predictions=[0, 1, 0], ids=ids)
    assert pool.positions([ids[2], ids[0], ids[2]]).tolist() == [2, 0, 2]
    assert pool.positions([]).tolist() == []
    assert pool.positions(ids[1]).tolist() == [1]


def test_integers_and_their_plain_texts_stand_for_each_other():
    assert ba.Pool(predictions=[0, 1], ids=["17", "x3"]).positions([17]).tolist() == [0]
    assert ba.Pool(predictions=[0, 1], ids=[17, 4]).positions(["4", "17"]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("ids", "wanted", "found"),
    [
        (["a", " a", "b"], ["a", " a"], [0, 1]),
        (["a", "b"], [" a", "b  "], [0, 1]),
        ([" a", "b "], ["a", "b", " a"], [0, 1, 0]),
    ],
)
def test_ids_that_differ_by_blanks_stay_apart_and_others_are_found_without(ids, wanted, found):
    pool = ba.Pool(predictions=[0] * len(ids), ids=ids)
    assert pool.positions(wanted).tolist() == found
    ambiguous = ba.Pool(predictions=[0, 1, 1], ids=["a", " a", "b"])
    with pytest.raises(UnknownIdError, match="id 'a  '"):
        ambiguous.positions(["b", "a  "])


@pytest.mark.parametrize(
    ("ids", "wanted", "message"),
    [
        (None, [0, 2], r"no item with id 2 \(position 1\); its ids are 0 to 1"),
        (None, [-1], "id -1"),
        (None, [0.5], "id 0.5"),
        (None, [True], "id True"),
        (None, ["0", "x"], "id 'x' .position 1"),
        (None, np.array([2**63], dtype=np.uint64), "id 9223372036854775808"),
        ([17, 4], ["17", "017"], r"id '017' \(position 1\); its ids are 17, 4"),
        ([17, 4], ["4", " 17"], "id ' 17'"),
        ([17, 4], [5], "id 5"),
        (["17", "a"], ["a", "b"], r"id 'b' \(position 1\); its ids are '17', 'a'"),
        (["17", "a"], ["a", "a much longer one"], "id 'a much longer one'"),
        (["007", "8"], [8], "leading zeros, so read the id column as text"),
        (["007", "8"], ["nobody"], r"its ids are '007', '8'\.$"),
        (["007", "8"], [7], "leading zeros"),
        (["a", "b"], ["a", None], "position 1 is missing"),
        (["a", "b"], [["a"], ["b"]], "one-dimensional"),
    ],
)
def test_unknown_ids_are_refused(ids, wanted, message):
    pool = ba.Pool(predictions=[0, 1], ids=ids)
    with pytest.raises(UnknownIdError, match=message):
        pool.positions(wanted)


def test_texts_with_the_same_hash_stay_apart(monkeypatch):
    monkeypatch.setattr(_ids, "text_keys", lambda text: np.strings.str_len(text).astype(np.uint64))
    ids = ["aa", "b", "c", "dd", "ee"]
    pool = ba.Pool(predictions=np.zeros(5, int), ids=ids)
    assert pool.positions(ids).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(UnknownIdError, match="'zz'"):
        pool.positions(["dd", "zz"])


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1, unique=True),
    st.randoms(),
)
def test_positions_invert_any_text_ids(ids, random):
    wanted = random.sample(range(len(ids)), len(ids))
    pool = ba.Pool(predictions=np.zeros(len(ids), int), ids=ids)
    assert pool.positions([ids[i] for i in wanted]).tolist() == wanted


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True), st.randoms())
def test_positions_invert_any_integer_ids(ids, random):
    wanted = random.sample(range(len(ids)), len(ids))
    pool = ba.Pool(predictions=np.zeros(len(ids), int), ids=ids)
    assert pool.positions([ids[i] for i in wanted]).tolist() == wanted
    assert pool.positions([str(ids[i]) for i in wanted]).tolist() == wanted


# More classes


def test_with_classes_remaps_codes_and_pads_scores():
    pool = ba.Pool(scores=SCORES, classes=["a", "b", "c"], ids=["x", "y", "z"])
    wider = pool.with_classes(["new", "c", "a", "b"])
    assert wider.classes[wider.predictions].tolist() == pool.classes[pool.predictions].tolist()
    assert wider.scores.tolist() == [[0, 0.1, 0.7, 0.2], [0, 0.3, 0.1, 0.6], [0, 0.4, 0.3, 0.3]]
    assert wider.confidence.tolist() == pool.confidence.tolist()
    assert wider.ids.tolist() == ["x", "y", "z"]
    assert pool.n_classes == 3


def test_with_classes_declares_classes_and_accepts_their_labels():
    pool = ba.Pool(predictions=[0, 1])
    wider = pool.with_classes(range(4))
    assert wider.classes_declared
    assert wider.label_codes([3]).tolist() == [3]
    assert wider.fingerprint() != pool.fingerprint()
    assert pool.with_classes([0, 1]).fingerprint() == pool.fingerprint()


def test_with_classes_keeps_the_confidence_of_binary_scores():
    pool = ba.Pool(scores=np.float32([0.3, 0.9]))
    wider = pool.with_classes([2, 1, 0])
    assert wider.predictions.tolist() == [2, 1]
    assert wider.confidence.tolist() == pool.confidence.tolist()


def test_with_classes_keeps_every_class():
    with pytest.raises(PoolError, match="lack 'dog'"):
        ba.Pool(predictions=["cat", "dog"]).with_classes(["cat", "cow"])


# Fingerprints


def test_a_fingerprint_does_not_depend_on_precision_layout_or_width():
    scores = np.float32([[0.75, 0.25], [0.1, 0.9]])
    text = np.array(["x", "yy"], dtype="U40")
    same = {
        ba.Pool(scores=s, groups={"site": g}).fingerprint()
        for s in (scores, scores.astype(float), scores.tolist(), np.asfortranarray(scores), jnp.asarray(scores))
        for g in (text, text.tolist(), text.astype("U2"), text.astype(object))
    }
    assert len(same) == 1


def test_a_fingerprint_is_the_same_in_every_process():
    pool = ba.Pool(scores=[[0.75, 0.25], [0.1, 0.9]], ids=["a", "b"], groups={"site": ["x", "y"]})
    assert pool.fingerprint() == "9ecaa35c4cc33b25d94c092f8227a60f7d8b8ff3b1da4e4d1b34062bf89a1cba"


def test_a_fingerprint_depends_on_everything_in_the_pool():
    base = {
        "predictions": [0, 1],
        "confidence": [0.5, 0.6],
        "ids": ["a", "b"],
        "classes": [0, 1],
        "groups": {"s": ["x", "y"]},
    }
    changes = [
        {"predictions": [1, 1]},
        {"confidence": [0.5, 0.7]},
        {"confidence": None},
        {"ids": ["a", "c"]},
        {"ids": None},
        {"classes": [0, 1, 2]},
        {"classes": ["a", "b"]},
        {"groups": {"s": ["x", "x"]}},
        {"groups": {"t": ["x", "y"]}},
        {"groups": {"s": [1, 2]}},
        {"groups": {"s": np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")}},
        {"groups": None},
        {"confidence": None, "scores": [0.5, 0.6]},
    ]
    prints = [ba.Pool(**base | change).fingerprint() for change in [{}, *changes]]
    assert len(set(prints)) == len(prints)


def test_a_score_that_changes_in_the_last_bit_changes_the_fingerprint():
    assert ba.Pool(scores=[0.3]).fingerprint() != ba.Pool(scores=[np.nextafter(0.3, 1)]).fingerprint()
    assert ba.Pool(scores=[0.0]).fingerprint() == ba.Pool(scores=[-0.0]).fingerprint()


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (
            [-2.5, 0.3, 4.1],
            r"row 0 is -2.5; P\(positive\) must lie in \[0, 1\]; if these are logits, pass 1 /",
        ),
        ([0.2, 70.0, 95.0], r"row 1 is 70; .* if these are per cent, divide them by 100, and if logits"),
        ([0.2, np.nan, 0.3], r"row 1 is NaN; score it, or drop the row; an item that"),
    ],
)
def test_one_column_that_holds_no_probabilities_is_named_by_its_likely_cause(scores, said):
    with pytest.raises(PoolError, match=said):
        ba.Pool(scores=scores)


@pytest.mark.parametrize("option", ["groups", "systems", "show"])
def test_a_series_in_the_place_of_named_columns_is_refused(option):
    with pytest.raises(ba.PoolError, match=r"must map names to arrays.*not Series"):
        ba.Pool(predictions=["a", "b"], **{option: pd.Series(["x", "y"])})


@pytest.mark.parametrize("make", [lambda i: UUID(int=i), lambda i: date(2024, 1, 1 + i), lambda i: f"a{i}"])
def test_positions_of_queries_are_rows_of_the_frame_whatever_its_index(make):
    frame = pd.DataFrame({"score": np.linspace(0, 1, 12)}, index=[make(i) for i in range(12)])
    pool = ba.Pool(scores=frame["score"], ids=frame.index)
    queries = ba.assess(pool, ba.GroupAccuracy()).ask(5)
    rows = frame.iloc[pool.positions(queries.ids)]
    assert [str(name) for name in rows.index] == queries.ids.tolist()
