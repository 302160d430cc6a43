"""Every question on the command line, from `start` to `status` and `simulate`."""

from __future__ import annotations

import inspect
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess import questions
from bayes_assess._tools.tables import Table
from bayes_assess.cli.asked import OPTIONS, QuestionName, columns_of, options_of
from bayes_assess.cli.parse import READERS
from bayes_assess.cli.text import print_table
from bayes_assess.sessions.description import describe_question
from bayes_assess.sessions.journal import Journal
from cli.test_app import call, done, read_csv, refused, sheet, write_csv
from made import play_on_numpy

CLASSES = ("bird", "cat", "dog")
N_ITEMS = 40
COSTS = {"label": ["dog", "bird", "cat"], "cat": [10, 1, 0], "dog": [0, 1, 2], "bird": [3, 0, 1]}  # read by rows
COST = [[0, 1, 1], [1, 0, 2], [3, 10, 0]]  # rows = predicted class, columns = label, in the order of CLASSES


@pytest.fixture(scope="module")
def columns() -> dict[str, list]:
    rng = np.random.default_rng(8)
    predictions, other = rng.choice(CLASSES, (2, N_ITEMS))
    other = np.where(rng.random(N_ITEMS) < 0.4, predictions, other)
    labels = np.where(rng.random(N_ITEMS) < 0.7, predictions, rng.choice(CLASSES, N_ITEMS))
    return {
        "id": [f"item-{i:03}" for i in range(N_ITEMS)],
        "prediction": predictions.tolist(),
        "confidence": rng.uniform(0.4, 1, N_ITEMS).round(3).tolist(),
        "site": rng.choice(["east", "north", "south"], N_ITEMS).tolist(),
        "other": other.tolist(),
        "label": labels.tolist(),
    }


@pytest.fixture
def pool_file(tmp_path, columns) -> Path:
    return write_csv(tmp_path / "pool.csv", {name: values for name, values in columns.items() if name != "label"})


@pytest.fixture(scope="module")
def scored() -> dict[str, list]:
    """A pool of class probabilities, with the predictions of another system."""
    rng = np.random.default_rng(9)
    scores = rng.dirichlet(np.full(3, 0.7), N_ITEMS)
    labels = [str(rng.choice(CLASSES, p=row)) for row in scores]
    return {
        "id": [f"item-{i:03}" for i in range(N_ITEMS)],
        **{f"p_{name}": column for name, column in zip(CLASSES, scores.T.tolist(), strict=True)},
        "site": rng.choice(["east", "north", "south"], N_ITEMS).tolist(),
        "other": rng.choice(CLASSES, N_ITEMS).tolist(),
        "label": labels,
    }


@pytest.fixture
def scored_file(tmp_path, scored) -> Path:
    return write_csv(tmp_path / "scored.csv", {name: values for name, values in scored.items() if name != "label"})


@pytest.fixture
def cost_file(tmp_path) -> Path:
    return write_csv(tmp_path / "cost.csv", COSTS)


QUESTIONS = [
    (
        ["group-accuracy", "--by", "weight-bins:3"],
        ba.GroupAccuracy(ba.ScoreBins(3, "weight")),
        ["GroupAccuracy by 3 equal-weight score bins", "40 items in 3 groups"],
        ["Overall accuracy", "p_worst"],
    ),
    (
        ["most-accurate", "--by", "site", "--m", "2"],
        ba.MostAccurate("site", m=2),
        ["MostAccurate by site", "40 items in 3 groups"],
        ["The 2 most accurate of 3 groups", "p_best_2"],
    ),
    (
        ["lowest-recall", "--by", "site", "--positive", "cat", "--m", "2"],
        ba.LowestRecall("site", "cat", m=2),
        ["LowestRecall by site", "40 items in 3 groups", "; the positive class is cat."],
        ["The 2 lowest in recall of 3 groups", "p_worst_2"],
    ),
    (
        ["confusion-matrix", "--cost", "COST"],
        ba.ConfusionMatrix(COST),
        ["ConfusionMatrix by prediction", "The highest cost, 10, is that of an item predicted dog whose label is cat."],
        ["An item costs", "Most frequent errors", "share", "Cost by prediction"],
    ),
    (
        ["most-costly", "--cost", "COST", "--m", "2"],
        ba.MostCostly(COST, m=2),
        ["MostCostly by prediction", "The highest cost, 10"],
        ["The 2 most costly of 3 groups", "Cost by prediction", "p_worst_2"],
    ),
    (
        ["calibration", "--bins", "4"],
        ba.Calibration(4),
        ["Calibration by 4 equal-width score bins", "40 items in 4 bins"],
        ["Maximum calibration error", "Confidence and accuracy of all items", "p_over", "[0.75, 1.00]"],
    ),
    (
        ["calibration", "--bins", "weight:2", "--by", "site"],
        ba.Calibration(ba.ScoreBins(2, "weight"), "site"),
        ["Calibration by site and 2 equal-weight score bins", "40 items in 3 groups of 2 bins"],
        ["Calibration error by site", "accuracy"],
    ),
    (
        ["least-calibrated", "--bins", "2"],
        ba.LeastCalibrated(bins=2),
        ["LeastCalibrated by prediction and 2 equal-width score bins"],
        ["The least calibrated of 3 groups", "p_worst"],
    ),
    (
        "compare --by site --first south --second east --measure ece --bins 2".split(),
        ba.Compare("south", "east", by="site", measure="ece", bins=2),
        ["Compare by site and 2 equal-width score bins (south and east)"],
        ["The calibration error of south is ", "higher by more than 5 points", "Calibration error of the two groups"],
    ),
    (
        ["compare", "--by", "site", "--first", "south", "--second", "east", "--rope", "0.1"],
        ba.Compare("south", "east", by="site", rope=0.1),
        ["Compare by site (south and east)"],
        [
            "than east with probability",
            "south compared with east",
            "more accurate by more than 10 points",
            "Accuracy of",
        ],
    ),
    (
        ["compare", "--by", "prediction", "--target", "population"],
        ba.Compare(by="prediction", target="population"),
        ["Compare by prediction", "in 3 groups"],
        ["of 3 pairs of groups", "first is", "+0."],
    ),
    (
        ["compare", "--second", "other"],
        ba.Compare("prediction", "other"),
        ["Compare of the pool's system and other", "40 items, and they differ on"],
        ["The systems differ on", "the pool's system compared with other", "second right"],
    ),
]


