from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.acquisition import paired_rope_masses, rope_masses_beta
from bayes_assess.acquisition.verdict_rewards import PairwiseLambda
from questions.asked import LABELS, POOL

SITE = POOL.groups["site"]


class TestTwoGroups:
    def test_the_example_of_the_paper(self):
        """[ABA] "Comparison": Beta(280, 203) against Beta(351, 162)."""
        prior = ba.BetaBernoulli(np.array([280.0, 351.0]), np.array([203.0, 162.0]))
        pool = ba.Pool(predictions=["A", "B"])
        question = ba.Compare("A", "B", by="prediction", target="population")
        result = ba.assess(pool, question, prior=prior).result()
        said = "A is more than 5 points less accurate than B with probability 0.96"
        assert result.verdict == f"{said}, as expected before any label."
        assert result.eta == 0
        assert result.probability == pytest.approx(result.masses[0])
        assert result.estimate == pytest.approx(280 / 483 - 351 / 513)

    @pytest.mark.parametrize(
        ("eta", "said"), [(1, "within 2.5 points of each other"), (2, "more than 2.5 points more")]
    )
    def test_the_other_verdicts(self, eta, said):
        a = np.array([900.0, 900.0]) if eta == 1 else np.array([950.0, 500.0])
        prior = ba.BetaBernoulli(a, 1000 - a)
        question = ba.Compare(0, 1, by="prediction", rope=0.025, target="population")
        result = ba.assess(ba.Pool(predictions=[0, 1]), question, prior=prior).result()
        assert result.eta == eta
        assert said in result.verdict

    @pytest.mark.slow
    def test_only_items_of_the_two_groups_are_asked_for(self):
        a = ba.assess(POOL, ba.Compare("west", "east", by="site"))
        n = int((SITE != "north").sum())
        assert a.n_remaining == n
        assert set(SITE[a.ask(n).ids]) == {"west", "east"}
        with pytest.raises(ba.BudgetError, match="only 0 of 160 can answer this question and are neither labelled"):
            a.ask(1)

    @pytest.mark.slow
    def test_labels_of_other_groups_are_taken_and_change_nothing_under_a_fixed_prior(self):
        question = ba.Compare("west", "east", by="site")
        a, b = (ba.assess(POOL, question, prior="uninformative", seed=2) for _ in range(2))
        north = np.flatnonzero(SITE == "north")
        a.tell(north, LABELS[north])
        np.testing.assert_array_equal(a.result().masses, b.result().masses)
        assert a.n_remaining == b.n_remaining
        np.testing.assert_array_equal(a.ask(12).ids, b.ask(12).ids)

    def test_swapping_the_groups_swaps_the_verdict(self):
        one, other = (
            ba.assess(POOL, question)
            for question in (ba.Compare("west", "east", "site"), ba.Compare("east", "west", "site"))
        )
        for a in (one, other):
            a.tell(POOL.ids[:90], LABELS[:90])
        np.testing.assert_allclose(one.result().masses, other.result().masses[::-1], atol=1e-9)
        assert one.result().estimate == pytest.approx(-other.result().estimate)

    def test_the_interval_is_that_of_the_difference(self):
        a = ba.assess(POOL, ba.Compare("west", "east", by="site", target="population"), prior="informative")
        a.tell(POOL.ids[:90], LABELS[:90])
        result = a.result()
        posterior = result.posterior
        rng = np.random.default_rng(3)
        west, east = (rng.beta(posterior.a[g], posterior.b[g], 200_000) for g in (2, 0))
        inside = np.mean((result.interval[0] <= west - east) & (west - east <= result.interval[1]))
        assert abs(inside - 0.95) < 5 * np.sqrt(
            2 * 0.025 * 0.975 / 10_000
        )  # its two ends are quantiles of 10,000 draws


