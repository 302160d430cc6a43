from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import metrics

import bayes_assess as ba
from bayes_assess._tools import engine
from bayes_assess.errors import QuestionError
from bayes_assess.measures import (
    LossTable,
    Measure,
    _losses,
    combine,
    mean_of,
    measure,
    pool_value,
    pr_curve,
    table_for,
    value_of,
)
from bayes_assess.measures._losses import DenseLosses, SparseLosses, compress, distinct_rows, losses_of
from measures.references import table_of_all
from strict import kept_modes


def random_share(rng: np.random.Generator, table) -> np.ndarray:
    share = rng.random((table.n_attributes, table.n_classes))
    return share / share.sum()


def sparse(table: LossTable) -> LossTable:
    index, values = compress(table.losses.values)
    losses = losses_of(index, values, table.n_losses, largest=0)
    assert isinstance(losses, SparseLosses)
    return replace(table, losses=losses)


# -- what the table computes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("many", [1e7, 0], ids=["few losses", "many losses"])
@engine.eager()  # operations of JAX are compiled one by one
def test_directions_norms_and_covariance_are_those_of_the_definition(many, monkeypatch):
    monkeypatch.setattr(_losses, "_MANY", many)
    rng = np.random.default_rng(0)
    table = table_of_all(3)
    risk, mass = table.mean(random_share(rng, table)), rng.random((3, 3))
    losses, matrix = table.losses.values, np.asarray(table.jacobian(risk))
    directions = np.array([[matrix @ losses[a, y] for y in range(3)] for a in range(3)])
    np.testing.assert_allclose(table.directions(risk), directions, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(table.squared_norms(risk), (directions**2).sum(-1), rtol=1e-12)
    moment = sum(mass[a, y] * np.outer(losses[a, y], losses[a, y]) for a in range(3) for y in range(3))
    sigma = matrix @ (moment - np.outer(risk, risk)) @ matrix.T / 7
    np.testing.assert_allclose(table.covariance(risk, mass, 7), sigma, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(table.variances(risk, mass, 7), np.diag(sigma), rtol=1e-10, atol=1e-12)


def test_the_sparse_form_equals_the_dense_one():
    rng = np.random.default_rng(1)
    table = table_of_all(3)
    other, share, mass = sparse(table), rng.random((2, 3, 3)), rng.random((3, 3))
    taken = [("directions", ()), ("squared_norms", ()), ("variances", (mass,)), ("covariance", (mass,))]
    with engine.eager():
        np.testing.assert_allclose(other.mean(share), table.mean(share), rtol=1e-13)
        risk = np.asarray(table.mean(random_share(rng, table)))
        for name, arguments in taken:
            got, expected = (getattr(one, name)(risk, *arguments) for one in (other, table))
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12, err_msg=name)
        matrix = rng.normal(size=(2, table.losses.size))
        for some in ([True, False, True], [False] * 3):
            of = np.array(some)
            np.testing.assert_array_equal(other.losses.drawn(of), table.losses.drawn(of))
            ends = [one.losses.ends(matrix, of / 4) for one in (other, table)]
            np.testing.assert_allclose(*ends, rtol=1e-12)
        seen = np.array([False, True, True])
        np.testing.assert_allclose(*(one.losses.ends(matrix, np.ones(3), seen) for one in (other, table)), rtol=1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("seen", "ends"),
    [
        ([1, 2, 3], (-1.0, 1.0)),  # the mean is 2: no further draw is expected to be farther away
        ([2, 4], (-2.0, 3.0)),  # as far below, where labels end, as above
        ([0, 1, 2, 3, 4], (-2.0, 3.0)),
        ([2], (-2.0, 3.0)),  # all alike: any is expected
        ([], (-2.0, 3.0)),
    ],
)
def test_of_grades_the_next_is_expected_no_farther_away_than_the_farthest_that_was_seen(form, seen, ends):
    pool = ba.Pool(predictions=[0, 0, 0], classes=[0, 1, 2, 3, 4])
    _, table = table_for(mean_of((0.0, 1.0, 2.0, 3.0, 5.0)), pool)
    if form == "sparse":
        table = sparse(table)
    which = np.isin(np.arange(5), seen)
    risk, weight = np.array([2.0, 1.0]), np.ones(table.n_attributes)
    for eager in (True, False):
        with engine.eager(eager):
            np.testing.assert_allclose(np.ravel(table.influence_ends(risk, weight, which)), ends, atol=1e-12)
            if seen == [1, 2, 3]:  # of four draws, 5 / 3 as far
                four = np.ravel(table.influence_ends(risk, weight, which, 4))
                np.testing.assert_allclose(four, np.array(ends) * 5 / 3, rtol=1e-12)
                np.testing.assert_allclose(np.ravel(table.influence_ends(risk, weight, which, 1)), (-2, 3), atol=1e-12)
    assert not table_for("accuracy", pool)[1].graded


def test_means_of_many_draws_that_leave_out_losses_of_0_are_those_of_all(monkeypatch):
    _, table = table_for("f1_macro", ba.Pool(predictions=np.arange(80)))
    share = np.random.default_rng(2).random((40, 80, 80))
    assert isinstance(table.losses, DenseLosses)
    with engine.eager():
        monkeypatch.setattr(_losses, "_LARGE", 0)
        found = table.mean(share)
        monkeypatch.setattr(_losses, "_LARGE", np.inf)
        expected = table.mean(share)
    assert "sparse" in vars(table.losses)  # the first time, not the second
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_sparse_directions_are_the_directions(form):
    rng = np.random.default_rng(5)
    pool = ba.Pool(predictions=rng.integers(0, 2, 400), groups={"site": rng.integers(0, 9, 400)}, classes=[0, 1])
    _, table = table_for(["f1", "accuracy"], pool, by="site")
    if form == "sparse":
        table = replace(table, losses=losses_of(*compress(table.losses.dense()), table.n_losses, largest=0))
    risk = rng.random(table.n_losses)
    with engine.eager():
        found = table.sparse_directions(risk)
        dense = np.asarray(table.directions(risk))
    np.testing.assert_allclose(found.toarray().reshape(dense.shape), dense, rtol=1e-12)
    assert found.nnz == np.count_nonzero(dense)


def test_sparse_losses_are_taken_and_projected_by_their_places():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(6, 4, 60)) * (rng.random((6, 4, 60)) < 0.2)
    dense, held = DenseLosses(values), losses_of(*compress(values), 60, largest=0)
    assert isinstance(held, SparseLosses)
    rows, places, gradient = np.array([4, 1]), np.array([7, 3, 59]), np.zeros((3, 60))
    gradient[0, [5, 8]], gradient[1] = [0.5, -2.0], rng.normal(size=60)  # the last one is of no loss
    with engine.eager():
        np.testing.assert_allclose(held.project(gradient), dense.project(gradient), rtol=1e-12)
        np.testing.assert_allclose(held.squares(gradient), dense.squares(gradient), rtol=1e-12)
        share = rng.random((5, 6, 4))
        np.testing.assert_allclose(held.mean(share), dense.mean(share), rtol=1e-12)
    assert held.density == dense.density == np.count_nonzero(values) / values.size
    for some in (slice(None), rows):
        for taken in (places, np.arange(0, 60, 2)):  # of few rows, many are looked up entry by entry
            np.testing.assert_array_equal(held.columns(taken, some).dense(), values[some][..., taken])


