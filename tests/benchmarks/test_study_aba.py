"""Tests of the study of [ABA]: its costs, its rows that resume, its tables and its verdicts worked out by hand."""

import itertools

import numpy as np
import pytest
import study_aba
from _aba_pools import COARSE, METHODS, PEOPLE, Data
from _aba_report import Figure, Line, figure_verdicts, most_campaigns, pair_lines, search_lines, table
from _aba_runs import tasks
from _rows import read_rows

import bayes_assess as ba

PARTS = ["scores", "accuracy", "calibration", "costs", "pairs", "ece", "reliability"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pools")
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([0.5, 0.5, 0.5, 0.5], 160)
    labels = np.array([rng.choice(4, p=p) for p in scores])
    classes = np.array(["a.x", "a.y", "b.x", "b.y"])
    np.savez(path / "20news.npz", scores=scores, labels=labels, classes=classes)
    predictions = rng.integers(0, 3, 60)
    np.savez(path / "imagenet.npz", predictions=predictions, labels=np.where(rng.random(60) < 0.7, predictions, 2))
    return path


def search(pool: str, method: str, m: int, area: float, error: float, to: int | None = None) -> dict:
    row = {"part": "search", "pool": pool, "method": method, "sought": "accuracy", "m": m, "campaigns": 20}
    row |= {"area": area, "area_error": error, "curve_labels": to, "looks": [10, 100], "mrr": [0.5, 1.0]}
    return row | {"mrr_error": [0.1, 0.0], "each": 40.0, "each_error": 2.0, "each_bound": to is None}


def test_every_superclass_of_cifar_100_has_five_classes():
    assert np.bincount(COARSE).tolist() == [5] * 20
    # In the order of their names: baby, boy, girl, man, woman.
    assert np.flatnonzero(np.array(COARSE) == PEOPLE).tolist() == [2, 11, 35, 46, 98]


def test_costs_are_of_the_prediction_in_rows_and_the_label_in_columns():
    names = range(100)
    data = Data("cifar100", ba.Pool(predictions=list(names), classes=names), np.arange(100))
    human = data.cost("human", 10)
    assert human[0, 2] == 10.0  # a baby taken for an apple
    assert human[2, 0] == 1.0  # an apple taken for a baby
    assert human[11, 2] == 10.0  # a baby taken for a boy
    assert (np.diag(human) == 0).all()
    superclass = data.cost("superclass", 5)
    assert superclass[11, 2] == superclass[2, 11] == 1.0
    assert superclass[0, 2] == superclass[2, 0] == 5.0


def test_costs_of_newsgroups_follow_the_first_part_of_their_names(folder):
    data = Data.load(folder / "20news.npz")
    assert data.cost("superclass", 2).tolist() == [[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]]


def test_labels_keep_their_meaning_under_their_names(folder):
    data = Data.load(folder / "20news.npz")
    with np.load(folder / "20news.npz") as file:
        right = file["scores"].argmax(1) == file["labels"]
    assert data.facts["accuracy"] == right.mean()


def test_pools_without_scores_take_no_informative_prior(folder):
    keys = [key for key, _ in tasks(Data.load(folder / "imagenet.npz"), PARTS, 5)]
    assert {key["method"] for key in keys} >= {"UPrior", "UPrior+TS"}
    assert not [key for key in keys if key["method"] in METHODS and METHODS[key["method"]].prior == "informative"]
    assert {key["part"] for key in keys} == {"scores", "search", "pairs"}


def test_keys_of_rows_are_all_different(folder):
    keys = [tuple(key.values()) for key, _ in tasks(Data.load(folder / "20news.npz"), PARTS, 5)]
    assert len(keys) == len(set(keys))
    top_two = [key for key in keys if key[2] == "UPrior+TTTS"]
    assert [key[4] for key in top_two] == [1]  # which is for one group


def test_shares_give_the_exact_ece_at_full_labels(folder):
    data = Data.load(folder / "20news.npz")
    ((_, make),) = tasks(data, ["ece"], 30)
    row = make()
    assert row["looks"][-1] == 160
    assert row["plain"][-1] < 1e-9
    assert 0 < row["bayes"][-1] < 100  # priors of two labels a bin still count against 16 labels in each
    assert row["plain"][0] > 10


def test_tables_and_verdicts_have_the_numbers_worked_out_by_hand():
    facts = {"20news": {"items": 200, "m": 3, "most": 200, "classes": 20}}
    rows = [search("20news", "UPrior", 1, 0.5, 0.01), search("20news", "UPrior+TS", 1, 0.8, 0.01, 50)]
    rows += [search("20news", "UPrior+greedy", 1, 0.79, 0.01, 60), search("20news", "UPrior+TTTS", 1, 0.81, 0.01, 50)]
    rows += [search("20news", "UPrior+UCB", 1, 0.9, 0.01, 40)]
    lines = search_lines(rows, "accuracy", facts, each=False)
    assert lines == [
        Line("20news", "20 News", "1", "1", {"UPrior": Figure(100.0, None, True), "UPrior+TS": Figure(25)})
    ]
    text = table(6, "Least accurate classes", {"Curve": lines}, "m")
    assert "| 20news | 1 | ≥ 100.0 | 25.0 | 53.9 |" in text
    assert "**UPrior+TS is below UPrior in 1 of 1 rows, the median ratio is 0.25.**" in text
    each = search_lines(rows, "accuracy", facts, each=True)[0].figures
    assert each["UPrior+TS"] == Figure(20.0, 1.0)
    verdicts = figure_verdicts(rows)
    assert "almost identical performance | holds | gap -0.010 to -0.010, mean -0.010 ± 0.014" in verdicts
    assert "TS converges faster than epsilon greedy | does not hold | gap +0.010" in verdicts
    assert "TS converges faster than Bayesian UCB | does not hold | gap -0.100" in verdicts
    assert "clearly more in 0, less in 1 of 1 curves" in verdicts
    assert "Fig. 19" not in verdicts


def test_pairs_are_averaged_with_the_error_of_their_campaigns():
    rows = [
        {"part": "pairs", "pool": "mnist", "sought": f"{k}", "campaigns": 2, "labels": {"UPrior": labels}}
        for k, labels in enumerate(([10, 14], [20, 20]))
    ]
    (line,) = pair_lines(rows)
    assert line.label == "2 x 2"
    assert line.figures["UPrior"].value == 16.0
    assert line.figures["UPrior"].error == pytest.approx(1.0)  # sqrt((8 + 0) / 2) / 2


def test_rows_with_most_campaigns_are_kept():
    rows = [search("mnist", "UPrior", 1, area, 0.1) | {"campaigns": n} for n, area in ((5, 0.1), (20, 0.2), (10, 0.3))]
    assert [row["area"] for row in most_campaigns(rows)] == [0.2]


def test_wrong_options_and_missing_folders_are_sentences(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("BAYES_ASSESS_POOLS", raising=False)
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    for arguments, words in (
        ([], "Name the folder of the pools by --datasets or by BAYES_ASSESS_POOLS"),
        (["--datasets", str(tmp_path)], "There is none of cifar100"),
        (["--report"], "There are no rows in"),
    ):
        with pytest.raises(SystemExit, match=words):
            study_aba.main([*rows, *arguments])
    with pytest.raises(SystemExit):
        study_aba.main([*rows, "--parts", "everything"])
    assert "invalid choice: 'everything'" in capsys.readouterr().err


@pytest.mark.parametrize(  # the others compile up to a dozen programs
    "part", ["reliability", *(pytest.param(part, marks=pytest.mark.slow) for part in ("accuracy", "scores", "pairs"))]
)
def test_a_run_goes_on_where_it_stopped_and_reports(folder, tmp_path, part, capsys):
    rows, out = tmp_path / "rows.jsonl", tmp_path / "aba.md"
    common = ["--datasets", str(folder), "--rows", str(rows), "--pools", "20news", "--campaigns", "2", "--quick"]
    common += ["--out", str(out), "--parts", part]
    study_aba.main([*common, "--minutes", "0"])
    assert [row["part"] for row in read_rows(rows)] == ["pool"]
    study_aba.main(common)
    n = len(read_rows(rows))
    study_aba.main(common)
    keys = [tuple(row[name] for name in study_aba.KEY) for row in read_rows(rows)]
    assert n == len(keys) == len(set(keys)) > 1
    study_aba.main([*common, "--report"])
    text = out.read_text()
    expected = {"scores": "## Table 8", "accuracy": "## Table 6", "pairs": "## Table 7", "reliability": "Figure 17"}
    assert expected[part] in text
    assert "nan" not in text
    assert len(list(tmp_path.glob("*.png"))) == (part in ("accuracy", "reliability"))
    capsys.readouterr()


def test_quick_pairs_are_those_of_all_used_classes(folder):
    data = Data.load(folder / "20news.npz")
    used = np.unique(data.pool.predictions)
    keys = [key["sought"] for key, _ in tasks(data, ["pairs"], 5)]
    assert keys == [f"{a} {b}" for a, b in itertools.combinations(used, 2)]