class TestAllPairs:
    @pytest.mark.parametrize("target", ["pool", "population"])
    def test_every_pair_has_the_masses_of_its_two_groups(self, target):
        a = ba.assess(POOL, ba.Compare(by="site", target=target))
        a.tell(POOL.ids[:90], LABELS[:90])
        masses = a.result().masses
        two = ba.assess(POOL, ba.Compare("west", "north", by="site", target=target))
        two.tell(POOL.ids[:90], LABELS[:90])
        np.testing.assert_allclose(masses[2, 1], two.result().masses, atol=1e-9)
        np.testing.assert_allclose(masses, masses.swapaxes(0, 1)[..., ::-1], atol=1e-9)
        assert (masses[np.arange(3), np.arange(3), 1] == 1).all()

    def test_the_table_has_every_pair_once_the_surest_first(self):
        a = ba.assess(POOL, ba.Compare(by="site"))
        a.tell(POOL.ids, LABELS)
        table = a.result().table()
        assert {frozenset(pair) for pair in zip(table["first"], table["second"], strict=True)} == {
            frozenset(pair) for pair in (("east", "north"), ("east", "west"), ("north", "west"))
        }
        surest = np.max([table["p_worse"], table["p_equal"], table["p_better"]], axis=0)
        assert (np.diff(surest) <= 0).all()

    def test_groups_without_items_take_no_part(self):
        pool = ba.Pool(predictions=[0] * 5 + [2] * 5, classes=[0, 1, 2])
        result = ba.assess(pool, ba.Compare(by="prediction")).result()
        assert len(result.table()) == 1
        assert result.plot() is not None
        with pytest.raises(ba.QuestionError, match="not two groups with items"):
            ba.assess(ba.Pool(predictions=[0, 0], classes=[0, 1]), ba.Compare(by="prediction"))

    def test_a_label_is_worth_most_where_verdicts_are_open(self):
        """Two groups are known to be far apart; one is hardly known."""
        prior = ba.BetaBernoulli(np.array([900.0, 300.0, 12.0]), np.array([100.0, 700.0, 6.0]))
        with jax.enable_x64(True):
            value = np.asarray(PairwiseLambda(0.05)(prior.mean, prior, np.full(3, 1 / 3)))
        assert value.argmax() == 2
        assert value[2] > 10 * np.abs(value[:2]).max()


