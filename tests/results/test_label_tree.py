"""The Dirichlet tree of design "adaptive" goes to ArviZ with its answer, and can choose the next items."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools.to_arviz import import_arviz
from bayes_assess.designs import Adaptive
from bayes_assess.models import DirichletTree
from made import labelled_sessions

RNG = np.random.default_rng(0)
SCORES = RNG.uniform(size=200)
LABELS = (RNG.random(200) < SCORES).astype(int)
POOL = ba.Pool(predictions=np.where(SCORES > 0.6, "cat", "dog"), scores=SCORES, classes=["dog", "cat"])


NAMES = np.array(["dog", "cat"])[LABELS]
told = labelled_sessions(POOL, NAMES, ba.Metric("f1"), design=Adaptive(n_strata=5), seed=0)


@pytest.fixture(scope="module")
def forty():
    """A session of 40 labels, and its answer for ArviZ."""
    a = told(40)
    return a, a.result().to_arviz()


def labels_by_block(a) -> np.ndarray:
    ids, labels = a.labelled
    block = np.asarray(a.cells.measure.block)[a.cells.source.cells_of(ids)]
    table = np.zeros((5, 2), int)
    np.add.at(table, (block, (labels == "cat").astype(int)), 1)
    return table


def test_draws_have_named_axes_and_the_labels_of_their_blocks(forty):
    a, data = forty
    drawn = data["posterior"]
    assert {name: site.dims[2:] for name, site in drawn.data_vars.items()} == {
        "theta": ("true_label",),
        "psi": ("true_label", "block"),
        "probability": ("block", "true_label"),
    }
    assert drawn["true_label"].values.tolist() == ["dog", "cat"]
    assert drawn["block"].values.tolist() == a.cells.parts[0].names.tolist()
    np.testing.assert_array_equal(data["observed_data"]["labels"].values, labels_by_block(a))


def test_draws_are_those_of_the_tree_that_learned_the_labels(forty):
    a, data = forty
    prior = Adaptive(n_strata=5).oracle_prior(a._start)
    table = labels_by_block(a)
    for group, tree in (("prior", prior), ("posterior", prior.update(table))):
        theta, psi = (data[group][name].values.reshape(4000, *data[group][name].shape[2:]) for name in ("theta", "psi"))
        joint = theta[:, :, None] * psi
        error = joint.std(0) / np.sqrt(len(joint))
        assert (abs(joint.mean(0) - np.asarray(tree.mean).T) < 5 * error).all()
        share = (joint / joint.sum(1, keepdims=True)).swapaxes(1, 2)
        np.testing.assert_allclose(data[group]["probability"].values.reshape(share.shape), share, rtol=1e-10)
    np.testing.assert_allclose(a.result().posterior.mean, prior.update(table).mean, rtol=1e-12)


def test_draws_are_the_same_for_the_same_labels_and_summarised_without_a_word():
    first, again = (told(20).result().to_arviz() for _ in range(2))
    np.testing.assert_array_equal(*(data["posterior"]["probability"].values for data in (first, again)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = import_arviz().summary(first)
    assert "theta[cat]" in table.index


@pytest.mark.slow
def test_draws_are_made_on_the_host_whichever_engine_the_session_ran_on(monkeypatch):
    """Compiling what draws takes longer than drawing."""
    monkeypatch.delattr(DirichletTree, "sample")
    eager, compiled = (told(20, engine=engine).result().to_arviz() for engine in ("eager", "compiled"))
    for name in ("theta", "psi"):
        np.testing.assert_allclose(*(data["posterior"][name].values for data in (eager, compiled)), rtol=1e-6)


def test_labels_that_are_draws_count_by_their_weights():
    a = told(40, oracle="stochastic")
    labels = a.result().to_arviz()["observed_data"]["labels"].values
    np.testing.assert_allclose(labels, a.cells.measure.by_block(np.asarray(a._state.draws.weights)), rtol=1e-6)


def test_a_pool_without_labels_or_scores_has_its_prior():
    result = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.Metric("accuracy"), design="adaptive").result()
    data = result.to_arviz()
    assert data["posterior"]["block"].values.tolist() == ["all"]
    np.testing.assert_allclose(data["posterior"]["psi"].values, 1)
    assert data["observed_data"]["labels"].values.sum() == 0


def test_the_next_items_can_be_chosen_by_it():
    a = told(40)
    assert a.cells.n_cells == 6  # predictions cut a block
    assert len(a.ask(10, posterior=a.result().to_arviz())) == 10


@pytest.mark.parametrize("design", ["passive", "importance", "oasis", "stratified", "poisson"])
def test_other_designs_have_no_model_of_labels(design):
    result = ba.assess(POOL, ba.Metric("f1"), design=design).result()
    with pytest.raises(ba.QuestionError, match="without a posterior"):
        result.to_arviz()
