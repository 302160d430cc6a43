"""Sessions and studies on ranked lists, as people run them."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

import bayes_assess as ba
from bayes_assess.designs.ranked import AdaStrat, LogStrat, Paula
from bayes_assess.errors import BudgetError, DesignError, JournalError, LabelError, PoolError, QuestionError
from bayes_assess.results.sections.sampled_curve import _greatest_mean, _least_mean

N = 200_000
ASKED = ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=20, p_min=0.5)
DESIGNS = ["adastrat", "logstrat", "paula", "random"]


def labels_of(n: int, seed: int = 0) -> np.ndarray:
    """Labels by rank of a list whose items become less and less often positive, from .95 to .5."""
    rate = 0.95 - 0.45 * np.log(np.arange(1, n + 1)) / np.log(n)
    return np.random.default_rng(seed).random(n) < rate


def precision(labels: np.ndarray, ranks) -> np.ndarray:
    return np.cumsum(labels)[np.asarray(ranks) - 1] / ranks


def finished(a, labels, batch=500):
    while not a.done:
        queries = a.ask(batch)
        a.tell(queries.ids, labels[queries.ranks - 1].astype(int))
    return a


@pytest.mark.parametrize("design", DESIGNS)
def test_a_campaign_ends_and_its_band_holds_the_curve(design):
    labels = labels_of(N)
    a = finished(ba.assess(ba.RankedList(N), ASKED, design=design, seed=1), labels)
    assert len(a.ask(10)) == 0
    r = a.result()
    ranks = np.unique(np.geomspace(1, N, 500).astype(int))
    estimate, lower, upper = r.at(ranks)
    truth = precision(labels, ranks)
    assert (lower <= estimate).all()
    assert (estimate <= upper).all()
    slack = 0.02 if design == "paula" else 0.0  # windows are off by chance, which its band leaves out
    assert (lower - slack <= truth).all()
    assert (truth <= upper + slack).all()
    if design != "paula":
        factor = ASKED.beta * (1 + ASKED.epsilon)
        assert np.maximum(estimate / truth, truth / estimate).max() <= factor
    assert a.labels_used < 0.1 * N
    assert r.guarantee == "asymptotic"
    assert ("with a probability of 95% or more" in r.promise) == (design != "paula")
    assert r.promise in r.summary()


@pytest.mark.parametrize("design", DESIGNS)
def test_estimates_are_corrected_for_annotators_who_err(design):
    true = np.random.default_rng(1).random(N) < np.linspace(1.0, 0.902, N)
    wrong = np.random.default_rng(2).random(N) < 0.1
    asked = ba.PrecisionCurve(epsilon=0.1, beta=1.15, slack=20, p_min=0.5, noise=0.1)
    a = finished(ba.assess(ba.RankedList(N), asked, design=design, seed=1), true ^ wrong)
    estimate, lower, upper = a.result().at(N)
    # The estimate moves 1.25 times as far as the share of as many random labels, .86 of them positive.
    assert abs(estimate - true.mean()) <= 4 * 1.25 * np.sqrt(0.86 * 0.14 / a.labels_used)
    assert lower <= true.mean() <= upper
    assert "corrected for labels of which 0.1 are wrong" in a.result().summary()


def test_a_belief_that_takes_labels_to_be_right_refuses_noise():
    pool = ba.Pool(scores=np.linspace(0, 1, 200))
    with pytest.raises(QuestionError, match=r"takes labels to be right.*'adastrat'"):
        ba.assess(pool, ba.PrecisionCurve(noise=0.01), design="variance_reduction")


def test_labels_come_back_in_part_and_in_any_order():
    labels = labels_of(N)
    a = ba.assess(ba.RankedList(N), ASKED, seed=3)
    first = a.ask(100)
    half = first.ranks[:50][::-1]
    a.tell(half, labels[half - 1].astype(int))
    assert (a.labels_used, a.n_pending) == (50, 50)
    np.testing.assert_array_equal(a.pending, np.sort(first.ranks[50:]))
    everything = a.ask(10**6)  # all that can be asked for before labels decide
    with pytest.raises(BudgetError, match="pending"):
        a.ask(1)
    a.tell(everything.ids, labels[everything.ranks - 1])
    a.tell(a.pending, labels[a.pending - 1])
    finished(a, labels)
    assert a.n_pending == 0


def test_result_before_any_label_knows_nothing():
    r = ba.assess(ba.RankedList(N), ASKED).result()
    assert r.at(1000)[1:] == (0.0, 1.0)
    assert r.cut(0.5) == 0
    assert "wants more labels" in r.summary()


def test_a_band_says_its_level_with_all_digits():
    for r in (
        ba.assess(ba.RankedList(50), ASKED).result(level=0.999),
        ba.assess(ba.RankedList(50), ba.PrecisionCurve(epsilon=0.1, beta=1.2, p_min=0.5, delta=0.001)).result(),
    ):
        said = f"{r.summary()} {r.promise} {r.table().title}"
        assert "99.9% band" in said
        assert "100%" not in said


def test_small_precisions_are_not_said_to_be_zero():
    a = ba.assess(ba.RankedList(3_000_000), ba.PrecisionCurve(epsilon=0.3, beta=1.5, slack=20), seed=0)
    queries = a.ask(200)
    a.tell(queries.ids, (queries.ranks < 50).astype(int))
    r = a.result()
    value, lower, _ = r.at(3_000_000)
    assert 0 < lower <= value < 0.0005
    assert f"and {value:.2g} in all 3,000,000, 95% band [{lower:.2g}, " in r.summary()


def test_a_head_that_is_not_labelled_whole_is_said_with_its_band():
    a = ba.assess(ba.RankedList(5000), ba.PrecisionCurve(epsilon=0.3, beta=1.5, slack=20), seed=0)
    assert "Precision is 0.500 [0.000, 1.000] in the first 49 items and 0.500 in all 5,000" in a.result().summary()
    while a.result().at(49).lower < a.result().at(49).upper:
        queries = a.ask(20)
        a.tell(queries.ids, [1] * len(queries))
    assert "Precision is 1.000 in the first 49 items and 1.000 in all 5,000" in a.result().summary()


def test_recall_holds_its_estimate_before_labels_and_all_positives_are_in_the_whole_list():
    ranks = np.array([1, 1000, N])
    unknown = ba.assess(ba.RankedList(N), ASKED).result()
    known = finished(ba.assess(ba.RankedList(N), ASKED, seed=2), labels_of(N)).result()
    for r in (unknown, known):
        for of in (r.recall, r.f1):
            estimate, lower, upper = of(ranks)
            assert (lower <= estimate).all()
            assert (estimate <= upper).all()
    np.testing.assert_array_equal(unknown.recall(ranks)[2], 1)  # the first item may be the only positive
    assert known.recall(N) == (1, 1, 1)


def test_where_to_cut():
    labels = labels_of(N)
    r = finished(ba.assess(ba.RankedList(N), ASKED, seed=2), labels).result()
    cut = r.cut(0.7)
    assert r.at(cut).lower >= 0.7
    beyond = np.arange(cut + 1, min(cut + 2000, N))
    assert (r.at(beyond).lower < 0.7).all()
    everywhere = r.at(np.arange(1, N + 1)).lower
    assert cut == np.flatnonzero(everywhere >= 0.7)[-1] + 1
    assert precision(labels, cut) >= 0.7
    assert r.cut(1.0) <= r.cut(0.9) <= cut <= r.cut(0.3)


@pytest.mark.parametrize("design", DESIGNS)
def test_recall_f1_and_average_precision_hold_the_truth(design):
    labels = labels_of(N)
    r = finished(ba.assess(ba.RankedList(N), ASKED, design=design, seed=5), labels).result()
    ranks = np.unique(np.geomspace(100, N, 60).astype(int))
    found = np.cumsum(labels)
    truth = {
        "recall": found[ranks - 1] / found[-1],
        "f1": 2 * found[ranks - 1] / (ranks + found[-1]),
    }
    slack = 0.03 if design == "paula" else 1e-9
    for name, exact in truth.items():
        estimate, lower, upper = getattr(r, name)(ranks)
        assert (lower - slack <= exact).all(), name
        assert (exact <= upper + slack).all(), name
        assert (lower <= estimate).all(), name
        assert (estimate <= upper).all(), name
    average = np.mean(found[labels] / (np.flatnonzero(labels) + 1))
    bounds = r.average_precision
    assert bounds.lower - slack <= average <= bounds.upper + slack
    assert bounds.estimate == pytest.approx(average, rel=0.1)


def test_a_band_of_random_labels_says_that_it_has_no_posterior():
    """As other answers from weighted draws do."""
    a = ba.assess(ba.RankedList(50), ba.PrecisionCurve(p_min=0.5))
    with pytest.raises(QuestionError, match="Design 'variance_reduction' has one"):
        a.result().to_arviz()


def test_everything_labelled_is_exact():
    labels = labels_of(900)
    a = ba.assess(ba.RankedList(900), ba.PrecisionCurve(p_min=0.5), seed=0)  # the head of such a list is all of it
    finished(a, labels)
    r = a.result()
    ranks = np.arange(1, 901)
    for got in r.at(ranks):
        np.testing.assert_allclose(got, precision(labels, ranks), atol=1e-12)
    assert r.guarantee == "exact"
    assert r.headline == r.summary().splitlines()[1] == f"Precision is {labels.mean():.3f} in all 900 (exact)."
    average = np.mean(np.cumsum(labels)[labels] / (np.flatnonzero(labels) + 1))
    assert r.average_precision.estimate == pytest.approx(average, abs=1e-3)
    assert r.recall(450).estimate == pytest.approx(labels[:450].sum() / labels.sum())


@pytest.mark.parametrize("positive", [0.0, 1.0])
def test_all_alike(positive):
    labels = np.full(N, positive == 1.0)
    asked = ba.PrecisionCurve(epsilon=0.5, beta=2.0, slack=20, p_min=0.5)
    r = finished(ba.assess(ba.RankedList(N), asked, seed=1), labels, 5000).result()
    estimate, lower, upper = r.at(np.array([1, 100, N]))
    assert (lower <= positive).all()
    assert (positive <= upper).all()
    np.testing.assert_allclose(estimate, positive, atol=0.02)


def test_the_lowest_precision_is_found_from_labels():
    labels = labels_of(N)
    asked = ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=20)
    a = finished(ba.assess(ba.RankedList(N), asked, seed=1), labels)
    r = a.result()
    assert 0.3 < r.plan.p_min <= precision(labels, N)
    ranks = np.unique(np.geomspace(1, N, 300).astype(int))
    _, lower, upper = r.at(ranks)
    assert ((lower <= precision(labels, ranks)) & (precision(labels, ranks) <= upper)).all()


@pytest.mark.parametrize(("n_positive", "look"), [(100, 1300), (3000, 1900)])
def test_random_ranks_hold_the_curve_while_a_longer_head_is_labelled(n_positive, look):
    """The first head, labelled whole, is no random part of the longer one that rare positives ask for."""
    labels = np.arange(1, 3001) <= n_positive
    a = ba.assess(ba.RankedList(3000), ba.PrecisionCurve(epsilon=0.3, beta=1.5), design="random", seed=0)
    while a.labels_used < look and not a.done:
        queries = a.ask(50)
        a.tell(queries.ids, labels[queries.ranks - 1])
    ranks = np.arange(1, 3001, 7)
    estimate, lower, upper = a.result().at(ranks)
    truth = precision(labels, ranks)
    assert (lower <= truth + 1e-12).all()
    assert (truth <= upper + 1e-12).all()
    np.testing.assert_allclose(estimate, truth, rtol=0.1)


def test_a_list_without_positives_ends():
    asked = ba.PrecisionCurve(epsilon=0.5, beta=2.0, slack=5)
    a = finished(ba.assess(ba.RankedList(3000), asked), np.zeros(3000, bool), 3000)
    assert a.result().at(3000) == (0.0, 0.0, 0.0)


def test_estimates_half_way_follow_the_labels_between_queried_ranks():
    """With rare positives the lowest precision takes most labels: two ranks are queried for long."""
    labels = np.random.default_rng(0).random(30_000) < 0.95 / (1 + (np.arange(30_000) / 200) ** 2)
    a = ba.assess(ba.RankedList(30_000), ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=50), seed=0)
    while a.labels_used < 6000:
        queries = a.ask(2000)
        a.tell(queries.ids, labels[queries.ranks - 1])
    r, ranks = a.result(), np.unique(np.geomspace(1, 30_000, 300).astype(int))
    assert not r.done
    assert len(r.queried) == 2
    estimate, truth = r.at(ranks).estimate, precision(labels, ranks)
    assert abs((estimate - truth).mean()) < 0.01
    assert abs(estimate - truth).max() < 0.05
    assert (np.diff(estimate * ranks) >= -1e-9).all()  # positives
    assert abs(r.recall(1000).estimate - labels[:1000].sum() / labels.sum()) < 0.05


def test_labels_that_contradict_monotonicity_are_said_and_widen_the_band():
    labels = np.zeros(N, bool)
    labels[N // 2 :] = True  # the worst come first
    labels[:500] = True
    a = finished(ba.assess(ba.RankedList(N), ASKED, seed=1), labels, 5000)
    r = a.result()
    assert r.contradicted is not None
    assert "contradict" in r.summary()
    ranks = np.unique(np.geomspace(1, N, 2000).astype(int))
    _, lower, upper = r.at(ranks)
    assert ((lower <= precision(labels, ranks)) & (precision(labels, ranks) <= upper)).all()


def test_journal_resumes_where_it_stopped(tmp_path):
    labels = labels_of(N)
    path = tmp_path / "run.db"
    ranked = ba.RankedList(N)
    a = ba.assess(ranked, ASKED, seed=4, journal=path)
    for _ in range(4):
        queries = a.ask(100)
        a.tell(queries.ids[:60], labels[queries.ranks[:60] - 1].astype(int))
    a.journal.close()
    b = ba.resume(path, ranked)
    assert (b.labels_used, b.n_pending) == (a.labels_used, a.n_pending)
    assert b.result().at(N) == a.result().at(N)
    for one in (a, b):
        one.journal = None
        one.tell(one.pending, labels[one.pending - 1].astype(int))
    np.testing.assert_array_equal(b.ask(50).ranks, a.ask(50).ranks)
    with pytest.raises(JournalError, match="another list"):
        ba.resume(path, ba.RankedList(N + 1))
    with pytest.raises(JournalError, match="another question"):
        ba.resume(path, ranked, question=ba.PrecisionCurve())


def test_corrected_labels_count_and_are_kept_by_the_journal(tmp_path):
    labels = labels_of(N)
    ranked, path = ba.RankedList(N), tmp_path / "run.db"
    a, right = ba.assess(ranked, ASKED, seed=4, journal=path), ba.assess(ranked, ASKED, seed=4)
    queries = a.ask(100)
    right.ask(100)
    right.tell(queries.ids, labels[queries.ranks - 1].astype(int))
    told = labels[queries.ranks - 1].astype(int)
    told[:20] = 1 - told[:20]
    a.tell(queries.ids, told)
    assert a.result().at(N) != right.result().at(N)
    assert a.correct(queries.ids[:30], labels[queries.ranks[:30] - 1].astype(int)) == 20
    assert a.result().at(N) == right.result().at(N)
    with pytest.raises(LabelError, match="no label that could be corrected"):
        a.correct(a.ask(1).ids, [1])
    a.journal.close()
    assert ba.resume(path, ranked).result().at(N) == right.result().at(N)


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_is_kept_by_journals(tmp_path, design):
    a = ba.assess(ba.RankedList(N), ASKED, design=design, journal=tmp_path / "run.db")
    a.ask(10)
    a.journal.close()
    b = ba.resume(tmp_path / "run.db", ba.RankedList(N))
    assert b.design == a.design
    b.journal.close()


def test_a_pool_is_ranked_by_its_scores():
    scores = np.random.default_rng(0).random(3000)
    labels = np.random.default_rng(1).random(3000) < scores
    pool = ba.Pool(scores=scores, ids=[f"item{i}" for i in range(3000)], classes=["bad", "good"])
    a = ba.assess(pool, ba.PrecisionCurve(epsilon=0.2, beta=1.5, slack=10, p_min=0.3))
    names = np.array(["bad", "good"])
    while not a.done:
        queries = a.ask(200)
        rows = pool.positions(queries.ids)
        np.testing.assert_array_equal(np.argsort(np.argsort(-scores))[rows] + 1, queries.ranks)
        a.tell(queries.ids, names[labels[rows].astype(int)])
    r = a.result()
    truth = precision(labels[np.argsort(-scores)], np.array([10, 1000, 3000]))
    _, lower, upper = r.at(np.array([10, 1000, 3000]))
    assert ((lower <= truth) & (truth <= upper)).all()


def test_a_list_from_a_pool_has_its_classes():
    pool = ba.Pool(scores=np.full((4, 3), 1 / 3), classes=["a", "b", "c"])
    assert ba.RankedList.from_pool(pool, "c").classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("design", ["adastrat", "variance_reduction"])
def test_a_positive_class_that_the_list_is_not_ranked_by_is_refused(design):
    ranked = ba.RankedList(50, classes=["bad", "good"])
    ba.assess(ranked, ba.PrecisionCurve(positive="good"), design="adastrat")
    with pytest.raises(QuestionError, match="positive class, 'good', but the question has 'bad'"):
        ba.assess(ranked, ba.PrecisionCurve(positive="bad"), design=design)


def test_only_a_length_and_a_function_from_rank_to_id():
    ranked = ba.RankedList(10**9, id_at=lambda ranks: np.array([f"doc-{rank:,}" for rank in ranks]))
    a = ba.assess(ranked, ASKED, seed=1)
    queries = a.ask(40)
    assert queries.ids[0].startswith("doc-")
    a.tell(queries.ids[::-1], np.ones(40))
    assert a.labels_used == 40
    with pytest.raises(LabelError, match="not asked for"):
        a.tell(["doc-1"], [1])


def test_ties_are_in_random_order_and_said():
    scores = np.repeat([0.9, 0.5, 0.1], 1000)
    a = ba.assess(ba.Pool(scores=scores), ba.PrecisionCurve(p_min=0.5), seed=0)
    assert "3,000 items share" in a.result().summary()
    first = a.pool.ids_at(np.arange(1, 1001))
    assert (first < 1000).all()
    assert not (np.diff(first) > 0).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1.5}, "epsilon"),
        ({"beta": 1.0}, "beta"),
        ({"beta": 1.1, "noise": 0.2}, "beta"),
        ({"delta": 1.0}, "delta"),
        ({"p_min": 0.0}, "p_min"),
        ({"slack": 0}, "slack"),
        ({"slack": 2.5}, "slack"),
        ({"monotone_from": 0}, "monotone_from"),
        ({"slack": np.inf}, "slack"),
        ({"noise": 0.5}, "noise"),
    ],
)
def test_bad_options_are_refused(options, says):
    with pytest.raises(QuestionError, match=says):
        ba.PrecisionCurve(**options)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (0, "wants more: the band reaches down to 0 so far, and a factor of 1.95 was asked for"),
        (1, "wants more to be sure of it: the band is within a factor of 1.2"),
    ],
)
def test_a_budget_that_is_spent_says_how_far_the_band_is(label, said):
    a = ba.assess(ba.RankedList(5_000), ba.PrecisionCurve(epsilon=0.3, beta=1.5, budget=300))
    with pytest.raises(BudgetError, match=said):
        finished(a, np.full(5_000, label), 100)


def test_a_budget_that_cannot_do_says_what_it_can_reach():
    with pytest.raises(BudgetError, match=r"with 500 it can reach about epsilon=.* and beta=.* at best, where"):
        ba.assess(ba.RankedList(10**7), ba.PrecisionCurve(p_min=0.5, budget=500))
    labels = labels_of(N)
    asked = ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=20, p_min=0.5, budget=400)
    a = ba.assess(ba.RankedList(N), asked, seed=1)
    with pytest.raises(BudgetError, match=r"400 labels is spent.*factor of 1\.\d+ .*1\.32"):
        finished(a, labels, 150)
    assert a.labels_used == 400
    with pytest.raises(QuestionError, match="budget"):
        ba.PrecisionCurve(budget=0)


def test_bad_lists_and_ranks_are_refused():
    with pytest.raises(PoolError, match="row 2"):
        ba.RankedList(scores=[0.9, 0.3, 0.5])
    with pytest.raises(PoolError, match="finite"):
        ba.RankedList(scores=[0.9, np.nan])
    with pytest.raises(PoolError, match="1 to 2"):
        ba.RankedList(0)
    with pytest.raises(PoolError, match="differ"):
        ba.RankedList(3, ids=["a", "b"])
    r = ba.assess(ba.RankedList(N), ASKED).result()
    for rank in (0, N + 1, 1.5, -3):
        with pytest.raises(QuestionError, match="1 to 200,000"):
            r.at(rank)
    for precision in (1.5, "0.8", None, [0.8, 0.9]):
        with pytest.raises(QuestionError, match="precision"):
            r.cut(precision)
    with pytest.raises(QuestionError, match="scores"):
        ba.assess(ba.Pool(predictions=[0, 1]), ASKED)
    with pytest.raises(DesignError, match="adastrat"):
        ba.assess(ba.RankedList(N), ASKED, design="thompson")


def test_labels_nobody_asked_for_and_wrong_ones_are_refused():
    a = ba.assess(ba.RankedList(N), ASKED)
    queries = a.ask(3)
    with pytest.raises(LabelError, match="not asked for"):
        a.tell([int(np.setdiff1d(np.arange(1, 10), queries.ids)[0])], [1])
    with pytest.raises(LabelError, match="not one of the classes"):
        a.tell(queries.ids, [1, 0, 2])
    a.tell(queries.ids, [1, 0, 1])
    a.tell(queries.ids, [1, 0, 1])  # again
    with pytest.raises(LabelError, match="contradicts"):
        a.tell(queries.ids[:1], [0])
    assert a.labels_used == 3


@pytest.mark.slow
def test_the_band_holds_as_often_as_promised():
    """A misses count is binomial with at most delta: the threshold is its 99.9 % point."""
    n, repeats = 20_000, 120
    labels = labels_of(n, seed=7)
    scores = 1 - (np.arange(n) + 0.5) / n
    asked = ba.PrecisionCurve(epsilon=0.2, beta=1.5, delta=0.2, slack=60, p_min=0.5)
    study = ba.simulate(
        ba.Pool(scores=scores), labels.astype(int), asked, designs=["adastrat", "random"], budgets=[n],
        repeats=repeats, level=0.8,
    )  # fmt: skip
    for design in ("adastrat", "random"):
        ends = study.intervals[design][:, 0]
        held = ((ends[..., 0] <= study.truth + 1e-9) & (study.truth <= ends[..., 1] + 1e-9)).all(-1)
        assert (~held).sum() <= binom.ppf(0.999, repeats, 0.2)


def test_the_band_of_a_flat_list_holds_too():
    """Precision then grows by chance at half of all ranks; misses are binomial with at most delta."""
    n, repeats, missed = 20_000, 60, 0
    asked = ba.PrecisionCurve(epsilon=0.2, beta=1.5, slack=30, p_min=0.5)
    ranks = np.unique(np.geomspace(1, n, 2000).astype(int))
    for seed in range(repeats):
        labels = np.random.default_rng(seed).random(n) < 0.9
        r = finished(ba.assess(ba.RankedList(n), asked, seed=seed), labels, 5000).result()
        _, lower, upper = r.at(ranks)
        missed += not ((lower <= precision(labels, ranks)) & (precision(labels, ranks) <= upper)).all()
    assert missed <= binom.ppf(0.999, repeats, 0.05)


def test_studies_show_all_designs():
    n = 5000
    labels = labels_of(n, seed=3)
    pool = ba.Pool(scores=1 - (np.arange(n) + 0.5) / n)
    asked = ba.PrecisionCurve(epsilon=0.2, beta=1.5, slack=10, p_min=0.4)
    study = ba.simulate(pool, labels.astype(int), asked, designs=DESIGNS, budgets=[200, n], repeats=3)
    ranks = asked.for_pool(pool).ranks(study.cells)
    np.testing.assert_allclose(study.truth, precision(labels, ranks))
    for design in DESIGNS:
        assert study.estimates[design].shape == (3, 2, len(ranks))
        assert study.scores[design]["mse"][:, 1].max() < 0.01
    assert "adastrat" in repr(study)


def test_designs_are_objects_with_options():
    a = ba.assess(ba.RankedList(N), ASKED, design=Paula(window=30))
    assert a.n_remaining < ba.assess(ba.RankedList(N), ASKED, design="paula").n_remaining
    assert ba.assess(ba.RankedList(N), ASKED, design=AdaStrat()).design == AdaStrat()
    with pytest.raises(DesignError, match="window"):
        Paula(window=0)
    with pytest.raises(DesignError, match="'last' rank or 'every' one; found 'first'"):
        AdaStrat(prefix="first")


def test_every_rank_of_the_head_makes_the_envelope_narrower_and_queries_fewer(tmp_path):
    """Precision dips within the head and rises within the slack: its lowest value bounds all that follows."""
    n, slack = 40_000, 300
    rng = np.random.default_rng(5)
    labels = rng.random(n) < 0.6
    asked = ba.PrecisionCurve(epsilon=0.1, beta=1.3, slack=slack, p_min=0.5)
    head = AdaStrat().head(asked.promise, n)
    labels[:head] = np.arange(head) % 5 < 4  # .8
    labels[head - 280 : head - 140] = False
    labels[head - 140 : head] = True
    found = {}
    for prefix in ("last", "every"):
        a = finished(ba.assess(ba.RankedList(n), asked, design=AdaStrat(prefix=prefix), seed=0), labels, 5000)
        found[prefix] = a.result()
    ranks = np.arange(head, n, 50)
    most = {prefix: r.estimated.upper_at(ranks) for prefix, r in found.items()}
    assert (most["every"] <= most["last"]).all()
    lowest = precision(labels, np.arange(1, head + 1)).min()
    assert (most["every"][ranks > head + slack] <= lowest + 1e-9).all()  # [ADA] Definition 1
    assert most["every"].max() < most["last"].max() - 0.015
    assert (found["every"].queried >= head).all()
    assert len(found["every"].queried) <= len(found["last"].queried)
    for r in found.values():
        _, lower, upper = r.at(ranks)
        assert ((lower <= precision(labels, ranks)) & (precision(labels, ranks) <= upper)).all()
    run = tmp_path / "run.db"
    ba.assess(ba.RankedList(n), asked, design=AdaStrat(prefix="every"), journal=run).journal.close()
    again = ba.resume(run, ba.RankedList(n))
    assert again.design == AdaStrat(prefix="every")
    again.journal.close()


def test_where_annotators_err_the_last_rank_of_the_head_stands_alone():
    n = 5000
    asked = ba.PrecisionCurve(epsilon=0.2, beta=1.5, slack=10, p_min=0.4, noise=0.05)
    labels = labels_of(n, seed=3)
    one, other = (
        finished(ba.assess(ba.RankedList(n), asked, design=AdaStrat(prefix=p), seed=0), labels, 5000).result()
        for p in ("last", "every")
    )
    np.testing.assert_array_equal(one.bounding.ranks, other.bounding.ranks)


def test_one_design_of_ranked_lists_is_a_study_of_that_design():
    pool, labels = ba.Pool(scores=np.linspace(0.1, 0.9, 100)), np.arange(100) % 2
    study = ba.simulate(pool, labels, ba.PrecisionCurve(p_min=0.5), designs=LogStrat(), budgets=[100], repeats=1)
    assert list(study.estimates) == ["LogStrat()"]


def test_studies_spend_no_more_labels_than_there_are():
    n, labels = 2000, labels_of(2000, seed=3)
    pool = ba.Pool(scores=1 - (np.arange(n) + 0.5) / n)
    few = ba.PrecisionCurve(epsilon=0.2, beta=1.5, slack=10, budget=300)
    whole, short = (
        ba.simulate(pool, labels.astype(int), asked, designs="adastrat", budgets=[300, n], repeats=2)
        for asked in (ba.PrecisionCurve(epsilon=0.2, beta=1.5, slack=10), few)
    )
    assert (whole.campaigns["adastrat"].record.labels[:, 1] > 300).all()
    assert (short.campaigns["adastrat"].record.labels == 300).all()
    np.testing.assert_array_equal(short.estimates["adastrat"][:, 0], whole.estimates["adastrat"][:, 0])
    np.testing.assert_array_equal(short.estimates["adastrat"][:, 1], short.estimates["adastrat"][:, 0])
    too_few = ba.PrecisionCurve(epsilon=0.2, beta=1.5, slack=10, p_min=0.5, budget=20)
    with pytest.raises(ba.BudgetError, match="needs 236 labels or more"):  # as sessions refuse it
        ba.simulate(pool, labels.astype(int), too_few, designs="logstrat", budgets=[n], repeats=1)


def test_a_list_that_names_two_items_alike_hands_out_nothing(tmp_path):
    a = ba.assess(ba.RankedList(1000, id_at=lambda ranks: ranks // 2), ba.PrecisionCurve(), journal=tmp_path / "a.db")
    with pytest.raises(PoolError, match=r"id_at gave the id \d+ to ranks \d+ and \d+; give each its own"):
        a.ask(400)
    assert a.n_pending == 0
    assert not a.events


def test_queries_say_why_there_are_fewer_than_were_asked_for():
    def asked(n, **options):
        a = ba.assess(ba.RankedList(20_000), ba.PrecisionCurve(epsilon=0.2, beta=1.5, p_min=0.3, **options))
        return a, a.ask(n)

    a, queries = asked(1_000)
    assert queries.fewer == "as their labels decide what comes next"
    first = f"{len(queries)} items to label, fewer than asked for, as their labels decide what comes next"
    assert repr(queries).splitlines()[0] == first
    assert (a.pending_queries.fewer, a.pending_queries.table().title) == ("", f"{len(queries)} items to label")
    assert asked(20)[1].fewer == ""
    assert asked(100, budget=5_000)[1].fewer == ""
    whole = ba.assess(ba.RankedList(100), ba.PrecisionCurve(p_min=0.5))
    whole.tell(whole.ask(100).ids, [1] * 100)
    assert whole.ask(5).table().title == "0 items to label, fewer than asked for, as the design needs no more labels"


def average_of(positive):
    ranks = np.flatnonzero(positive) + 1
    return (np.arange(1, len(ranks) + 1) / ranks).mean() if len(ranks) else 0.0


def test_bounds_of_average_precision_are_those_of_all_lists_that_a_band_allows():
    rng, ranks = np.random.default_rng(0), np.arange(1, 9)
    lists = np.array(list(itertools.product([0, 1], repeat=8)))
    counts, averages = lists.cumsum(1), np.array([average_of(one) for one in lists])
    n_tried = 0
    for _ in range(100):
        most = np.minimum(np.sort(rng.integers(0, 9, 8)), ranks)
        fewest = np.maximum.accumulate(np.minimum(most, rng.integers(0, 4, 8) * (rng.random(8) < 0.4)))
        possible = averages[((counts >= fewest) & (counts <= most)).all(1)]
        if len(possible):
            n_tried += 1
            assert _least_mean(fewest.astype(float), ranks, most[-1]) <= possible.min() + 1e-12
            assert _greatest_mean(most.astype(float), ranks, fewest[-1]) >= possible.max() - 1e-12
    assert n_tried > 50


def test_average_precision_holds_with_few_labels_of_rare_positives():
    """The least is that of some number of positives between the few that are known and the many that may be."""
    for seed in (27, 90, 147):
        positive = np.random.default_rng(seed).random(50_000) < 0.01
        c = ba.assess(ba.RankedList(50_000), ba.PrecisionCurve(0.1, 1.2, slack=20), design="random", seed=seed)
        ids = c.ask(200).ids
        c.tell(ids, positive[ids - 1].astype(int))
        value, lower, upper = c.result().average_precision
        assert lower <= average_of(positive) <= upper
        assert lower <= value <= upper


def test_without_a_positive_the_average_precision_is_0_and_may_be_1():
    c = ba.assess(ba.RankedList(50_000), ba.PrecisionCurve(0.1, 1.2, slack=20), seed=0)
    ids = c.ask(200).ids
    c.tell(ids, np.zeros(200, int))
    assert 1 not in ids  # which may be the one positive
    assert c.result().average_precision == (0.0, 0.0, 1.0)


def test_queries_of_the_design_that_learns_have_ranks_as_those_of_the_others():
    ids = [f"d{rank}" for rank in range(1, 201)]
    listed = ba.RankedList(ids=ids, show={"text": [f"text {id}" for id in ids]})
    a = ba.assess(listed, ba.PrecisionCurve(), design="variance_reduction", seed=0)
    queries = a.ask(10)
    assert [f"d{rank}" for rank in queries.ranks] == queries.ids.tolist()
    assert queries.table().columns[:3] == ("id", "rank", "text")
    assert queries.sheet().columns == ("id", "text", "label")
    assert queries.sheet(show_prediction=True).columns == ("id", "text", "rank", "label")
    assert [f"d{rank}" for rank in a.pending_queries.ranks] == a.pending.tolist()
    assert queries.only(queries.ids[:3].tolist()).ranks.tolist() == queries.ranks[:3].tolist()


def test_items_of_a_pool_that_score_alike_have_the_last_of_their_ranks():
    scores = np.array([0.9, 0.2, 0.5, 0.5] * 10)
    a = ba.assess(ba.Pool(scores=scores), ba.PrecisionCurve(), design="variance_reduction", seed=0)
    queries = a.ask(20)
    assert queries.ranks.tolist() == [int((scores >= scores[item]).sum()) for item in queries.ids]
    negative = ba.assess(ba.Pool(scores=scores), ba.PrecisionCurve(positive=0), design="variance_reduction", seed=0)
    queries = negative.ask(20)
    assert queries.ranks.tolist() == [int((scores <= scores[item]).sum()) for item in queries.ids]


def test_a_sheet_of_a_ranked_list_of_which_texts_were_sorted_is_refused(tmp_path):
    ranked = ba.RankedList(500, show={"text": [f"text {rank}" for rank in range(1, 501)]})
    a = ba.assess(ranked, ba.PrecisionCurve(epsilon=0.3, beta=1.5, p_min=0.3), seed=0)
    sheet = a.ask(10).sheet()

    def read(texts: list[str]) -> list[int]:
        rows = zip(sheet["id"].tolist(), texts, strict=True)
        lines = ["id,text,label", *(f"{of_item},{text},1" for of_item, text in rows)]
        (tmp_path / "sheet.csv").write_text("\n".join(lines))
        return ba.read_labels(tmp_path / "sheet.csv", a.labellable)[0].tolist()

    texts = sheet["text"].tolist()
    assert read(texts) == sheet["id"].tolist()
    with pytest.raises(LabelError, match="Some columns of the sheet were sorted"):
        read(texts[::-1])
