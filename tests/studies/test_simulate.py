from __future__ import annotations

import copy
import pickle

import jax
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.designs import ARMS, Importance, VarianceReduction
from bayes_assess.designs.step import one_label, start_campaign
from bayes_assess.questions._empty_cells import with_empty_cells
from bayes_assess.studies import compiled_campaigns
from bayes_assess.studies.compiled_campaigns import _campaigns
from bayes_assess.studies.simulated import SimulatedCampaigns
from made import like_20news, like_cifar10, made_pool, play_on_numpy

POOL, LABELS = made_pool([0.9, 0.5, 0.7, 0.8], [30, 20, 1, 25])
TRUTH = [0.9, 0.5, 1.0, 0.8]  # the group of one item is right


SHORT = {"budgets": [30, 76], "repeats": 4, "prior": "uninformative"}  # what has these is compiled once
FEW = SHORT | {"repeats": 2}  # the same of what has these


@pytest.fixture(scope="module")
def short():
    return ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs=["random", "thompson"], **SHORT)


@pytest.fixture(scope="module")
def study():
    designs = list(ARMS)
    return ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs=designs, budgets=[5, 30, 76], repeats=40)


@pytest.fixture
def no_campaigns(monkeypatch):
    """Let studies play none, as what is asked of them is known before."""
    monkeypatch.setattr(SimulatedCampaigns, "run", lambda *_: None)


@pytest.mark.slow
def test_the_truth_is_the_accuracy_at_full_labels(study):
    np.testing.assert_allclose(study.truth, TRUTH)


@pytest.mark.slow
@pytest.mark.parametrize("design", ARMS)
def test_every_campaign_uses_its_budget_and_ends_at_the_truth(study, design):
    assert (study.campaigns[design].labelled.sum(-1) == [5, 30, 76]).all()
    np.testing.assert_allclose(study.estimates[design][:, -1], np.tile(TRUTH, (40, 1)), rtol=0, atol=1e-15)
    assert (study.scores[design]["rmse"][:, -1] < 1e-15).all()
    assert study.coverage[design][-1] == 1


@pytest.mark.slow
def test_all_designs_are_in_a_study(study):
    assert list(study.intervals) == list(ARMS)


def test_shapes_are_repeats_by_budgets_by_groups(short):
    assert short.estimates["thompson"].shape == (4, 2, 4)
    assert short.intervals["thompson"].shape == (4, 2, 4, 2)
    assert list(short.intervals) == ["random", "thompson"]


class Begun(Exception):
    """Campaigns are compiled next."""


@pytest.mark.parametrize(("question", "design"), [(ba.GroupAccuracy(), "thompson"), (ba.Metric("f1"), "poisson")])
def test_a_study_compiles_no_operation_of_its_start(question, design, caplog, monkeypatch):
    def begin(*arguments):
        raise Begun

    monkeypatch.setattr(compiled_campaigns, "_campaigns", begin)
    labels = np.arange(53) % 7 % 2  # of shapes that no other study has
    pool = ba.Pool(predictions=np.arange(53) % 2, scores=np.linspace(0.01, 0.99, 53))
    caplog.set_level("DEBUG", "jax")  # `jax.log_compiles` is of one thread
    with pytest.raises(Begun):
        ba.simulate(pool, labels, question, designs=[design], budgets=[17, 29], repeats=11, batch=3)
    jax.jit(lambda: jax.numpy.zeros(53))()
    compiled = [record.getMessage() for record in caplog.records if record.msg.startswith("Compiling")]
    assert len(compiled) == 1  # the last one, as all would be logged


@pytest.mark.parametrize(
    ("question", "design"),
    [
        (ba.GroupAccuracy(), "random"),
        pytest.param(ba.GroupAccuracy(), "thompson", marks=pytest.mark.slow),
        pytest.param(ba.Metric("f1"), "poisson", marks=pytest.mark.slow),
    ],
)
def test_a_study_compiles_its_campaigns_and_nothing_else(question, design, caplog):
    labels = np.arange(53) % 7 % 2  # of shapes that no other study has
    pool = ba.Pool(predictions=np.arange(53) % 2, scores=np.linspace(0.01, 0.99, 53))
    caplog.set_level("DEBUG", "jax")
    ba.simulate(pool, labels, question, designs=[design], budgets=[17, 29], repeats=11, batch=3)
    compiled = [record.getMessage() for record in caplog.records if record.msg.startswith("Compiling")]
    assert any("_campaigns" in program for program in compiled)
    assert [program for program in compiled if "_campaigns" not in program and "_moments" not in program] == []


