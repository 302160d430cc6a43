"""Designs cut the pool by strata of the user's own, in sessions and in studies."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.designs import Adaptive, Importance, Oasis, Passive, Stratified
from made import labelled_sessions

N = 240
RNG = np.random.default_rng(0)
LABELS = (np.arange(N) % 6 == 0).astype(int)
FEATURES = np.column_stack([LABELS + RNG.normal(0, 0.6, N), RNG.normal(0, 0.1, N)])
PREDICTIONS = np.where(RNG.random(N) < 0.15, 1 - LABELS, LABELS)
POOL = ba.Pool(predictions=PREDICTIONS)  # without scores
F1 = ba.Metric("f1")


def features(n_strata: int = 4) -> ba.FeatureStrata:
    return ba.FeatureStrata(FEATURES, n_strata)


DESIGNS = {
    "stratified": Stratified(strata=features()),
    "adaptive": Adaptive(strata=features()),
    "importance": Importance(strata=ba.Strata(5, "weight", of=FEATURES[:, 0])),
    "oasis": Oasis(strata=features(), epsilon=0.1),
}


told = labelled_sessions(POOL, LABELS, F1, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_a_session_cuts_the_pool_by_the_strata_that_were_passed_and_ends_at_the_truth(name):
    a = told(40, design=DESIGNS[name])
    strata = ba.partition(POOL, DESIGNS[name].strata)
    np.testing.assert_array_equal(a.cells.names[a.cells.source.cells_of(np.arange(N))], strata.names[strata.codes])
    assert 0 < a.result().estimate < 1
    rest = a.ask(a.n_remaining)
    a.tell(rest.ids, LABELS[rest.ids])
    assert a.result().estimate == pytest.approx(F1.truth(POOL, LABELS), rel=1e-12)
    assert a.result().guarantee == "exact"


def test_strata_take_equal_shares_of_a_stratified_sample():
    a = told(60, design=DESIGNS["stratified"])
    np.testing.assert_array_equal(a._state.measure.by_block(a.counts.sum(-1)), [15] * 4)


@pytest.mark.slow
def test_studies_with_strata_of_features_are_right():
    study = ba.simulate(
        POOL, LABELS, ba.Metric("accuracy"), budgets=[60, N], repeats=400, batch=20,
        designs={"passive": Passive(), **{name: DESIGNS[name] for name in ("stratified", "adaptive")}},
    )  # fmt: skip
    for name in ("stratified", "adaptive"):
        error = study.estimates[name] - study.truth
        assert abs(error[:, 0].mean()) < 4 * error[:, 0].std(ddof=1) / np.sqrt(400)
        np.testing.assert_allclose(error[:, 1], 0, atol=1e-12)
        assert study.coverage[name][0] > 0.88


def test_a_journal_needs_the_same_strata_again(tmp_path):
    told(30, design=DESIGNS["stratified"], journal=tmp_path / "run.db").journal.close()
    with pytest.raises(ba.JournalError, match=r"design has in strata= .* array; pass resume\(journal, pool, design="):
        ba.resume(tmp_path / "run.db", POOL)
    for other in (Stratified(strata=ba.FeatureStrata(-FEATURES, 4)), Stratified(strata=features(5)), Stratified()):
        with pytest.raises(ba.JournalError, match="is of another design"):
            ba.resume(tmp_path / "run.db", POOL, design=other)
    again = ba.resume(tmp_path / "run.db", POOL, design=Stratified(strata=features()))
    assert again.result().estimate == told(30, design=DESIGNS["stratified"]).result().estimate
    np.testing.assert_array_equal(again.ask(20).ids, told(30, design=DESIGNS["stratified"]).ask(20).ids)


def test_strata_of_the_pool_s_own_scores_come_back_from_the_journal(tmp_path):
    pool = ba.Pool(scores=np.clip(FEATURES[:, 0], 0, 1))
    design = Adaptive(strata=ba.Strata(5, "width"))
    ba.assess(pool, F1, design=design, journal=tmp_path / "run.db").journal.close()
    assert ba.resume(tmp_path / "run.db", pool).design == design


def test_designs_with_equal_strata_are_equal():
    assert Adaptive(strata=features()) == Adaptive(strata=features())
    assert hash(Adaptive(strata=features())) == hash(Adaptive(strata=features()))
    assert Adaptive(strata=features()) != Adaptive(strata=ba.FeatureStrata(-FEATURES, 4))


def test_strata_that_a_design_or_a_pool_cannot_take_are_refused():
    with pytest.raises(ba.DesignError, match="strata, or n_strata and kind; found both"):
        Stratified(n_strata=8, strata=features())
    with pytest.raises(ba.DesignError, match=r"strata of oasis are Strata\(...\) or FeatureStrata.*; found 'site'"):
        Oasis(strata="site")
    with pytest.raises(ba.PartitionError, match="need scores"):
        ba.assess(POOL, F1, design=Stratified(strata=ba.Strata(4)))


def test_a_stratified_design_has_no_options_of_draws_with_replacement():
    assert [option.name for option in fields(Stratified)] == ["n_strata", "kind", "strata"]


def test_a_stratified_session_does_not_answer_for_items_that_it_could_not_draw():
    """Precision needs predicted positives alone; recall needs the others."""
    a = ba.assess(POOL, ba.Metric("precision"), design="stratified", seed=0)
    queries = a.ask(20)
    a.tell(queries.ids, LABELS[queries.ids])
    with pytest.raises(ba.QuestionError, match="never asks for"):
        a.result(question=ba.Metric("recall"))
