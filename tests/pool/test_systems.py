"""Systems: predictions of several classifiers on the same items, apart from groups."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import bayes_assess as ba
from bayes_assess.errors import PoolError, QuestionError

LABELS = ["cat", "dog", "cat", "cow"]


def test_predictions_of_all_systems_are_codes_of_the_same_classes():
    pool = ba.Pool(predictions=["cat", "cat", "dog", "dog"], systems={"new": ["cat", "dog", "cat", "cow"]})
    assert pool.classes.tolist() == ["cat", "cow", "dog"]
    assert pool.systems["new"].tolist() == [0, 2, 0, 1]
    assert pool.system_codes("prediction") is pool.predictions
    assert repr(pool) == "Pool(4 items, 3 classes, systems: new)"
    wider = pool.with_classes(["dog", "ant", "cow", "cat"])
    assert wider.classes[wider.systems["new"]].tolist() == ["cat", "dog", "cat", "cow"]
    assert ba.Pool(predictions=[0, 0], systems={"new": [1, 3]}).classes.tolist() == [0, 1, 3]
    assert ba.Pool(predictions=[True, False], systems={"new": [True, True]}).n_classes == 2
    assert ba.Pool(scores=[0.2, 0.9], classes=["no", "yes"], systems={"new": ["no", "no"]}).systems["new"].tolist() == [
        0,
        0,
    ]
    assert ba.Pool(scores=[0.2, 0.9], classes=["no", "yes"], systems={"new": [1, 0]}).systems["new"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ({"new": ["cat"]}, "System 'new' has 1 predictions, but the pool has 2 items"),
        ({"new": ["cat", None]}, "In system 'new': The prediction in row 1 is missing"),
        ({"new": ["cat", "cow"]}, "In system 'new': The prediction in row 1 is 'cow'"),
        ({"new": [[0.1, 0.9], [0.2, 0.8]]}, "In system 'new': Predictions have shape"),
        ({"prediction": ["cat", "dog"]}, 'No system may be called "prediction"'),
        ({1: ["cat", "dog"]}, "A system needs a text as its name, not 1"),
        (["cat", "dog"], "Systems must map names to arrays"),
    ],
)
def test_systems_that_cannot_be_are_refused(systems, message):
    with pytest.raises(PoolError, match=message):
        ba.Pool(predictions=["cat", "dog"], classes=["cat", "dog"], systems=systems)


def test_text_beside_numbers_is_no_class():
    with pytest.raises(PoolError, match="In system 'new': The prediction in row 0 is 'cat'"):
        ba.Pool(predictions=[0, 1], systems={"new": ["cat", "dog"]})


def test_the_fingerprint_knows_the_systems():
    prints = {
        ba.Pool(predictions=[0, 1], **more).fingerprint()
        for more in ({}, {"systems": {"a": [0, 0]}}, {"systems": {"b": [0, 0]}}, {"groups": {"a": [0, 0]}})
    }
    assert len(prints) == 4


def test_questions_about_systems_find_them_there():
    other = ["dog", "dog", "cat", "cow"]
    pool = ba.Pool(predictions=["cat", "cat", "dog", "cow"], systems={"new": other})
    assert ba.Compare("new", "prediction").truth(pool, LABELS) == pytest.approx(3 / 4 - 2 / 4)
    both = ba.Metric("accuracy", systems=["prediction", "new"])
    assert both.truth(pool, LABELS).tolist() == [2 / 4, 3 / 4]
    a = ba.assess(pool, ba.Compare(second="new"))
    a.tell(a.ask(3).ids, [LABELS[i] for i in a.pending])


def test_a_group_column_is_no_system():
    pool = ba.Pool(predictions=[0, 1], groups={"old": [1, 1]}, systems={"new": [1, 1]})
    with pytest.raises(QuestionError, match="no system 'old'; it has 'prediction', 'new'"):
        ba.assess(pool, ba.Compare(second="old"))
    with pytest.raises(QuestionError, match="no system 'old'"):
        ba.assess(pool, ba.Metric("accuracy", systems=["old"]))


def test_systems_are_read_from_columns_of_any_table(tmp_path):
    table = {"prediction": ["cat", "dog"], "yhat2": ["dog", "dog"], "p_cat": [0.6, 0.3], "p_dog": [0.4, 0.7]}
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "a.csv", index=False)
    coded = pa.table({name: pa.array(values).dictionary_encode() for name, values in table.items()})
    parquet.write_table(coded, tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", predictions=table["prediction"], yhat2=table["yhat2"], classes=["cat", "dog"])
    for source in (frame, coded, tmp_path / "a.csv", tmp_path / "a.parquet", tmp_path / "a.npz"):
        pool = ba.read_pool(source, systems={"new": "yhat2"})
        assert pool.systems["new"].tolist() == [1, 1]
        assert list(ba.read_pool(source, systems="yhat2").systems) == ["yhat2"]
    with pytest.raises(PoolError, match="no column 'x'"):
        ba.read_pool(frame, systems=["x"])