def test_few_campaigns_are_answered_without_compiling_anything(caplog):
    """By beliefs that learn, too, whose program takes users seconds to compile."""
    study = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", **SHORT | {"prior": "learned"})
    caplog.set_level("DEBUG", "jax")
    assert study.estimates["random"].shape == study.intervals["random"].shape[:-1] == (4, 2, 4)
    assert study.scores["random"]["rmse"].shape == (4, 2)
    assert not [record for record in caplog.records if record.msg.startswith("Compiling")]


def test_campaigns_are_alike_on_both_engines(short, monkeypatch):
    play_on_numpy(monkeypatch)
    eager = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs=["random", "thompson"], **SHORT)
    for design, campaigns in short.campaigns.items():
        np.testing.assert_array_equal(eager.campaigns[design].counts, campaigns.counts)


def test_seeds_that_differ_beyond_32_bits_are_different_studies():
    one, other = (
        ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", seed=seed, **SHORT) for seed in (1, 2**32 + 1)
    )
    assert (one.estimates["random"] != other.estimates["random"]).any()


def test_coverage_is_that_of_the_intervals_which_are_not_computed_again(short, monkeypatch):
    ends = short.intervals["random"]
    monkeypatch.setattr(ba.GroupAccuracy, "study_intervals", None)
    inside = (ends[..., 0] <= np.array(TRUTH) + 1e-12) & (np.array(TRUTH) <= ends[..., 1] + 1e-12)
    np.testing.assert_allclose(short.coverage["random"], (inside.mean(0) * [30, 20, 1, 25]).sum(-1) / 76)


def test_budgets_that_a_study_was_not_looked_at_are_named_beside_those_that_it_was(short):
    with pytest.raises(ba.BudgetError, match="not looked at with 31, 50 labels; it was with 30, 76"):
        short.table([30, 31, 50])


@pytest.mark.parametrize("what", ["estimates", "intervals", "design_intervals", "scores", "coverage"])
def test_a_design_that_is_not_in_a_study_is_named_beside_those_that_are(short, what):
    found = getattr(short, what)
    with pytest.raises(KeyError) as raised:
        found["top_two"]
    assert isinstance(raised.value, ba.BayesAssessError)
    assert "The study has no design 'top_two'; it has 'random', 'thompson'." in str(raised.value)
    assert found.get("top_two") is None
    assert "top_two" not in found


def test_what_a_study_has_is_shown_as_what_it_is(monkeypatch):
    play_on_numpy(monkeypatch)
    pool = ba.Pool(predictions=[0, 1] * 20, systems={"b": [0, 1, 1, 0] * 10})
    study = ba.simulate(pool, [0, 1] * 20, ba.Best(), designs=["passive"], budgets=[5], repeats=2)
    assert repr(study.scores) == "{'passive': <computed when looked at>}"
    assert [study.scores["passive"]["best"].shape, study.design_intervals["passive"]] == [(2, 1), None]
    assert repr(study.scores) == "{'passive': <best, regret>}"
    assert repr(study.design_intervals) == "{'passive': <none>}"


def test_a_random_campaign_draws_from_the_finite_pool_without_replacement():
    """Under random sampling the labels of a group are hypergeometric: mean and variance within five standard errors."""
    pool, labels = made_pool([0.6, 0.8], [40, 60], scores=False)
    study = ba.simulate(pool, labels, ba.GroupAccuracy(), designs=["random"], budgets=[50], repeats=4000)
    trials, successes = study.campaigns["random"].labelled[:, 0, 0], study.campaigns["random"].counts[:, 0, :, 1]
    variance = 50 * 0.4 * 0.6 * 50 / 99
    assert abs(trials.mean() - 20) < 5 * np.sqrt(variance / 4000)
    assert abs(trials.var() / variance - 1) < 5 * np.sqrt(2 / 4000)
    correct = successes.sum(-1)  # 72 of 100 items are right
    variance = 50 * 0.72 * 0.28 * 50 / 99
    assert abs(correct.mean() - 36) < 5 * np.sqrt(variance / 4000)
    assert abs(correct.var() / variance - 1) < 5 * np.sqrt(2 / 4000)


