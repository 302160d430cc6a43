"""Rows of a confusion matrix that learn from each other: hyperposterior of errors, mixture, and what rests on them."""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, init_to_median
from scipy import special, stats

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.models._numerics import dirichlet_points
from bayes_assess.models._numerics import special as own_special
from bayes_assess.models._numerics.special import log_rising
from bayes_assess.models.belief import merge_columns
from bayes_assess.models.hierarchical_confusion import HierarchicalConfusion, program
from bayes_assess.models.nested_dirichlet import NestedDirichlet
from sbc import ranks, uniformity

SCORES = np.array([[0.70, 0.24, 0.05, 0.01], [0.06, 0.55, 0.38, 0.01], [0.02, 0.05, 0.90, 0.03], [0.3, 0.0, 0.1, 0.6]])
PRIOR = HierarchicalConfusion.from_prior(mean_scores=SCORES)
COUNTS = np.array([[5, 2, 1, 0], [0, 6, 4, 0], [1, 0, 9, 0], [0, 0, 0, 0]])
POSTERIOR = PRIOR.update_counts(COUNTS)
# A system that does not know the last class: its scores exclude it, and some errors are of it.
KNOWN = np.array([[0.70, 0.25, 0.05, 0], [0.06, 0.55, 0.39, 0], [0.02, 0.08, 0.90, 0], [0, 0, 0, 0]])
UNKNOWN = HierarchicalConfusion.from_prior(mean_scores=KNOWN)
OF_UNKNOWN = np.array([[5, 1, 0, 3], [0, 6, 2, 2], [1, 0, 9, 2], [0, 0, 0, 0]])
# Scores that may know nothing of how frequent classes are: the second is rare.
SIZED = HierarchicalConfusion.from_prior(mean_scores=SCORES, predicted=[400, 9, 200, 100])
OFF = ~np.eye(4, dtype=bool)
# Errors 1 and 2, and 0 and 3, count for the same, and one level of five is that of no label.
LEVEL = np.array([[0, 1, 1, 2], [2, 0, 3, 2], [1, 1, 2, 1], [1, 0, 0, 3]])
ALPHA = 1e-4  # false-alarm rate of one calibration test
# A grid over 3.2 standard deviations to either side of two parameters leaves out 0.3 % of a normal distribution.
LEFT_OUT = 4 * stats.norm.sf(3.2)
ALSO_OF_NEW = 6 * stats.norm.sf(3.2)  # of three parameters


def arguments(prior=PRIOR):
    """Collect what the program takes besides labels."""
    given = prior.program_arguments()
    return {name: jnp.asarray(x) for name, x in given.items() if name not in ("predictions", "labels")}


def by_fine_grid(prior, counts):
    """Evidence of the errors, and mean and variance of their shares, by a fine grid over all hyperparameters."""
    axes = [np.linspace(-6.5, 11.5, 241), np.linspace(-10, 8, 241)]
    if prior.new is not None:
        axes = [axes[0][::4], axes[1][::4], np.linspace(-12, 12, 61)]
    area = math.prod(axis[1] - axis[0] for axis in axes)
    log_kappa, logit, logit_new = (*(x.ravel() for x in np.meshgrid(*axes)), None)[:3]
    kappa, mix, even = np.exp(log_kappa)[:, None, None], special.expit(logit)[:, None, None], prior.even
    if logit_new is not None:
        share = special.expit(logit_new)[:, None, None]
        even = (1 - share) * even + share * prior.new
    own = np.arange(counts.shape[1]) == np.asarray(prior.own)[:, None]
    readings = [(prior.told, even, 0.0)]
    if prior.resized is not None:
        readings = [(prior.told, even, np.log(1 / 2)), *((told, even, np.log(1 / 4)) for told in prior.resized)]
    if prior.never is not None:  # with probability 1/3 no item is of the classes that are never predicted
        readings = [(told, of_all, weight + np.log(2 / 3)) for told, of_all, weight in readings]
        readings.append((*prior.never, np.log(1 / 3)))
    errors = np.where(own, 0, counts)
    total = kappa[:, :, 0] + errors.sum(1)
    log_hyper = (special.gammaln(kappa[:, :, 0]) - special.gammaln(total)).sum(1)
    log_hyper += stats.norm.logpdf(log_kappa, np.log(12), 1.5) + stats.norm.logpdf(logit, -1, 1.5)
    if logit_new is not None:
        log_hyper += stats.norm.logpdf(logit_new, 0, 2)
    alpha = np.concatenate([kappa * ((1 - mix) * told + mix * of_all) for told, of_all, _ in readings])
    positive, total = np.where(alpha > 0, alpha, 1), np.tile(total, (len(readings), 1))
    terms = (special.gammaln(positive + errors) - special.gammaln(positive)).sum((1, 2))
    log_p = terms + np.concatenate([log_hyper + log_weight for *_, log_weight in readings])
    p = np.exp(log_p - log_p.max())
    evidence = np.log(p.sum() * area) + log_p.max()
    p /= p.sum()
    share = (alpha + errors) / total[:, :, None]
    mean = np.tensordot(p, share, 1)
    within = share * (1 - share) / (total[:, :, None] + 1)
    return evidence, mean, np.tensordot(p, within + (share - mean) ** 2, 1)