MEASURES = [
    (
        "adaptive",
        ["best", "--systems", "prediction,other", "--rope", "0.02"],
        ba.Best(["prediction", "other"], rope=0.02),
        ["Best of prediction and other, design adaptive: 40 items"],
        ["has the highest accuracy", "Lead of ", "Lead in accuracy over the best of the others", "p_best"],
    ),
    (
        "variance_reduction",
        ["metric", "--measure", "f1", "--positive", "dog"],
        ba.Metric("f1", "dog"),
        ["Metric(f1), design variance_reduction: 40 items in ", "the positive class is dog."],
        ["f1 0.", "95% credible interval", "Without trusting the scores", "Measures, 95% credible intervals"],
    ),
    (
        "adaptive",
        ["metric", "--measure", "f1", "--positive", "dog"],
        ba.Metric("f1", "dog"),
        [
            "Metric(f1), design adaptive: 40 items in 40 csf score strata (40 of 256 strata",
            "Labels can be bird, cat, dog; the positive class is dog.",
        ],
        ["f1 0.", "Measures, 95% asymptotic intervals"],
    ),
    (
        "passive",
        ["metric", "--measure", "precision, recall", "--positive", "cat", "--by", "site", "--systems", "other"],
        ba.Metric(["precision", "recall"], "cat", systems=["other"], by="site"),
        ["Metric(precision, recall) of other by site, design passive: 40 items", "the positive class is cat."],
        ["precision (system other, site east)", "recall (system other, site south)"],
    ),
    (
        "stratified",
        ["metric", "--measure", "accuracy", "--systems", "prediction, other"],
        ba.Metric("accuracy", systems=["prediction", "other"]),
        [
            "Metric(accuracy) of prediction and other, design stratified: 40 items in 40 csf",
            "can be bird, cat, dog.\n",
        ],
        ["accuracy (system prediction) 0.", "accuracy (system other)"],
    ),
    (
        "passive",
        ["metric", "--measure", "accuracy", "--by", "site", "--average", "macro"],
        ba.Metric("accuracy", by="site", average="macro"),
        ["Metric(accuracy) as the macro average over site, design passive: 40 items"],
        ["accuracy (macro) 0."],
    ),
    (
        "passive",
        ["pr-curve", "--thresholds", "20", "--positive", "dog"],
        ba.PRCurve(20, "dog"),
        ["PRCurve, design passive: 40 items.", "the positive class is dog."],
        ["Precision and recall at 12 of ", "precision interval", "recall interval"],
    ),
    (
        "variance_reduction",
        ["pr-curve", "--thresholds", "20", "--positive", "dog"],
        ba.PRCurve(20, "dog"),
        ["PRCurve, design variance_reduction: 40 items", "the positive class is dog."],
        ["Precision and recall at 12 of ", "precision interval", "Without trusting the scores"],
    ),
    (
        "variance_reduction",
        ["rate", "--positive", "dog"],
        ba.Rate("dog"),
        ["Rate, design variance_reduction: 40 items", "Labels can be bird, cat, dog; the positive class is dog."],
        ["rate 0.", "The predictions alone say 0.", "Their bias is ", "random labels would give", "random labels"],
    ),
    (
        "passive",
        ["rate", "--positive", "cat", "--by", "site"],
        ba.Rate("cat", by="site"),
        ["Rate by site, design passive: 40 items.", "the positive class is cat."],
        ["rate (site east) 0.", "The predictions alone say 0.", "for rate (site south)", "judge"],
    ),
    (
        "variance_reduction",
        ["mean", "--values", "bird=1,cat=2, dog=4.5"],
        ba.Mean({"bird": 1, "cat": 2, "dog": 4.5}),
        ["Mean, design variance_reduction: 40 items", "Labels can be bird, cat, dog.\n"],
        ["mean ", "The predictions alone say ", "Their bias is ", "random labels would give", "random label"],
    ),
    (
        "passive",
        ["mean", "--values", "bird=1,cat=2,dog=4.5", "--by", "site"],
        ba.Mean([1, 2, 4.5], by="site"),
        ["Mean by site, design passive: 40 items."],
        ["mean (site east) ", "The predictions alone say ", "for mean (site south)", "judge"],
    ),
    (
        "passive",
        ["compare", "--second", "other", "--measure", "f1", "--positive", "dog"],
        ba.Compare("prediction", "other", measure="f1", positive="dog"),
        ["Compare of prediction and other, design passive: 40 items", "the positive class is dog."],
        ["F1 of the pool's system and of other", "higher by more than 5 points"],
    ),
    (
        "passive",
        ["compare", "--by", "site", "--measure", "rate", "--positive", "dog"],
        ba.Compare(by="site", measure="rate", positive="dog"),
        ["Compare by site, design passive: 40 items", "the positive class is dog."],
        ["rate (site east) 0.", "Highest of 3: ", "of 3 pairs of groups have a verdict", "first is"],
    ),
    (
        "passive",
        "compare --by site --first east --second north --measure mean --values bird=1,cat=2,dog=4.5 --rope 1.5".split(),
        ba.Compare("east", "north", by="site", rope=1.5, measure="mean", values=[1, 2, 4.5]),
        ["Compare by site, design passive: "],
        ["The mean of east is ", "higher by more than 1.5", "mean (site east) less mean (site north)"],
    ),
]
SESSIONS = [("random", *case) for case in QUESTIONS] + MEASURES
# What compiles long, and whose class of questions or options occur elsewhere in this list.
LONG = {
    ("random", "confusion-matrix --cost COST"),
    ("random", "calibration --bins 4"),
    ("random", "lowest-recall --by site --positive cat --m 2"),
    ("random", "calibration --bins weight:2 --by site"),
    ("random", "compare --by prediction --target population"),
    ("random", "compare --by site --first south --second east --measure ece --bins 2"),
    ("random", "least-calibrated --bins 2"),
    ("random", "most-costly --cost COST --m 2"),
    ("passive", "metric --measure f1 --positive dog"),
    ("variance_reduction", "pr-curve --thresholds 20 --positive dog"),
    ("variance_reduction", "mean --values bird=1,cat=2, dog=4.5"),
    ("variance_reduction", "metric --measure accuracy --systems prediction, other"),
    ("variance_reduction", "metric --measure accuracy --by site --average macro"),
}
CASES = [
    pytest.param(*case, id=name, marks=[pytest.mark.slow] if (case[0], name) in LONG else [])
    for case in SESSIONS
    for name in [" ".join(case[1])]
]


