"""Every program of the package by `ba.fit`, with the arguments that its belief hands out."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import math
import pkgutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.diagnostics import effective_sample_size
from numpyro.infer.util import log_density
from scipy import special

import bayes_assess as ba
from bayes_assess import models
from bayes_assess._tools import engine
from bayes_assess.errors import InferenceError, LabelError, PriorError
from bayes_assess.models.belief import HasProgram
from bayes_assess.models.dirichlet_tree import Tree
from bayes_assess.models.error_labels import ErrorLabels
from bayes_assess.models.label_factors import LabelFactors
from bayes_assess.models.nuts.convergence import diagnose
from bayes_assess.models.nuts.fitting import ConvergenceWarning, fit
from bayes_assess.models.rating_labels import RatingLabels
from bayes_assess.models.valued_labels import ValuedLabels

AGREEMENTS = np.array([[2, 8], [0, 3], [5, 1], [0, 0]])
LABELS = np.array([[6, 1, 2], [0, 0, 1], [3, 0, 4]])
BLOCKS = np.array([[5, 0], [2, 1], [0, 3], [1, 0], [0, 0]])
OPEN = np.array([1, 0, 2, 0, 1])
SCORES = np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
TREE = ba.DirichletTree.from_prior(
    tree=Tree(5), mean_scores=np.stack([np.linspace(0.9, 0.2, 5), np.linspace(0.1, 0.8, 5)], axis=1)
)


def programs() -> dict[str, Callable[..., None]]:
    """Find the programs of the package by their modules and names."""
    found = {}
    for module in pkgutil.walk_packages(models.__path__, "bayes_assess.models."):
        held = importlib.import_module(module.name)
        for name, value in vars(held).items():
            if name.endswith("program") and inspect.isfunction(value) and value.__module__ == module.name:
                found[f"{module.name.removeprefix('bayes_assess.models.')}.{name}"] = value
    return found


@dataclass(frozen=True)
class Fitted:
    """A belief, the arguments of its program, and what the posterior mean of some function of the sites is."""

    belief: Any
    arguments: dict[str, Any]
    value: Callable[[Any], np.ndarray]  # from draws by site, (S, ...) each, to (S, ...)
    mean: Any  # None where there is no closed form
    within: float = 0.0  # of the closed form itself


def theta(sites: Any) -> np.ndarray:
    return sites["theta"]


def joint(sites: Any) -> np.ndarray:
    """P(block, label)."""
    return np.swapaxes(sites["theta"][:, :, None] * sites["psi"], 1, 2)


def by_all_labels(known: np.ndarray) -> np.ndarray:
    """Posterior mean of P(block, label), by all labels that the open items may have."""
    weights, means = [], []
    for ones in itertools.product(*(range(n + 1) for n in OPEN)):
        table = known + np.stack([OPEN - ones, ones], axis=1)
        ways = math.prod(math.comb(int(n), k) for n, k in zip(OPEN, ones, strict=True))
        weights.append(math.log(ways) + float(TREE.log_marginal(table)))
        means.append(np.asarray(TREE.update(table).mean))
    share = np.exp(np.array(weights) - max(weights))
    return np.tensordot(share / share.sum(), np.array(means), 1)


def by_belief(belief: Any, counts: Any, value: Any = theta, within: float = 0.0) -> Fitted:
    update = getattr(belief, "update_counts", None) or belief.update
    return Fitted(belief, belief.program_arguments(counts), value, update(counts).mean, within)


def on_numpy(function: Callable[[], Fitted]) -> Callable[[], Fitted]:
    """Let a function learn labels on NumPy, as operations on arrays of JAX compile one by one."""

    @functools.wraps(function)
    def run() -> Fitted:
        with engine.eager():
            return function()

    return run


def accuracies() -> Fitted:
    return by_belief(ba.BetaBernoulli(np.array([1.0, 2.0, 0.7, 3.0]), np.array([1.0, 1.0, 0.4, 1.0])), AGREEMENTS)


def bins() -> Fitted:
    belief = ba.CalibrationBins.from_prior(score=[[0.6, 0.9], [0.5, 0.8]], size=[[9, 9], [9, 9]])
    posterior = belief.update(AGREEMENTS[:, 1].reshape(2, 2), AGREEMENTS.sum(1).reshape(2, 2))
    return Fitted(belief, belief.program_arguments(AGREEMENTS), theta, posterior.mean)


def curve() -> Fitted:
    pool = ba.Pool(scores=np.linspace(0.01, 0.99, 60))
    a = ba.assess(pool, ba.Metric("f1"), design=ba.designs.VarianceReduction(n_strata=6), seed=0)
    belief = a._state.belief
    counts = np.zeros(np.shape(belief.counts), int)
    counts[0], counts[-1] = [5, 0], [1, 4]
    return Fitted(belief, belief.program_arguments(counts, member=1), lambda sites: sites["curve"], None)


@on_numpy
def errors() -> Fitted:
    belief = ErrorLabels.from_scores(SCORES, sizes=np.array([50, 8, 0]))  # with hypotheses of all kinds
    counts = np.where(np.eye(3, dtype=bool), 0, LABELS)
    posterior = belief
    for row, label in np.repeat(np.argwhere(counts), counts[counts > 0], axis=0):
        posterior = posterior.observe(row, label, np.asarray(True))
    return Fitted(belief, belief.program_arguments(counts), theta, posterior.mean, within=1e-5)


def label_factors() -> Fitted:
    belief = LabelFactors(ErrorLabels.from_scores(SCORES).base[-1:], np.zeros((3, 3)))
    counts = np.where(np.eye(3, dtype=bool), 0, LABELS)
    drawn = LabelFactors(belief.base, counts).drawn(np.random.default_rng(0), np.zeros(20_000, int), shapes=(2.0,))
    expected = belief.base * drawn.factor[:, None]
    strength = belief.base.sum(-1, keepdims=True)
    mean = (strength * expected / expected.sum(-1, keepdims=True) + counts) / (strength + counts.sum(-1)[:, None])
    return Fitted(belief, belief.program_arguments(counts, shape=2.0), theta, mean.mean(0), within=0.005)


def values() -> Fitted:
    belief = ValuedLabels.from_prior(np.array([1.0, 3.0, 5.0]), np.arange(1.0, 6.0))
    counts = np.array([[3, 1, 0, 0, 0], [0, 1, 3, 1, 0], [0, 0, 0, 0, 0]])
    return Fitted(belief, belief.program_arguments(counts, level=2), lambda sites: sites["mean"], None)


@on_numpy
def ratings() -> Fitted:
    counts = np.array([[3, 1, 0], [0, 2, 2], [0, 0, 4], [1, 0, 0]])
    belief = RatingLabels.from_prior(np.array([0.0, 1.5, 0.5, 2.0]), 3, np.array([0, 0, 1, 1]))
    posterior = belief
    for cell, label in zip(*(np.repeat(part.ravel(), counts.ravel()) for part in np.indices((4, 3))), strict=True):
        posterior = posterior.observe(cell, label)
    return Fitted(belief, belief.program_arguments(counts), theta, posterior.mean, within=0.01)


def labels_left_out() -> Fitted:
    """The program of complete data without its labels, which are summed out."""
    arguments = TREE.program_arguments(OPEN[:, None] * [1, 0])
    return Fitted(TREE, {**arguments, "labels": None}, joint, by_all_labels(0 * BLOCKS))


def confusion() -> Fitted:
    return by_belief(ba.HierarchicalConfusion.from_prior(mean_scores=SCORES), LABELS, within=0.02)


def calibration() -> Fitted:
    belief = ba.HierarchicalCalibration.from_prior(score=[[0.6, 0.9], [0.5, 0.8]], size=[[9, 9], [9, 9]])
    return by_belief(belief, AGREEMENTS, lambda sites: sites["theta"].reshape(-1, 4), within=0.03)


CASES: dict[str, Callable[[], Fitted]] = {
    "beta_bernoulli.program": accuracies,
    "calibration_bins.program": bins,
    "calibration_curve.program": curve,
    "dirichlet_confusion.program": lambda: by_belief(ba.DirichletConfusion(np.full((3, 3), 0.7)), LABELS),
    "dirichlet_tree.model.program": lambda: by_belief(TREE, BLOCKS, joint),
    "dirichlet_tree.model.latent_program": lambda: Fitted(
        TREE, TREE.program_arguments(BLOCKS, OPEN), joint, by_all_labels(BLOCKS)
    ),
    "error_labels.program": errors,
    "hierarchical_accuracy.program": lambda: by_belief(
        ba.HierarchicalAccuracy.from_prior(mean_score=[0.9, 0.8, 0.6, 0.7]), AGREEMENTS, within=0.02
    ),
    "hierarchical_calibration.program": calibration,
    "hierarchical_confusion.program": confusion,
    "label_factors.program": label_factors,
    "paired_outcomes.program": lambda: by_belief(
        ba.PairedOutcomes.from_prior(2.0, n_groups=2), np.array([[5, 2, 0, 1], [0, 0, 0, 0]])
    ),
    "rating_labels.program": ratings,
    "valued_labels.program": values,
}


def test_every_program_is_fitted_here():
    assert programs().keys() == CASES.keys()


def draws_of(data: Any) -> dict[str, np.ndarray]:
    return {name: ba.posterior_draws(data, name) for name in data["posterior"].data_vars}


# To compile and to sample. What the programs of closed forms are is held by tests/models/test_shared.py.


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, "labels left out"])
def test_one_line_fits_a_program_to_what_its_belief_hands_out(name):
    case = labels_left_out() if name == "labels left out" else CASES[name]()
    program = programs()["dirichlet_tree.model.program" if name == "labels left out" else name]
    n = 20 if case.mean is None else 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of few draws
        data = ba.fit(program, **case.arguments, chains=2, warmup=n, draws=n, pointwise=False, seed=1)
    values = case.value(draws_of(data))
    assert np.isfinite(values).all()
    varies = values.std(0) > 0
    if case.mean is None:
        assert varies.all()
        return
    error = np.zeros(values.shape[1:])
    size = effective_sample_size(values[:, varies].reshape(2, n, -1))
    error[varies] = values[:, varies].std(0) / np.sqrt(np.clip(size, 20, 2 * n))
    assert (np.abs(values.mean(0) - np.asarray(case.mean)) <= case.within + 5 * error + 1e-12).all()


@pytest.mark.parametrize("name", CASES)
def test_programs_take_what_their_belief_hands_out_and_score_its_labels(name):
    """Traced and not computed, which takes a second where a fit takes ten."""
    program, arguments = handlers.seed(programs()[name], 0), CASES[name]().arguments
    observed = []

    def density():
        value, trace = log_density(program, (), arguments, {})
        observed.extend(site for site in trace.values() if site["type"] == "sample" and site["is_observed"])
        return value

    with jax.enable_x64(True):
        assert jax.eval_shape(density).shape == ()
    assert observed


@pytest.mark.parametrize("name", CASES)
def test_beliefs_say_which_arguments_their_program_takes(name):
    case = CASES[name]()
    assert isinstance(case.belief, HasProgram)
    inspect.signature(programs()[name]).bind(**case.arguments)


def test_discrete_sites_are_refused_by_name():
    def program(labels=None):
        kind = numpyro.sample("kind", dist.Categorical(probs=np.full(2, 0.5)))
        with numpyro.plate("item", 3):
            numpyro.sample("label", dist.Bernoulli(np.array([0.2, 0.8])[kind]), obs=labels)

    with pytest.raises(InferenceError, match="'kind' is discrete"):
        fit(program, {"labels": np.array([0, 1, 1])})


@pytest.mark.parametrize(
    "name",
    [
        "beta_bernoulli.program",
        pytest.param("hierarchical_accuracy.program", marks=pytest.mark.slow),
        pytest.param("rating_labels.program", marks=pytest.mark.slow),
    ],
)
def test_a_program_without_labels_is_refused_in_a_sentence(name):
    belief = {
        "beta_bernoulli.program": ba.BetaBernoulli.from_prior(n_groups=2),
        "hierarchical_accuracy.program": ba.HierarchicalAccuracy.from_prior(n_groups=2),
        "rating_labels.program": RatingLabels.from_prior(np.array([0.0, 2.0]), 3),
    }[name]
    with pytest.raises(InferenceError, match=r"has no item\. Before any label the posterior is the prior"):
        fit(programs()[name], belief.program_arguments())


# -- labels that a belief has learned ----------------------------------------------------------------------------------


def test_labels_that_a_belief_has_learned_are_among_the_items():
    belief = ba.HierarchicalAccuracy.from_prior(n_groups=4)
    at_once = belief.program_arguments(AGREEMENTS)
    in_turn = belief.update_counts(AGREEMENTS).program_arguments()
    for name, values in at_once.items():
        np.testing.assert_array_equal(in_turn[name], values)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ba.BetaBernoulli.from_prior(n_groups=2).program_arguments([[1, 2]]), LabelError, r"\(2, 2\); found"),
        (lambda: ba.BetaBernoulli.from_prior(n_groups=1).program_arguments([[1, 0.5]]), LabelError, "whole numbers"),
        (lambda: ba.BetaBernoulli.from_prior(n_groups=1).program_arguments([[1, -1]]), LabelError, "0 or more"),
        (lambda: ba.HierarchicalAccuracy.from_prior(n_groups=2).program_arguments([[1, 2]]), LabelError, r"\(2, 2\)"),
        (lambda: TREE.program_arguments(BLOCKS.T), LabelError, r"\(5, 2\); found \(2, 5\)"),
        (lambda: TREE.program_arguments(BLOCKS, [1, 2]), LabelError, r"\(5, 1\)"),
        (lambda: ba.PairedOutcomes(np.array([1.0, 0, 1, 1])).program_arguments(), PriorError, "impossible"),
        (lambda: values().belief.program_arguments(level=99), PriorError, "found level 99"),
        (lambda: curve().belief.program_arguments(member=99), PriorError, "found 99"),
        (lambda: ratings().belief.program_arguments(opinion=1), PriorError, "1 opinions, counted from 0; found 1"),
    ],
)
def test_counts_that_do_not_fit_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_argument_is_given_once():
    data = ba.BetaBernoulli.from_prior(n_groups=4).program_arguments(AGREEMENTS)
    with pytest.raises(InferenceError, match="'a' is in `data` and beside it"):
        fit(programs()["beta_bernoulli.program"], data, a=np.ones(4))


# -- convergence -------------------------------------------------------------------------------------------------------


def simulated(name: str, n_groups: int, seed: int) -> tuple[Any, np.ndarray]:
    """Draw labels of groups that differ, about ten of each."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(10, n_groups)
    if name.startswith("hierarchical_confusion"):
        scores = 0.3 * rng.dirichlet(np.ones(n_groups), n_groups) + 0.7 * np.eye(n_groups)
        rows = np.stack([rng.dirichlet(15 * row + 1e-3) for row in scores])
        if name.endswith("unknown"):  # to the scores, but not to the labels
            scores[:, -1], n[-1] = 0, 0
            scores = scores / scores.sum(1, keepdims=True)
            scores[-1] = 0
        return ba.HierarchicalConfusion.from_prior(mean_scores=scores), rng.multinomial(n, rows)
    if name == "hierarchical_calibration":
        score, n = np.sort(rng.uniform(0.5, 0.99, (n_groups, 10)), axis=1), rng.poisson(10, (n_groups, 10))
        right = rng.binomial(n, rng.beta(12 * score, 12 * (1 - score)))
        counts = np.stack([n - right, right], axis=-1).reshape(-1, 2)
        return ba.HierarchicalCalibration.from_prior(score=score, size=np.full_like(n, 100)), counts
    if name == "rating_labels":
        x, group = np.sort(rng.uniform(0, 4, n_groups)), np.arange(n_groups) % 2
        upto = special.ndtr((np.arange(0.5, 4) - (x + np.array([0.8, -0.4])[group])[:, None]) / 0.6)
        shares = np.diff(upto, prepend=0, append=1, axis=1)
        rows = np.stack([rng.dirichlet(12 * row + 1e-3) for row in shares])
        return RatingLabels.from_prior(x, 5, group), rng.multinomial(n, rows)
    score = rng.uniform(0.5, 0.99, n_groups)
    right = rng.binomial(n, rng.beta(12 * score, 12 * (1 - score)))
    counts = np.stack([n - right, right], axis=1)
    return ba.HierarchicalAccuracy.from_prior(mean_score=score), counts


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "n_groups"),
    [
        ("hierarchical_accuracy", 2),
        ("hierarchical_accuracy", 10),
        ("hierarchical_accuracy", 100),
        ("hierarchical_confusion", 2),
        ("hierarchical_confusion", 6),
        ("hierarchical_confusion, one unknown", 5),
        ("hierarchical_calibration", 1),
        ("rating_labels", 8),
    ],
)
def test_hierarchical_programs_converge_by_default(name, n_groups, seed):
    belief, counts = simulated(name, n_groups, seed)
    data = ba.fit(
        programs()[f"{name.split(',')[0]}.program"], **belief.program_arguments(counts), pointwise=False, seed=seed
    )
    assert int(data["sample_stats"]["diverging"].values.sum()) == 0
    assert max(np.nanmax(diagnose(site.values)[0]) for site in data["posterior"].data_vars.values()) < 1.01