def shares(belief):
    """Mean and variance of the errors' shares: of the rows, were the agreements known."""
    mean, agreement = np.asarray(belief.mean), np.asarray(belief.agreement.mean)
    square = np.asarray(belief.agreement.variance) + (1 - agreement) ** 2
    share = np.where(OFF, mean, 0) / (1 - agreement)[:, None]
    variance = np.asarray(belief.variance) - np.asarray(belief.agreement.variance)[:, None] * share**2
    return share, np.where(OFF, variance / square[:, None], 0)


NONE = np.array([[0, 0, 0, 9], [9, 0, 0, 0], [0, 9, 0, 0], [0, 9, 0, 0]])
ALL_OF_UNKNOWN = np.array([[5, 0, 0, 6], [0, 6, 0, 7], [0, 0, 9, 2], [0, 0, 0, 0]])
SOME = {"none": np.zeros((4, 4)), "few": COUNTS, "many": 20 * COUNTS, "other than told": COUNTS.T, "wrong": NONE}
SOME_OF_UNKNOWN = {
    "none": np.zeros((4, 4)), "few": OF_UNKNOWN, "many": 20 * OF_UNKNOWN, "none of it": COUNTS, "all": ALL_OF_UNKNOWN
}  # fmt: skip


@pytest.mark.parametrize(
    ("prior", "counts", "left_out"),
    [pytest.param(PRIOR, counts, LEFT_OUT, id=name) for name, counts in SOME.items()]
    + [
        pytest.param(UNKNOWN, counts, ALSO_OF_NEW, id=f"{name}, one unknown")
        for name, counts in SOME_OF_UNKNOWN.items()
    ]
    + [pytest.param(SIZED, counts, LEFT_OUT, id=f"{name}, sizes known") for name, counts in SOME.items()],
)
def test_evidence_and_shares_of_errors_equal_a_fine_grid(prior, counts, left_out):
    belief = prior.update_counts(counts)
    evidence, mean, variance = by_fine_grid(prior, counts)
    assert abs(belief.log_evidence() - belief.agreement.log_evidence() - evidence) < left_out
    found_mean, found_variance = shares(belief)
    assert (np.abs(found_mean - mean)[OFF] < 2 * left_out * np.sqrt(variance[OFF])).all()
    # What lies 3.2 standard deviations away and farther has some ten times its share in the variance.
    np.testing.assert_allclose(found_variance[OFF], variance[OFF], rtol=10 * left_out)


def test_the_logarithm_of_the_rising_factorial_is_right_to_the_tenth_digit():
    x, n = (x.ravel() for x in np.meshgrid(10.0 ** np.arange(-9, 6), [0.0, 1, 2, 7.5, 30, 1000]))
    with jax.enable_x64(True):
        found = np.asarray(log_rising(jnp.asarray(x), jnp.asarray(n)))
    exact = special.gammaln(x + n) - special.gammaln(x)
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-9)  # the difference of gammaln has lost digits itself
    assert (found[n == 0] == 0).all()


def test_rising_factorials_of_none_are_left_out_on_numpy():
    x, n = np.full((3, 4), 0.5), np.array([0.0, 0.0, 3.0, 0.0])
    with engine.eager():
        found = log_rising(x, n)
        alone = log_rising(x[:, 2], np.full(3, 3.0))
    assert (found[:, 2] == alone).all()
    assert (np.delete(found, 2, 1) == 0).all()