@pytest.mark.parametrize(("design", "asked", "question", "begun", "said"), CASES)
def test_a_session_of_every_question_agrees_with_the_library(
    tmp_path, columns, scored, pool_file, scored_file, cost_file, design, asked, question, begun, said
):
    weighted = isinstance(question, ba.Metric)
    columns, pool_file = (scored, scored_file) if weighted else (columns, pool_file)
    run, table, figure = tmp_path / "run.db", tmp_path / "table.csv", tmp_path / "figure.png"
    options = [cost_file if option == "COST" else option for option in asked]
    chosen = [] if design == "variance_reduction" else ["--design", design]  # which is the default
    out = done("start", pool_file, "--question", *options, *chosen, "--seed", 3, "--out", run)
    assert all(text in out for text in begun)
    to_label = tmp_path / "to_label.csv"
    done("ask", run, "-n", 6, "-o", to_label)
    ids = [row["id"] for row in read_csv(to_label)]
    truth = dict(zip(columns["id"], columns["label"], strict=True))
    assert "Took 6 labels." in done("tell", run, sheet(run, ids, [truth[name] for name in ids]))
    out = done("status", run, "--csv", table, "--plot", figure)
    assert "6 of 40 items labelled" in out
    assert all(text in out for text in said)
    tables = out[out.index("remaining.") : out.index("Wrote ")]
    assert max(map(len, tables.splitlines())) <= 80
    assert figure.read_bytes().startswith(b"\x89PNG")

    named = {"groups": "site", "systems": "other"}
    pool = ba.read_pool(pool_file, **{kind: name for kind, name in named.items() if name in " ".join(asked)})
    same = ba.assess(pool, question, design=design, seed=3)
    assert same.ask(6).ids.tolist() == ids
    same.tell(ids, [truth[name] for name in ids])
    assert out.startswith(same.result().summary())
    expected = list(same.result().table().rows())
    shown = [{name: "" if value != value else str(value) for name, value in row.items()} for row in expected]
    assert shown == read_csv(table)
    later = tmp_path / "later.csv"
    done("ask", run, "-n", 6, "-o", later)  # goes on from the journal
    queries = same.ask(6)
    assert queries.ids.tolist() == [row["id"] for row in read_csv(later)]
    printed = [line.split()[0] for line in done("ask", run, "--pending").splitlines()[3:]]
    assert sorted(printed) == sorted(queries.ids)
    assert done("status", run).startswith(same.result().summary())


ANSWERS = {  # of two systems, which a judge calls good or bad
    "id": [f"answer-{i:02}" for i in range(24)],
    "system": ["new", "old"] * 12,
    "verdict": ["good"] * 20 + ["bad"] * 4,
}
GOOD = [i % 3 == 0 or i % 2 == 1 for i in range(24)]  # 4 of 12, and 12 of 12


def test_a_wide_table_has_an_answer_per_system_and_row(tmp_path):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    columns = {"prompt": ["p1", "p2"], "text": ["What?", "Who?"], "old": ["good", "bad"], "new": ["good", "good"]}
    path = write_csv(tmp_path / "wide.csv", columns)
    options = ["--id", "prompt", "--wide", "old,new", "--show", "text"]
    out = done("start", path, *options, "--question", "rate", "--by", "system", "--positive", "GOOD", "--out", run)
    assert "4 items" in out
    assert "the positive class is good." in out
    done("ask", run, "-n", 4, "-o", to_label)
    rows = read_csv(to_label)
    assert sorted(row["id"] for row in rows) == ["p1/new", "p1/old", "p2/new", "p2/old"]
    assert {row["id"][:2]: row["text"] for row in rows} == {"p1": "What?", "p2": "Who?"}
    out = done("tell", run, sheet(run, [row["id"] for row in rows], ["good"] * 4))
    assert "Took 4 labels." in out
    assert "rate (system old) 1.000" in out


def test_further_judges_are_columns_which_a_journal_knows(tmp_path):
    run, second = tmp_path / "run.db", ["good" if good else "bad" for good in GOOD]
    path = write_csv(tmp_path / "answers.csv", ANSWERS | {"second": second})
    options = ["--question", "rate", "--prediction", "verdict", "--positive", "good", "--judges", "second"]
    done("start", path, *options, "--out", run)
    done("ask", run, "-n", 8, "-o", tmp_path / "to_label.csv")
    ids = [row["id"] for row in read_csv(tmp_path / "to_label.csv")]
    done("tell", run, sheet(run, ids, [second[ANSWERS["id"].index(one)] for one in ids]))
    assert "8 of 24 items labelled" in done("status", run)
    pool = ba.read_pool(path, id="id", prediction="verdict", systems=["second"])
    assert ba.resume(run, pool).question.judges_of(pool) == ("second",)


def test_covariates_are_columns_which_a_journal_knows(tmp_path):
    run = tmp_path / "run.db"
    path = write_csv(tmp_path / "answers.csv", ANSWERS | {"length": list(range(len(ANSWERS["id"])))})
    options = ["--question", "group-accuracy", "--prediction", "verdict", "--by", "system", "--covariates", "length"]
    done("start", path, *options, "--out", run)
    done("ask", run, "-n", 2)
    assert "0 of 24 items labelled" in done("status", run)
    pool = ba.read_pool(path, id="id", prediction="verdict", groups=["system", "length"])
    assert ba.resume(run, pool).question.covariates == ("length",)


