"""Sessions and studies whose labels are draws from p(y | x), as people run them."""

from __future__ import annotations

import shutil

import jax
import numpy as np
import pytest
from sklearn.metrics import f1_score

import bayes_assess as ba
from bayes_assess.designs import Adaptive, Importance, Oasis, Passive
from bayes_assess.errors import BudgetError, DesignError, LabelError, QuestionError
from bayes_assess.sessions import snapshots
from made import play_on_numpy

DESIGNS = {
    "passive": Passive(),
    "importance": Importance(n_strata=16),
    "oasis": Oasis(n_strata=16),
    "adaptive": Adaptive(n_strata=16),
}
F1 = ba.Metric("f1")
M = 40


def asked_pool() -> tuple[ba.Pool, np.ndarray]:
    """Scores that are no probabilities, and p(y | x) that they announce."""
    scores = np.random.default_rng(0).beta(0.6, 0.8, M)
    return ba.Pool(scores=scores), 0.1 + 0.7 * scores


POOL, P = asked_pool()
TABLE = np.stack([1 - P, P], axis=1)


def session(design="adaptive", **options):
    return ba.assess(POOL, F1, design=DESIGNS[design], oracle="stochastic", seed=3, **options)


def answered(a, n, rng, annotator=None, batch=10):
    for _ in range(n // batch):
        queries = a.ask(batch)
        a.tell(queries.ids, (rng.random(batch) < P[queries.ids]).astype(int), annotator=annotator)
    return a


def expected_f1(p, predicted) -> float:
    """2 E[y f] / E[y + f] over p(y | x)."""
    return 2 * (p * predicted).sum() / (p + predicted).sum()


def test_the_truth_is_the_measure_of_expected_losses(monkeypatch):
    play_on_numpy(monkeypatch)
    study = ba.simulate(POOL, TABLE, F1, designs=["passive"], budgets=[5], repeats=2, oracle="stochastic")
    assert float(study.truth) == pytest.approx(expected_f1(P, POOL.predictions))


def test_a_passive_estimate_is_the_measure_of_all_labels_repeated_ones_included():
    a = answered(session("passive"), 200, np.random.default_rng(1))
    ids, labels = a.labelled
    assert len(ids) == 200 > len(np.unique(ids))
    assert a.result().estimate == pytest.approx(f1_score(labels, POOL.predictions[ids]))
    items, counts = a.label_counts
    assert counts.sum() == 200
    assert ((counts > 0).sum(1) > 1).any()  # both labels
    for item, label in ((items[0], 0), (items[5], 1)):
        assert counts[items == item, label] == ((ids == item) & (labels == label)).sum()


@pytest.mark.parametrize("design", ["importance", "adaptive"])
def test_labels_drawn_by_splits_of_the_same_seed_are_independent_of_the_queries(design):
    n, errors = 100, []
    for seed in range(10):
        with jax.enable_x64(True):
            chance = np.asarray(jax.vmap(jax.random.uniform)(jax.random.split(jax.random.key(seed), n)))
        a = ba.assess(POOL, ba.Metric("rate"), design=DESIGNS[design], oracle="stochastic", seed=seed)
        queries = a.ask(n)
        a.tell(queries.ids, (chance < P[queries.ids]).astype(int))
        errors.append(a.result().estimate - P.mean())
    assert abs(np.mean(errors)) < 4 * np.std(errors, ddof=1) / np.sqrt(len(errors))


def test_a_weighted_estimate_is_that_of_the_weights_in_the_journal(tmp_path):
    a = answered(session("importance", journal=tmp_path / "run.db"), 100, np.random.default_rng(1))
    weight, ids, labels = [], [], []
    for event in a.journal.events():
        if event.kind == "ask":
            weight += event.payload["weight"]
            ids += event.payload["ids"]
        else:  # told in the order of asking
            labels += event.payload["labels"]
    weight, labels, predicted = np.array(weight), np.array(labels), POOL.predictions[ids]
    assert np.ptp(weight) > 0
    assert a.result().estimate == pytest.approx(
        2 * (weight * labels * predicted).sum() / (weight * (labels + predicted)).sum()
    )


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_is_exact_however_often_all_were_asked(design):
    pool = ba.Pool(scores=[0.9, 0.8, 0.2, 0.1])
    a = ba.assess(pool, F1, design=DESIGNS[design], oracle="stochastic")
    for _ in range(20):
        queries = a.ask(10)
        a.tell(queries.ids, pool.predictions[queries.ids])  # always right
    r = a.result()
    assert not a.done
    assert r.guarantee == "asymptotic"
    assert r.estimate == 1
    assert 0.9 < r.interval[0] < 1
    assert "which may be asked again" in r.summary()
    assert r.headline.startswith("f1 1.000")


@pytest.mark.parametrize("design", DESIGNS)
def test_a_journal_brings_back_draws_labels_and_what_comes_next(tmp_path, design):
    path = tmp_path / "run.db"
    a = answered(session(design, journal=path), 60, np.random.default_rng(1), annotator="A1")
    out = a.ask(8)
    a.tell(out.ids[5:7], [0, 1])  # in part
    unseen = np.setdiff1d(np.arange(M), a.labelled[0])[:1]
    aside = a.skip(unseen)
    a.release(out.ids[:1])
    b = ba.resume(path, POOL)
    assert (b.labels_used, b.n_pending, b.n_skipped) == (62, a.n_pending, aside)
    np.testing.assert_array_equal(b.pending, a.pending)
    np.testing.assert_array_equal(b.pending_queries.weights, a.pending_queries.weights)
    np.testing.assert_array_equal(b.labelled, a.labelled)
    np.testing.assert_array_equal(b.result().interval, a.result().interval)
    queries = a.ask(30)
    assert not np.isin(queries.ids, unseen).any()
    b.catch_up()
    np.testing.assert_array_equal(b.pending, a.pending)
    copied = shutil.copy(path, tmp_path / "copy.db")
    np.testing.assert_array_equal(ba.resume(copied, POOL).ask(20).ids, a.ask(20).ids)


def test_the_order_of_telling_does_not_matter():
    forth, back = session("importance"), session("importance")
    labels = np.random.default_rng(1).integers(0, 2, M)
    for a in (forth, back):
        ids = a.ask(80).ids
        a.tell(*((ids, labels[ids]) if a is forth else (ids[::-1], labels[ids][::-1])))
    np.testing.assert_allclose(forth.result().interval, back.result().interval)


def test_released_draws_are_as_if_never_made():
    kept = answered(session("importance"), 50, np.random.default_rng(1))
    before = kept.result()
    kept.release(kept.ask(20).ids)
    assert kept.n_pending == 0
    np.testing.assert_allclose(kept.result().interval, before.interval)


def test_a_label_of_no_draw_is_refused_and_nothing_taken():
    a = session()
    queries = a.ask(5)
    once = np.bincount(queries.ids, minlength=M)
    item = int(queries.ids[0])
    with pytest.raises(LabelError, match=f"Item {item} has {once[item] + 1} labels here and awaits {once[item]}"):
        a.tell([item] * (once[item] + 1), [1] * (once[item] + 1))
    a.tell(queries.ids, [1] * 5)
    with pytest.raises(LabelError, match="count once"):
        a.tell(queries.ids, [1] * 5)
    assert a.labels_used == 5


def test_labels_are_corrected_where_it_is_clear_which():
    a = answered(session("passive"), 40, np.random.default_rng(1))
    ids, labels = a.labelled
    times = np.bincount(ids, minlength=M)
    single = int(np.flatnonzero(times == 1)[0])
    several = int(np.flatnonzero(times > 1)[0])
    wrong = labels[ids == single][0]
    assert a.correct([single], [1 - wrong]) == 1
    labels[ids == single] = 1 - wrong
    assert a.result().estimate == pytest.approx(f1_score(labels, POOL.predictions[ids]))
    with pytest.raises(LabelError, match=f"Item {several} has .* labels, and which of them was wrong is not said"):
        a.correct([several], [0])
    answered(a, 200, np.random.default_rng(2))  # the item gets further labels, which may differ from the right one
    ids, labels = a.labelled
    assert labels[ids == single][0] == 1 - wrong


def test_labels_of_an_item_may_differ_and_are_nothing_to_decide_on():
    a = answered(answered(session(), 20, np.random.default_rng(1), "anna"), 10, np.random.default_rng(2), "ben")
    assert a.n_disagreements == 0
    assert a.result().labelled_by == " by anna (20) and ben (10)"
    for act in (a.disagreements, a.agreement, a.labelling_error, a.resolve):
        with pytest.raises(LabelError, match="labels of an item may differ"):
            act()


def test_an_item_may_stand_in_a_sheet_several_times(tmp_path):
    a = session("passive")
    queries = a.ask(120)
    queries.to_csv(tmp_path / "sheet.csv")
    lines = (tmp_path / "sheet.csv").read_text().splitlines()
    told = np.random.default_rng(1).integers(0, 2, 120)
    filled = [lines[0], *(line + str(label) for line, label in zip(lines[1:], told, strict=True))]
    (tmp_path / "sheet.csv").write_text("\n".join(filled))
    ids, labels = ba.read_labels(tmp_path / "sheet.csv", POOL, repeated=True)
    np.testing.assert_array_equal(ids, queries.ids)
    np.testing.assert_array_equal(labels, told)
    a.tell(ids, labels)
    assert a.labels_used == 120
    with pytest.raises(LabelError, match="occurs twice with different labels"):
        ba.read_labels(tmp_path / "sheet.csv", POOL)


def test_another_measure_is_answered_from_the_same_draws():
    a = answered(session("passive"), 100, np.random.default_rng(1))
    ids, labels = a.labelled
    other = a.result(question=ba.Metric("accuracy"))
    assert other.estimate == pytest.approx((labels == POOL.predictions[ids]).mean())
    assert other.guarantee == "asymptotic"


@pytest.mark.parametrize(
    ("question", "design"),
    [
        (ba.GroupAccuracy(by="site"), "passive"),
        (ba.GroupAccuracy(by="site"), "adaptive"),
        (ba.ConfusionMatrix(), "adaptive"),
        (ba.Rate(by="site"), "passive"),
        (ba.Metric("f1", by="site"), "passive"),
    ],
)
def test_questions_about_one_label_of_an_item_are_refused_draws(question, design):
    sites = ba.Pool(scores=POOL.scores, groups={"site": ["north", "south"] * (M // 2)})
    a = answered(ba.assess(sites, F1, design=design, oracle="stochastic"), 400, np.random.default_rng(1))
    with pytest.raises(QuestionError, match="are draws, of which an item may have several"):
        a.result(question=question)
    assert a.result(question=ba.Rate()).guarantee == "asymptotic"


def test_the_curve_of_a_stochastic_oracle():
    a = ba.assess(POOL, ba.PRCurve([0.3, 0.6]), design="passive", oracle="stochastic")
    answered(a, 200, np.random.default_rng(1))
    ids, labels = a.labelled
    precision = [labels[POOL.scores[ids] >= t].mean() for t in (0.3, 0.6)]
    np.testing.assert_allclose(a.result().estimate[:2], precision)


@pytest.mark.parametrize(
    ("question", "options", "error", "says"),
    [
        (ba.GroupAccuracy(), {}, QuestionError, r"is for Metric\(...\) and PRCurve\(...\)"),
        (ba.Rate(), {}, QuestionError, "is for Metric"),
        (ba.PrecisionCurve(), {}, QuestionError, "is for Metric"),
        (F1, {"design": "stratified"}, DesignError, "'adaptive', 'oasis', 'importance', 'passive'"),
        (F1, {"design": "poisson"}, DesignError, "an item may be asked again"),
        (F1, {"design": "variance_reduction"}, DesignError, "an item may be asked again"),
        (F1, {"oracle": "moody"}, QuestionError, "'deterministic' or 'stochastic'; found 'moody'"),
    ],
)
def test_what_cannot_take_draws_says_so(question, options, error, says):
    options = {"oracle": "stochastic"} | options
    with pytest.raises(error, match=says):
        ba.assess(POOL, question, **options)
    designs = {"designs": [options.pop("design")]} if "design" in options else {}
    with pytest.raises(error, match=says):
        ba.simulate(POOL, TABLE, question, repeats=2, **designs, **options)


def test_the_default_design_is_one_that_can(monkeypatch):
    play_on_numpy(monkeypatch)
    assert ba.assess(POOL, F1, oracle="stochastic").design.name == "adaptive"
    study = ba.simulate(POOL, TABLE, F1, budgets=[5], repeats=2, oracle="stochastic")
    assert list(study.estimates) == ["passive", "adaptive"]


def test_all_set_aside_leaves_nothing_to_ask():
    a = session()
    assert a.skip(POOL.ids) == M
    with pytest.raises(BudgetError, match="set aside"):
        a.ask(1)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (P, r"a row per item and a column per class, \(40, 2\)"),
        (TABLE * 2, "sum to 1; those of row 0"),
        (np.stack([1 + P, -P], axis=1), "not negative"),
        (lambda rng, items: ["cat"] * len(items), "not one of the classes"),
    ],
)
def test_an_oracle_that_is_none_is_refused(labels, says):
    with pytest.raises(LabelError, match=says):
        ba.simulate(POOL, labels, F1, repeats=2, oracle="stochastic")


@pytest.mark.slow
def test_a_function_that_draws_labels_is_an_oracle():
    study = ba.simulate(
        POOL,
        lambda rng, items: (rng.random(len(items)) < P[items]).astype(int),
        ba.Metric("accuracy"),
        designs=["passive"],
        budgets=[20, 100],
        repeats=200,
        oracle="stochastic",
    )
    right = np.where(POOL.predictions == 1, P, 1 - P)
    answers = 32 * M  # by which the truth is known
    assert abs(study.truth - right.mean()) <= 4 * np.sqrt((right * (1 - right)).mean() / answers)
    error = study.estimates["passive"][:, 1] - study.truth
    assert abs(error.mean()) <= 4 * error.std() / np.sqrt(200)


def draws_pool(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores and p(y = 1 | x): of two classes alike, of a rare one, and of one that scores have the wrong way round."""
    rng = np.random.default_rng(11)
    if kind == "even":
        scores = rng.beta(0.6, 0.8, 300)
        return scores, 0.05 + 0.85 * scores
    if kind == "rare":
        scores = rng.beta(0.08, 3, 1500)
        return scores, 0.004 + 0.7 * scores**0.8
    scores = rng.random(200)
    return scores, 0.75 - 0.5 * scores


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("kind", ["even", "rare", "misleading"])
def test_intervals_hold_at_any_number_of_labels_beyond_full_passes_too(kind, design):
    scores, p = draws_pool(kind)
    n, repeats = len(scores), 300
    pool, table = ba.Pool(scores=scores), np.stack([1 - p, p], axis=1)
    budgets = sorted({20, 50, n // 2, n, 2 * n})
    study = ba.simulate(
        pool, table, F1, designs=[design], budgets=budgets, repeats=repeats, oracle="stochastic", seed=5
    )
    # .93 at least; three standard errors of a share of 300 campaigns below it
    assert (study.coverage[design] >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / repeats)).all()
    if kind != "rare":  # where weights are so unlike that a ratio has a bias for long
        error = study.estimates[design][:, -1] - study.truth
        # It is of order 1 / n, a small part of the deviation.
        assert abs(error.mean()) <= (4 / np.sqrt(repeats) + 0.1) * error.std()


def test_a_long_session_resumes_and_its_labels_are_corrected(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "EVERY", 10)
    pool = ba.Pool(predictions=[0, 1] * 60)
    a = ba.assess(pool, ba.Metric("accuracy"), design="passive", oracle="stochastic", journal=tmp_path / "run.db")
    for _ in range(60):  # more events than lie between two snapshots of other sessions
        queries = a.ask(1, annotator="anna")
        a.tell(queries.ids, [1])
    ids, counts = a.label_counts
    once = ids[counts.sum(1) == 1][:1]
    assert a.correct(once, [0]) == 1
    again = ba.resume(tmp_path / "run.db", pool)
    assert again.labels_used == 60
    assert again.result().interval.tolist() == a.result().interval.tolist()


def test_the_page_does_not_ask_for_an_item_twice():
    pytest.importorskip("starlette")
    from bayes_assess.web.desk import Desk

    a = ba.assess(ba.Pool(predictions=[0, 1]), ba.Metric("accuracy"), design="passive", oracle="stochastic")
    with pytest.raises(ba.LabelError, match="hand out sheets"):
        Desk(a)