def test_rising_factorials_of_many_numbers_are_those_of_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    x, dense, sparse = rng.gamma(2, 2, (6, 50)), rng.integers(1, 9, 50).astype(float), np.zeros(50)
    sparse[[3, 40]] = 2.0, 5.0
    with engine.eager():
        at_once = [log_rising(x, n) for n in (dense, sparse)]
        monkeypatch.setattr(own_special, "_IN_CACHE", 7)
        np.testing.assert_array_equal([log_rising(x, n) for n in (dense, sparse)], at_once)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "counts"),
    [(PRIOR, COUNTS), (UNKNOWN, OF_UNKNOWN), (SIZED, COUNTS)],
    ids=["known", "one unknown", "sized"],
)
def test_nuts_on_the_program_agrees(prior, counts):
    posterior, (rows, columns) = prior.update_counts(counts), np.nonzero(counts)
    labels = (np.repeat(x, counts[rows, columns]) for x in (rows, columns))
    with jax.enable_x64(True):
        kernel = NUTS(program, target_accept_prob=0.95, init_strategy=init_to_median)  # from elsewhere it may not move
        mcmc = MCMC(kernel, num_warmup=1000, num_samples=8000, progress_bar=False)
        mcmc.run(jax.random.key(0), *labels, **arguments(prior))
        theta = np.asarray(mcmc.get_samples(group_by_chain=True)["theta"])
    draws = np.asarray(posterior.sample(jax.random.key(1), 40_000))
    weight = np.asarray(posterior.agreement.weight)
    a, b = posterior.agreement.parts
    points = np.sqrt((weight[:, None] ** 2 * (a / (a + b) - weight @ (a / (a + b))) ** 2).sum(0))  # of the agreements
    for power in (1, 2):
        ours, theirs = draws**power, theta**power
        error = np.hypot(ours.std(0) / np.sqrt(len(draws)), theirs.std((0, 1)) / np.sqrt(effective_sample_size(theirs)))
        error = np.hypot(error, points[:, None])
        assert (np.abs(ours.mean(0) - theirs.mean((0, 1))) < 4 * error).all()


# -- simulation-based calibration -------------------------------------------------------------------------------------

N_REPLICATES, N_LABELS, N_DRAWS = 1200, 8, 63


def drawn(prior):
    """Confusion matrices and counts of labels that the program draws, (R, 4, 4) each."""
    predictions = jnp.repeat(jnp.arange(4), N_LABELS)
    given = arguments(prior)

    def one(key):
        trace = numpyro.handlers.trace(numpyro.handlers.seed(program, key)).get_trace(predictions, **given)
        return trace["theta"]["value"], jnp.zeros((4, 4), int).at[predictions, trace["label"]["value"]].add(1)

    with jax.enable_x64(True):
        theta, counts = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(2), N_REPLICATES))
    return np.asarray(theta), np.asarray(counts)


@pytest.fixture(scope="module")
def replicates():
    return drawn(PRIOR)


@pytest.fixture(scope="module")
def replicates_of_unknown():
    return drawn(UNKNOWN)


@pytest.fixture(scope="module")
def replicates_of_sized():
    return drawn(SIZED)


FAULTS = {
    "predictions as labels": lambda counts: PRIOR.update_counts(np.eye(4, dtype=int) * counts.sum(-1, keepdims=True)),
    "labels as predictions": lambda counts: PRIOR.update_counts(np.swapaxes(counts, -1, -2)),
    "every label twice": lambda counts: PRIOR.update_counts(2 * counts),
    "rows in another order": lambda counts: PRIOR.update_counts(counts[:, ::-1, ::-1]),
    "scores of another class": lambda counts: other_scores().update_counts(counts),
    "errors lost": lambda counts: PRIOR.update_counts(counts * np.eye(4, dtype=int)),
}
# Of a class that is never predicted: that nothing is known of it, and that another class is it.
FAULTS_OF_UNKNOWN = {
    "no share of its own": replace(UNKNOWN, new=None, logit_new=None),
    "another class": replace(UNKNOWN, new=np.roll(UNKNOWN.new, 1, axis=1) * OFF),
}
# That scores know how frequent classes are, and that they know it the other way round.
FAULTS_OF_SIZED = {
    "sizes left out": PRIOR,
    "other sizes": HierarchicalConfusion.from_prior(mean_scores=SCORES, predicted=[9, 400, 9, 9]),
}
CONTRAST = np.array([[0.3, 0.5, -0.5, 0.1], [-1.0, 0.1, 1.0, 0.4], [0.6, -0.4, 0.2, 0.8], [1.0, -0.6, 0.1, 0.2]])


def other_scores():
    """The prior by scores that change the columns of errors about."""
    scores = SCORES.copy()
    for k, j, i in ((0, 1, 3), (1, 2, 3), (2, 1, 3), (3, 0, 1)):
        scores[k, [j, i]] = scores[k, [i, j]]
    return HierarchicalConfusion.from_prior(mean_scores=scores)


OF_RARE = np.array([[0, 1.0, -0.3, 0], [0, 0, 0, 0], [0, 1.0, 0, -0.3], [0, 0, 0, 0]])  # errors that are of it


def p_value(theta, posterior, contrast=CONTRAST):
    """Of a contrast of the entries, one number per replicate, since those of a replicate are not independent."""
    draws = np.einsum("s...kj,kj->s...", np.asarray(posterior.sample(jax.random.key(3), N_DRAWS)), contrast)
    return uniformity(ranks(np.einsum("rkj,kj->r", theta, contrast), draws, np.random.default_rng(3)), N_DRAWS, 16)


