from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from bayes_assess.errors import LabelError, PoolError, QuestionError
from bayes_assess.measures import MEASURES, Measure, _registry, item_losses, measure, value_of


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_is_made_once_so_that_compiled_code_is_shared(name):
    options = {"beta": 0.5} if name.startswith("fbeta") else {}
    assert measure(name, **options) is measure(name, **options)
    made = measure(name, **options).for_classes(3)
    assert made is measure(name, **options).for_classes(3)
    assert isinstance(made, Measure)
    assert (made.loss is None) == (made.ranking is not None)


def test_scikit_learns_function_names_are_known_too():
    assert measure("f1_score") is measure("f1")
    assert measure("r2_score") is measure("r2")
    assert measure("f1", average=None) is measure("f1_per_class")


@pytest.mark.parametrize("made", [measure("accuracy"), measure("fbeta_macro", beta=2), measure("r2")])
def test_a_measure_shows_the_call_that_makes_it(made):
    assert eval(repr(made), {"measure": measure}) is made


def test_a_measure_of_ones_own_shows_its_name():
    own = Measure(loss=lambda y, f: (y != f)[None] * 1.0, g=lambda r: r[0], name="f1")
    assert repr(own) == "Measure(name='f1', ...)"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: measure("acuracy"), "no measure 'acuracy'; did you mean 'accuracy'"),
        (lambda: measure("f1score"), "no measure 'f1score'; did you mean 'f1'"),
        (lambda: measure("F1-Macro"), "did you mean 'f1_macro'"),
        (lambda: measure("Sensitivity"), r"no measure 'Sensitivity'; did you mean 'recall'\?"),
        (lambda: measure("mcc"), r"did you mean 'matthews_corrcoef'\?"),
        (lambda: measure("true positive rate"), r"did you mean 'recall'\?"),
        (lambda: measure("FNR"), r"no measure 'FNR'; it is 1 less 'recall': ask for that\."),
        (lambda: measure("false_positive_rate"), "it is 1 less 'specificity'"),
        (lambda: measure("npv"), "it is 'precision' of the negative class: name that as the positive one"),
        (lambda: measure("ECE"), "the questions Calibration and LeastCalibrated ask for"),
        (lambda: measure("zzz"), "no measure 'zzz'; the measures are accuracy, balanced_accuracy"),
        (lambda: measure(None), "no measure None"),
        (lambda: measure("accuracy", average="macro"), "'accuracy' takes no options"),
        (lambda: measure("f1", avarage="macro"), "'f1' takes average"),
        (lambda: measure("f1", average="mean"), "The averages are 'macro', 'micro', 'weighted', .*; found 'mean'"),
        (
            lambda: measure("fbeta"),
            r"'fbeta' takes beta and average: .* Say it in Python: ba.measures.measure\('fbeta', beta=2\)\.",
        ),
        (lambda: measure("fbeta", beta=-1), "beta of an F-measure is a number of at least 0, .*; found -1"),
        (lambda: measure("fbeta", beta=float("nan")), "beta of an F-measure"),
        (lambda: measure("fbeta", beta=1e200), r"at least 0, up to 1e\+60 or infinite; found 1e\+200"),
        (lambda: measure("cohen_kappa", weights="cubic"), "weights of Cohen's kappa .* found 'cubic'"),
        (lambda: value_of("r2", [2.0, 2.0], [1.0, 2.0]), "'r2' compares with .* all labels are equal"),
        (lambda: value_of("explained_share", [2.0, 2.0], [1.0, 2.0]), "all labels are equal"),
        (
            lambda: value_of("mean_squared_error", [1.0, np.nan], [1.0, 2.0]),
            "labels are finite .*; item 1 has nan",
        ),
        (lambda: value_of("mean_squared_error", ["a"], [1.0]), "labels of a measure of regression are numbers"),
        (lambda: value_of("mean_squared_error", [1.0], [1.0, 2.0]), "There are 1 labels for 2 predictions"),
        (lambda: value_of("mean_squared_error", [], []), "labels are a list of numbers"),
        (lambda: value_of("log_loss", [0, 1], [0, 1]), "'log_loss' needs scores"),
        (lambda: value_of("accuracy", [0, 1], [0, 1, 1]), "There are 2 labels for 3 items"),
        (lambda: item_losses("accuracy", [0], [1]), "those of one measure of real numbers"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(ask, message):
    with pytest.raises(QuestionError, match=message):
        ask()


def test_labels_and_predictions_of_different_kinds_are_refused():
    with pytest.raises(LabelError):
        value_of("accuracy", ["cat", "dog"], [0, 1])


@pytest.mark.parametrize(
    ("labels", "predictions", "message"),
    [
        ([0, 1, np.nan], [0, 1, 1], "The label at position 2 is missing"),
        (np.ma.array([0, 1, 1], mask=[False, True, False]), [0, 1, 1], "The label at position 1 is missing"),
        (["cat", None, "dog"], ["cat", "cat", "dog"], "The label at position 1 is missing"),
        ([0, 1, 1], [0, None, 1], "The prediction in row 1 is missing"),
    ],
)
def test_what_is_missing_is_no_class(labels, predictions, message):
    with pytest.raises((LabelError, PoolError), match=message):
        value_of("f1", labels, predictions)


def test_classes_follow_from_what_occurs():
    assert value_of("f1_macro", ["a", "b"], ["a", "c"]) == pytest.approx(1 / 3)
    assert value_of("f1_macro", ["a", "b"], ["a", "b"], classes=["a", "b", "c"]) == pytest.approx(2 / 3)
    assert value_of("accuracy", [True, False], [True, True]) == 0.5
    assert value_of("accuracy", [2, 0], scores=np.eye(3)[[2, 1]]) == 0.5


def test_a_weighted_mean_of_item_losses_gives_an_estimate():
    y, f = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])
    r2 = measure("r2")
    risk = item_losses(r2, y, f).mean(0)
    assert r2.value_at(risk)[0] == pytest.approx(value_of("r2", y, f), rel=1e-13)


def test_one_measure_gives_a_number_and_a_list_an_array():
    assert isinstance(value_of("accuracy", [0, 1], [0, 0]), float)
    assert value_of(["accuracy"], [0, 1], [0, 0]).tolist() == [0.5]


def test_importing_makes_no_array():
    code = "import bayes_assess.measures, jax._src.xla_bridge as b; assert not b.backends_are_initialized()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_of_measures_and_no_names_of_them():
    assert set(_registry._OTHER_NAMES.values()) <= set(MEASURES)
    assert not set(_registry._OTHER_NAMES) & set(MEASURES)