def test_losses_of_some_cells_are_taken_alike_from_both_forms():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(6, 4, 30)) * (rng.random((6, 4, 30)) < 0.2)
    attribute, label = np.array([[5], [2]]), np.array([[0, 3, 1], [2, 2, 0]])
    for losses in (DenseLosses(values), losses_of(*compress(values), 30, largest=0)):
        taken = losses_of(*losses.entries(attribute, label), 30)
        np.testing.assert_array_equal(taken.dense(), values[attribute, label])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_rows_that_are_alike_are_found_as_by_numpy(share):
    rng = np.random.default_rng(5)
    rows = rng.choice([-1.0, 0.5, 2.0], size=(300, 6)) * (rng.random((300, 6)) < share)
    index, values = (part[:, 0] for part in compress(rows[:, None]))
    shuffled = rng.permuted(np.tile(np.arange(index.shape[1]), (300, 1)), axis=1)  # entries in any order
    index, values = (np.take_along_axis(part, shuffled, 1) for part in (index, values))
    first, place = distinct_rows(index, values, 6)
    distinct, expected = np.unique(rows, axis=0, return_inverse=True)
    np.testing.assert_array_equal(rows[first], distinct)
    np.testing.assert_array_equal(place, expected.ravel())


def test_losses_of_many_classes_are_held_sparsely():
    n = 100  # dense: 100 * 100 * 500 = 5 million numbers
    _, table = table_for(["f1_macro", "precision_weighted"], ba.Pool(predictions=np.arange(n)))
    assert isinstance(table.losses, SparseLosses)
    assert table.losses.values.shape[-1] <= 7
    with pytest.raises(QuestionError, match="two classes"):
        table_for("f1", ba.Pool(predictions=np.arange(n)))