def test_pairs_of_answers_are_asked_for_and_told_together(tmp_path):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    path = write_csv(tmp_path / "answers.csv", {**ANSWERS, "prompt": [f"p{i // 2}" for i in range(24)]})
    options = [
        "--prediction",
        "verdict",
        "--question",
        "compare",
        "--by",
        "system",
        "--first",
        "old",
        "--second",
        "new",
    ]
    options += ["--measure", "rate", "--positive", "good", "--pair", "prompt", "--design", "passive", "--out", run]
    done("start", path, *options)
    assert "even number" in refused("ask", run, "-n", 3)
    done("ask", run, "-n", 6, "-o", to_label)
    ids = [row["id"] for row in read_csv(to_label)]
    prompts = [int(name[-2:]) // 2 for name in ids]
    assert prompts[::2] == prompts[1::2]
    truth = dict(zip(ANSWERS["id"], np.where(GOOD, "good", "bad").tolist(), strict=True))
    out = done("tell", run, sheet(run, ids[:3], [truth[name] for name in ids[:3]]))
    assert "Left out 1 label of pairs whose other half has none yet; fill it in and tell the sheet again." in out
    assert "Took 2 labels." in out
    out = done("tell", run, sheet(run, [ids[3], ids[5]], [truth[ids[3]], truth[ids[5]]]))
    assert "Left out 2 labels of pairs" in out
    assert "2 of 24 items labelled" in done("status", run)
    assert "Took 4 labels" in done("tell", run, sheet(run, ids, [truth[name] for name in ids]))
    assert "Took 0 labels (1 known before)." in done("tell", run, sheet(run, ids[1:2], [truth[ids[1]]]))
    assert "6 of 24 items labelled" in done("status", run)
    others = [name for name in ANSWERS["id"] if name not in ids]
    assert "Set 2 items aside.\n" in done("skip", run, others[0])
    assert "Set 0 items aside (2 aside before)." in done("skip", run, others[0])
    done("release", run, "--skipped")
    done("ask", run, "-n", 18, "-o", tmp_path / "others.csv")
    ids = [row["id"] for row in read_csv(tmp_path / "others.csv")]
    unsure = [*(truth[name] for name in ids[:3]), "?"]
    out = done("tell", run, sheet(run, ids[:4], unsure), "--unsure", "?")
    assert "Left out 1 label of pairs of which nobody can label the other half." in out
    assert "Took 2 labels (2 set aside)." in out
    done("tell", run, sheet(run, ids[2:], [truth[name] for name in ids[2:]]))
    out = done("status", run)
    assert "The rate of old is more than 5 points above that of new, as their labels show." in out
    assert "rate (system old) less rate (system new) 0.667 (exact)." in out


@pytest.mark.slow
def test_answers_that_a_judge_calls_good_are_labelled_in_its_words(tmp_path):
    run, table = tmp_path / "run.db", tmp_path / "table.csv"
    start = ["start", write_csv(tmp_path / "answers.csv", ANSWERS), "--prediction", "verdict", "--out", run]
    out = done(*start, "--question", "rate", "--by", "system", "--positive", "good")
    assert "Rate by system, design variance_reduction: 24 items" in out
    assert "Labels can be bad, good" in out
    assert "the positive class is good." in out
    out = done("status", run)
    assert "The predictions alone say 0.833 for rate (system new)." in out
    truth = dict(zip(ANSWERS["id"], np.where(GOOD, "good", "bad").tolist(), strict=True))
    assert "'excellent'" in refused("tell", run, sheet(run, ["answer-00"], ["excellent"]))
    for to_label in (tmp_path / "first.csv", tmp_path / "second.csv"):
        done("ask", run, "-n", 12, "-o", to_label)
        ids = [row["id"] for row in read_csv(to_label)]
        assert "Took 12 labels." in done("tell", run, sheet(run, ids, [truth[name] for name in ids]))
    out = done("status", run, "--csv", table)
    assert "rate (system new) 0.333 (exact)." in out
    assert "for rate (system new). Their bias is +0.500 (exact)." in out
    assert "for rate (system old). Their bias is -0.167 (exact)." in out
    rows = read_csv(table)
    assert [float(row["estimate"]) for row in rows] == pytest.approx([4 / 12, 1])
    assert [float(row["bias"]) for row in rows] == pytest.approx([0.5, -1 / 6])

    run = start[-1] = tmp_path / "compared.db"
    sides = ["--first", "old", "--second", "new", "--by", "system"]
    done(*start, "--question", "compare", *sides, "--measure", "rate", "--positive", "bad", "--design", "passive")
    done("ask", run, "-n", 24)
    done("tell", run, sheet(run, list(truth), list(truth.values())))
    assert "The rate of old is more than 5 points below that of new" in done("status", run)  # of bad answers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "score"),
    [
        (["confusion-matrix", "--cost", "COST"], "cost_error"),
        (["most-costly", "--cost", "COST"], "mrr"),
        (["calibration", "--by", "site", "--bins", "weight:2"], "ece_error"),
        (["least-calibrated", "--bins", "2"], "mrr"),
        (["compare", "--by", "site"], "right"),
        (["compare", "--first", "other", "--second", "prediction"], "success"),
        (["metric", "--measure", "precision", "--positive", "dog", "--designs", "passive,stratified"], "mse"),
        (["pr-curve", "--thresholds", "9", "--positive", "cat", "--designs", "passive"], "mse"),
        (["rate", "--by", "site", "--positive", "cat", "--designs", "passive"], "mse"),
        (["mean", "--by", "site", "--values", "bird=0,cat=1,dog=2", "--designs", "passive"], "mse"),
    ],
)
def test_every_question_can_be_simulated(tmp_path, columns, scored, cost_file, asked, score):
    columns = scored if score == "mse" else columns
    chosen = [] if "--designs" in asked else ["--designs", "random"]
    labelled, figure = write_csv(tmp_path / "labelled.csv", columns), tmp_path / "figure.png"
    options = [cost_file if option == "COST" else option for option in asked]
    out = done("simulate", labelled, "--labels", "label", "--question", *options, *chosen,
               "--budgets", 10, "--repeats", 3, "--plot", figure)  # fmt: skip
    assert "3 campaigns" in out
    assert f"Labels until the mean {score} is" in out
    assert max(map(len, out[: out.index("Labels until")].splitlines())) <= 80
    assert figure.exists()