class TestTwoSystems:
    def test_only_items_on_which_they_differ_are_asked_for(self):
        a = ba.assess(POOL, ba.Compare("rival", "prediction"))
        differ = np.flatnonzero(POOL.systems["rival"] != POOL.predictions)
        assert a.n_remaining == len(differ)
        assert set(a.ask(len(differ)).ids) == set(differ)

    def test_the_difference_counts_who_is_right_where_they_differ(self):
        a = ba.assess(POOL, ba.Compare("rival", "prediction", target="population"))
        ids = a.ask(20).ids
        a.tell(ids, LABELS[ids])
        first, second = np.sum(POOL.systems["rival"][ids] == LABELS[ids]), np.sum(POOL.predictions[ids] == LABELS[ids])
        share = np.mean(POOL.systems["rival"] != POOL.predictions)
        result = a.result()
        assert result.share_differing == pytest.approx(share)
        # One label of prior, spread over the three outcomes that are possible there.
        assert result.estimate == pytest.approx(share * (first - second) / (20 + 1))
        assert result.table()["rival right"].tolist() == [0, first]

    def test_verdicts_begin_with_a_capital_letter_or_a_name_as_it_was_given(self):
        rival = POOL.systems["rival"]
        for first, second, begins in (
            ("prediction", "rival", "The pool's system "),
            (POOL.classes[rival], "prediction", "The first system "),
            ("rival", "prediction", "rival "),
        ):
            assert ba.assess(POOL, ba.Compare(first, second)).result().verdict.startswith(begins)

    def test_masses_are_those_of_dirichlet_draws(self):
        a = ba.assess(POOL, ba.Compare("rival", "prediction", rope=0.02, target="population"))
        ids = a.ask(20).ids
        a.tell(ids, LABELS[ids])
        result = a.result()
        alpha = np.asarray(result.posterior.alpha)[1, 1:]
        theta = np.random.default_rng(0).dirichlet(alpha, 200_000)
        d = result.share_differing * (theta[:, 0] - theta[:, 1])
        expected = np.array([np.mean(d < -0.02), np.mean(np.abs(d) <= 0.02), np.mean(d > 0.02)])
        error = np.sqrt(expected * (1 - expected) / len(d))
        assert (np.abs(result.masses - expected) < 5 * error + 1e-6).all()
        assert abs(result.draws.mean() - result.estimate) < 5 * result.draws.std() / np.sqrt(len(result.draws))

    def test_systems_may_be_arrays_or_pools(self):
        rival = POOL.systems["rival"]
        expected = ba.Compare("prediction", "rival").truth(POOL, LABELS)
        for other in (rival, rival.tolist(), ba.Pool(predictions=rival, classes=[0, 1, 2, 3])):
            assert ba.Compare(second=other).truth(POOL, LABELS) == pytest.approx(expected)

    def test_a_journal_needs_predictions_that_were_given_as_an_array_again(self, tmp_path):
        question, path = ba.Compare(second=POOL.systems["rival"]), tmp_path / "run.db"
        ba.assess(POOL, question, journal=path).journal.close()
        with pytest.raises(ba.JournalError, match="given as an array; pass resume"):
            ba.resume(path, POOL)
        a = ba.resume(path, POOL, question)
        assert a.n_remaining > 0
        a.journal.close()

    def test_the_prior_may_be_a_dirichlet_law_over_the_four_outcomes(self):
        own = ba.PairedOutcomes(np.array([5.0, 2.0, 1.0, 2.0]))
        prior = ba.assess(POOL, ba.Compare("rival", "prediction"), prior=own).prior
        np.testing.assert_allclose(prior.alpha, [[50 / 7, 0, 0, 20 / 7], [0, 4, 2, 4]])

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"second": "nobody"}, ba.QuestionError, "no system 'nobody'; it has 'prediction', 'rival'"),
            ({"second": np.zeros(3, int)}, ba.PartitionError, r"shape \(3,\); pass one for each of the 160"),
            ({"second": np.full(160, 7)}, ba.QuestionError, "second system predicts what is no class of the pool"),
            ({"second": POOL.predictions}, ba.QuestionError, "predict the same for every item"),
        ],
    )
    def test_systems_that_make_no_sense_are_refused(self, arguments, error, message):
        with pytest.raises(error, match=message):
            ba.assess(POOL, ba.Compare(**arguments))

    @pytest.mark.parametrize(
        ("prior", "message"),
        [
            ("informative", "would favour it"),
            ("flat", "found 'flat'"),
            (ba.PairedOutcomes(np.ones(3)), "four alphas, .* found shape"),
        ],
    )
    def test_priors_that_make_no_sense_are_refused(self, prior, message):
        with pytest.raises(ba.PriorError, match=message):
            ba.assess(POOL, ba.Compare(second="rival"), prior=prior)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs two groups and by"),
        ({"first": "west", "by": "site"}, "found only one"),
        ({"second": "west", "by": "site"}, "found only one"),
        ({"first": "west", "second": "west", "by": "site"}, "'west' is compared with itself"),
        ({"first": "rival", "second": "rival"}, "'rival' is compared with itself"),
        ({"first": np.zeros(160), "second": np.zeros(160), "by": "site"}, "leave `by` out"),
        ({"by": "site", "rope": 1.0}, "up to but not including 1; found 1.0"),
        ({"by": "site", "rope": np.nan}, "found nan"),
        ({"by": "site", "rope": -0.1}, "found -0.1"),
        ({"by": "site", "target": "sample"}, "target is 'pool' or 'population'; found 'sample'"),
    ],
)
def test_comparisons_that_make_no_sense_are_refused_when_they_are_made(arguments, message):
    with pytest.raises(ba.QuestionError, match=message):
        ba.Compare(**arguments)


def test_groups_that_do_not_exist_or_are_empty_or_one_are_refused():
    with pytest.raises(ba.QuestionError, match="no group 'south' by site; there are east, north, west"):
        ba.assess(POOL, ba.Compare("west", "south", by="site"))
    with pytest.raises(ba.QuestionError, match="Group 1 has no items"):
        ba.assess(ba.Pool(predictions=[0, 2], classes=[0, 1, 2]), ba.Compare(0, 1, by="prediction"))
    with pytest.raises(ba.QuestionError, match="compared with itself"):
        ba.assess(POOL, ba.Compare("1", 1, by="prediction"))