@engine.eager()  # operations of JAX are compiled one by one
def test_the_variance_is_that_of_estimates_from_uniform_draws():
    rng = np.random.default_rng(5)
    table, n, repeats = table_of_all(2), 20_000, 500
    share = np.array([[0.5, 0.1], [0.15, 0.25]])
    risk = table.mean(share)
    draws = rng.multinomial(n, share.ravel(), size=repeats).reshape(repeats, 2, 2) / n
    estimates = _values(table, draws)
    expected = np.asarray(table.variances(risk, share, n))
    error = 5 * np.sqrt(2 / (repeats - 1))  # five standard errors of a Normal sample's variance
    np.testing.assert_allclose(estimates.var(0, ddof=1), expected, rtol=error + 0.01)


def _values(table, shares):
    return np.stack([np.asarray(table.value(risk)) for risk in np.asarray(table.mean(shares))])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", [[False, True], [True, False]]),
        ("recall", [[False, True], [False, True]]),
        ("precision", [[False, False], [True, True]]),
        ("f1", [[False, True], [True, True]]),
        ("matthews_corrcoef", [[False, True], [True, True]]),
        ("specificity", [[True, False], [True, False]]),
    ],
)
def test_losses_vanish_where_an_item_cannot_matter(name, expected):
    assert np.array_equal(table_for(name, ba.Pool(predictions=[0, 1]))[1].nonzero, expected)


def test_outputs_say_what_they_are_and_whether_they_are_shares():
    pool = ba.Pool(predictions=["cat", "dog", "dog"])
    _, table = table_for(["accuracy", "precision_per_class", "matthews_corrcoef"], pool)
    assert table.outputs == ("accuracy", "precision[cat]", "precision[dog]", "matthews_corrcoef")
    assert table.ranges == ((0, 1), (0, 1), (0, 1), (-1, 1))
    assert (table.n_attributes, table.n_classes, table.n_outputs) == (2, 2, 4)


def test_measures_with_the_same_losses_share_them():
    _, table = table_for(["accuracy", "zero_one_loss", "f1_micro"], ba.Pool(predictions=[0, 1, 2]))
    assert table.n_losses == 1


# -- systems and sub-populations -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scene():
    rng = np.random.default_rng(7)
    labels, own, other = rng.choice(["cat", "dog"], size=(3, 80))
    site = rng.choice(["x", "y", "z"], size=80)
    pool = ba.Pool(predictions=own, classes=["cat", "dog"], groups={"site": site}, systems={"b": other})
    return pool, labels, own, other, site


def test_several_systems_are_measured_at_once(scene):
    pool, labels, own, other, _ = scene
    values = pool_value(["f1", "accuracy"], pool, labels, systems=["prediction", "b"])
    f1 = [metrics.f1_score(labels, f, pos_label="dog") for f in (own, other)]
    np.testing.assert_allclose(values, f1 + [metrics.accuracy_score(labels, f) for f in (own, other)], rtol=1e-13)