@pytest.mark.slow
def test_the_posterior_is_calibrated(replicates):
    theta, counts = replicates
    assert p_value(theta, PRIOR.update_counts(counts)) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_calibration_catches_a_planted_fault(replicates, fault):
    theta, counts = replicates
    assert p_value(theta, FAULTS[fault](counts)) < ALPHA


@pytest.mark.slow
def test_the_posterior_of_unknown_classes_is_calibrated(replicates_of_unknown):
    theta, counts = replicates_of_unknown
    assert p_value(theta, UNKNOWN.update_counts(counts)) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS_OF_UNKNOWN)
def test_calibration_catches_a_fault_of_unknown_classes(replicates_of_unknown, fault):
    theta, counts = replicates_of_unknown
    assert p_value(theta, FAULTS_OF_UNKNOWN[fault].update_counts(counts)) < ALPHA


@pytest.mark.slow
def test_the_posterior_by_sizes_is_calibrated(replicates_of_sized):
    theta, counts = replicates_of_sized
    for contrast in (CONTRAST, OF_RARE):
        assert p_value(theta, SIZED.update_counts(counts), contrast) > ALPHA / 2


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS_OF_SIZED)
def test_calibration_catches_a_fault_of_sizes(replicates_of_sized, fault):
    theta, counts = replicates_of_sized
    assert p_value(theta, FAULTS_OF_SIZED[fault].update_counts(counts), OF_RARE) < ALPHA / 2


# -- learning ---------------------------------------------------------------------------------------------------------


def test_batches_of_labels_come_to_what_all_of_them_at_once_do():
    half = COUNTS // 2
    twice = PRIOR.update_counts(half).update_counts(COUNTS - half)
    np.testing.assert_array_equal(twice.mean, POSTERIOR.mean)


ALL = pytest.mark.parametrize("prior", [PRIOR, UNKNOWN, SIZED], ids=["known", "one unknown", "sized"])


@pytest.mark.slow
@ALL
def test_campaigns_of_one_batch_come_to_what_each_alone_does(prior):
    both = prior.update_counts(np.stack([COUNTS, COUNTS.T]))
    assert both.mean.shape == both.variance.shape == both.component(jax.random.key(0)).mean.shape == (2, 4, 4)
    for found, counts in zip(both.mean, (COUNTS, COUNTS.T), strict=True):
        np.testing.assert_allclose(found, prior.update_counts(counts).mean, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "counts", "left_out"),
    [(PRIOR, COUNTS, LEFT_OUT), (UNKNOWN, OF_UNKNOWN, ALSO_OF_NEW), (SIZED, COUNTS, LEFT_OUT)],
    ids=["known", "one unknown", "sized"],
)
def test_labels_one_by_one_come_to_what_counts_do(prior, counts, left_out):
    with jax.enable_x64(True):
        observe = jax.jit(lambda belief, cell, outcome: belief.observe(cell, outcome))
        belief = jax.device_put(prior)
        for cell, outcome in np.argwhere(counts):
            for _ in range(counts[cell, outcome]):
                belief = observe(belief, cell, outcome)
    np.testing.assert_array_equal(belief.counts, counts)
    np.testing.assert_array_equal(belief.agreement.agreements, np.diag(counts))
    posterior = prior.update_counts(counts)
    mean, variance = shares(posterior)
    # The points of the prior, weighted, against points placed anew: both leave out as much.
    assert (np.abs(shares(belief)[0] - mean)[OFF] < 4 * left_out * np.sqrt(variance[OFF])).all()
    np.testing.assert_allclose(belief.refreshed().log_weight, posterior.log_weight, rtol=1e-12)
    np.testing.assert_allclose(belief.refreshed().mean, posterior.mean, rtol=1e-12)


@ALL
def test_entries_without_errors_have_nothing_to_say_of_the_points(monkeypatch, prior):
    posterior = prior.update_counts(COUNTS)
    monkeypatch.setattr(dirichlet_points, "_DENSE", 0)
    monkeypatch.setattr(dirichlet_points, "_FEWEST", 1)
    np.testing.assert_allclose(prior.update_counts(COUNTS).log_kappa, posterior.log_kappa, rtol=1e-9)
    np.testing.assert_allclose(prior.update_counts(COUNTS).log_weight, posterior.log_weight, atol=1e-8)