def test_scores_of_many_campaigns_are_those_of_each():
    question = ba.Compare("west", "east", by="site", target="population")
    cells, prior, *_ = question.setting(POOL, prior="informative")
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (5, 3, 3, 2))
    full = question.full_counts(POOL, cells, LABELS, 2)
    together = question.evaluate(cells, prior, counts, full)
    for r, b in np.ndindex(5, 3):
        posterior = prior.update_counts(counts[r, b])
        masses = rope_masses_beta(posterior.a[2], posterior.b[2], posterior.a[0], posterior.b[0])
        exact = np.asarray(question.masses(cells, prior, full))
        right = np.argmax(masses) == exact.argmax()
        close = abs(np.max(masses) - exact.max()) < 0.05 * exact.max()
        assert together["right"][r, b] == right
        assert together["success"][r, b] == (right and close)


ABOUT_THE_POOL = {
    "two_groups": ba.Compare("west", "east", by="site"),
    "all_pairs": ba.Compare(by="site"),
    "two_systems": ba.Compare("rival", "prediction"),
}


@pytest.mark.parametrize("question", ABOUT_THE_POOL.values(), ids=ABOUT_THE_POOL)
def test_a_difference_that_the_labels_show_is_known(question):
    """The population's stays open: its masses are none of them 1."""
    known, open_ = ba.assess(POOL, question), ba.assess(POOL, replace(question, target="population"))
    items = np.flatnonzero(
        known._playable[known.cells.source.cells_of(np.arange(POOL.n_items))]
    )  # the others have no part in the difference
    for a in (known, open_):
        a.tell(POOL.ids[items], LABELS[items])
    result, truth = known.result(), question.truth(POOL, LABELS)
    assert result.guarantee == "exact"
    np.testing.assert_allclose(result.estimate, truth, atol=1e-12)
    np.testing.assert_allclose(result.interval, np.stack([truth, truth], -1), atol=1e-12)
    expected = np.stack([truth < -0.05, np.abs(truth) <= 0.05, truth > 0.05], -1)
    np.testing.assert_allclose(result.masses, expected, atol=1e-12)
    assert "probability" not in result.summary()
    assert open_.result().guarantee == "credible"
    assert (open_.result().masses.max(-1)[truth != 0] < 1).all()


@pytest.mark.parametrize("question", ABOUT_THE_POOL.values(), ids=ABOUT_THE_POOL)
def test_masses_of_the_pool_are_the_shares_of_its_draws(question):
    a = ba.assess(POOL, question, design="random", seed=4)
    ids = a.ask(30).ids
    a.tell(ids, LABELS[ids])
    result = a.result()
    counted = [result.draws < -0.05 - 1e-9, np.abs(result.draws) <= 0.05 + 1e-9, result.draws > 0.05 + 1e-9]
    shares = np.stack([event.mean(0) for event in counted], -1)
    assert (np.abs(shares - result.masses) < 5 * np.sqrt(result.masses * (1 - result.masses) / 10_000) + 1e-3).all()
    error = result.draws.std(0) / np.sqrt(len(result.draws))
    assert (np.abs(result.draws.mean(0) - result.estimate) <= 5 * error).all()


def test_a_difference_of_exactly_the_rope_is_practical_equality():
    """0.8 less 0.75 is a little more than 0.05 in floating point."""
    pool = ba.Pool(predictions=["A"] * 20 + ["B"] * 20)
    a = ba.assess(pool, ba.Compare("A", "B", by="prediction", rope=0.05))
    a.tell(pool.ids, ["A"] * 16 + ["B"] * 4 + ["B"] * 15 + ["A"] * 5)
    assert a.result().masses.tolist() == [0, 1, 0]


def test_paired_masses_at_the_ends():
    alpha = np.array([[0.0, 3.0, 2.0, 1.0], [5.0, 1.0, 1.0, 5.0]])
    assert paired_rope_masses(alpha, 1.5).tolist() == [[0, 1, 0], [0, 1, 0]]
    masses = paired_rope_masses(alpha, 0.0)
    np.testing.assert_allclose(masses[:, 1], 0, atol=1e-12)
    assert masses[0, 2] == pytest.approx(stats.beta.sf(0.5, 3, 2))
    assert masses[1].tolist() == pytest.approx([0.5, 0, 0.5])
    shares = np.asarray(ba.PairedOutcomes(alpha[1]).sample(jax.random.key(0), 100_000))
    expected = np.mean(shares[:, 1] - shares[:, 2] > 0.1)
    error = np.sqrt(expected * (1 - expected) / 100_000)
    assert abs(paired_rope_masses(alpha[1], 0.1)[2] - expected) < 5 * error
