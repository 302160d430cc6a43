"""Tests of the study of [NH]'s pools: the files it reads, rows that resume, and verdicts worked out by hand."""

import json

import numpy as np
import pytest
import study_nh
from _nh_claims import Claim, verdicts
from _nh_pools import UnreadableFileError, is_published, pools_in, read_pool
from _nh_tables import Found, read_tasks
from _rows import read_rows
from scipy.special import expit

import bayes_assess as ba

M = 600


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    scores = rng.normal(-2, 1.5, M)
    return {"labels": (rng.random(M) < expit(2 * scores)).astype(np.int64), "scores": scores}


def write_hdf5(path, **arrays) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def row(pool: str, method: str, mse: list[float], **more) -> dict:
    looks = [50, 100]
    low, high = [x * 0.9 for x in mse], [x * 1.1 for x in mse]
    same = {name: [1.0, 1.0] for name in ("bias", "draws", "divergence")}
    same |= {name: [1.0] for name in ("coverage", "coverage_last", "width")}
    facts = {"file": "x.h5", "items": 600, "positives": 10, "predicted": 9, "f1": 0.5, "accuracy": 0.9}
    found = {"task": "f1", "pool": pool, "method": method, "campaigns": 20, "batch": 50, "labels": 100}
    found |= {"looks": looks, "shown": [1], "mse": mse, "mse_error": [x / 10 for x in mse]}
    found |= {"band": list(zip(low, high, strict=True)), "divergence_band": [[0.9, 1.1]] * 2}
    return found | same | {"seconds": 1.0, "compiling": None, "facts": facts} | more


def test_scores_of_a_support_vector_machine_become_probabilities_whatever_the_file_says(arrays, tmp_path):
    write_hdf5(tmp_path / "abt-buy-svm.h5", **arrays, probs=np.full(M, 0.5), features=np.zeros((M, 3)))
    data = read_pool("abt_buy", tmp_path / "abt-buy-svm.h5")
    np.testing.assert_allclose(data.probability, expit(arrays["scores"]))
    np.testing.assert_array_equal(data.predictions, arrays["scores"] >= 0)
    np.testing.assert_array_equal(data.labels, arrays["labels"])


def test_probabilities_of_other_classifiers_are_kept_and_predictions_are_those_of_the_file(arrays, tmp_path):
    p = np.clip(expit(arrays["scores"]) ** 2, 0.0, 1.0)
    p[0] = 1.0
    write_hdf5(tmp_path / "creditcard-lr.h5", labels=arrays["labels"], probs=p, preds=(p > 0.1).astype(int))
    data = read_pool("creditcard", tmp_path / "creditcard-lr.h5")
    np.testing.assert_array_equal(data.probability, p)
    np.testing.assert_array_equal(data.predictions, p > 0.1)
    assert np.isfinite(data.scores).all()
    assert (np.argsort(data.scores) == np.argsort(p)).all()


def test_the_authors_file_comes_before_its_copy_and_this_before_a_stand_in(arrays, tmp_path, capsys):
    p = expit(arrays["scores"])
    np.savez(tmp_path / "abt_buy.npz", labels=1 - arrays["labels"], probability=p, predictions=p > 0.5)
    assert [data.file for data in pools_in(tmp_path, ["abt_buy"])] == ["abt_buy.npz"]
    np.savez(tmp_path / "nh_abt_buy.npz", labels=arrays["labels"], probability=p, predictions=p > 0.5)
    assert [data.file for data in pools_in(tmp_path, ["abt_buy", "tweets100k"])] == ["nh_abt_buy.npz"]
    (tmp_path / "abt-buy-svm.h5").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert [data.file for data in pools_in(tmp_path, ["abt_buy"])] == ["nh_abt_buy.npz"]
    assert "abt-buy-svm.h5 is left out: " in capsys.readouterr().err
    write_hdf5(tmp_path / "abt-buy-svm.h5", **arrays)
    found = list(pools_in(tmp_path, ["abt_buy"]))
    assert [data.file for data in found] == ["abt-buy-svm.h5"]
    np.testing.assert_array_equal(found[0].labels, arrays["labels"])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"labels": None}, "no array of labels"),
        ({"scores": None}, "neither scores nor probabilities"),
        ({"labels": np.full(M, 2)}, "labels are not all 0 or 1"),
        ({"scores": np.full(M, np.nan)}, "scores are not all finite"),
        ({"preds": np.zeros(M - 1)}, "predictions of shape"),
    ],
)
def test_files_without_a_pool_are_refused_with_a_reason(arrays, tmp_path, more, words):
    given = {name: array for name, array in (arrays | more).items() if array is not None}
    write_hdf5(tmp_path / "abt-buy-svm.h5", **given)
    with pytest.raises(UnreadableFileError, match=words):
        read_pool("abt_buy", tmp_path / "abt-buy-svm.h5")


def test_pools_are_the_papers_own_where_items_and_f1_are():
    assert is_published("abt_buy", {"items": 53_753, "f1": 0.5946})
    assert not is_published("abt_buy", {"items": 53_753, "f1": 0.5938})
    assert not is_published("abt_buy", {"items": 53_754, "f1": 0.595})