def test_sub_populations_have_their_own_values(scene):
    pool, labels, _, other, site = scene
    codes, table = table_for(["f1", "accuracy"], pool, systems=["b"], by="site")
    assert table.outputs[:2] == ("f1 (system b, site x)", "f1 (system b, site y)")
    assert table.n_attributes == codes.max() + 1 == 6  # two predictions, three sites
    values = pool_value(["f1", "accuracy"], pool, labels, systems=["b"], by="site")
    for place, name in enumerate("xyz"):
        some = site == name
        assert values[place] == pytest.approx(metrics.f1_score(labels[some], other[some], pos_label="dog"), rel=1e-13)
        assert values[3 + place] == pytest.approx((labels == other)[some].mean(), rel=1e-13)


def test_by_prediction_is_the_predicted_class(scene):
    pool, labels, own, *_ = scene
    values = pool_value("accuracy", pool, labels, by="prediction")
    assert values == pytest.approx([(labels == own)[own == name].mean() for name in ("cat", "dog")], rel=1e-13)


def test_a_score_and_a_prediction_of_the_same_item_are_kept_together():
    rng = np.random.default_rng(8)
    s, y, site = rng.random(40), rng.integers(2, size=40), rng.integers(2, size=40)
    pool = ba.Pool(scores=s, groups={"site": site})
    values = pool_value(["brier_score_loss", "f1"], pool, y, by="site")
    for place in (0, 1):
        some = site == place
        assert values[place] == pytest.approx(((s - y)[some] ** 2).mean(), rel=1e-13)
        assert values[2 + place] == pytest.approx(metrics.f1_score(y[some], s[some] >= 0.5), rel=1e-13)


# -- measures of one's own -------------------------------------------------------------------------------------------


def own_f1() -> Measure:
    return Measure(loss=lambda y, f: jnp.stack([y * f, (y + f) / 2]), g=lambda r: r[0] / r[1], name="mine", binary=True)


def test_a_measure_of_ones_own_equals_the_built_in_one():
    y, f = np.array([0, 1, 1, 1, 0, 0]), np.array([0, 1, 0, 1, 1, 0])
    assert value_of(own_f1(), y, f) == pytest.approx(value_of("f1", y, f), rel=1e-15)


def test_a_measure_of_ones_own_is_zero_and_undefined_where_it_divides_by_zero():
    _, table = table_for(own_f1(), ba.Pool(predictions=[0, 1]))
    risk = table.mean([[1.0, 0.0], [0.0, 0.0]])
    assert table.value(risk).tolist() == [0.0]
    assert table.defined(risk).tolist() == [False]
    assert np.array_equal(table.jacobian(risk), np.zeros((1, 2)))


def test_a_loss_may_take_codes_and_the_confidence_and_g_may_have_several_outputs():
    own = Measure(
        loss=lambda y, f, s: jnp.stack([jnp.abs(s - (y == f)), 1.0 * (y == 2)]),
        g=lambda r: jnp.stack([r[0] * r[1], r[1] ** 2]),
        name="own",
        outputs=["product", "square"],
    )
    rng = np.random.default_rng(2)
    rows, y = rng.dirichlet(np.ones(3), 20), rng.integers(3, size=20)
    gap, share = np.abs(rows.max(1) - (rows.argmax(1) == y)).mean(), (y == 2).mean()
    pool = ba.Pool(scores=rows)
    np.testing.assert_allclose(pool_value(own, pool, y), [gap * share, share**2], rtol=1e-13)
    _, table = table_for(own, pool)
    assert table.outputs == ("product", "square")
    np.testing.assert_allclose(table.jacobian([gap, share]), [[share, gap], [0, 2 * share]], rtol=1e-13)


# -- compiled use ----------------------------------------------------------------------------------------------------


def test_a_compiled_function_of_tables_traces_once_for_all_pools_of_the_same_classes():
    traces = []

    @jax.jit
    def norms(table, shares):
        traces.append(1)
        return jax.vmap(lambda share: table.squared_norms(table.mean(share)))(shares)

    share = np.full((3, 2, 2), 0.25)
    with jax.enable_x64(True):
        for predictions in ([0, 1], [1, 1, 0, 1]):
            _, table = table_for(["f1", "accuracy"], ba.Pool(predictions=predictions, classes=[0, 1]))
            got = norms(table, share)
        assert got.dtype == jnp.float64
    assert len(traces) == 1
    np.testing.assert_allclose(got[2], table.squared_norms(table.mean(share[2])), rtol=1e-13)


