"""Precision curves of ranked lists on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.pool import readers
from cli.test_app import call, done, read_csv, refused, sheet, write_csv

N = 3000
ASKED = ("--question", "precision-curve", "--epsilon", 0.1, "--beta", 1.2, "--slack", 20, "--p-min", 0.5)
QUESTION = ba.PrecisionCurve(epsilon=0.1, beta=1.2, slack=20, p_min=0.5)
PREFIX = 116  # that the design labels whole


@pytest.fixture(scope="module")
def columns() -> dict[str, list]:
    """Items in no order; log-odds, negative ones too, and the same as probabilities."""
    rng = np.random.default_rng(5)
    scores = (6 * rng.random(N) - 3).round(2)  # many are tied
    probabilities = 1 / (1 + np.exp(-scores))
    labels = rng.random(N) < 0.5 + 0.45 * probabilities
    ids = [f"item-{i:04}" for i in rng.permutation(N)]
    return {"id": ids, "score": scores.tolist(), "p": probabilities.round(5).tolist(), "label": labels.tolist()}


@pytest.fixture
def list_file(tmp_path, columns) -> Path:
    return write_csv(tmp_path / "ranked.csv", {name: columns[name] for name in ("id", "score", "p")})


def label(run: Path, path: Path, columns: dict[str, list], names: tuple[str, str] = ("0", "1")) -> str:
    """Fill in a sheet and tell it."""
    truth = dict(zip(columns["id"], columns["label"], strict=True))
    rows = read_csv(path)
    assert set(rows[0]) == {"id", "label"}  # nothing says how an item ranks
    ids = [row["id"] for row in rows]
    return done("tell", run, sheet(run, ids, [names[truth[name]] for name in ids]))


def campaign(run: Path, columns: dict[str, list], names: tuple[str, str] = ("0", "1")) -> str:
    """Ask and tell until the design needs no more; return what `ask` says then."""
    to_label = run.with_name("to_label.csv")
    while "needs no more labels" not in (said := done("ask", run, "-n", 500, "-o", to_label)):
        label(run, to_label, columns, names)
        to_label.unlink()
    assert not to_label.exists()
    return said


def test_a_campaign_runs_until_the_design_needs_no_more(list_file, tmp_path, columns):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    out = done("start", list_file, "--scores", "score", *ASKED, "--out", run)
    assert "PrecisionCurve, design adastrat: 3,000 ranked items, 2,9" in out
    assert "of them with equal scores" in out
    assert "Labels can be 0, 1; the positive class is 1." in out
    session = ba.assess(ba.read_ranked(list_file, scores="score"), QUESTION)
    first = session.n_remaining
    assert f"The design wants {first} labels first" in out
    assert f"ask {run} -n {first} -o" in out
    out = done("ask", run, "-n", first + 200, "-o", to_label)
    assert f"Wrote {first} items to {to_label}, fewer than asked for" in out
    assert f"{first} pending, whose labels decide what comes next." in done("status", run)
    assert f"depends on {first} pending items; tell the labels first" in refused("ask", run)
    assert f"Took {first} labels." in label(run, to_label, columns)
    to_label.unlink()
    out = campaign(run, columns)
    assert out == "The design needs no more labels: there is nothing to ask for, and no sheet to write.\n"
    assert done("ask", run) == out
    assert "No item is pending" in refused("ask", run, "--pending")

    csv, plot = tmp_path / "curve.csv", tmp_path / "curve.png"
    out = done("status", run, "--csv", csv, "--plot", plot)
    answer = ba.resume(run, ba.read_ranked(list_file, scores="score")).result()
    value, lower, upper = answer.at(N)
    head = answer.at(PREFIX).estimate
    assert f"{head:.3f} in the first 116 items and {value:.3f} in all 3,000, 95% band [{lower:.3f}, {upper:.3f}]" in out
    assert f"{answer.labels_used} used, 0 pending, the design needs no more." in out
    assert max(map(len, out[out.index("PrecisionCurve,") : out.index("Wrote ")].splitlines())) <= 80
    assert lower <= np.mean(columns["label"]) <= upper
    rows = read_csv(csv)
    assert int(rows[-1]["rank"]) == N
    assert float(rows[-1]["precision_lower"]) == pytest.approx(lower)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_words_as_classes_and_scores_of_any_scale(tmp_path, columns):
    scores = [1e6 * score - 4e6 for score in columns["score"]]  # all are negative
    path, run = write_csv(tmp_path / "list.csv", {"id": columns["id"], "bm25": scores}), tmp_path / "run.db"
    out = done("start", path, "--scores", "bm25", *ASKED, "--classes", "bad,good", "--out", run)
    assert "Labels can be bad, good; the positive class is good." in out
    campaign(run, columns, ("bad", "good"))
    ranked = ba.read_ranked(path, scores="bm25", classes=["bad", "good"])
    found = ba.resume(run, ranked).result()
    by_id = dict(zip(columns["id"], columns["label"], strict=True))
    top = [by_id[name] for name in ranked.ids_at(np.arange(1, PREFIX + 1)).tolist()]
    assert found.at(PREFIX).estimate == pytest.approx(np.mean(top))  # labelled one and all: the greatest scores


def test_sheets_show_texts_and_items_are_set_aside(tmp_path, columns):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    text = [f"text of {name}" for name in columns["id"]]
    path = write_csv(tmp_path / "ranked.csv", {"id": columns["id"], "score": columns["score"], "text": text})
    done("start", path, "--scores", "score", "--show", "text", *ASKED, "--out", run)
    assert "No item has been asked for yet" in refused("tell", run, sheet(run, columns["id"][:1], ["1"]))
    done("ask", run, "-n", 6, "-o", to_label)
    rows = read_csv(to_label)
    assert list(rows[0]) == ["id", "text", "label"]
    assert all(row["text"] == f"text of {row['id']}" for row in rows)
    assert "rank" in done("ask", run, "-n", 2, "--show-prediction")
    ids = [row["id"] for row in rows]
    out = done("tell", run, sheet(run, ids, ["1", "0", " true", "?", "", ""]), "--unsure", "?")
    assert "Took ' true' for '1', in 1 row." in out
    assert "1 item was set aside" in out
    assert "Labels: 3 used, 4 pending, 1 set aside" in out
    other = next(name for name in columns["id"] if name not in ids)
    said = refused("tell", run, sheet(run, [ids[0], other], ["0", "1"]))
    assert "already labelled '1'" in said
    assert "is the id of no item that was asked for" in said
    assert "Set 1 item aside." in done("skip", run, ids[4])
    assert "Released 5 items" in done("release", run, "--pending", "--skipped")
    assert "Labels: 3 used, 0 pending" in done("status", run)


def test_a_budget_is_kept_and_said(list_file, tmp_path, columns):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    steep = columns | {"label": [score > 0 for score in columns["score"]]}  # takes more than the first sheet
    asked = "start", list_file, "--scores", "score", *ASKED, "--out", run, "--budget"
    assert "a number of labels, 1 or more, for --budget; found 0" in refused(*asked, 0)
    assert "'adastrat' needs " in (line := refused(*asked, 150))
    assert "with 150 it can reach about --epsilon 0" in line
    done(*asked, 310)
    while "the budget is spent" not in (out := done("status", run)):
        assert "or more wanted" in out
        said = done("ask", run, "-n", 500, "-o", to_label, "--force")
        label(run, to_label, steep)
    assert "310 used, 0 pending, the budget is spent, " in out
    assert "fewer than asked for, which is all that the budget leaves; fill in" in said
    assert "The budget of 310 labels is spent, and the design wants more" in refused("ask", run)


def test_a_band_has_the_level_that_delta_leaves(list_file, tmp_path):
    run = tmp_path / "run.db"
    done("start", list_file, "--scores", "score", *ASKED, "--delta", 0.2, "--out", run)
    assert "80% band" in done("status", run)
    assert "90% band" in done("status", run, "--level", 0.9)
    assert "between 0 and 1" in refused("status", run, "--level", 2)


def test_columns_of_probabilities_rank_by_the_positive_class(tmp_path, columns):
    p = np.array(columns["p"])
    path = write_csv(tmp_path / "pool.csv", {"id": columns["id"], "p_good": p, "p_bad": 1 - p})
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    out = done("start", path, *ASKED, "--positive", "good", "--out", run)
    assert "Labels can be good, bad; the positive class is good." in out
    done("ask", run, "-n", 30, "-o", to_label)
    assert "Took 30 labels" in label(run, to_label, columns, ("bad", "good"))


@pytest.mark.slow
def test_the_belief_answers_from_probabilities(list_file, tmp_path, columns):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    options = "--design", "variance_reduction", "--classes", "bad,good"
    done("start", list_file, "--scores", "p", *ASKED, *options, "--out", run)
    done("ask", run, "-n", 40, "-o", to_label)
    out = label(run, to_label, columns, ("bad", "good"))
    assert "in all 3,000, 95% credible interval [" in out
    assert "if the scores rank as the 40 labels suggest" in out
    assert "Without trusting the scores: [" in out
    rows = done("status", run, "--plot", tmp_path / "curve.png").split("PrecisionCurve, 95% band")[1].splitlines()
    assert rows[-2].split()[0] == "3,000"
    assert rows[-1] == f"Wrote {tmp_path / 'curve.png'}."


@pytest.mark.slow
def test_the_belief_answers_from_scores_of_any_scale_as_from_python(list_file, tmp_path, columns):
    run, to_label = tmp_path / "run.db", tmp_path / "to_label.csv"
    done("start", list_file, "--scores", "score", *ASKED, "--design", "variance_reduction", "--out", run)
    done("ask", run, "-n", 40, "-o", to_label)
    label(run, to_label, columns)
    a = ba.assess(ba.read_ranked(list_file, scores="score"), QUESTION, design="variance_reduction")
    truth = dict(zip(columns["id"], columns["label"], strict=True))
    ids = a.ask(40).ids
    a.tell(ids, [int(truth[name]) for name in ids])
    assert a.result().summary() in done("status", run)
    assert "no group column 'p'" in refused("status", run, "--question", "group-accuracy", "--by", "p")


@pytest.mark.parametrize("scores", ["p", "score"])
def test_a_list_is_read_once(list_file, tmp_path, monkeypatch, scores):
    read, opened = readers.read_csv, []
    monkeypatch.setattr(readers, "read_csv", lambda *given: opened.append(given[0]) or read(*given))
    run, design = tmp_path / "run.db", ("--design", "variance_reduction")
    done("start", list_file, "--scores", scores, *ASKED, *design, "--out", run)
    assert opened == [list_file]


def test_designs_are_compared_on_known_labels(tmp_path, columns):
    path = write_csv(tmp_path / "known.csv", {name: columns[name] for name in ("id", "p")} | {
        "label": np.array(columns["label"]).astype(int)
    })  # fmt: skip
    asked = *ASKED, "--scores", "p", "--labels", "label", "--budgets", "200,600", "--repeats", 3
    out = done("simulate", path, *asked, "--designs", "adastrat,paula")
    assert "PrecisionCurve, 3 campaigns" in out
    assert "paula" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", 0], "in (0, 1] for --epsilon; found 0.0"),
        (["--epsilon", 1.5], "in (0, 1] for --epsilon; found 1.5"),
        (["--beta", 1], "above 1 + noise = 1 for --beta; found 1.0"),
        (["--beta", 1.1, "--noise", 0.2], "above 1 + noise = 1.2 for --beta; found 1.1"),
        (["--delta", 1], "in (0, 1) for --delta"),
        (["--delta", "nan"], "in (0, 1) for --delta"),
        (["--slack", 0], "a whole number, 1 or more, for --slack; found 0"),
        (["--monotone-from", -3], "a whole number, 1 or more, for --monotone-from"),
        (["--p-min", 2], "in (0, 1] for --p-min"),
        (["--noise", 0.5], "in [0, 0.5) for --noise"),
        (["--design", "thompson"], "'thompson' is no design for precision curves; these are: 'adastrat', 'logstrat'"),
        (["--design", "adastrad"], "Did you mean 'adastrat'?"),
        (["--design", "best"], "'best' is no design for precision curves"),
        (["--design", "poisson:labels=curve"], "Error: 'poisson' is no design for precision curves"),
        (["--prior", "learned"], "leave it out"),
        (["--classes", "bad"], "takes two classes, the negative first; found 'bad'"),
        (["--classes", "a,b,c"], "takes two classes, the negative first; found 'a', 'b', 'c'"),
        (["--positive", 0], "positive class, 1, but the question has 0 as positive"),
        (["--thresholds", 9], "--thresholds belongs to the question pr-curve, not to precision-curve"),
        (["--scores", "nothing"], "There is no column 'nothing'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(list_file, tmp_path, options, said):
    scores = [] if "--scores" in options else ["--scores", "score"]
    question = "--question", "precision-curve"
    assert said in refused("start", list_file, *scores, *question, *options, "--out", tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_status_says_where_to_cut_for_a_precision(list_file, tmp_path, columns):
    run = tmp_path / "run.db"
    done("start", list_file, "--scores", "score", *ASKED, "--out", run)
    done("ask", run, "-n", 200, "-o", tmp_path / "to_label.csv")
    label(run, tmp_path / "to_label.csv", columns)
    result = ba.resume(run, ba.read_ranked(list_file, scores="score")).result()
    cut = "status", run, "--threshold-for"
    said = f"Cut at rank {result.cut(0.7):,} for a precision of 0.7 or more, by the band."
    assert said in done(*cut, "precision=0.7")
    assert "By the band no rank has a precision of 1 or more." in done(*cut, "precision=1")
    for goal in ("recall=0.5", "f1"):
        assert "cut for a precision: --threshold-for precision=0.9." in refused(*cut, goal)


def test_a_list_needs_a_column_of_scores(list_file, tmp_path, columns):
    out = tmp_path / "run.db"
    bare = write_csv(tmp_path / "x.csv", {"x": [0.5, 0.1]})
    assert "say which column holds predictions, or which scores" in refused("start", bare, *ASKED, "--out", out)
    assert "--question precision-curve --scores COLUMN does" in refused("start", list_file, *ASKED, "--out", out)
    refusal = refused("start", list_file, *ASKED, "--scores", "id", "--out", out)
    assert "'id' does not hold one number per row, but 'item-1411' in row 2" in refusal
    path = write_csv(tmp_path / "bare.csv", {"prediction": columns["label"]})
    assert "needs a score of every item; this pool has no scores" in refused("start", path, *ASKED, "--out", out)
    path = write_csv(tmp_path / "gap.csv", {"score": [0.5, "", 0.1]})
    assert "row 3 is nan" in refused("start", path, *ASKED, "--scores", "score", "--out", out)


@pytest.mark.parametrize("option", ["--question", "--slack"])
def test_help_and_typer_know_the_question(list_file, tmp_path, option):
    result = call("start", list_file, option, "none", "--out", tmp_path / "run.db")
    assert result.exit_code == 2
    assert option in result.stderr


@pytest.mark.parametrize("place", ["column", "file", "array"])
def test_designs_are_simulated_on_scores_of_any_scale(tmp_path, columns, place):
    """What the message on scores that are no probabilities says to do works for `simulate`, too."""
    table = {name: columns[name] for name in ("id", "score")} | {"label": np.array(columns["label"], int).tolist()}
    path = write_csv(tmp_path / "known.csv", table if place == "column" else {k: table[k] for k in ("id", "score")})
    labels = "label"
    if place == "file":
        labels = write_csv(tmp_path / "labels.csv", {name: table[name] for name in ("id", "label")})
    if place == "array":
        path = tmp_path / "known.npz"
        np.savez(path, **{name: np.array(values) for name, values in table.items()})
    given = (
        "--labels",
        labels,
        *ASKED,
        "--id",
        "id",
        "--scores",
        "score",
        "--designs",
        "random",
        "--budgets",
        "500,3000",
    )
    done("simulate", path, *given, "--repeats", 3, "--csv", tmp_path / "study.csv")
    found = [float(row["mse"]) for row in read_csv(tmp_path / "study.csv")]
    # Ranks of labels that do not belong to the items would end at another curve.
    pool = ba.read_ranked(path, id="id", scores="score").as_pool()
    label_of = dict(zip(table["id"], table["label"], strict=True))
    study = ba.simulate(
        pool, [label_of[name] for name in pool.ids], QUESTION, designs=["random"], budgets=[500, 3000], repeats=3
    )
    np.testing.assert_allclose(found, study.table([500, 3000])["mse"], rtol=1e-6)