def test_verdicts_take_the_pair_of_methods_that_speaks_most_against_the_statement():
    rows = [row("abt_buy", "A", [2.0, 1.0]), row("abt_buy", "B", [1.0, 4.0]), row("abt_buy", "C", [9.0, 1.05])]
    methods = {one["method"]: Found.of(one) for one in rows}
    clear = Claim("f1", "abt_buy", "words", ("A",), ("B",), factor=2.0).row(methods)
    assert clear == "| abt_buy | words | yes | B over A: 4 ± 0.6, 2 wanted |"
    both = Claim("f1", "abt_buy", "words", ("A",), ("B", "C"), everywhere=True).row(methods)
    assert both is not None
    assert "yes, within the bands; at 1 of 2 numbers of labels | C over A: 1.1" in both
    tied = Claim("f1", "abt_buy", "words", ("C",), ("A",), ties=True).row(methods)
    assert tied is not None
    assert "yes, equal-best within the bands" in tied
    wrong = Claim("f1", "abt_buy", "words", ("B",), ("A",), ties=True).row(methods)
    assert wrong is not None
    assert "| no |" in wrong
    assert Claim("f1", "abt_buy", "words", ("D",), ("A",)).row(methods) is None
    assert "C has" not in verdicts("f1", {"abt_buy": methods})


def test_reports_take_the_rows_with_most_campaigns(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [row("abt_buy", "IS", [1.0, 1.0], campaigns=n) for n in (20, 100, 50)]
    path.write_text("\n".join(map(json.dumps, rows)))
    tasks, facts = read_tasks(path, ["f1"], ["abt_buy"])
    assert tasks["f1"]["abt_buy"]["IS"].n_campaigns == 100
    assert facts["abt_buy"]["file"] == "x.h5"


def test_wrong_options_and_missing_folders_are_sentences(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for arguments, words in (
        ([], "Name the folder of the pools by --datasets or by BAYES_ASSESS_POOLS"),
        (["--datasets", str(tmp_path / "none")], "There is no folder"),
        (["--datasets", str(tmp_path)], "There is no pool of abt_buy"),
        (["--report"], "There are no rows"),
    ):
        with pytest.raises(SystemExit, match=words):
            study_nh.main([*rows, *arguments])
    with pytest.raises(SystemExit):
        study_nh.main([*rows, "--campaigns", "-3"])
    assert "takes a positive whole number; found '-3'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [pytest.param(["f1"], id="f1"), pytest.param(["f1", "curve"], id="all")])
def test_a_run_goes_on_where_it_stopped_and_reports(tasks, arrays, tmp_path, monkeypatch, capsys):
    write_hdf5(tmp_path / "abt-buy-svm.h5", **arrays)
    monkeypatch.setattr(study_nh, "STRATA", 8)
    monkeypatch.setattr(study_nh, "THRESHOLDS", 16)
    if len(tasks) == 1:  # trees compile long
        monkeypatch.setattr(study_nh, "CURVES_OF", ("IS",))
    made, method_row = [], study_nh.method_row
    monkeypatch.setattr(study_nh, "method_row", lambda *given: made.append(given[0].name) or method_row(*given))
    rows = tmp_path / "rows.jsonl"
    common = ["--datasets", str(tmp_path), "--rows", str(rows), "--quick", "--out", str(tmp_path / "nh.md")]
    study_nh.main([*common, "--minutes", "0"])
    assert made == []
    study_nh.main([*common, "--tasks", "f1"])
    for _ in range(2):
        study_nh.main([*common, "--tasks", *tasks])
    n_methods = len(study_nh.CURVES_OF)
    assert made == [task for task in tasks for _ in range(n_methods)]
    assert len(read_rows(rows)) == n_methods * len(tasks)
    study_nh.main([*common, "--report"])
    text = (tmp_path / "nh.md").read_text()
    assert "nan" not in text
    if tasks == ["f1"]:
        return
    assert "vast improvement" in text
    pictures = [path.name for path in tmp_path.glob("*.png")]
    assert sorted(pictures) == [
        "nh_curve.png", "nh_curve_abt_buy.png", "nh_curves_abt_buy.png", "nh_f1.png", "nh_f1_abt_buy.png",
    ]  # fmt: skip
    one = next(one for one in read_rows(rows) if one["task"] == "curve" and one["method"] == "IS")
    assert np.shape(one["curves"]["estimates"]) == (20, 8)
    capsys.readouterr()


@pytest.mark.slow
def test_campaigns_are_summed_up_whatever_an_estimate_lacks():
    scores = np.linspace(0.02, 0.98, 60)
    labels = (scores > 0.4).astype(int)
    pool = ba.Pool(scores=scores)
    study = ba.simulate(pool, labels, ba.Metric("f1"), designs={"": "passive"}, budgets=[10, 60], repeats=4)
    found = study_nh.kept(study, np.array([0, 1]))
    assert found["squares"].shape == (4, 2)
    assert found["inside"][:, 1].tolist() == [1.0] * 4  # everything is labelled