def test_designs_are_the_question_s_own_unless_named(tmp_path, columns):
    labelled = write_csv(tmp_path / "labelled.csv", columns | {"right": np.arange(N_ITEMS) % 3 % 2})
    asked = "--question", "precision-curve", "--prediction", "right", "--scores", "confidence", "--labels", "right"
    out = done("simulate", labelled, *asked, "--budgets", 10, "--repeats", 2)  # of ranks: nothing is compiled
    assert [line.split()[0] for line in out.splitlines()[3:5]] == ["random", "adastrat"]
    run = tmp_path / "run.db"
    assert "GroupAccuracy by prediction, design thompson: " in done("start", labelled, "--out", run)


# -- options that do not fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["group-accuracy", "--m", 2],
            "--m belongs to the questions least-accurate, most-accurate, lowest-recall, highest-recall, most-costly ",
        ),
        (["group-accuracy", "--bins", 5], "not to group-accuracy"),
        (["least-accurate", "--cost", "cost.csv"], "--cost belongs to the questions confusion-matrix and most-costly"),
        (["confusion-matrix", "--by", "site"], "not to confusion-matrix"),
        (["most-costly", "--by", "site"], "not to most-costly"),
        (["calibration", "--m", 1], "not to calibration"),
        (
            ["least-calibrated", "--rope", 0.1],
            "--rope belongs to the questions compare and best, not to least-calibrated",
        ),
        (["most-accurate", "--first", "a"], "--first belongs to the question compare"),
        (["most-accurate", "--second", "a"], "--second belongs to the question compare"),
        (["compare", "--m", 1], "not to compare"),
        (["group-accuracy", "--target", "everything"], "found 'everything'"),
        (["group-accuracy", "--by", "bins:some"], "such as --by bins:10; found 'bins:some'"),
        (["most-costly"], "most-costly needs --cost FILE"),
        (["compare"], "compare needs --by GROUPS"),
        (["compare", "--first", "other"], "--second COLUMN"),
        (["compare", "--by", "site", "--first", "east"], "found only one"),
        (["compare", "--by", "site", "--second", "other"], "Leave out --by to compare two systems"),
        (["compare", "--by", "site", "--first", "east", "--second", "mars"], "'mars'"),
        (["compare", "--second", "nothing"], "'nothing'"),
        (["compare", "--second", "prediction"], "compared with itself"),
        (["compare", "--second", "site", "--classes", "bird,cat,dog"], "site"),
        (["compare", "--second", "other", "--rope", 1], "rope"),
        (["compare", "--second", "other", "--design", "top_two"], "cannot serve"),
        (["calibration", "--bins", "many"], "--bins takes a number of bins such as 10, or weight:10; found 'many'"),
        (["calibration", "--bins", "0"], "--bins takes"),
        (["calibration", "--bins", "weight:"], "--bins takes"),
        (["most-costly", "--cost", "missing.csv"], "missing.csv"),
        (["metric"], "metric needs --measure NAMES"),
        (["metric", "--measure", "f2", "--positive", "dog"], "no measure 'f2'"),
        (["metric", "--measure", "f1,"], "no measure ''"),
        (["metric", "--measure", "r2"], "real numbers"),
        (["metric", "--measure", "f1"], "name the positive class"),
        (["metric", "--measure", "f1", "--positive", "cow"], "'cow' is not a class of the pool"),
        (["metric", "--measure", "f1", "--positive", "cat", "--thresholds", 9], "question pr-curve, not to metric"),
        (["metric", "--measure", "accuracy", "--m", 2], "not to metric"),
        (["metric", "--measure", "accuracy", "--by", "bins:4"], "not bins of scores; found 'bins:4'"),
        (["metric", "--measure", "accuracy", "--by", "colour"], "'colour'"),
        (["metric", "--measure", "accuracy", "--average", "macro"], "--average macro --by COLUMN"),
        (["metric", "--measure", "accuracy", "--by", "site", "--average", "micro"], "--average macro --by COLUMN"),
        (["metric", "--measure", "accuracy", "--systems", "other,colour"], "'colour'"),
        (["metric", "--measure", "accuracy", "--systems", "site"], "does not hold the predictions of a system"),
        (["metric", "--measure", "accuracy", "--design", "thompson"], "cannot serve"),
        (["metric", "--measure", "accuracy", "--design", "oasis"], "cannot serve"),
        (["metric", "--measure", "accuracy", "--prior-strength", 2], "no --prior-strength"),
        (["group-accuracy", "--measure", "f1"], "--measure belongs to the questions compare, best and metric, not to"),
        (["compare", "--systems", "other"], "--systems belongs to the questions best and metric"),
        (
            ["calibration", "--positive", "dog"],
            "--positive belongs to the questions group-recall, lowest-recall, highest-recall, compare, best, metric, ",
        ),
        (["group-accuracy", "--design", "adaptive"], "cannot serve"),
        (["rate"], "name the positive one"),
        (["compare", "--second", "other", "--measure", "rate", "--positive", "dog"], "compare groups of items by it"),
        (["rate", "--positive", "cow"], "'cow' is not a class of the pool"),
        (["rate", "--positive", "dog", "--by", "bins:4"], "rate takes a column or prediction by --by, not bins"),
        (["rate", "--positive", "dog", "--by", "colour"], "'colour'"),
        (["rate", "--positive", "dog", "--measure", "f1"], "not to rate"),
        (["rate", "--positive", "dog", "--design", "oasis"], "cannot serve"),
        (["mean"], "give every class one by values"),
        (["mean", "--values", "bird=1,cat=2"], "Class 'dog' has no value"),
        (["mean", "--values", "bird=1,cat=2,dog=x"], "found 'dog=x'"),
        (["mean", "--values", "bird=1,cat=2,dog=inf"], "finite numbers"),
        (["mean", "--values", "bird=1,cat=2,cat=3"], "two numbers for the class 'cat'"),
        (["mean", "--values", "bird=1,cat=2,dog=3", "--by", "bins:4"], "mean takes a column or prediction by --by"),
        (["rate", "--values", "bird=1"], "--values belongs to the questions compare and mean"),
        (["pr-curve", "--measure", "f1"], "not to pr-curve"),
        (["pr-curve", "--by", "site"], "not to pr-curve"),
        (["pr-curve", "--thresholds", 1], "2 thresholds or more"),
        (["pr-curve", "--positive", "dog"], "needs scores"),
        (["pr-curve"], "positive class"),
    ],
)
def test_a_question_that_makes_no_sense(pool_file, tmp_path, options, said):
    assert said in refused("start", pool_file, "--question", *options, "--out", tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_what_is_to_be_left_out_or_added_is_named_as_an_option(pool_file, tmp_path):
    call = "start", pool_file, "--out", tmp_path / "run.db"
    said = refused(*call, "--prior", "learned", "--prior-strength", 5)
    assert said.endswith("finds its strength from the labels; leave out --prior-strength.")
    said = refused(*call, "--question", "compare", "--by", "prediction", "--measure", "ece")
    assert said.endswith("by name, not of all pairs: give --first, --second and --by.")


def test_simulate_refuses_as_start_does(pool_file):
    assert "--m belongs" in refused("simulate", pool_file, "--labels", "other", "--m", 2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"x,bird,cat,dog\nbird,0,1,1\ndog,1,1,0\n", "row 'cat'; it needs one for every class"),
        (b"x,bird,cat,dog\nbird,0,1,1\ndog,1,1,0\n", "'dog'), those too that are never predicted."),
        (b"x,bird,dog\nbird,0,1\ncat,1,1\ndog,1,0\n", "has no column 'cat'"),
        (b"bird,cat,dog\n0,1,2\n1,0,3\n1,1,0\n", "does not name its rows; put a column before the others"),
        (b"x,bird,cat,cat,dog\nbird,0,1,1,1\n", "has two columns 'cat'"),
        (b"x,bird,cat,dog\nbird,0,1,1\ncat,0,1,1\nbird,0,1,1\n", "has two rows 'bird'"),
        (b"x,bird,cat,dog,cow\nbird,0,1,1,1\n", "has a column 'cow', which is none of the classes"),
        (b"x,bird,cat,dog\ncow,0,1,1\n", "has a row 'cow', which is none of the classes"),
        (b"x,bird,cat,dog\nbird,0,1\n", "the row 'bird' has 3 fields, but the header has 4"),
        (b"x,bird,cat,dog\nbird,0,1,1\ncat,0,0,high\ndog,0,0,0\n",
         "the cost of an item predicted 'cat' whose label is 'dog' is 'high', which is no number"),
        (b"x,bird,cat,dog\nbird,0,1,1\ncat,0,0,\ndog,0,0,0\n", "is '', which is no number"),
        (b"x,bird,cat,dog\nbird,0,nan,1\ncat,0,0,1\ndog,0,0,0\n", "is 'nan', which is no number"),
        (b"x,bird,c\x81t\n", "UTF-8"),
    ],
)  # fmt: skip
def test_a_cost_matrix_that_does_not_fit(pool_file, tmp_path, content, said):
    path = tmp_path / "cost.csv"
    path.write_bytes(content)
    line = refused("start", pool_file, "--question", "most-costly", "--cost", path, "--out", tmp_path / "run.db")
    assert said in line
    assert "cost.csv" in line


