"""Tests of the study of Poisson sampling: its pools, campaigns of shipped designs, its rows and its report."""

import numpy as np
import pytest
import study_seme
from _rows import read_rows
from _seme_checks import Comparison
from _seme_pools import LABEL_SETS, Binary, LabelSets, multi_label
from _seme_runs import _simulated, design_of, methods_of, new_rows, pool_row, read_study

import bayes_assess as ba
from bayes_assess.acquisition.poisson import blended
from bayes_assess.measures import multilabel_measure

SHARES = [0.05, 0.2, 0.75]
REPEATS = 40
QUICK_REPEATS = 30  # of the study with --quick
QUICK_SHARES = (0.1,)
# Every method compiles a campaign, and Poisson sampling one for every share.
METHODS = ["Importance", *(pytest.param(m, marks=pytest.mark.slow) for m in ("Uniform, repl.", "Uniform", "Poisson"))]


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


@pytest.mark.parametrize(
    ("method", "looks", "batch"),
    [("Importance", [20, 80, 300], 1), ("Poisson", [80], 80)],
)
@pytest.mark.slow
def test_measures_beside_the_one_that_is_sampled_for_do_not_sway_the_design(binary, method, looks, batch):
    """Campaigns for F1 alone draw the same items, and so estimate the same F1."""
    pool = ba.Pool(scores=binary.probability, predictions=binary.predicted.astype(int))
    labels = binary.labels.astype(int)
    f1 = binary.measures.index("f1")
    alone = ba.simulate(
        pool, labels, ba.Metric("f1"), designs={"": design_of(method, binary)}, budgets=looks, repeats=REPEATS,
        batch=batch, progress=False,
    )  # fmt: skip
    beside_others, *_ = _simulated(binary, method, "f1", np.array(looks), REPEATS, batch)
    np.testing.assert_allclose(beside_others[..., f1], alone.estimates[""], rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_rows_hold_the_estimates_of_all_measures_and_their_variances(binary, method):
    truth = binary.values(np.arange(400), np.ones(400))
    found = list(new_rows(binary, method, "f1", SHARES, REPEATS))
    assert [row["labels"] for row in found] == [20, 80, 300]
    values, variances = (np.array([row[name] for row in found], float) for name in ("estimates", "variances"))
    assert values.shape == (3, REPEATS, len(binary.measures))
    bias = values[2].mean(0) - truth
    error = values[2].std(0, ddof=1) / np.sqrt(REPEATS)
    assert (np.abs(bias) < 4 * error + 0.005).all()  # ratios are biased by about 1 / labels
    q = binary.measures.index("accuracy")
    # The relative standard error of a variance from 40 is 0.23 if estimates are normal.
    assert 0.25 < np.nanmean(variances[1, :, q]) / values[1, :, q].var(ddof=1) < 4
    ends = np.array([row["ends"] for row in found])
    inside = (ends[..., 0] <= truth[1] + 1e-9) & (truth[1] <= ends[..., 1] + 1e-9)
    assert inside.mean() > 0.8  # of nominal 90 % intervals, 120 of them


@pytest.mark.slow
def test_errors_of_the_simulated_pool_fall_with_the_labels(label_sets):
    truth = label_sets.values(np.arange(400), np.ones(400))
    for method in methods_of(label_sets):
        found = list(new_rows(label_sets, method, "f1_micro", study_seme.QUICK_SHARES, QUICK_REPEATS))
        errors = np.abs(np.array([row["estimates"] for row in found]) - truth)
        assert errors.shape == (3, QUICK_REPEATS, len(LABEL_SETS))
        means, spread = errors.mean(1), errors.std(1, ddof=1) / np.sqrt(QUICK_REPEATS)
        assert (means[0] - means[2] > 2 * np.hypot(spread[0], spread[2])).all()


@pytest.mark.slow
@pytest.mark.parametrize(("pool", "measure"), [("binary", "f1"), ("label_sets", "f1_micro")])
def test_all_labels_make_poisson_exact(request, pool, measure):
    pool = request.getfixturevalue(pool)
    (row,) = new_rows(pool, "Poisson", measure, [1.0], 2)
    truth = pool.values(np.arange(400), np.ones(400))
    np.testing.assert_allclose(row["estimates"], [truth, truth], atol=1e-6)  # of seven digits


def test_comparison_finds_planted_differences_and_leaves_out_what_is_missing():
    rng = np.random.default_rng(3)
    first = rng.exponential(size=(2, 500, 3))
    second = rng.exponential(size=(2, 500, 3)) * np.array([2.0, 1.0, 1.0])
    second[1, :, 2] = np.nan
    found = Comparison.of(first, second)
    assert (found.n, found.clearly_less, found.clearly_more) == (5, 2, 0)
    assert Comparison.of(second, first).clearly_more == 2
    with pytest.raises(LookupError, match="no figure"):
        _ = Comparison.of(first, np.full_like(first, np.nan)).less


@pytest.mark.slow
def test_studies_keep_the_rows_of_most_repeats(binary, tmp_path):
    import json

    lines = [pool_row(binary, "f1")]
    rows = list(new_rows(binary, "Importance", "f1", SHARES, REPEATS))  # which another test has compiled
    for n in (4, 3):
        few = {name: [row[name][:n] for row in rows] for name in ("estimates", "variances", "ends")}
        lines += [row | {"repeats": n} | {name: few[name][t] for name in few} for t, row in enumerate(rows)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    found = read_study(path, ()).of("made")
    assert len(found) == 1
    assert found[0].estimates.shape == (7, 4, 5)
    assert found[0].reached.tolist() == [False, False, True, False, False, False, True]


def test_wrong_options_and_missing_folders_are_sentences(tmp_path, capsys):
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for arguments, words in (
        (["--datasets", str(tmp_path / "none")], "There is no folder"),
        (["--datasets", str(tmp_path)], "There is neither mnist.npz nor 20news.npz in"),
        (["--report"], "There are no rows in"),
    ):
        with pytest.raises(SystemExit, match=words):
            study_seme.main([*rows, *arguments])
    with pytest.raises(SystemExit):
        study_seme.main([*rows, "--repeats", "0"])
    assert "takes a positive whole number; found '0'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("methods", [pytest.param("--quick", id="few"), pytest.param("", id="all")])
def test_without_a_folder_the_simulated_pool_is_studied_and_a_run_goes_on(
    methods, label_sets, monkeypatch, tmp_path, capsys
):
    out, rows = tmp_path / "seme.md", tmp_path / "rows.jsonl"
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    monkeypatch.setattr(study_seme, "multi_label", lambda: label_sets)
    monkeypatch.setattr(study_seme, "QUICK_SHARES", QUICK_SHARES if methods else study_seme.QUICK_SHARES)
    repeats = QUICK_REPEATS if methods else 3
    common = ["--rows", str(rows), "--repeats", str(repeats), "--out", str(out)]
    study_seme.main([*common, "--minutes", "0"])
    assert [row["method"] for row in read_rows(rows)] == [""]
    study_seme.main([*common, "--quick"])
    n = len(read_rows(rows))
    assert n == 1 + 2 * len(study_seme.QUICK_SHARES)
    study_seme.main([*common, *([methods] if methods else [])])
    made = len(read_rows(rows))
    assert made == (n if methods else 1 + 2 * 7 + 3 * 5 + 1)
    study_seme.main([*common, *([methods] if methods else [])])
    assert len(read_rows(rows)) == made
    assert "only the simulated pool" in capsys.readouterr().out
    study_seme.main([*common, "--report"])
    text = out.read_text()
    assert "nan" not in text
    assert "mnist" not in text
    if not methods:
        assert "With all labels Poisson sampling returns the exact measures. | holds" in text
        assert "From Poisson samples, the same of several labels per item." in text
        assert len(list(tmp_path.glob("*.png"))) == 6