@pytest.mark.parametrize(
    ("n_classes", "form"), [pytest.param(2, "dense", marks=pytest.mark.slow), (3, "dense"), (3, "sparse")]
)
def test_everything_runs_under_strict_promotion(n_classes, form):
    table = table_of_all(n_classes)
    if form == "sparse":
        table = sparse(table_for("f1_macro", ba.Pool(predictions=np.arange(n_classes)))[1])

    def everything(table, share):
        risk = table.mean(share)
        return [
            table.value(risk), table.defined(risk), table.squared_norms(risk), table.directions(risk),
            table.covariance(risk, share, 10), table.variances(risk, share),
        ]  # fmt: skip

    with (
        kept_modes(),
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("strict"),
        jax.numpy_rank_promotion("raise"),
    ):
        jax.eval_shape(everything, table, jnp.ones((n_classes, n_classes)))
        jax.eval_shape(table.mean, jnp.ones((5, n_classes, n_classes)))


def test_a_loss_may_return_a_list():
    of_list = Measure(loss=lambda y, f: [(1 - y) * f, 1 - y], g=lambda r: r[0] / r[1], name="alarms", binary=True)
    of_array = Measure(loss=lambda y, f: jnp.stack(of_list.loss(y, f)), g=of_list.g, name="alarms", binary=True)
    labels, predictions = [0, 0, 0, 1], [1, 0, 0, 1]
    for one in (of_list, of_array):
        assert value_of(one, labels, predictions) == pytest.approx(1 / 3)


def test_a_measure_of_ones_own_may_reach_the_ends_of_its_range():
    table_for(bad(range=(0, 2)), POOL)  # codes
    # Not where it has no value: of labels that are all positive there are no false alarms.
    alarms = {"loss": lambda y, f: jnp.stack([(1 - y) * f, 1 - y]), "g": lambda r: r[0] / r[1], "bounded": True}
    table_for(bad(**alarms, binary=True), ba.Pool(scores=[0.1, 0.9]))


# -- what cannot be asked --------------------------------------------------------------------------------------------

POOL = ba.Pool(predictions=["a", "b", "c"], groups={"site": ["x", "x", "y"]})