def test_calibration_needs_confidence(tmp_path, columns):
    path = write_csv(tmp_path / "bare.csv", {"prediction": columns["prediction"]})
    assert "has none" in refused("start", path, "--question", "calibration", "--out", tmp_path / "run.db")


# -- classes that are numbers, and names of classes --------------------------------------------------------------------


@pytest.mark.parametrize("written", ["{}", "{}.0"])
def test_integer_classes(tmp_path, written):
    rng = np.random.default_rng(2)
    predictions, other, labels = rng.integers(0, 3, (3, 30))
    pool = write_csv(tmp_path / "pool.csv", {"prediction": predictions, "other": [written.format(n) for n in other]})
    names = [written.format(n) for n in range(3)]
    costs = {names[0]: [2, 1, 0], names[1]: [5, 0, 1], names[2]: [0, 3, 4]}
    cost = write_csv(tmp_path / "cost.csv", {"": names[::-1], **costs})
    out = done("start", pool, "--question", "confusion-matrix", "--cost", cost, "--out", tmp_path / "cost.db")
    assert "The highest cost, 5, is that of an item predicted 2 whose label is 1." in out
    run = tmp_path / "run.db"
    out = done("start", pool, "--question", "compare", "--second", "other", "--design", "random", "--out", run)
    assert f"differ on {(predictions != other).sum()} of them" in out
    rows = np.arange(30).tolist()
    done("tell", run, write_csv(tmp_path / "labels.csv", {"id": rows, "label": [written.format(n) for n in labels]}))
    right, other_right = predictions == labels, other == labels
    pool = ba.read_pool(pool, systems=["other"])
    truth = ba.Compare(second="other").truth(pool, labels)
    assert truth == pytest.approx(right.mean() - other_right.mean())
    table = {line.split()[0]: line.split() for line in done("status", run).splitlines() if line}
    assert table["agree"][3] == f"{sum(right & other_right)}"
    assert table["differ"][4] == f"{sum(right & ~other_right)}"


