"""Sessions on pools whose items may have several labels each."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import DESIGNS, MULTILABEL, Passive, Poisson
from bayes_assess.errors import DesignError, JournalError, LabelError, PriorError, QuestionError
from bayes_assess.measures import MULTILABEL_MEASURES, multilabel_measure

CLASSES = ["ant", "bee", "cow", "dog"]
N = 60
RNG = np.random.default_rng(5)
SCORES = RNG.random((N, 4)) ** 2
LABELS = RNG.random((N, 4)) < SCORES
IDS = [f"i{k}" for k in range(N)]
POOL = ba.Pool(scores=SCORES, multilabel=True, classes=CLASSES, ids=IDS)
F1 = ba.Metric("f1_micro")
MANY = ba.Metric(["f1_macro", "seme_f1_macro", "hamming_loss"])


def labels_of(ids):
    return LABELS[POOL.positions(ids)]


def started(design="poisson", **options):
    return ba.assess(POOL, F1, design=design, seed=3, **options)


def labelled(design="poisson", batches=(20,), **options):
    a = started(design, **options)
    for n in batches:
        ids = a.ask(n).ids
        a.tell(ids, labels_of(ids))
    return a


def told_of(a):
    return np.array(IDS)[a._items.label >= 0].tolist()


def unseen_by(a):
    return np.array(IDS)[a._items.unseen(np.arange(N))].tolist()


def losses_of(ids, measure=F1):
    items = POOL.positions(ids)
    return multilabel_measure(measure.measure).losses(POOL.indicators[items], LABELS[items])


@pytest.mark.parametrize("design", MULTILABEL)
def test_every_measure_is_exact_once_everything_is_labelled(design):
    a = labelled(design, (20, 40))
    result = a.result(question=ba.Metric(list(MULTILABEL_MEASURES)))
    expected = multilabel_measure(list(MULTILABEL_MEASURES))
    np.testing.assert_allclose(result.estimate, expected.value(expected.losses(POOL.indicators, LABELS).mean(0)))
    np.testing.assert_array_equal(result.interval, np.stack([result.estimate] * 2, axis=-1))
    assert result.guarantee == "exact"
    assert result.assumption == "Nothing is assumed: every item is labelled that can matter."
    np.testing.assert_allclose(a.result().estimate, F1.truth(POOL, LABELS))


def test_random_items_are_weighed_alike_in_batches_and_one_by_one():
    a = labelled("passive", (7, 1, 12))
    told = told_of(a)
    risk = losses_of(told).mean(0)
    np.testing.assert_allclose(a.result().estimate, multilabel_measure("f1_micro").value(risk)[0])


def test_the_estimate_of_one_batch_weighs_items_by_their_probabilities():
    a = started()
    queries = a.ask(20)
    a.tell(queries.ids, labels_of(queries.ids))
    b = np.minimum(20 / (N * queries.weights), 1)  # weights are n / (M b)
    certain = b > 1 - 1e-9
    by_chance = (1 / b[~certain]) @ losses_of(queries.ids[~certain]) / (1 / b[~certain]).sum()
    frame = N - (a._rounds.inclusion() >= 1)[a._items.cells_of(np.arange(N))].sum()
    total = losses_of(queries.ids[certain]).sum(0) + frame * by_chance
    np.testing.assert_allclose(a.result().estimate, multilabel_measure("f1_micro").value(total / N)[0])


def test_items_that_matter_more_are_drawn_more_often():
    h = POOL.indicators.sum(1)
    drawn = np.concatenate([POOL.positions(ba.assess(POOL, F1, seed=s).ask(20).ids) for s in range(20)])
    assert h[drawn].mean() > h.mean() + 3 * h.std() / np.sqrt(len(drawn))


@pytest.mark.parametrize("design", MULTILABEL)
def test_an_ask_alone_moves_nothing(design):
    a = labelled(design)
    before = a.result()
    a.ask(5)
    after = a.result()
    assert after.estimate == before.estimate
    np.testing.assert_array_equal(after.interval, before.interval)


@pytest.mark.parametrize("design", MULTILABEL)
def test_labels_of_a_batch_that_has_come_back_in_part_count_and_later_ones_complete_it(design):
    a, whole = started(design), labelled(design)
    ids = a.ask(20).ids
    a.tell(ids[:12], labels_of(ids[:12]))
    part = a.result()
    assert part.labels_used == 12
    assert 0 < part.estimate < 1
    width = np.diff(part.interval)[0]
    a.tell(ids[12:], labels_of(ids[12:]))
    np.testing.assert_allclose(a.result().estimate, whole.result().estimate)
    np.testing.assert_allclose(a.result().interval, whole.result().interval)
    assert width > np.diff(a.result().interval)[0] > 0


def test_labels_are_taken_in_every_form_and_mean_the_same():
    texts = [";".join(np.array(CLASSES)[row]) or "-" for row in LABELS]
    lists = [np.array(CLASSES)[row].tolist() for row in LABELS]
    found = []
    for told in (LABELS, LABELS.astype(float), texts, lists):
        a = started("passive")
        items = POOL.positions(a.ask(20).ids)
        a.tell(np.array(IDS)[items], [told[i] for i in items])
        found.append(a.result().estimate)
    assert len(set(found)) == 1


def test_items_without_labels_stay_pending_and_half_labelled_ones_are_refused_as_a_whole():
    a = started("passive")
    ids = a.ask(20).ids
    told = labels_of(ids).astype(float)
    told[3] = np.nan
    a.tell(ids, told)
    assert a.pending.tolist() == [ids[3]]
    b = started("passive")
    ids = b.ask(20).ids
    told[3, 1:] = 1.0
    with pytest.raises(LabelError, match=f"item '{ids[3]}' .* lack that of class 'ant'"):
        b.tell(ids, told)
    assert b.labels_used == 0


def test_a_label_set_that_contradicts_an_earlier_one_is_refused_and_a_repeated_one_is_not():
    a = labelled("passive")
    ids = told_of(a)[:2]
    a.tell(ids, labels_of(ids))
    with pytest.raises(LabelError):
        a.tell(ids, ~labels_of(ids))
    assert a.labels_used == 20


def test_items_that_nobody_asked_for_are_known_to_later_rounds_and_stand_for_no_others():
    a = labelled("passive")
    before = a.result().estimate
    others = unseen_by(a)[:10]
    a.tell(others, labels_of(others))
    assert a.result().estimate == before  # no round has begun since
    assert "10 labels were told without being asked for" in a.result().summary()
    ids = a.ask(20).ids
    a.tell(ids, labels_of(ids))
    rest = unseen_by(a)
    assert len(rest) == 10
    first = [one for one in IDS if one not in (*others, *ids, *rest)]
    w = np.array([20 / (60 * 40), 20 / (30 * 10)])
    w /= w.sum()
    second = losses_of(first).sum(0) + losses_of(others).sum(0) + 30 / 20 * losses_of(ids).sum(0)
    total = w[0] * 3 * losses_of(first).sum(0) + w[1] * second
    np.testing.assert_allclose(a.result().estimate, multilabel_measure("f1_micro").value(total / N)[0])


@pytest.mark.parametrize("design", MULTILABEL)
def test_a_session_resumes_in_the_middle_of_a_batch(design, tmp_path):
    path = tmp_path / "run.db"
    a = labelled(design, (20,), journal=path)
    ids = a.ask(20).ids
    a.tell(ids[:5], labels_of(ids[:5]))
    others = unseen_by(a)[:3]
    a.tell(others, labels_of(others))
    b = ba.resume(path, ba.Pool(scores=SCORES, multilabel=True, classes=CLASSES, ids=IDS))
    np.testing.assert_array_equal(b.pending, a.pending)
    for asked in (None, MANY):
        np.testing.assert_array_equal(b.result(question=asked).estimate, a.result(question=asked).estimate)
        np.testing.assert_array_equal(b.result(question=asked).interval, a.result(question=asked).interval)
    a.journal.close()
    assert b.question.name == "Metric(f1_micro)"
    assert b.journal.meta["question"]["question"] == "Metric"


def test_a_resumed_session_draws_what_the_first_one_would_have(tmp_path):
    path = tmp_path / "run.db"
    a = labelled("poisson", (20,), journal=path)
    a.journal.close()
    a.journal = None
    b = ba.resume(path, POOL)
    np.testing.assert_array_equal(a.ask(20).ids, b.ask(20).ids)


def test_a_journal_of_another_question_or_pool_is_refused(tmp_path):
    path = tmp_path / "run.db"
    labelled("poisson", (20,), journal=path)
    with pytest.raises(JournalError, match="asks another question"):
        ba.resume(path, POOL, question=MANY)
    with pytest.raises(JournalError, match="another pool"):
        ba.resume(path, ba.Pool(scores=SCORES[::-1], multilabel=True, classes=CLASSES, ids=IDS))
    assert ba.resume(path, POOL, question=F1).labels_used == 20


def test_other_measures_are_answered_from_the_same_labels():
    a = labelled("passive")
    told = POOL.positions(told_of(a))
    result = a.result(question=MANY)
    measure = multilabel_measure(MANY.measure)
    losses = measure.losses(POOL.indicators[told], LABELS[told])
    np.testing.assert_allclose(result.estimate, measure.value(losses.mean(0)))
    spread = np.cov((losses @ measure.jacobian(losses.mean(0)).T).T) * (1 - 20 / N) / 20
    np.testing.assert_allclose(result.covariance, spread)
    np.testing.assert_allclose(result.standard_error, np.sqrt(np.diag(spread)))
    assert result.to_frame()["measure"].tolist() == MANY.measure


def test_before_any_label_the_figure_is_what_scores_make_one_expect():
    result = started().result()
    assert result.guarantee == "credible"
    assert result.interval.tolist() == [0.0, 1.0]
    p = 0.9 * SCORES + 0.1 * SCORES.mean(0)
    f = POOL.indicators
    assert result.estimate == pytest.approx(2 * (f * p).sum() / (f.sum() + p.sum()))
    assert "starting from scores" in result.summary()
    plain = ba.Pool(predictions=f, multilabel=True, classes=CLASSES)
    assert "the shares of the predicted classes" in ba.assess(plain, F1).result().summary()


def test_queries_show_predictions_as_texts():
    frame = started().ask(20).to_frame()
    expected = [
        ";".join(np.array(CLASSES)[row]) or "-" for row in POOL.indicators[POOL.positions(frame["id"].to_numpy())]
    ]
    assert frame["prediction"].tolist() == expected


@pytest.mark.parametrize("name", MULTILABEL_MEASURES)
def test_every_measure_is_said_in_a_sentence_and_pickled(name):
    a = ba.assess(POOL, ba.Metric([name, "hamming_loss"]) if name != "hamming_loss" else ba.Metric(name))
    ids = a.ask(12).ids
    a.tell(ids, labels_of(ids))
    result = a.result()
    said = result.summary()
    assert said.splitlines()[1].startswith(f"{name} {np.atleast_1d(result.estimate)[0]:.3f}, 95% asymptotic interval [")
    assert pickle.loads(pickle.dumps(result)).summary() == said


def test_a_result_can_be_read_drawn_and_tabulated():
    result = labelled().result(question=MANY)
    assert result.summary().startswith("20 of 60 items labelled (design 'poisson').\nf1_macro ")
    assert result.table()["measure"].tolist() == MANY.measure
    assert result.plot().get_title(loc="left") == "Macro F1, macro SEME F1 and hamming loss: 20 of 60 labelled"
    assert ((result.interval[:, 0] < result.estimate) & (result.estimate < result.interval[:, 1])).all()


@pytest.mark.parametrize("design", sorted(set(DESIGNS) - set(MULTILABEL)))
def test_other_designs_are_refused_in_a_sentence_that_names_those_that_can(design):
    with pytest.raises(DesignError, match="these can: 'poisson', 'passive'"):
        ba.assess(POOL, F1, design=design)


@pytest.mark.parametrize(
    "question",
    [ba.GroupAccuracy(), ba.LeastAccurate(), ba.ConfusionMatrix(), ba.Calibration(), ba.PRCurve()],
    ids=lambda question: question.name,
)
def test_other_questions_are_refused_in_a_sentence_that_names_what_can_be_asked(question):
    for ask in (lambda: ba.assess(POOL, question), lambda: question.truth(POOL, LABELS)):
        with pytest.raises(QuestionError, match=r"Metric.'f1_micro'.* 'poisson' or 'passive'"):
            ask()
    with pytest.raises(QuestionError):
        labelled().result(question=question)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "ant"}, "take no positive; found 'ant'"),
        ({"by": "site"}, "take no by; found 'site'.* of one class, group or system alone, make a pool"),
        ({"systems": ["a", "b"]}, "take no systems"),
    ],
)
def test_options_of_single_labels_are_refused(options, message):
    with pytest.raises(QuestionError, match=message):
        ba.assess(POOL, ba.Metric("f1_micro", **options))


def test_measures_of_the_other_kind_of_pool_are_refused():
    with pytest.raises(QuestionError, match="no multi-label measure 'f1'; did you mean 'f1_micro'"):
        ba.assess(POOL, ba.Metric("f1"))
    single = ba.Pool(predictions=[0, 1])
    with pytest.raises(QuestionError, match=r"such as 'f1_samples', need .* multilabel=True"):
        ba.assess(single, ba.Metric("f1_samples"))
    with pytest.raises(QuestionError, match="There is no measure"):
        ba.Metric("f1_sample")


def test_priors_and_strata_are_refused():
    with pytest.raises(PriorError, match="takes no prior"):
        ba.assess(POOL, F1, prior="informative")
    with pytest.raises(DesignError, match="leave out its strata"):
        ba.assess(POOL, F1, design=Poisson(strata=ba.Strata(4)))


def test_a_design_that_does_not_know_its_probabilities_is_refused_before_anything_is_drawn():
    class Own(Passive):
        name = "own"
        inclusion = Passive.__mro__[2].inclusion

    with pytest.raises(DesignError, match=r"'own' cannot serve pools of several labels .* 'poisson' and 'passive' can"):
        ba.assess(POOL, F1, design=Own())


def test_a_measure_object_is_a_list_of_names():
    assert ba.Metric(multilabel_measure("f1_micro")).measure == "f1_micro"
    assert ba.Metric(multilabel_measure(["f1_micro", "f1_samples"])).measure == ["f1_micro", "f1_samples"]
