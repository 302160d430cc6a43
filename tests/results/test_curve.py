"""Points of precision-recall curves: thresholds, what they reach, tables, figures."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.results import Believed, CurveResult, Weighted
from made import labelled_sessions

RNG = np.random.default_rng(11)
SCORES = RNG.beta(0.5, 2.0, 400)
LABELS = (RNG.random(400) < SCORES).astype(int)
POOL = ba.Pool(scores=SCORES)
THRESHOLDS = np.linspace(0.05, 0.9, 30)


told = labelled_sessions(POOL, LABELS, ba.PRCurve(THRESHOLDS), seed=1)


@pytest.fixture(scope="module")
def believed():
    return told(60, design="variance_reduction").result()


@pytest.fixture(scope="module")
def exact():
    return told(400, design="passive").result()


def truth(threshold):
    above = SCORES >= threshold
    hits = (above & (LABELS == 1)).sum()
    precision, recall = hits / above.sum(), hits / LABELS.sum()
    return precision, recall, 2 * precision * recall / (precision + recall)


def test_a_point_is_that_of_the_next_threshold_upwards(believed, exact):
    assert type(believed) is type(exact) is CurveResult
    assert isinstance(believed.evidence, Believed)
    assert isinstance(exact.evidence, Weighted)
    point = exact.at(THRESHOLDS[9] - 1e-4)
    assert point.threshold == THRESHOLDS[9]
    assert point.n_predicted == (THRESHOLDS[9] <= SCORES).sum()
    found = [one.estimate for one in (point.precision, point.recall, point.f1)]
    np.testing.assert_allclose(found, truth(THRESHOLDS[9]))
    assert point.precision.design_interval is None
    here = f"Threshold {THRESHOLDS[9]:.4g}, which {point.n_predicted} items reach: "
    assert str(exact.at(THRESHOLDS[9])).startswith(here)
    between = str(exact.at(THRESHOLDS[8] + 0.001))
    assert between.startswith(
        here.replace(", which", f", the next of this curve from {THRESHOLDS[8] + 0.001:.4g} upwards, which")
    )
    for result in (believed, exact):
        for wrong in (0.01, 0.95):
            with pytest.raises(ba.QuestionError, match=r"lie between 0\.05 and 0\.9"):
                result.at(wrong)
        for wrong in (np.nan, "0.5", None, [0.2, 0.5]):
            with pytest.raises(ba.QuestionError, match=r"A threshold is one number, such as 0\.05; found "):
                result.at(wrong)


def test_both_intervals_of_a_point_are_in_order_within_the_range_and_hold_the_truth(believed):
    some = 0
    for threshold in THRESHOLDS:
        point = believed.at(threshold)
        assert point.threshold == threshold
        for one, true in zip((point.precision, point.recall, point.f1), truth(threshold), strict=True):
            assert 0 <= one.interval[0] <= one.estimate <= one.interval[1] <= 1
            low, high = one.design_interval
            assert 0 <= low <= true <= high <= 1
            some += (low, high) != (0, 1)
    assert some > len(THRESHOLDS)  # few are audited, and these speak for the others


@pytest.mark.slow
def test_intervals_of_f1_of_low_levels_that_lie_apart_are_no_contradiction():
    """Two intervals of 5 % miss each other by chance, and neither holds the other then."""
    apart = 0
    for result in (told(60 + 20 * n, design="variance_reduction").result(level=0.05) for n in range(4)):
        for threshold in THRESHOLDS[::3]:
            f1 = result.at(threshold).f1
            (low, high), (least, most) = f1.interval, f1.design_interval
            apart += high < least or most < low
            assert high - low < 0.05
    assert apart


def test_the_threshold_for_a_precision_is_the_lowest_and_for_a_recall_the_highest(believed, exact):
    for result in (believed, exact):
        n = len(THRESHOLDS)
        precision, recall = result.estimate[:n], result.estimate[n:]
        wanted = float(np.median(precision))
        at = result.threshold(precision=wanted).threshold
        assert at == THRESHOLDS[np.flatnonzero(precision >= wanted)[0]]
        at = result.threshold(recall=0.52).threshold
        assert at == THRESHOLDS[np.flatnonzero(recall >= 0.52)[-1]]
        assert result.threshold(recall=0.52).recall.estimate >= 0.52
        said = result.said_of_threshold(recall=0.52)
        assert said.startswith("The highest threshold where the recall is 0.52 or more")
        for wrong in ("0.9", [0.9], np.nan):
            with pytest.raises(ba.QuestionError, match=r"that is wanted lies in \(0, 1\], such as 0.9; found"):
                result.threshold(precision=wrong)


def test_a_threshold_with_a_probability_is_a_surer_one(believed):
    sure = believed.threshold(recall=0.5, probability=0.95)
    assert sure.threshold <= believed.threshold(recall=0.5).threshold
    draws = believed.draws[:, len(THRESHOLDS) + int(np.searchsorted(THRESHOLDS, sure.threshold))]
    assert (draws >= 0.5).mean() >= 0.95


def test_where_no_threshold_reaches_it_the_closest_one_is_named(exact):
    n = len(THRESHOLDS)
    with pytest.raises(
        ba.QuestionError, match=r"At no threshold of this curve is the recall 1 or more.*Threshold 0\.05,"
    ):
        exact.threshold(recall=1.0)
    assert exact.estimate[n] < 1  # so that it is true
    for wrong in ({}, {"precision": 0.9, "recall": 0.9}, {"precision": 90}, {"recall": 0.5, "probability": 2}):
        with pytest.raises(ba.QuestionError, match=r"that is wanted"):
            exact.threshold(**wrong)


def test_of_thresholds_that_reach_it_with_no_probability_the_greatest_estimate_is_the_closest():
    a = ba.assess(POOL, ba.PRCurve([0.1, 0.6]), seed=1)
    told = np.flatnonzero(SCORES >= 0.3)
    a.tell(told, LABELS[told])
    result = a.result()
    assert (result.draws[:, :2] < 1).all()
    assert result.estimate[0] < result.estimate[1]
    with pytest.raises(ba.QuestionError, match=r"with probability 0\.9\. It comes closest here: Threshold 0\.6,"):
        result.threshold(precision=1.0, probability=0.9)


@pytest.mark.slow
def test_what_all_labels_of_the_items_above_a_threshold_say_needs_no_trust():
    """Few thresholds are audited, and of the others the labels are known nevertheless."""
    a = ba.assess(POOL, ba.PRCurve(200), seed=1)
    queries = a.ask(30)
    a.tell(queries.ids, LABELS[queries.ids])
    above = np.flatnonzero(SCORES >= np.sort(SCORES)[-12])
    told = np.setdiff1d(above, queries.ids)
    a.tell(told, LABELS[told])
    for threshold in np.sort(SCORES)[-12:]:
        point = a.result().at(threshold)
        precision = truth(point.threshold)[0]
        np.testing.assert_allclose(point.precision.interval, precision, atol=1e-12)
        np.testing.assert_allclose(point.precision.design_interval, precision, atol=1e-12)
        low, high = point.recall.design_interval
        assert 0 < low <= truth(point.threshold)[1] <= high < 1


def test_the_best_threshold_has_the_greatest_f1(believed, exact):
    f1 = np.array([truth(one)[2] for one in THRESHOLDS])
    found = exact.best("f1")
    assert found.threshold == THRESHOLDS[np.argmax(f1)]
    assert found.f1.estimate == pytest.approx(f1.max())
    assert found.f1.interval.tolist() == [found.f1.estimate] * 2
    point = believed.best()
    assert point.f1.interval[0] < point.f1.estimate < point.f1.interval[1]
    assert all(believed.at(one).f1.estimate <= point.f1.estimate + 1e-12 for one in THRESHOLDS)
    with pytest.raises(ba.QuestionError, match="greatest 'f1'"):
        exact.best("accuracy")


def test_a_report_seeks_the_best_threshold_once(monkeypatch, tmp_path):
    result, sought, f1 = told(60, design="variance_reduction").result(), [], CurveResult._f1
    monkeypatch.setattr(CurveResult, "_f1", lambda self, places, *of: sought.append(places) or f1(self, places, *of))
    result.report(tmp_path / "curve.html")
    assert sought.count(slice(None)) == 1


def test_a_table_has_twenty_rows_unless_all_are_asked_for(believed, exact):
    for result in (believed, exact):
        assert len(result.table()) == 20
        assert "20 of 30 thresholds" in result.table().title
        assert len(result.table(None)) == len(result.full_table()) == len(result.to_dict()["table"]) == 30
        assert result.table(5)["threshold"].tolist()[::4] == [THRESHOLDS[0], THRESHOLDS[-1]]


def test_the_figure_has_bands_of_precision_and_of_recall(believed):
    ax = believed.plot(truth=believed.question.truth(POOL, LABELS))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [
        "of precision: 95% credible intervals",
        "of recall: 95% credible intervals",
        "estimate",
        "truth",
    ]
    assert ax.get_title(loc="left") == "Precision and recall: 60 of 400 labelled"


def test_a_curve_goes_to_arviz_by_threshold_and_its_summary_names_no_attribute(believed):
    posterior = believed.to_arviz()["posterior"]
    assert list(posterior.data_vars) == ["precision", "recall"]
    assert posterior["recall"].dims == ("chain", "draw", "threshold")
    summary = believed.summary()
    assert "design_interval" not in summary


def test_a_summary_speaks_of_the_threshold_with_the_greatest_f1_alone(believed):
    best = believed.best()
    greatest, without = believed.summary().splitlines()[2:4]
    assert believed.question.thresholds[len(believed.question.thresholds) // 2] != best.threshold
    assert greatest.startswith(f"By estimate F1 is greatest at threshold {best.threshold:.4g}: ")
    ends = best.precision.design_interval
    said = f"Without trusting the scores, at threshold {best.threshold:.4g}: precision [{ends[0]:.3f}, {ends[1]:.3f}]"
    assert without.startswith(said)


def test_a_curve_from_labels_of_another_measure_says_what_it_knows_without_trust():
    """Random items have been counted for F1 alone; what labels leave possible holds for every threshold."""
    a = ba.assess(POOL, ba.Metric("f1"), seed=1)
    queries = a.ask(60)
    a.tell(queries.ids, LABELS[queries.ids])
    result = a.result(question=ba.PRCurve([0.1, 0.3, 0.6]))
    point = result.best()
    low, high = point.precision.design_interval
    assert 0 < low < high < 1
    (said,) = (line for line in result.summary().splitlines() if line.startswith("Without trusting the scores"))
    assert said.startswith(
        f"Without trusting the scores, at threshold {point.threshold}: precision [{low:.3f}, {high:.3f}], recall ["
    )
    assert said.endswith(
        "whatever items without a label turn out to be: the session kept account of its own measure alone."
    )
    assert "no random label" not in said  # there are some, which were counted for F1


@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
def test_a_curve_that_no_label_can_change_is_exact_in_all_words_and_says_why(design):
    def said(thresholds):
        result = ba.assess(POOL, ba.PRCurve(thresholds), design=design).result()
        return result, result.summary().splitlines()

    result, lines = said([1.5])
    assert result.guarantee == "exact"
    assert "exact" in result.table().title
    assert lines[1:] == [
        "Precision and recall at 1 threshold (exact).",
        "F1 is greatest at threshold 1.5: 0.000.",
        "No item reaches threshold 1.5: precision is not defined there, and counts as 0.",
    ]
    result, lines = said([0.5, 1.5, 2])
    assert result.guarantee == "credible"
    assert "No item reaches threshold 1.5 or one above: precision is not defined there, and counts as 0." in lines


def test_thresholds_that_are_close_together_are_told_apart_in_tables_and_sentences():
    result = ba.assess(
        ba.Pool(scores=0.5 + 1e-7 * np.arange(10)), ba.PRCurve([0.5000001, 0.5000004, 0.5000006])
    ).result()
    shown = [line.split()[0] for line in repr(result.table()).splitlines()[3:]]
    assert shown == ["0.5000001", "0.5000004", "0.5000006"]
    assert "at threshold 0.5000004: precision" in result.summary()