def test_simulate_takes_numbers_for_integer_classes_only(tmp_path, monkeypatch):
    play_on_numpy(monkeypatch)
    numbers, names = ["0", "1", "2", "1"] * 5, ["cat", "dog", "cow", "dog"] * 5
    options = ["--designs", "random", "--budgets", 20, "--repeats", 2]
    pool = {"id": range(20), "prediction": [0, 1, 1, 0] * 5, "label": numbers, "named": names}
    path = write_csv(tmp_path / "ints.csv", pool)
    assert "0.0000" in done("simulate", path, "--labels", "label", *options)  # 2 was never predicted
    assert "'cat' is no whole number" in refused("simulate", path, "--labels", "named", *options)
    path = write_csv(tmp_path / "names.csv", pool | {"prediction": ["cat", "dog", "dog", "cat"] * 5})
    assert "0.0000" in done("simulate", path, "--labels", "named", *options)
    assert "not with numbers" in refused("simulate", path, "--labels", "label", *options)


@pytest.mark.parametrize("written", ["0", "0.0", "False"])
def test_the_positive_class_may_be_a_number(tmp_path, written):
    pool = write_csv(tmp_path / "pool.csv", {"score": np.linspace(0, 1, 20).tolist()})
    run = tmp_path / "run.db"
    options = ["--measure", "f1", "--positive", written, "--design", "passive"]
    out = done("start", pool, "--scores", "score", "--question", "metric", *options, "--out", run)
    assert "Labels can be 0, 1; the positive class is 0." in out
    with Journal.open(run) as journal:
        assert journal.meta["question"]["positive"] == 0


def test_items_that_cannot_matter_are_counted(tmp_path):
    pool = write_csv(tmp_path / "pool.csv", {"prediction": [0, 0, 0, 1, 1]})
    run, options = tmp_path / "run.db", ["--question", "metric", "--measure", "precision"]
    assert "5 items, of which 2 can matter" in done("start", pool, *options, "--out", run)


def test_costs_of_classes_that_are_only_labels(tmp_path, cost_file, monkeypatch):
    play_on_numpy(monkeypatch)
    predictions, labels = ["bird", "cat", "bird", "cat"], ["bird", "cat", "dog", "dog"]
    path = write_csv(tmp_path / "pool.csv", {"prediction": predictions, "label": labels})
    question = ["--question", "most-costly", "--cost", cost_file]
    out = tmp_path / "run.db"
    assert "'dog', which is none of the classes" in refused("start", path, *question, "--out", out)
    assert "Labels can be bird, cat, dog.\n" in done(
        "start", path, *question, "--classes", "bird,cat,dog", "--out", out
    )
    options = ["--labels", "label", "--designs", "random", "--budgets", 4, "--repeats", 2]
    assert "1.0000" in done("simulate", path, *question, *options)


# -- journals, figures and help ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "needed"),
    [
        (ba.ConfusionMatrix(), {"groups": [], "systems": []}),
        (ba.Calibration(2, "site"), {"groups": ["site"], "systems": []}),
        (ba.Compare(second="other"), {"groups": [], "systems": ["other"]}),
        (
            ba.Metric("accuracy", systems=["other", "prediction"], by="site"),
            {"groups": ["site"], "systems": ["other"]},
        ),
    ],
    ids=str,
)
def test_journals_from_python_find_their_columns(pool_file, tmp_path, question, needed):
    pool = ba.read_pool(pool_file, **needed)
    assert columns_of(describe_question(question)) == needed
    design = "passive" if isinstance(question, ba.Metric) else None  # the default takes longer
    ba.assess(pool, question, design=design, journal=tmp_path / "python.db").journal.close()
    assert "0 used" in done("status", tmp_path / "python.db", "--pool", pool_file)


def test_start_offers_no_more_items_than_there_are(tmp_path):
    path = write_csv(tmp_path / "pool.csv", {"prediction": [0, 0, 1, 1], "other": [0, 1, 1, 0]})
    run = tmp_path / "run.db"
    assert "-n 2 -o" in done("start", path, "--question", "compare", "--second", "other", "--out", run)
    done("tell", run, sheet(run, ["1", "3"], ["0", "0"]))
    assert "2 used, 0 pending, 0 remaining" in done("status", run)


@pytest.mark.parametrize("options", [["confusion-matrix"], ["compare", "--by", "prediction"], ["group-accuracy"]])
def test_long_names_are_cut_where_they_do_not_differ(tmp_path, options):
    names = [f"{'a very long name of a class' * 3} {i}" for i in range(3)]
    path = write_csv(tmp_path / "pool.csv", {"prediction": names})
    done("start", path, "--question", *options, "--out", tmp_path / "run.db")
    out = done("status", tmp_path / "run.db")
    assert max(map(len, out[out.index("---") :].splitlines())) <= 80
    assert all(f"s {i} " in out for i in range(3))  # so that they can be told apart
    assert "..." in out


@pytest.mark.parametrize("width", [30, 80])
def test_no_terminal_is_too_narrow_for_numbers(monkeypatch, width):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("COLUMNS", str(width))
    names = ["a long name of a group", "another one"]
    print_table(
        Table({"group": names, "items": [50, 70], "estimate": [0.125, 0.25], "interval": ["[0.010, 0.250]"] * 2})
    )
    said = sys.stdout.getvalue()
    assert said.count("[0.010, 0.250]") == 2
    assert "0.125" in said


@pytest.mark.parametrize("command", ["start", "simulate"])
def test_help_says_which_options_go_with_which_question(command):
    out = done(command, "--help")
    questions = out[out.index("Questions and their options:") :]
    for name in QuestionName:
        assert name in questions
    for line in ("most-costly                    --cost [--m]", "compare: two systems           --second [--first]",
                 "metric                         --measure [--positive]"):  # fmt: skip
        assert line in questions


@pytest.mark.parametrize("name", QuestionName)
def test_every_option_of_a_question_is_one_of_the_command_line(name):
    assert options_of(name) == set(inspect.signature(questions.QUESTIONS[name.kind]).parameters)


def test_all_questions_and_options_are_there():
    assert {name.kind for name in QuestionName} == set(questions.QUESTIONS)
    assert set(OPTIONS) == set.union(*map(options_of, QuestionName))
    assert set(READERS) <= set(OPTIONS)


