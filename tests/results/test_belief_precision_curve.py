"""The precision curve of a pool, from the belief that learns what its scores mean."""

import numpy as np
import pytest

import bayes_assess as ba

N = 400
SCORES = np.random.default_rng(0).permutation(N) / N + 0.5 / N
LABELS = (np.random.default_rng(1).random(N) < SCORES**2).astype(int)
BY_RANK = LABELS[np.argsort(-SCORES)]
RANKS = np.arange(1, N + 1)
TRUTH = np.cumsum(BY_RANK) / RANKS


@pytest.fixture(scope="module")
def session():
    return ba.assess(ba.Pool(scores=SCORES), ba.PrecisionCurve(), design="variance_reduction", seed=0)


@pytest.fixture(scope="module")
def result(session):
    queries = session.ask(40)
    session.tell(queries.ids, LABELS[queries.ids])
    return session.result()


def test_the_band_is_near_the_curve(result):
    estimate, lower, upper = result.at(RANKS)
    assert ((lower <= estimate) & (estimate <= upper)).all()
    inside = (lower - 1e-9 <= TRUTH) & (TRUTH <= upper + 1e-9)
    assert inside.mean() > 0.8
    assert (upper - lower)[99:].max() < 0.5


def test_recall_and_f1_follow_from_the_same_draws(result):
    precision, recall, f1 = (of(N).estimate for of in (result.at, result.recall, result.f1))
    assert recall == pytest.approx(1.0)
    assert f1 == pytest.approx(2 * precision / (1 + precision), abs=0.01)
    _, lower, upper = result.recall(RANKS)
    assert (np.diff(lower) >= -0.05).all()  # quantiles of draws that all grow
    assert ((lower >= 0) & (upper <= 1)).all()


def test_between_thresholds_draws_hold_what_labels_show_and_no_more_than_there_is(result):
    told, ends = result.first_labels, result.section._ranks
    assert {-1, 0, 1} == set(told.tolist())  # some of the first items have a label
    np.testing.assert_array_equal(told[told >= 0], BY_RANK[: len(told)][told >= 0])
    draws = result.section._draws_of_positives(RANKS)
    np.testing.assert_allclose(draws[:, ends - 1], result.section._positives, atol=1e-6)
    step = np.diff(draws, axis=1, prepend=0)[:, : len(told)][:, told >= 0]
    np.testing.assert_allclose(step, np.tile(told[told >= 0], (len(draws), 1)), atol=1e-6)
    end = ends[np.searchsorted(ends, RANKS)]
    shown = np.append(0, np.cumsum(told == 1))
    down, down_to_end = (shown[np.minimum(ranks, len(told))] for ranks in (RANKS, end))
    assert (draws >= down - 1e-6).all()
    assert (
        draws <= draws[:, end - 1] - (down_to_end - down) + 1e-6
    ).all()  # those shown further down are not among them


def test_where_to_cut(result):
    cut = result.cut(0.6)
    lower = result.at(RANKS).lower
    assert lower[cut - 1] >= 0.6
    assert (lower[cut:] < 0.6).all()


def test_average_precision_lies_in_its_interval(result):
    value, lower, upper = result.average_precision
    assert lower <= value <= upper
    truth = TRUTH[BY_RANK == 1].mean()
    assert lower - 0.02 <= truth <= upper + 0.02


def test_table_figure_and_dataset(result):
    assert result.table().columns[0] == "rank"
    assert result.to_frame().shape[1] == 10
    assert result.to_xarray().sizes["of"] == 3
    ax = result.plot(truth=lambda ranks: TRUTH[ranks - 1], beside=result)
    assert ax.get_xscale() == "log"


def test_random_items_that_contradict_the_belief_widen_the_band(result, monkeypatch):
    assert not np.any(result.evidence.contradicted)  # both are computed by now, and kept
    monkeypatch.setitem(vars(result.evidence), "contradicted", np.array([True]))
    monkeypatch.setitem(
        vars(result.evidence), "design_interval", np.tile([0.1, 0.2], (2 * len(result.section._ranks), 1))
    )
    for of in (result.at, result.recall, result.f1):
        estimate, lower, upper = of(RANKS[::9])
        assert ((0 <= lower) & (lower <= estimate) & (estimate <= upper) & (upper <= 1)).all()
    assert (result.at(result.section._ranks).lower <= 0.2).all()


def test_what_random_items_say_is_said_of_the_deepest_rank_that_they_tell_of(result, monkeypatch):
    assert "Without trusting the scores, nothing can be said yet; " in said_without_trust(result, monkeypatch, [])
    ranks, last = result.section._ranks, len(result.section._ranks) - 1
    said = said_without_trust(result, monkeypatch, [3, last - 5])
    assert f"Without trusting the scores: [0.100, 0.200] in the first {ranks[last - 5]:,} items; " in said
    assert "[0.100, 0.200] in all; " in said_without_trust(result, monkeypatch, [last])


def said_without_trust(result, monkeypatch, places):
    ends = np.tile([0.0, 1.0], (2 * len(result.section._ranks), 1))
    ends[len(result.section._ranks) - 1 - np.array(places, int)] = 0.1, 0.2  # of thresholds, the lowest first
    monkeypatch.setitem(vars(result.evidence), "design_interval", ends)
    return result.summary()


def test_everything_labelled_is_exact():
    scores, labels = SCORES[:60], LABELS[:60]
    session = ba.assess(ba.Pool(scores=scores), ba.PrecisionCurve(), design="variance_reduction", seed=0)
    session.tell(np.arange(60), labels)
    r = session.result()
    assert r.guarantee == "exact"
    at, truth = r.section._ranks, np.cumsum(labels[np.argsort(-scores)]) / np.arange(1, 61)
    np.testing.assert_allclose(np.stack(r.at(at)), np.tile(truth[at - 1], (3, 1)), atol=1e-9)


def test_one_class_answers_by_a_belief_and_by_random_items_and_says_what_is_of_the_other(result):
    session = ba.assess(ba.RankedList(N), ba.PrecisionCurve(p_min=0.5), seed=0)
    queries = session.ask(N)
    session.tell(queries.ids, BY_RANK[queries.ranks - 1])
    sampled = session.result()
    assert type(sampled) is type(result) is ba.PrecisionCurveResult
    np.testing.assert_allclose(sampled.at(RANKS).estimate, TRUTH)
    for answer, other, own in ((sampled, "first_labels", "queried"), (result, "queried", "first_labels")):
        assert own in dir(answer)
        assert len(getattr(answer, own))
        assert other not in dir(answer)
        with pytest.raises(AttributeError, match=f"has no '{other}': it is of other questions, or of other designs"):
            getattr(answer, other)
    with pytest.raises(ba.QuestionError, match="without a posterior"):
        _ = sampled.draws
    assert sampled.plot(beside=result).get_legend() is not None
