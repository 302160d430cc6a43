"""What people read of measures from a belief: sentences, titles, and what goes to ArviZ."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools.to_arviz import import_arviz
from bayes_assess.estimators.contradiction import contradicted as are_apart
from bayes_assess.results._in_words import title_of

LABELS = (np.random.default_rng(0).random(60) < 0.3).astype(int)


def told(predictions, measure, n=20, **options):
    pool = ba.Pool(predictions=predictions, classes=[0, 1], **options)
    a = ba.assess(pool, ba.Metric(measure))
    if n:
        queries = a.ask(n)
        a.tell(queries.ids, LABELS[queries.ids])
    return a.result()


@pytest.fixture(scope="module")
def nothing_predicted():
    return told(np.zeros(60, int), ["precision", "recall", "f1"])


def test_where_nothing_is_predicted_positive_intervals_are_in_order_and_all_is_certain(nothing_predicted):
    result = nothing_predicted
    assert result.design_interval.tolist() == result.interval.tolist() == [[0, 0]] * 3
    assert not result.contradicted.any()
    assert result.guarantee == "exact"
    assert result.assumption == "Nothing is assumed: no label that is missing can change the answer."
    summary = result.summary()
    assert "contradict" not in summary
    assert "if " not in summary
    assert summary.splitlines()[1] == "precision 0.000 (exact: no label that is missing can change it)."
    assert "precision is not defined, as its denominator is 0, and counts as 0." in summary


@pytest.mark.parametrize("design", ["variance_reduction", "passive"])
def test_ratios_that_no_label_can_define_are_said_to_count_as_0(design):
    """A system that predicts no positive has no precision, and a class that is nowhere no F1; others may be defined."""
    pool = ba.Pool(predictions=np.zeros(30, int), systems={"b": np.resize([0, 1], 30)}, classes=[0, 1])

    def said(pool, question, labels=None):
        a = ba.assess(pool, question, design=design)
        if labels is not None:
            a.tell(pool.ids, labels)
        return [line for line in a.result().summary().splitlines() if "denominator" in line]

    both = ba.Metric("precision", systems=["prediction", "b"])
    undefined = "precision (system prediction) is not defined, as its denominator is 0, and counts as 0."
    assert said(pool, both) == said(pool, ba.Best(measure="precision")) == [undefined]
    difference = "In precision (system b) less precision (system prediction) a ratio is not defined, as its "
    assert said(pool, ba.Compare("b", "prediction", measure="precision"))[0].startswith(difference)
    assert said(pool, ba.Metric("recall", systems=["b"])) == []  # before labels there may be positives
    assert len(said(pool, ba.Metric("recall", systems=["b"]), np.zeros(30, int))) == 1
    labels = ["a", "b"] * 15
    three = ba.Pool(predictions=labels, classes=["a", "b", "c"])
    macro = "In f1_macro a ratio is not defined, as its denominator is 0, and counts as 0."
    assert said(three, ba.Metric("f1_macro")) == []
    assert said(three, ba.Metric("f1_macro"), labels) == [macro]
    assert said(three, ba.Metric("balanced_accuracy"), labels) == []  # which leaves the class out


def test_ratios_that_need_not_be_defined_are_said_to_count_as_0_in_draws_without_positives():
    pool = ba.Pool(scores=np.linspace(0, 0.05, 300), predictions=np.arange(300) % 60 == 0)

    def said(measures, labels):
        a = ba.assess(pool, ba.Metric(measures))
        a.tell(range(1, 59), labels)
        return [line for line in a.result().summary().splitlines() if "denominator" in line]

    line = "recall counts as 0 if its denominator turns out to be 0, which the labels so far leave possible."
    assert said(["f1", "recall"], [0] * 58) == [line]  # some are predicted positive, which defines F1
    assert said("recall", [1] + [0] * 57) == []
    assert said("precision", [0] * 58) == []


def test_titles_and_the_headline_are_what_people_say(nothing_predicted):
    assert nothing_predicted.table().title == "Precision, recall and F1, 95% exact intervals"
    assert nothing_predicted.plot().get_title(loc="left") == "Precision, recall and F1: 20 of 60 labelled"
    assert nothing_predicted.headline == "Precision 0.000, recall 0.000 and F1 0.000 (exact)."


def test_of_verdicts_alone_no_scores_are_spoken_of():
    predictions = (np.arange(60) % 3 == 0).astype(int)
    result = told(predictions, ["precision", "recall"])
    summary = result.summary()
    assert "score" not in summary
    assert "if items with the same predictions are alike, as the 20 labels suggest" in summary
    assert "Without trusting the predictions: precision [" in summary
    assert "design_interval" not in summary
    assert "cell" not in summary + result.assumption


def test_a_measure_that_no_missing_label_can_change_leans_on_no_scores():
    scores = np.where(np.arange(60) < 4, 0.9, 0.1)
    a = ba.assess(ba.Pool(scores=scores), ba.Metric(["precision", "recall"]))
    a.tell(range(4), [1, 1, 1, 0])
    result = a.result()
    precision, recall = result.summary().splitlines()[1:3]
    assert precision == "precision 0.750 (exact: no label that is missing can change it)."
    assert "if items with the same predictions are alike, as the 4 labels suggest" in recall  # whose scores tie
    np.testing.assert_allclose(result.design_interval[0], [0.75, 0.75], atol=1e-12)
    assert result.guarantee == "credible"


@pytest.mark.parametrize("measure", ["accuracy", "f1_macro", "matthews_corrcoef"])
@pytest.mark.parametrize("design", ["variance_reduction", "passive", "another question"])
def test_a_group_that_is_labelled_throughout_is_exact_however_many_there_are(design, measure):
    rng = np.random.default_rng(0)
    sites = np.repeat([*"abcdefghijkl"], 5)
    pool = ba.Pool(predictions=np.arange(60) % 2, scores=rng.random(60), groups={"site": sites})
    labels, asked = rng.integers(0, 2, 60), ba.Metric(measure, by="site")
    of_all = design == "another question"
    a = ba.assess(pool, ba.Metric("accuracy")) if of_all else ba.assess(pool, asked, design=design)
    a.tell([*range(5), *range(55, 60)], [*labels[:5], *labels[55:]])  # bets are kept for the first groups alone
    result, truth = a.result(question=asked), asked.truth(pool, labels)
    said = result.summary().splitlines()
    for g, name in ((0, "a"), (11, "l")):
        np.testing.assert_allclose([result.estimate[g], *result.interval[g]], truth[g], atol=1e-12)
        assert f"{measure} (site {name}) {truth[g]:z.3f} (exact: no label that is missing can change it)." in said
        assert not any(f"site {name})" in line for line in said if line.startswith(("No draw", "Without trusting")))
    assert result.guarantee == "credible"
    assert (np.diff(result.interval[1:11]) > 0).all()
    if design != "passive":
        assert (np.diff(result.design_interval[[0, 11]]) == 0).all()


def test_scores_are_spoken_of_where_items_without_a_label_differ_in_them():
    scores = np.where(np.arange(60) < 4, 0.9, np.linspace(0.0, 0.3, 60))
    a = ba.assess(ba.Pool(scores=scores), ba.Metric("recall"))
    a.tell(range(4), [1, 1, 1, 0])
    assert "if the scores rank as the 4 labels suggest" in a.result().summary()
    assert a.result().assumption == "The scores are taken to rank the items as the 4 labels suggest."


@pytest.mark.parametrize(
    ("question", "title"),
    [
        (ba.Rate("good"), "Rate of good"),
        (ba.Rate(by="site"), "Rate of positive labels by site"),
        (ba.Rate("C"), "Rate of correct answers"),
        (ba.Rate(1), "Rate of label 1"),
        (ba.Mean([1, 2]), "Mean of the labels"),
        (ba.PRCurve(4), "Precision and recall by threshold"),
        (ba.Compare("n", "s", by="site", measure="f1"), "F1 of n less s"),
        (ba.Compare(by="site", measure="rate"), "Rate, all pairs by site"),
        (ba.Metric("roc_auc"), "ROC AUC"),
        (ba.Metric(["cohen_kappa", "matthews_corrcoef"]), "Cohen's kappa and Matthews correlation"),
        (ba.Metric("brier_score_loss", by="site"), "Brier score by site"),
        (ba.Metric("jaccard_macro"), "Macro Jaccard index"),
        (ba.Metric(ba.measures.measure("fbeta", beta=2), by="site"), "F-beta(2) by site"),
    ],
)
def test_titles_of_questions_are_what_people_say(question, title):
    assert title_of(question) == title


def test_reports_have_headings_that_people_say(tmp_path):
    result = told((np.arange(60) % 3 == 0).astype(int), ["precision", "f1"])
    result.report(tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    assert "| measure   | estimate |  lower |  upper | lower, predictions not trusted | upper, predictions not" in text
    assert "| F1 " in text
    assert "design_lower" in result.table().columns  # for scripts


def test_arviz_gets_the_measure_by_its_name_and_parameters_on_wish_without_warnings():
    result = told((np.arange(60) % 3 == 0).astype(int), "f1")
    data = result.to_arviz()
    assert list(data["posterior"].data_vars) == ["f1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = import_arviz().summary(data)
    assert table.index.tolist() == ["f1"]
    assert not table.astype(float).isna().to_numpy().any()
    assert list(result.to_arviz(parameters=True)["posterior"].data_vars) == ["f1", "rate", "strength"]


@pytest.mark.parametrize("by", [None, "site"])
def test_arviz_tells_a_rate_that_is_asked_for_from_those_of_cells(by):
    sites = ["north", "south"] * 30
    pool = ba.Pool(scores=np.linspace(0.02, 0.98, 60), groups={"site": sites})
    a = ba.assess(pool, ba.Rate(1, by=by))
    a.tell(range(20), LABELS[:20])
    result = a.result()
    for parameters in (False, True):
        posterior = result.to_arviz(parameters=parameters)["posterior"]
        draws = posterior["rate"].stack(sample=("chain", "draw"))
        assert draws.dims == (("sample",) if by is None else ("site", "sample"))
        np.testing.assert_allclose(draws.median("sample"), result.estimate, atol=1 / 30)  # an item of a site
    assert list(posterior.data_vars) == ["rate", "cell_rate", "strength"]
    assert posterior["cell_rate"].sizes["cell"] == a.cells.n_cells


@pytest.mark.parametrize("by", ["chain", *(pytest.param(name, marks=pytest.mark.slow) for name in ("draw", "cell"))])
def test_columns_that_are_called_as_dimensions_of_arviz_are_told_from_these(by):
    pool = ba.Pool(scores=np.linspace(0.02, 0.98, 60), groups={by: ["north", "south"] * 30})
    a = ba.assess(pool, ba.Rate(1, by=by))
    a.tell(range(20), LABELS[:20])
    assert a.result().to_arviz()["posterior"]["rate"].dims == ("chain", "draw", f"{by}_group")


def test_draws_come_in_no_order():
    """Draws of one particle stand side by side in the belief, and would look like a chain that hardly moves."""
    rng = np.random.default_rng(0)
    labels = (rng.random(500) < 0.3).astype(int)
    a = ba.assess(ba.Pool(scores=1 / (1 + np.exp(-rng.normal(2 * labels - 1, 1.0)))), ba.Metric("f1"), seed=0)
    ids = a.ask(30).ids
    a.tell(ids, labels[ids])
    draws = np.asarray(a.result().to_arviz()["posterior"]["f1"]).ravel()
    centred = draws - draws.mean()
    # Of n independent draws the autocorrelation has a standard error of 1 / sqrt(n).
    assert abs((centred[1:] * centred[:-1]).mean() / draws.var()) < 4 / np.sqrt(len(draws))


@pytest.mark.parametrize("mixed_up", [False, True])
def test_scores_of_other_items_are_suspected(mixed_up):
    """As where a table of scores and one of labels are put together in different orders."""
    rng = np.random.default_rng(1)
    score = rng.beta(0.15, 2, 20_000)
    label = rng.random(20_000) < score
    other = rng.permutation(20_000) if mixed_up else np.arange(20_000)
    a = ba.assess(ba.Pool(scores=score[other]), ba.Metric("f1"), seed=0)
    for _ in range(3):
        queries = a.ask(20)
        a.tell(queries.ids, label[queries.ids])
    said = "check that predictions and labels are of the same items" in a.result().summary()
    assert said == mixed_up


@pytest.fixture(scope="module")
def by_site():
    predictions = (np.random.default_rng(1).random(60) < 0.4).astype(int)
    pool = ba.Pool(predictions=predictions, classes=[0, 1], groups={"site": np.arange(60) % 15})
    a = ba.assess(pool, ba.Metric("accuracy", by="site"))
    queries = a.ask(30)
    a.tell(queries.ids, LABELS[queries.ids])
    return a


def contradicted_at(result, places, monkeypatch):
    """Let random items say of these measures what the belief rules out, and nothing of the others."""
    assert not result.evidence.contradicted.any()
    ends = np.tile([-9.0, 9.0], (len(result.evidence.groups), 1))
    ends[places] = result.evidence.credible_interval[places, 1:] + [0.1, 0.2]
    monkeypatch.setitem(vars(result.evidence), "design_interval", ends)
    monkeypatch.delitem(vars(result.evidence), "contradicted")
    return result


def test_where_random_items_contradict_some_measures_the_others_promise_no_more_than_they_did(by_site, monkeypatch):
    result = contradicted_at(by_site.result(), [0, 2, 3, 4], monkeypatch)
    assert result.guarantee == "credible"
    assert result.assumption == (
        "Items with the same predictions are taken to be alike, as the 30 labels suggest, although random items "
        "contradict that for accuracy (site 0), accuracy (site 2), accuracy (site 3) and 1 more."
    )
    _, warning, *lines = result.summary().splitlines()
    assert warning.startswith("Random items contradict the predictions: what they say of accuracy (site 0), accuracy")
    assert warning.endswith("have no value in common. Their intervals hold both.")
    assert lines[0].startswith("accuracy (site 0) ")
    assert "95% anytime interval" in lines[0]
    assert "95% credible interval" in lines[1]
    assert lines[11:14] == [
        lines[11], "And 3 more.", "Ranks and pairs lean on what random items contradict."
    ]  # fmt: skip
    assert result.headline == lines[0]  # an answer, and no warning


@pytest.mark.slow
def test_intervals_of_low_levels_that_lie_apart_are_no_contradiction():
    """Two intervals of 20 % miss each other by chance; those of 95 % of the same labels have values in common."""
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        labels = (rng.random(600) < 0.15).astype(int)
        pool = ba.Pool(scores=1 / (1 + np.exp(3 - 2.2 * rng.normal(2.2 * labels, 1.0))))
        a = ba.assess(pool, ba.Metric(["accuracy", "precision", "f1"]), seed=seed)
        for _ in range(2):
            ids = a.ask(40).ids
            a.tell(ids, labels[ids])
        result, surer = a.result(level=0.2), a.result()
        assert not surer.contradicted.any()
        assert np.any(are_apart(result.credible_interval, result.design_interval))
        assert not result.contradicted.any()
        assert result.guarantee == "credible"
        assert "contradict" not in result.summary()
        np.testing.assert_array_equal(result.interval, result.credible_interval)


def test_where_random_items_contradict_every_measure_nothing_is_assumed(by_site, monkeypatch):
    result = contradicted_at(by_site.result(), range(15), monkeypatch)
    assert result.guarantee == "anytime"
    assert result.assumption.startswith("Nothing is assumed of the predictions")


def test_a_verdict_on_the_best_leans_on_the_belief_where_random_items_contradict_it_too(monkeypatch):
    predictions = (np.random.default_rng(2).random((2, 60)) < 0.4).astype(int)
    pool = ba.Pool(predictions=predictions[0], classes=[0, 1], systems={"b": predictions[1]})
    a = ba.assess(pool, ba.Best(["prediction", "b"]))
    queries = a.ask(15)
    a.tell(queries.ids, LABELS[queries.ids])
    result = contradicted_at(a.result(), [0, 1], monkeypatch)
    assert result.guarantee == "credible"
    assert "are taken to be alike, as the 15 labels suggest, although random items contradict" in result.assumption


def test_a_verdict_on_two_says_that_random_items_contradict_what_it_leans_on(monkeypatch):
    """The interval holds what both say, and the probability of the verdict what the other labels suggest alone."""
    predictions = (np.random.default_rng(2).random((2, 60)) < 0.4).astype(int)
    pool = ba.Pool(predictions=predictions[0], classes=[0, 1], systems={"b": predictions[1]})
    a = ba.assess(pool, ba.Compare("b", "prediction", measure="f1"))
    queries = a.ask(15)
    a.tell(queries.ids, LABELS[queries.ids])
    said = "The verdict leans on what random items contradict."
    assert said not in a.result().summary()
    assert said in contradicted_at(a.result(), [0], monkeypatch).summary().splitlines()


def test_of_many_measures_that_are_known_the_summary_says_how_many_it_leaves_out(by_site):
    by_site.tell(by_site.pool.ids, LABELS)
    lines = by_site.result().summary().splitlines()
    assert lines[12].startswith("accuracy (site 11) ")
    assert lines[13] == "And 3 more."


@pytest.mark.parametrize("asked", [ba.Metric("precision"), ba.Compare("a", "b", by="g", measure="precision")])
def test_no_random_labels_are_missed_where_no_item_matters(asked):
    """Of precision, items that are not predicted positive tell nothing: none of them is ever asked for."""
    pool = ba.Pool(predictions=np.arange(60) % 2, groups={"g": np.repeat(["a", "b", "c"], 20)})
    a = ba.assess(pool, asked)
    assert "nothing can be said yet; no random label yet." in a.result().summary()
    ids = a.ask(12).ids
    a.tell(ids, np.arange(12) % 2)
    said = a.result().summary()
    assert "random label" in said
    assert "not predicted positive" not in said


def test_random_labels_are_counted_among_the_items_of_the_groups_compared():
    pool = ba.Pool(predictions=np.arange(60) % 2, groups={"g": np.repeat(["a", "b", "c"], 20)})
    said = ba.assess(pool, ba.Compare("a", "b", by="g", measure="f1")).result().summary()
    assert "no random label among 20 items not predicted positive yet" in said


def test_a_recall_of_items_that_are_all_predicted_negative_is_zero_or_not_defined():
    """Which of these it is, labels tell: a positive one of b, none of c."""
    pool = ba.Pool(predictions=[1, 0] * 20 + [0] * 10, groups={"site": ["a"] * 40 + ["b"] * 6 + ["c"] * 4})
    labels = np.r_[np.tile([1, 0], 20), 1, np.zeros(9, int)]
    a = ba.assess(pool, ba.Metric("recall", by="site"))
    open_ = "recall (site b), recall (site c) are 0, or not defined, if their denominators turn out to be 0."
    assert open_ in a.result().summary()
    a.tell(range(46), labels[:46])
    assert "recall (site c) is 0, or not defined, if its denominator turns out to be 0." in a.result().summary()
    a.tell(range(46, 50), labels[46:])
    summary = a.result().summary()
    assert "turn" not in summary
    assert "recall (site c) is not defined, as its denominator is 0, and counts as 0." in summary


def test_of_measures_of_every_class_it_is_said_that_random_items_are_counted_for_one():
    labels = np.arange(60) % 3
    for measure, said in (("recall_per_class", "for one class at a time"), ("recall_macro", "no ratio of sums")):
        a = ba.assess(ba.Pool(predictions=np.roll(labels, 7)), ba.Metric(measure))
        queries = a.ask(20)
        a.tell(queries.ids, labels[queries.ids])
        assert said in a.result().summary()