def test_rows_without_labels_follow_the_others():
    share = np.where(OFF, PRIOR.told, 0)
    like = PRIOR.update_counts(np.vstack([np.round(40 * share[:3] + 40 * np.eye(4)[:3]), np.zeros(4)]))
    unlike = PRIOR.update_counts(np.array([[40, 0, 0, 40], [0, 40, 0, 40], [0, 0, 40, 40], [0, 0, 0, 0]]))
    mean_like, variance_like = shares(like)
    mean_unlike, _ = shares(unlike)
    before, variance = shares(PRIOR)
    assert np.abs(mean_like - share)[3].sum() < np.abs(before - share)[3].sum() < np.abs(mean_unlike - share)[3].sum()
    assert (variance_like[3, :3] < variance[3, :3]).all()


def test_a_class_that_is_never_predicted_is_told_nothing():
    scores = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.0, 0.0]])
    prior = HierarchicalConfusion.from_prior(mean_scores=scores)
    assert prior.told[2].tolist() == [0.5, 0.5, 0.0]
    assert prior.mean[1, 1] < prior.mean[2, 2] < prior.mean[0, 0]


def test_rows_without_labels_learn_of_a_class_that_is_never_predicted():
    counts = np.array([[40, 0, 0, 9], [0, 40, 0, 9], [0, 0, 0, 0], [0, 0, 0, 0]])
    of_it = lambda belief: float(shares(belief)[0][2, 3])  # noqa: E731
    deaf = replace(UNKNOWN, new=None, logit_new=None, never=None)
    assert of_it(UNKNOWN.update_counts(counts)) > 0.7 > 0.4 > of_it(deaf.update_counts(counts))
    none = UNKNOWN.update_counts(np.array([[40, 9, 0, 0], [0, 40, 9, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    assert of_it(none) < 0.1 < of_it(UNKNOWN)


@pytest.mark.parametrize("given", [{"mean_scores": KNOWN}, {"n_classes": 4}], ids=["with scores", "without"])
def test_a_class_that_is_never_predicted_may_not_occur_at_all(given):
    """It is in doubt before any label, more so the more errors are of other classes, and one label settles it."""
    prior = HierarchicalConfusion.from_prior(predicted=[400, 300, 200, 0], **given)

    def probability(belief):
        reading = np.arange(belief.log_weight.shape[-1]) * len(prior._readings[0]) // belief.log_weight.shape[-1]
        return float(np.asarray(belief.weight)[reading == reading.max()].sum())

    assert probability(prior) == pytest.approx(1 / 3, abs=1e-3)
    others = np.array([[40, 9, 5, 0], [8, 40, 9, 0], [6, 9, 30, 0], [0, 0, 0, 0]])
    without = prior.update_counts(others)
    assert probability(without) > 1 / 2
    draws = np.asarray(without.sample(jax.random.key(0), 2000))[:, :3, 3]
    assert (draws.max(1) < 1e-6).mean() > 1 / 2
    with_one = others + np.array([[0, 0, 0, 1], *np.zeros((3, 4), int)])
    assert probability(prior.update_counts(with_one)) < 0.01
    assert probability(without.observe(np.int64(0), np.int64(3))) < 0.01


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        ([True, True, True], None),
        ([False, False, False], None),
        ([True, False, False], None),  # every error is of a class that is never predicted
        ([True, True, False], [[0, 0, 1], [0, 0, 1], [0.5, 0.5, 0]]),
    ],
)
def test_classes_that_are_never_predicted_have_a_share_where_that_says_something(predicted, expected):
    new = HierarchicalConfusion.from_prior(n_classes=3, predicted=predicted).new
    assert (new is None and expected is None) or new.tolist() == expected


def test_pools_say_which_classes_are_never_predicted():
    classes = ["a", "b", "c", "d"]
    predictions, scores = np.array(["a", "b", "a", "b"]), np.tile([0.5, 0.4, 0.1, 0.0], (4, 1))
    for given in ({}, {"scores": scores}, {"confidence": np.full(4, 0.7)}):
        pool = ba.Pool(predictions=predictions, classes=classes, **given)
        question = ba.ConfusionMatrix()
        prior = question.prior(pool, question.setting(pool, 0).cells, None, None)
        assert prior.new[:2].tolist() == [[0, 0, 0.5, 0.5]] * 2


def test_errors_are_rarer_of_classes_that_are_rarely_predicted_where_no_score_tells_more():
    """By the roots of the sizes, in between with those that are even: labels say how far sizes tell."""
    sizes = np.array([899, 99, 24, 0])  # their roots, one item more each, are 30, 10, 5 and none
    prior = HierarchicalConfusion.from_prior(n_classes=4, predicted=sizes)
    third = 1 / 3  # of the classes that are never predicted
    np.testing.assert_allclose(prior.told[0], [0, 2 * third * 10 / 15, 2 * third * 5 / 15, third])
    np.testing.assert_allclose(prior.told[3], [30 / 45, 10 / 45, 5 / 45, 0])
    seen = prior.mean[0, 1:3] / prior.mean[0, 1:3].sum()
    assert 10 / 15 > seen[0] > 0.5
    alike = HierarchicalConfusion.from_prior(n_classes=4, predicted=sizes > 0)
    np.testing.assert_allclose(alike.told, alike.even)
    predictions = np.repeat([0, 1, 2], sizes[:3])
    pool = ba.Pool(predictions=predictions, classes=[0, 1, 2, 3])
    question = ba.ConfusionMatrix()
    np.testing.assert_array_equal(question.prior(pool, question.setting(pool, 0).cells, None, None).told, prior.told)


def test_errors_are_rarer_of_rare_classes_than_scores_tell_that_know_nothing_of_sizes():
    """Half is believed in the scores, a quarter each in these times the sizes and times their squares."""
    scores, sizes = np.array([[0.7, 0.15, 0.15], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]), np.array([899, 99, 9])
    prior = HierarchicalConfusion.from_prior(mean_scores=scores, predicted=sizes)
    np.testing.assert_allclose(prior.told[0], [0, 0.5, 0.5])
    np.testing.assert_allclose(prior.resized[:, 0], [[0, 10 / 11, 1 / 11], [0, 100 / 101, 1 / 101]])
    deaf = HierarchicalConfusion.from_prior(mean_scores=scores)

    def share_of_rare(belief, errors):
        mean = np.asarray(belief.update_counts(np.array(errors)).mean)[0]
        return mean[2] / mean[1:].sum()

    right = [[8, 0, 0], [0, 8, 0], [0, 0, 8]]
    assert share_of_rare(deaf, right) > 0.49 > 0.4 > share_of_rare(prior, right)
    # Errors of the other rows say whether scores or sizes tell.
    as_sizes, as_scores = [[0, 0, 0], [30, 9, 0], [30, 3, 9]], [[0, 0, 0], [15, 9, 15], [17, 17, 9]]
    assert share_of_rare(deaf, as_sizes) > 0.4 > 0.2 > share_of_rare(prior, as_sizes)
    assert share_of_rare(prior, as_scores) > 0.4


def test_pools_with_scores_say_how_many_items_are_predicted_as_every_class():
    predictions = np.repeat([0, 1, 2], [60, 30, 10])
    pool = ba.Pool(scores=np.where(predictions[:, None] == np.arange(3), 0.6, 0.2))
    question = ba.ConfusionMatrix()
    prior = question.prior(pool, question.setting(pool, 0).cells, None, None)
    np.testing.assert_allclose(prior.told[0], [0, 0.5, 0.5])
    np.testing.assert_allclose(prior.resized[0, 0], [0, 31 / 42, 11 / 42])


def test_classes_that_are_never_predicted_keep_what_scores_tell_of_them():
    scores = np.array([[0.7, 0.2, 0.05, 0.05], [0.2, 0.6, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0, 0, 0, 0]])
    prior = HierarchicalConfusion.from_prior(mean_scores=scores, predicted=[99, 49, 9, 0])
    np.testing.assert_allclose(prior.resized[:, :, 3], np.tile(prior.told[:, 3], (2, 1)))
    np.testing.assert_allclose(prior.resized.sum(-1), 1)
    np.testing.assert_allclose(prior.resized[0, 0, 1] / prior.resized[0, 0, 2], 5 * prior.told[0, 1] / prior.told[0, 2])


@pytest.mark.parametrize(
    ("scores", "predicted"),
    [(SCORES, [True, True, False, True]), (SCORES, [7, 7, 7, 7]), (SCORES[:2, :2], [20, 3])],
    ids=["which", "alike", "two classes"],
)
def test_sizes_that_say_nothing_of_their_own_change_nothing(scores, predicted):
    assert HierarchicalConfusion.from_prior(mean_scores=scores, predicted=predicted).resized is None


def test_imagined_labels_leave_the_means_where_they_are_and_narrow_the_posterior():
    more = POSTERIOR.update_at_mean(np.full(4, 20))
    assert np.abs(np.asarray(more.mean) - POSTERIOR.mean).max() < 0.05
    assert (np.asarray(more.variance).sum(-1) < POSTERIOR.variance.sum(-1)).all()


@pytest.mark.parametrize("counts", [50 * np.eye(4, dtype=int), 50 * OFF, 50 * np.eye(4, dtype=int)[::-1]])
def test_everything_right_or_wrong_stays_finite(counts):
    posterior = PRIOR.update_counts(counts)
    assert np.isfinite(posterior.log_weight).all()
    assert ((posterior.mean > 0) & (posterior.mean < 1) & (posterior.variance > 0)).all()
    np.testing.assert_allclose(posterior.mean.sum(-1), 1, rtol=1e-12)


# -- moments, quantiles, merging --------------------------------------------------------------------------------------

N_MOMENTS = 40_000
PART = POSTERIOR.component(jax.random.key(5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "belief",
    [POSTERIOR, PART, POSTERIOR.merged(LEVEL, 5), UNKNOWN.update_counts(OF_UNKNOWN), SIZED.update_counts(COUNTS)],
    ids=["mixture", "part", "merged", "one unknown", "sized"],
)
def test_moments_are_those_of_the_draws(belief):
    draws = np.asarray(belief.sample(jax.random.key(1), N_MOMENTS))
    possible = np.asarray(belief.mean) > 0
    np.testing.assert_array_equal(draws[:, ~possible], 0)
    np.testing.assert_array_equal(np.asarray(belief.variance)[~possible], 0)
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-12)
    square = (draws - belief.mean) ** 2
    for values, exact in ((draws, belief.mean), (square, belief.variance)):
        error = values.std(0) / np.sqrt(N_MOMENTS)
        assert (np.abs(values.mean(0) - exact) <= 4.5 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "belief",
    [POSTERIOR, PART, UNKNOWN.update_counts(OF_UNKNOWN), SIZED.update_counts(COUNTS)],
    ids=["mixture", "part", "one unknown", "sized"],
)
def test_quantiles_are_those_of_the_draws(belief):
    draws = np.asarray(belief.sample(jax.random.key(4), N_MOMENTS))
    levels = np.array([0.05, 0.5, 0.95])
    quantiles = belief.quantile(levels)
    assert quantiles.shape == (3, 4, 4)
    error = np.sqrt(levels * (1 - levels) * (1 / 4000 + 1 / N_MOMENTS))[:, None, None]
    assert (np.abs((draws[:, None] <= quantiles).mean(0) - levels[:, None, None]) < 4.5 * error).all()


def test_draws_of_parts_are_draws_of_the_mixture():
    keys = jax.random.split(jax.random.key(6), 4000)
    with jax.enable_x64(True):
        parts = jax.jit(jax.vmap(POSTERIOR.component))(keys)
    parts = replace(parts, own=PART.own)
    spread = np.asarray(parts.mean).std(0) / np.sqrt(len(keys))
    assert (np.abs(np.asarray(parts.mean).mean(0) - POSTERIOR.mean) < 4.5 * spread).all()
    total = np.asarray(parts.variance).mean(0) + np.asarray(parts.mean).var(0)
    error = (np.asarray(parts.variance) + (np.asarray(parts.mean) - POSTERIOR.mean) ** 2).std(0) / np.sqrt(len(keys))
    assert (np.abs(total - POSTERIOR.variance) < 4.5 * error).all()


@ALL
def test_merging_commutes_with_means_parts_and_updates(prior):
    posterior = prior.update_counts(COUNTS)
    merged = posterior.merged(LEVEL, 5)
    np.testing.assert_allclose(merged.mean, merge_columns(posterior.mean, LEVEL, 5), rtol=1e-12)
    np.testing.assert_array_equal(merged.counts, merge_columns(COUNTS, LEVEL, 5))
    whole, part = (belief.component(jax.random.key(5)) for belief in (posterior, merged))
    np.testing.assert_allclose(part.alpha, whole.merged(LEVEL, 5).alpha, rtol=1e-12)
    more = np.array([[0, 1, 0, 2], [1, 1, 0, 0], [0, 0, 3, 1], [1, 0, 1, 0]])
    first, last = (part.update_counts(merge_columns(more, LEVEL, 5)), whole.update_counts(more).merged(LEVEL, 5))
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(last), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("prior", "counts", "left_out"),
    [(PRIOR, COUNTS, LEFT_OUT), (UNKNOWN, OF_UNKNOWN, ALSO_OF_NEW), (SIZED, COUNTS, LEFT_OUT)],
    ids=["known", "one unknown", "sized"],
)
def test_merged_errors_have_the_evidence_of_a_matrix_of_their_own(prior, counts, left_out):
    counts = merge_columns(counts, LEVEL, 5)
    merged = prior.merged(LEVEL, 5)
    belief = merged.update_counts(counts)
    evidence, mean, _ = by_fine_grid(merged, counts)
    assert abs(belief.log_evidence() - belief.agreement.log_evidence() - evidence) < left_out
    own = np.arange(5) == belief.own[:, None]
    share = np.where(own, 0, belief.mean) / (1 - belief.agreement.mean)[:, None]
    np.testing.assert_allclose(share, np.where(own, 0, mean), atol=2 * left_out)


def test_an_error_is_not_merged_with_the_agreement():
    level = np.zeros((4, 4), int)
    for belief in (PRIOR, PART):
        with pytest.raises(ba.PriorError, match="Outcome 1 of predicted class 0 is an error and has the level 0 of"):
            belief.merged(level, 1)


def test_a_part_whose_errors_weigh_as_much_as_its_agreement_leaves_is_dirichlet():
    alpha = np.array([[2.0, 0.5, 3.0], [0.2, 1.5, 0.7]])
    whole, own = ba.DirichletConfusion(alpha), np.array([0, 1])
    diagonal = np.arange(3) == own[:, None]
    errors = np.where(diagonal, 0, alpha)
    part = NestedDirichlet(alpha[diagonal], errors.sum(-1), errors, own).update_counts([[1, 2, 0], [0, 4, 1]])
    whole = whole.update([[1, 2, 0], [0, 4, 1]])
    for name in ("mean", "variance"):
        np.testing.assert_allclose(getattr(part, name), getattr(whole, name), rtol=1e-12)
    np.testing.assert_allclose(part.update_at_mean([5, 2]).variance, whole.update_at_mean([5, 2]).variance, rtol=1e-12)


def test_all_labelled_pools_are_known():
    counts = 2 * COUNTS + np.eye(4, dtype=int)
    draws = POSTERIOR.pool_draws(jax.random.key(0), 3, counts, counts.sum(-1))
    np.testing.assert_array_equal(draws, np.broadcast_to(counts / counts.sum(-1, keepdims=True), (3, 4, 4)))


# -- in sessions ------------------------------------------------------------------------------------------------------


def overconfident_pool(n=600, n_classes=6):
    """Predictions right in 60 to 90 % of their items, whose scores all say 0.97, taken for the next class else."""
    rng = np.random.default_rng(7)
    predictions = np.resize(np.arange(n_classes), n)
    right = rng.random(n) < np.linspace(0.6, 0.9, n_classes)[predictions]
    pool = ba.Pool(predictions=predictions, confidence=np.full(n, 0.97), classes=range(n_classes))
    return pool, np.where(right, predictions, (predictions + 1) % n_classes)


# Agreements of class 0 cost what some of its errors do.
COST = np.where(np.eye(6, dtype=bool), 0.0, 1.0) + np.where(np.arange(6) > 3, 2.0, 0.0)
COST[0, 0] = 1.0


QUESTIONS = pytest.mark.parametrize(
    "question", [ba.ConfusionMatrix(), ba.MostCostly(COST)], ids=lambda question: question.name
)


@pytest.mark.slow
@QUESTIONS
def test_questions_on_confusion_take_the_learned_prior(question):
    pool, labels = overconfident_pool()
    a = ba.assess(pool, question, prior="learned")
    ids = a.ask(12).ids
    a.tell(ids, labels[ids])
    result = a.result()
    assert np.isfinite(result.estimate).all()
    assert (result.interval[..., 0] < result.interval[..., 1]).all()


@pytest.mark.slow
@QUESTIONS
def test_campaigns_are_simulated_with_the_learned_prior(question):
    pool, labels = overconfident_pool()
    study = ba.simulate(pool, labels, question, designs=["thompson"], budgets=[3, 6], repeats=2, prior="learned")
    assert np.isfinite(study.scores["thompson"]["rmse"]).all()


def test_the_learned_prior_takes_no_strength():
    with pytest.raises(ba.PriorError, match="finds its strength from the labels"):
        ba.assess(overconfident_pool()[0], ba.ConfusionMatrix(), prior="learned", prior_strength=2)


def test_results_are_64_bit_and_the_setting_is_left_alone():
    assert POSTERIOR.mean.dtype == POSTERIOR.log_weight.dtype == PART.alpha.dtype == np.float64
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either `mean_scores`, or `n_classes`"),
        ({"n_classes": 1}, "each of 2 classes or more; found 1"),
        ({"mean_scores": np.full((2, 3), 0.3)}, r"2 classes or more; found mean scores of shape \(2, 3\)"),
        ({"mean_scores": [[0.5, 1.5], [0.5, 0.5]]}, "between 0 and 1; predicted class 0, label 1 has 1.5"),
        ({"n_classes": 3, "predicted": [True, False]}, "each of 3 classes whether it is predicted"),
        ({"n_classes": 2, "predicted": [0.5, 0.5]}, r"or for how many items; found \[0.5, 0.5\]"),
        ({"n_classes": 2, "predicted": [1, -1]}, "or for how many items; found"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message):
    with pytest.raises(ba.PriorError, match=message):
        HierarchicalConfusion.from_prior(**arguments)