def test_start_and_simulate_share_their_options():
    def options(command: str) -> set[str]:
        return {word.strip(",") for word in done(command, "--help").split() if word.startswith("--")}

    start, simulate = options("start"), options("simulate")
    # Of a stochastic oracle a table of labels says too little to simulate it.
    assert start - simulate <= {"--out", "--design", "--show", "--oracle"}
    assert simulate - start <= {
        "--labels",
        "--designs",
        "--batch",
        "--budgets",
        "--repeats",
        "--csv",
        "--plot",
        "--force",
        "--label",
    }


def test_an_unknown_question_lists_them_all(pool_file, tmp_path):
    result = call("start", pool_file, "--question", "why", "--out", tmp_path / "run.db")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in ("most-costly", "least-calibrated", "compare", "metric", "pr-curve"))


@pytest.mark.parametrize("design", ["passive", pytest.param("variance_reduction", marks=pytest.mark.slow)])
def test_status_names_the_threshold_for_a_precision_or_the_best_one(tmp_path, design):
    scores = (np.arange(24) + 1) / 25
    columns = {"id": [f"i{i}" for i in range(24)], "p": scores}
    pool, run = write_csv(tmp_path / "pool.csv", columns), tmp_path / "run.db"
    done("start", pool, "--scores", "p", "--question", "pr-curve", "--thresholds", 6, "--design", design, "--out", run)
    ids, labels = columns["id"], (scores > 0.5).astype(int).tolist()
    assert "\nBy estimate F1 is greatest here: Threshold 0." in done("status", run, "--threshold-for", "f1")
    done("tell", run, sheet(run, ids, labels))
    assert "The lowest threshold where the precision is 0.9 or more: Threshold 0." in done(
        "status", run, "--threshold-for", "precision=0.9"
    )
    assert "\nF1 is greatest here: Threshold 0." in done("status", run, "--threshold-for", "f1")
    assert '"threshold": "The highest threshold' in done("status", run, "--threshold-for", "recall=0.5", "--json")
    assert "takes precision=0.9, recall=0.8 or f1; found 'precision=9'" in refused(
        "status", run, "--threshold-for", "precision=9"
    )


def test_how_well_scores_rank_is_asked_by_the_name_of_the_measure(tmp_path):
    scores = (np.arange(24) + 1) / 25
    pool = write_csv(tmp_path / "pool.csv", {"id": [f"i{i}" for i in range(24)], "p": scores})
    asked = ("--scores", "p", "--question", "metric", "--measure", "roc_auc, average_precision")
    run = tmp_path / "run.db"
    done("start", pool, *asked, "--design", "passive", "--out", run)
    labels = [0] * 10 + [1, 0] + [1] * 12
    done("tell", run, sheet(run, [f"i{i}" for i in range(24)], labels))
    said = done("status", run)
    assert "roc_auc 0.993 (exact)." in said  # 142 of 143 pairs are in order
    assert "average_precision 0.995 (exact)." in said  # 12/13 of the recall at a precision of 1, 1/13 at 13/14


def test_labels_of_an_item_may_differ_where_start_says_so(tmp_path):
    path = write_csv(tmp_path / "pool.csv", {"id": [f"i{i}" for i in range(12)], "score": np.linspace(0.05, 0.95, 12)})
    asked = ["--scores", "score", "--question", "metric", "--measure", "accuracy", "--oracle", "stochastic"]
    run = tmp_path / "run.db"
    assert "Labels of an item may differ" in done("start", path, *asked, "--design", "passive", "--out", run)
    done("ask", run, "-n", "60", "-o", tmp_path / "sheet.csv")
    rows = read_csv(tmp_path / "sheet.csv")
    labels = np.random.default_rng(1).integers(0, 2, 60).tolist()
    filled = {"id": [row["id"] for row in rows], "label": labels}
    assert len(set(filled["id"])) < 60  # an item stands in it several times
    write_csv(tmp_path / "filled.csv", filled)
    assert "Took 60 labels." in done("tell", run, tmp_path / "filled.csv")
    predicted = {f"i{i}": int(i >= 6) for i in range(12)}
    right = np.mean([predicted[name] == label for name, label in zip(filled["id"], labels, strict=True)])
    assert f"accuracy {right:.3f}, 95% asymptotic" in done("status", run)
    assert "count once" in refused("tell", run, tmp_path / "filled.csv")
    assert "is for Metric" in refused("start", path, *asked[:2], "--oracle", "stochastic", "--out", tmp_path / "b.db")


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", ["rate --positive good", "compare --measure rate --positive good", "mean --values bad=0,good=2"]
)
def test_rates_by_a_column_are_answered_that_the_run_was_not_started_with(tmp_path, asked):
    run = tmp_path / "run.db"
    path = write_csv(tmp_path / "answers.csv", ANSWERS)
    done("start", path, "--question", "metric", "--measure", "f1", "--prediction", "verdict", "--out", run)
    ids = ANSWERS["id"]
    done("tell", run, sheet(run, ids, ["good" if good else "bad" for good in GOOD]))
    question, *options = asked.split()
    out = done("status", run, "--question", question, *options, "--by", "system")
    assert [word in out for word in ("old", "new")] == [True, True]
    if question == "rate":
        assert "rate (system new) 0.333" in out


def test_errors_of_numbers_are_answered_by_a_column_that_the_run_was_not_started_with(tmp_path):
    run, label = tmp_path / "run.db", np.arange(40) * 1.5
    given = {"id": list(range(40)), "prediction": (label + np.tile([1.0, 3.0], 20)).tolist(), "site": ["a", "b"] * 20}
    path = write_csv(tmp_path / "numbers.csv", given)
    done("start", path, "--question", "metric", "--measure", "mae", "--bounds", "none", "--out", run)
    done("tell", run, sheet(run, given["id"], label.tolist()))
    out = done("status", run, "--question", "metric", "--measure", "mae", "--by", "site")
    assert "mean_absolute_error (site a) 1.000" in out
    assert "mean_absolute_error (site b) 3.000" in out
