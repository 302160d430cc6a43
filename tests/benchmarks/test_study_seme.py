"""Tests of the study of Poisson sampling: its samplers, its pools and its report, on made pools."""

import sys

import numpy as np
import pytest
from _seme_checks import Comparison
from _seme_pools import LABEL_SETS, Binary, LabelSets, multi_label
from study_seme import METHODS, Kinds, Plan, WithoutReplacement, error_with_all_labels, main, run, sampler

from bayes_assess.acquisition.poisson import blended
from bayes_assess.measures import multilabel_measure

PLAN = Plan(30, shares=(0.05, 0.2, 0.75))


@pytest.fixture(scope="module")
def binary() -> Binary:
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 1.5, 400)
    return Binary("made", p > 0.5, rng.random(400) < p, p)


@pytest.fixture(scope="module")
def label_sets() -> LabelSets:
    return multi_label(400)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall"])
def test_deviations_of_ratios_are_those_of_measures_with_one_class_up_to_a_factor(binary, measure):
    believed = blended(np.stack([1 - binary.probability, binary.probability], axis=1))[:, 1:]
    expected = multilabel_measure(f"{measure}_micro").deviations(binary.predicted[:, None], believed)
    found = binary.deviation(measure)
    np.testing.assert_allclose(found * expected.max(), expected * found.max(), rtol=1e-9, atol=1e-12)


def test_deviations_of_a_mean_over_items_are_centred(label_sets):
    p = np.full_like(label_sets.probabilities, 0.5)
    none = LabelSets("made", np.zeros_like(label_sets.predicted), label_sets.labels, p)
    assert none.deviation("f1_samples").max() == 0  # F1 is 0 whatever the labels, and so is its mean
    assert label_sets.deviation("f1_samples").min() > 0


def test_variance_of_draws_with_replacement_is_that_of_a_mean(binary):
    design = sampler("Uniform, repl.", binary, "accuracy", 40)
    rng, q = np.random.default_rng(1), binary.measures.index("accuracy")
    samples = [design.sample(rng) for _ in range(400)]
    estimates = np.array([binary.values(s.items, s.weights)[q] for s in samples])
    variances = np.array([design.variances(binary, s)[q] for s in samples])
    share = (binary.predicted == binary.labels).mean()
    expected = share * (1 - share) / design.n_draws
    error = estimates.std(ddof=1) / np.sqrt(400)
    assert abs(estimates.mean() - share) < 4 * error
    shrunk = expected * (design.n_draws - 1) / design.n_draws  # the spread about the estimate
    assert abs(variances.mean() - shrunk) < 4 * variances.std(ddof=1) / np.sqrt(400)


@pytest.mark.parametrize("method", METHODS)
def test_methods_expect_the_same_number_of_distinct_labels(binary, method):
    found = run(binary, method, "f1", PLAN)
    for t, budget in enumerate(found.budgets):
        b = sampler(method, binary, "f1", int(budget)).inclusion
        # Draws are negatively associated: the number varies no more than if items were independent. Draws are whole.
        error = np.sqrt((b * (1 - b)).sum() / PLAN.repeats)
        assert abs(found.labels[t].mean() - budget) < 4 * error + 0.5
        if method in ("Uniform", "Fixed size"):
            assert (found.labels[t] == budget).all()


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_the_simulated_pool_fall_with_the_labels(label_sets, method):
    found = run(label_sets, method, "f1_micro", PLAN)
    assert found.measures == LABEL_SETS
    assert np.isfinite(found.ends).all()
    assert (found.ends[..., 0] <= found.estimates + 1e-12).all()
    assert (found.estimates <= found.ends[..., 1] + 1e-12).all()
    means = found.errors.mean(1)
    spread = found.errors.std(1, ddof=1) / np.sqrt(PLAN.repeats)
    assert (means[0] - means[2] > 2 * np.hypot(spread[0], spread[2])).all()


def test_all_labels_make_poisson_exact(binary, label_sets):
    assert error_with_all_labels(binary, "f1") < 1e-12
    assert error_with_all_labels(label_sets, "f1_micro") < 1e-12


def test_importance_cannot_reach_items_without_deviation(binary):
    within, beyond = int(binary.predicted.sum()) // 2, int(binary.predicted.sum()) + 1
    assert sampler("Importance", binary, "precision", within) is not None
    assert sampler("Importance", binary, "precision", beyond) is None


def test_kinds_count_what_is_left_and_take_no_chance_for_greater_than_it_is(binary):
    design = sampler("Poisson", binary, "f1", 60)
    assert isinstance(design, WithoutReplacement)
    kinds = Kinds(binary, design.inclusion, "f1")
    items = design.sample(np.random.default_rng(2)).items
    unseen = kinds.unseen(items)
    assert unseen.size.sum() == 2 * (binary.n_items - len(items))
    assert (kinds.inclusion[2 * kinds.kind] <= design.inclusion).all()
    predicted = kinds.g.reshape(-1, 2)[kinds.kind, 0] == 0.5  # g of F1 where the label is negative
    assert (predicted == binary.predicted).all()


def test_comparison_finds_planted_differences_and_leaves_out_what_is_missing():
    rng = np.random.default_rng(3)
    first = rng.exponential(size=(2, 500, 3))
    second = rng.exponential(size=(2, 500, 3)) * np.array([2.0, 1.0, 1.0])
    second[1, :, 2] = np.nan
    found = Comparison.of(first, second)
    assert (found.n, found.clearly_less, found.clearly_more) == (5, 2, 0)
    assert Comparison.of(second, first).clearly_more == 2


def test_without_a_folder_the_simulated_pool_is_studied(monkeypatch, tmp_path, capsys):
    out = tmp_path / "seme.md"
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    monkeypatch.setattr(sys, "argv", ["study_seme.py", "--repeats", "2", "--out", str(out)])
    assert main() == 0
    assert "only the simulated pool" in capsys.readouterr().out
    text = out.read_text()
    assert "With all labels Poisson sampling returns the exact measures. | holds" in text
    assert "nan" not in text
    assert "mnist" not in text