@pytest.mark.slow
def test_batches_are_looked_at_exactly_at_the_budgets_and_depend_on_no_other_look():
    options = {"designs": ["thompson", "random"], "repeats": 4, "batch": 8}
    study = ba.simulate(POOL, LABELS, ba.LeastAccurate(), budgets=[5, 20, 76], **options)
    for design in study.campaigns:
        assert (study.campaigns[design].labelled.sum(-1) == [5, 20, 76]).all()
    fewer = ba.simulate(POOL, LABELS, ba.LeastAccurate(), budgets=[8, 20, 76], **options)
    for design in study.campaigns:
        np.testing.assert_array_equal(study.campaigns[design].counts[:, 1:], fewer.campaigns[design].counts[:, 1:])
    one_by_one = ba.simulate(POOL, LABELS, ba.LeastAccurate(), budgets=[5, 20, 76], **options | {"batch": 1})
    assert (one_by_one.campaigns["thompson"].counts != study.campaigns["thompson"].counts).any()
    np.testing.assert_array_equal(one_by_one.campaigns["random"].counts, study.campaigns["random"].counts)


def test_the_same_seed_gives_the_same_study_and_repeats_differ():
    run = [ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="thompson", seed=s, **SHORT) for s in (1, 1, 2)]
    first, second, other = (s.campaigns["thompson"].labelled for s in run)
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert (first[0] != first[1:]).any()


def test_the_number_of_repeats_does_not_change_the_first_ones(short):
    few = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", **FEW)
    np.testing.assert_array_equal(few.campaigns["random"].labelled, short.campaigns["random"].labelled[:2])


def test_a_thousand_looks_cost_one_compilation():
    before = _campaigns._cache_size()
    for seed in range(3):
        ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="thompson", seed=seed, **SHORT)
    assert _campaigns._cache_size() <= before + 1


@pytest.mark.slow
def test_informative_priors_beat_uninformative_ones_at_two_labels_per_group():
    """[ABA] Table 3 at N/K = 2."""
    for pool, labels in (like_20news(), like_cifar10()):
        n = 2 * pool.n_classes
        designs = {"flat": ("random", "uninformative"), "scores": ("random", "informative")}
        study = ba.simulate(pool, labels, ba.GroupAccuracy(), designs=designs, budgets=[n], repeats=200)
        flat, scores = (study.scores[name]["rmse"][:, 0] for name in ("flat", "scores"))
        error = np.sqrt((flat.var(ddof=1) + scores.var(ddof=1)) / 200)
        assert flat.mean() - scores.mean() > 5 * error


