"""What answers say of labels that nobody asked for."""

import numpy as np
import pytest

import bayes_assess as ba

UNLIKE = "unlike labels of like items"
N = 3_000


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    label = (rng.random(N) < 0.2).astype(int)
    scores = 1 / (1 + np.exp(1.5 - 2 * rng.normal(1.8 * label, 1.0)))
    return ba.Pool(scores=scores, groups={"site": rng.integers(0, 3, N)}), label


def result_after(world, question, told, n=60, **options):
    pool, label = world
    a = ba.assess(pool, question, seed=0, **options)
    a.tell(told, label[told])
    queries = a.ask(n)
    a.tell(queries.ids, label[queries.ids])
    return a.result()


def summary_after(world, question, told, n=60, **options):
    return result_after(world, question, told, n, **options).summary()


def errors(world):
    pool, label = world
    return np.flatnonzero(pool.predictions != label)[:60]


def positives(world):
    return np.flatnonzero(world[1])[:60]


QUESTIONS = [ba.Metric("f1"), ba.Rate(), ba.Metric("accuracy"), ba.GroupAccuracy(by="site"), ba.ConfusionMatrix()]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_labels_of_errors_alone_are_spoken_of(world, question):
    said = summary_after(world, question, errors(world))
    assert said.index("told without being asked for") < said.index(UNLIKE)


@pytest.mark.parametrize("question", [*QUESTIONS[:3], QUESTIONS[-1]], ids=lambda question: question.name)
def test_labels_of_positive_items_alone_are_spoken_of(world, question):
    assert UNLIKE in summary_after(world, question, positives(world))


@pytest.mark.parametrize(
    ("measure", "chosen"),
    [("f1", errors), (["recall", "accuracy"], errors), ("f1", positives), ("rate", positives)],
    ids=["f1-errors", "two-errors", "f1-positives", "rate-positives"],
)
def test_intervals_of_measures_hold_what_random_labels_alone_tell(world, measure, chosen):
    """The belief takes the labels for random ones, and leaves the truth out of its interval."""
    pool, label = world
    question = ba.Rate() if measure == "rate" else ba.Metric(measure)
    result = result_after(world, question, chosen(world))
    truth = np.ravel(question.for_pool(pool).truth(pool, label))
    credible, interval = (np.reshape(ends, (-1, 2)) for ends in (result.credible_interval, result.interval))
    design = np.reshape(result.design_interval, (-1, 2))
    np.testing.assert_array_equal(interval[:, 0], np.minimum(credible, design)[:, 0])
    np.testing.assert_array_equal(interval[:, 1], np.maximum(credible, design)[:, 1])
    assert ((interval[:, 0] <= truth) & (truth <= interval[:, 1])).all()
    assert not ((credible[:, 0] <= truth) & (truth <= credible[:, 1])).all()
    assert np.all(result.contradicted)
    assert result.guarantee == "anytime"
    assert "labels that nobody asked for are unlike others" in result.assumption
    assert "anytime interval" in result.summary()
    assert result.summary().count("unlike") == 1


def test_leads_of_systems_hold_both_and_say_why(world):
    pool, label = world
    two = ba.Pool(scores=pool.scores, systems={"b": (pool.scores > 0.8).astype(int)})
    told, question = np.flatnonzero(label & (pool.predictions == 0)), ba.Metric("f1", systems=["prediction", "b"])
    result = result_after((two, label), question, told)
    assert np.all(result.contradicted)
    assert "anytime" in result.summary()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_random_labels_are_not(world, question):
    rng = np.random.default_rng(1)
    told = rng.choice(N, 150, replace=False)
    said = summary_after(world, question, told)
    assert "150 labels were told without being asked for" in said
    assert UNLIKE not in said
    assert "anytime interval" not in said


def test_labels_that_the_pool_s_own_scores_chose_are_not(world):
    pool, _ = world
    assert UNLIKE not in summary_after(world, ba.Metric("f1"), np.argsort(-pool.scores)[:150])


def test_designs_that_take_them_for_known_say_no_more(world):
    assert UNLIKE not in summary_after(world, ba.Metric("f1"), errors(world), design="poisson")


def test_other_questions_say_so_too(world):
    pool, label = world
    a = ba.assess(pool, ba.Metric("f1"), seed=0)
    told = errors(world)
    a.tell(told, label[told])
    queries = a.ask(60)
    a.tell(queries.ids, label[queries.ids])
    assert UNLIKE in a.result(question=ba.Metric("recall")).summary()


def test_a_few_are_not_compared(world):
    assert UNLIKE not in summary_after(world, ba.GroupAccuracy(by="site"), errors(world)[:9])


def test_nothing_is_said_where_the_answer_is_exact():
    pool = ba.Pool(predictions=[0, 1] * 20)
    a = ba.assess(pool, ba.GroupAccuracy(), seed=0)
    queries = a.ask(20)
    a.tell(queries.ids, pool.predictions[queries.ids])
    rest = np.setdiff1d(pool.ids, queries.ids)
    a.tell(rest, 1 - pool.predictions[rest])
    assert a.result().guarantee == "exact"
    assert UNLIKE not in a.result().summary()