def bad(**fields) -> Measure:
    return Measure(**{"loss": lambda y, f: jnp.stack([y, f]) * 1.0, "g": lambda r: r[0], "name": "bad"} | fields)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: table_for("f1", POOL), r"'f1' is of two classes, and the pool has 3 .* average, such as 'f1_macro'"),
        (
            lambda: table_for("f1", POOL, positive="d"),
            r"class 'd' is not a class of the pool \('a', 'b', 'c'\)",
        ),
        (lambda: table_for("r2", POOL), "'r2' is of labels that are real numbers, which have no table over classes"),
        (lambda: table_for("brier_score_loss", POOL), "'brier_score_loss' needs scores, which this pool lacks"),
        (lambda: table_for("accuracy", POOL, systems=["b"]), "no system 'b'; it has 'prediction'"),
        (lambda: table_for("accuracy", POOL, systems=["site"]), "no system 'site'; it has 'prediction'. Pass others"),
        (lambda: table_for("accuracy", POOL, by="age"), "no group column 'age' to take as sub-population"),
        (lambda: table_for(["accuracy", "accuracy"], POOL), "Two measures are called 'accuracy'"),
        (lambda: table_for([], POOL), "There is no measure"),
        (lambda: table_for(3, POOL), "A measure is a name, a Measure, or a list of these; found 3"),
        (lambda: combine("r2", "accuracy"), "'r2' is of real numbers and cannot stand with"),
        (lambda: table_for(bad(loss=lambda y, f: y * 1.0), POOL), r"loss of measure 'bad' returns a vector .* \(\)"),
        (lambda: table_for(bad(loss=lambda y: y), POOL), r"loss\(y, f\) or loss\(y, f, s\); found 1 arguments"),
        (lambda: table_for(bad(loss=lambda y, f: y[0]), POOL), "loss of measure 'bad' cannot be evaluated"),
        (
            lambda: table_for(bad(loss=lambda y, f: np.array([y, f])), POOL),
            "loss of measure 'bad' cannot be evaluated by JAX: write it with jax.numpy in the place of numpy",
        ),
        (lambda: table_for(bad(g=lambda r: r[0] if r[1] > 0 else 0.0), POOL), "g of measure 'bad' .*jnp.where in the"),
        (
            lambda: table_for(bad(loss=lambda y, f: jnp.stack([y / 0.0, f])), POOL),
            "loss of measure 'bad' is not f",
        ),
        (lambda: table_for(bad(g=lambda r: jnp.outer(r, r)), POOL), r"g of measure 'bad' .* shape \(2, 2\)"),
        (lambda: table_for(bad(g=lambda r: r[0] > 0), POOL), "g of measure 'bad' .* of bool"),
        (lambda: table_for(bad(g=lambda r: r, outputs=("x",)), POOL), "names 1 outputs, but g returns 2"),
        (lambda: table_for(bad(g=lambda r: r, per_class=True), POOL), "returns 2 values for 3 classes"),
        (
            lambda: table_for(bad(bounded=True), POOL),
            r"'bad' says that it lies in \[0, 1\], but would be 2 if all items",
        ),
        (
            lambda: table_for(bad(g=lambda r: -r[0], range=(-1, 9)), POOL, by="site"),
            r"in \[-1, 9\], but would be -2 if",
        ),
        (lambda: bad(range=(1, 0)), r"The range of measure 'bad' is \(lowest, highest\); found \(1, 0\)"),
        (lambda: bad(range=1), r"The range of measure 'bad' is \(lowest, highest\); found 1"),
        (lambda: bad(g=None), "'bad' needs a function as its g; found None"),
        (lambda: bad(name=""), "A measure's name is a text; found ''"),
        (lambda: measure("r2").value_at([0.5]), r"A risk is the mean of 3 losses; found shape \(1,\)"),
        (lambda: measure("f1_macro").value_at([0.5]), "'f1_macro' depends on the number of classes"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_in_one_sentence(ask, message):
    with pytest.raises(QuestionError, match=message):
        ask()


@pytest.mark.parametrize("kind", ["table", "curve"])
def test_arrays_of_another_shape_are_refused_since_jax_would_clamp(kind):
    pool = ba.Pool(scores=[0.1, 0.9])
    _, table = table_for("recall" if kind == "table" else pr_curve([0.5]), pool)
    with pytest.raises(
        QuestionError, match=r"row per attribute and a column per label, here \(2, 2\); found .* \(2, 1\)"
    ):
        table.mean(np.ones((2, 1)))
    with pytest.raises(QuestionError, match=f"mean of {table.n_losses} losses; found shape"):
        table.value(np.ones(1))
    with pytest.raises(QuestionError, match="row per attribute"):
        table.variances(np.ones(table.n_losses), np.ones((1, 2)))


def test_only_the_pools_own_predictions_have_scores():
    pool = ba.Pool(scores=[0.1, 0.9], systems={"b": [1, 1]})
    with pytest.raises(QuestionError, match="'log_loss' needs scores, and only the pool's own"):
        table_for("log_loss", pool, systems=["b"])


@pytest.mark.parametrize(
    "name", ["precision_at_10", "p@5", "hit@100", "ndcg", "ndcg_at_10", "ndcg_score", "mrr", "map"]
)
def test_measures_of_ranks_are_refused_with_what_has_them(name):
    with pytest.raises(QuestionError, match=f"no measure '{name}'; of one ranked list the question PrecisionCurve"):
        ba.Metric(name)


@pytest.mark.parametrize("name", ["Recall@100", "recall_at_k", "r@5"])
def test_recall_at_a_rank_is_that_of_a_pool_of_all_candidates(name):
    with pytest.raises(QuestionError, match=rf"'{name}'; of a pool of queries with all their candidates.*by='query'"):
        ba.Metric(name)


@pytest.mark.parametrize("name", ["precison", "recal", "f1_marco"])
def test_misspelled_measures_are_not_taken_for_those_of_ranks(name):
    with pytest.raises(QuestionError, match="did you mean"):
        ba.Metric(name)