@pytest.mark.slow
def test_thompson_finds_the_least_accurate_group_sooner_than_random():
    """[ABA] Table 6; the labels until a mean over campaigns stays above .95 vary by a half from seed to seed here."""
    for pool, labels in (like_20news(), like_cifar10()):
        few, many = [pool.n_items // 15, pool.n_items // 7]
        study = ba.simulate(pool, labels, ba.LeastAccurate(), budgets=[few, many], repeats=1600, prior="informative")
        random, thompson = (study.scores[name]["mrr"] for name in ("random", "thompson"))
        error = np.sqrt((random.var(0, ddof=1) + thompson.var(0, ddof=1)) / 1600)
        assert (thompson.mean(0) - random.mean(0) > 4 * error).all()


@pytest.mark.slow
def test_thompson_estimates_all_groups_no_worse_than_random_does():
    pool, labels = made_pool([0.99, 0.5, 0.95, 0.55], [400, 400, 400, 400])
    study = ba.simulate(pool, labels, ba.GroupAccuracy(), budgets=[400], repeats=200)
    random, thompson = (study.scores[name]["rmse"][:, 0] for name in ("random", "thompson"))
    # Sampling in proportion to the standard deviations lowers the RMSE here by 9 % in theory.
    assert random.mean() - thompson.mean() > 3 * np.sqrt((random.var() + thompson.var()) / 200)


def test_labels_to_is_none_where_the_budget_does_not_suffice(short):
    assert set(short.labels_to("rmse", 1e-9).values()) == {76}
    few = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", **FEW | {"budgets": [4, 5]})
    assert few.labels_to("rmse", 1e-9) == {"random": None}
    with pytest.raises(ba.BayesAssessError, match="no score 'mrr'; it has 'rmse'"):
        few.labels_to("mrr", 0.9)
    with pytest.raises(ba.QuestionError, match="is a finite number; found 'low'"):
        few.labels_to("rmse", "low")


def test_intervals_are_tabulated_at_the_budgets_of_the_table(short):
    table = short.interval_table()
    assert table["labels"].tolist() == short.table()["labels"].tolist()
    rows = table["design"] == "random"
    at = np.searchsorted(short.budgets, table["labels"][rows])
    sizes = short.size / short.size.sum()
    ends = short.intervals["random"][:, at]
    np.testing.assert_allclose(table["coverage"][rows], short.coverage["random"][at])
    np.testing.assert_allclose(table["width"][rows], ((ends[..., 1] - ends[..., 0]) @ sizes).mean(0))


@pytest.mark.parametrize(
    ("pool", "question", "mse"),
    [
        (ba.Pool(predictions=[1, 5] * 20), ba.Mean(), 1e-3 * 16),
        (ba.Pool(predictions=[1, 5] * 20), ba.Metric("accuracy"), 1e-3),
        (ba.Pool(predictions=[3.0] * 40, bounds=(-np.inf, np.inf)), ba.Metric("mae"), 1e-3 * 4),
        (ba.Pool(predictions=[3.0] * 40, bounds=(-np.inf, np.inf)), ba.Metric("r2"), 1e-3),
    ],
)
def test_goals_are_in_the_units_of_what_is_measured(pool, question, mse, no_campaigns):
    study = ba.simulate(pool, [1, 5] * 20, question, designs=["passive"], budgets=[20], repeats=2)
    assert study.goals["mse"] == pytest.approx(mse)
    assert study.goals["bias"] == pytest.approx(0.01 * (mse / 1e-3) ** 0.5)


def test_a_table_leaves_digits_to_small_scores(short):
    """Errors of a measure near 0 were 0.0000 everywhere."""
    small = copy.copy(short)
    small.__dict__["scores"] = {"random": {"rmse": np.array([[4.1e-8, 5.3e-8], [4.3e-8, 4.9e-8]])}}
    table = small.table()
    assert table["rmse"] == pytest.approx([4.2e-8, 5.1e-8])
    shown = repr(table).splitlines()[-1].split()[2]
    assert float(shown) == pytest.approx(5.1e-8, rel=0.05)


def test_a_table_shows_no_rounding(short):
    """Three tenths of ten labels are not 0.3 in the last digit: scores of campaigns that are alike have no error."""
    noisy = copy.copy(short)
    noisy.__dict__["scores"] = {"random": {"rmse": np.array([[0.1 + 0.2, 3e-17], [0.3, 0.0]])}}
    assert noisy.table()["rmse_se"].tolist() == [0.0, 0.0]
    assert noisy.table()["rmse"].tolist() == [pytest.approx(0.3), 0.0]


def test_the_table_has_a_row_per_design_and_budget(short):
    table = short.table()
    assert len(table) == 2 * 2
    assert table.columns == ("design", "labels", "rmse", "rmse_se")
    assert len(short.table(budgets=[30])) == len(short.table(budgets=30)) == 2
    with pytest.raises(ba.BudgetError, match="with 31 labels"):
        short.table(budgets=[31])


def test_one_campaign_has_no_standard_errors():
    one = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", **SHORT | {"repeats": 1})
    assert one.table().columns == ("design", "labels", "rmse")


def test_the_plot_has_a_line_per_design(short):
    assert len(short.plot().lines) >= 2


def test_undeclared_classes_are_widened_by_the_labels(no_campaigns):
    pool = ba.Pool(predictions=["cat", "dog", "cat"])
    study = ba.simulate(pool, ["cat", "cow", "dog"], ba.GroupAccuracy(), designs="random", budgets=[3], repeats=2)
    assert dict(zip(study.groups.tolist(), study.truth.tolist(), strict=True)) == {"cat": 0.5, "cow": 0.0, "dog": 0.0}


def test_progress_goes_to_standard_error_and_only_if_wanted(capsys):
    ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", **SHORT)
    assert capsys.readouterr() == ("", "")
    ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", progress=True, **SHORT)
    out, err = capsys.readouterr()
    assert out == ""
    assert "campaigns" in err


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 3])  # campaigns run side by side, for every thread as many
def test_progress_counts_the_campaigns_that_were_asked_for(repeats, capsys):
    options = SHORT | {"designs": ["random", "random_group"], "repeats": repeats, "progress": True}
    ba.simulate(POOL, LABELS, ba.GroupAccuracy(), **options)
    assert f"campaigns: {2 * repeats} of {2 * repeats} ..." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"budgets": [10, 5]}, ba.BudgetError, "increasing"),
        ({"budgets": [0, 5]}, ba.BudgetError, "increasing whole numbers"),
        ({"budgets": [2.5, 5]}, ba.BudgetError, "increasing whole numbers"),
        ({"budgets": [77]}, ba.BudgetError, "76 items for this question, fewer than the budget of 77"),
        ({"repeats": 0}, ba.BudgetError, "number of repeats is a positive whole number; found 0"),
        ({"batch": 0}, ba.BudgetError, "A batch is a positive whole number of items; found 0"),
        ({"designs": []}, ba.DesignError, "at least one design"),
        ({"designs": ["tomson"]}, ba.DesignError, "no design 'tomson'"),
        ({"designs": {"flat": ("random",)}}, ba.DesignError, r"a design and its prior; found \('random',\)"),
        ({"prior": "vague"}, ba.PriorError, "found 'vague'"),
        ({"level": 95}, ba.QuestionError, "lies between 0 and 1, such as 0.95; found 95"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        ba.simulate(POOL, LABELS, ba.GroupAccuracy(), **options)


def test_budgets_may_be_whole_floats():
    options = SHORT | {"budgets": np.linspace(10, 30, 2)}
    found = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", **options)
    assert found.budgets.tolist() == [10, 30]


def test_labels_of_another_length_are_refused():
    with pytest.raises(ba.LabelError, match="75 labels for 76 items"):
        ba.simulate(POOL, LABELS[:-1], ba.GroupAccuracy())


def test_no_global_setting_is_touched():
    before = jax.config.read("jax_enable_x64")
    ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs="random", **SHORT)
    assert jax.config.read("jax_enable_x64") == before


@pytest.mark.parametrize("design", ["random", "random_group"])
def test_designs_that_do_not_learn_are_run_once_whatever_the_prior(design):
    plans = {"flat": (design, "uninformative"), "scores": (design, "informative")}
    both = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs=plans, **SHORT)
    alone = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs={"scores": plans["scores"]}, **SHORT)
    assert both.campaigns["scores"].record is both.campaigns["flat"].record
    np.testing.assert_array_equal(both.campaigns["scores"].counts, alone.campaigns["scores"].counts)
    np.testing.assert_array_equal(both.estimates["scores"], alone.estimates["scores"])
    assert (both.estimates["scores"] != both.estimates["flat"]).any()


def test_a_study_makes_cells_once_and_every_design_s_prior_once(monkeypatch):
    question, made = ba.GroupAccuracy(), []
    for name in ("cells", "prior"):
        own = getattr(ba.GroupAccuracy, name)

        def counting(self, *arguments, name=name, own=own):
            made.append(name)
            return own(self, *arguments)

        monkeypatch.setattr(ba.GroupAccuracy, name, counting)
    ba.simulate(POOL, LABELS, question, designs=["random", "random_group"], **SHORT)
    assert sorted(made) == ["cells", "prior", "prior"]


def pool_of_ranks(seed: int) -> tuple[ba.Pool, np.ndarray]:
    """Scores of three digits, of which as many differ as the seed makes."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.beta(0.3 + 0.1 * seed, 3, 1_000), 3)
    return ba.Pool(scores=scores), (rng.random(1_000) < scores).astype(int)


# The program of the default design takes 17 seconds to compile.
slow_by_default = pytest.mark.parametrize(
    "design",
    [Importance(n_strata=100), pytest.param(VarianceReduction(), marks=pytest.mark.slow)],
    ids=["importance", "default"],
)
STEPS = {"budgets": [8, 40], "repeats": 4, "seed": 0}


@slow_by_default
def test_pools_of_about_as_many_cells_are_compiled_once(design):
    pools = [pool_of_ranks(seed) for seed in (1, 2, 4)]
    sizes = {ba.Metric("f1").setting(pool, strata=design.strata_of(pool)).cells.n_cells for pool, _ in pools}
    assert len(sizes) == {"importance": 2}.get(design.name, 3)
    assert -(-min(sizes) // 32) == -(-max(sizes) // 32)
    _campaigns.clear_cache()
    for pool, labels in pools:
        ba.simulate(pool, labels, ba.Metric("f1"), designs=[design], **STEPS)
    assert _campaigns._cache_size() == 1


@slow_by_default
@pytest.mark.parametrize("question", [ba.Metric("f1"), ba.Rate(by="site")], ids=["f1", "rate by group"])
@pytest.mark.slow  # compiled; the quick tests take the steps
def test_cells_without_items_change_nothing(question, design, monkeypatch):
    scored, labels = pool_of_ranks(1)  # which `test_pools_of_about_as_many_cells_are_compiled_once` compiles with pads
    pool = ba.Pool(scores=scored.scores, groups={"site": np.arange(1_000) % 3})
    found = []
    for pads in (True, False):
        monkeypatch.setattr(type(design), "pads_cells", pads)
        study = ba.simulate(pool, labels, question, designs={"": design}, **STEPS)
        answers = study.estimates[""], study.intervals[""], study.design_intervals[""]
        found.append([one for one in answers if one is not None])  # few designs have the last
    for padded, plain in zip(*found, strict=True):
        np.testing.assert_allclose(padded, plain, rtol=1e-6, atol=1e-9)  # sums are rounded in other orders


@pytest.mark.parametrize("design", [Importance(n_strata=100), VarianceReduction()], ids=["importance", "default"])
def test_cells_without_items_change_no_step(design):
    pool, labels = pool_of_ranks(1)
    question, found = ba.Metric("f1"), []
    setting = question.setting(pool, strata=design.strata_of(pool))
    full = question.full_counts(pool, setting.cells, labels, setting.n_outcomes)
    n, padded = len(full), with_empty_cells(setting)
    assert padded.cells.n_cells > n
    with engine.eager():
        keys = engine.random.split(engine.random.key(0))
        for on in (setting, padded):
            items = np.pad(full, [(0, on.cells.n_cells - n), (0, 0)])
            campaign = start_campaign(1, keys, design.init(*on), items)
            for _ in range(20):
                campaign = one_label(design, campaign)
            record = design.record(campaign.state)
            if design.name == "importance":
                found.append((record.value, record.variance))
            else:
                found.append((record.counts[:n], record.share[:, :n], record.strength[:, :n]))
    for plain, other in zip(*found, strict=True):
        np.testing.assert_allclose(plain, other, rtol=1e-5, atol=1e-7)  # of 32 bits


def test_a_ranked_list_is_refused_with_what_to_pass():
    ranked = ba.RankedList.from_scores([3.0, -1.0, 8.0, 0.5] * 50)
    labels = [1, 0, 1, 0] * 50
    with pytest.raises(ba.BayesAssessError, match=r"found RankedList\. Pass pool = ranked\.as_pool\(\) and labels"):
        ba.simulate(ranked, labels, ba.PrecisionCurve())


@pytest.mark.slow
def test_a_study_can_be_pickled_and_copied_after_its_intervals_were_looked_at():
    designs = {"flat": ("thompson", "uninformative"), "scores": ("random", "learned")}
    study = ba.simulate(POOL, LABELS, ba.GroupAccuracy(), designs=designs, **SHORT)

    def looked_at(study):
        return [kept[name] for kept in (study.intervals, study.design_intervals, study.coverage) for name in designs]

    before = looked_at(study)
    for again in (pickle.loads(pickle.dumps(study)), copy.deepcopy(study)):
        for expected, value in zip(before, looked_at(again), strict=True):
            np.testing.assert_array_equal(expected, value)
        assert repr(again) == repr(study)
