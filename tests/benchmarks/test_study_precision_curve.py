"""Tests of the study of precision curves: its lists, its sessions, its rows and its verdicts, on short lists."""

import numpy as np
import pytest
import study_precision_curve as study
from _ada_tables import by_list, table, verdicts
from _rows import read_rows

SIZES = [8_000, 40_000]


def row(items: int, method: str, repeat: int, queries: int, labels: int, error: float = 1.01) -> dict:
    found = {"items": items, "method": method, "repeat": repeat, "queries": queries, "labels": labels}
    return found | {"error": error, "held": True, "seconds": 1.0}


@pytest.mark.parametrize("n_items", SIZES)
def test_labels_make_a_weakly_monotone_list_that_follows_the_curve(n_items):
    ranks = np.arange(1, n_items + 1)
    labels = study.labels_of(ranks, n_items)
    assert set(labels) == {0, 1}
    p = (np.cumsum(labels) / ranks)[study.HEAD - 1 :]
    greatest_beyond = np.maximum.accumulate(p[::-1])[::-1]
    assert (greatest_beyond[study.SLACK :] <= p[: -study.SLACK]).all()
    np.testing.assert_allclose(p, study.precision(ranks[study.HEAD - 1 :], n_items), atol=0.5 / study.HEAD)


@pytest.mark.parametrize("method", study.METHODS)
def test_sessions_keep_the_promised_factor(method):
    """Each session fails with a probability of at most delta = 0.05, and by the tables far less often."""
    found = [study.session_row(SIZES[1], method, seed) for seed in range(3)]
    assert max(one["error"] for one in found) <= 1.05 * 1.03
    assert all(one["labels"] <= SIZES[1] for one in found)
    assert all(one["held"] for one in found) or method == "PAULA"
    assert len(found[0]["curve"]) == len(found[0]["ranks"]) == len(found[0]["truth"])
    assert len(found[0]["queried"]) == found[0]["queries"] + 1
    assert "curve" not in found[1]


def test_logstrat_queries_the_grid_of_the_paper():
    assert study.session_row(35_615, "LogStrat", 1)["queries"] == 78  # [ADA] Figure 2


def test_verdicts_have_the_numbers_worked_out_by_hand():
    rows = [row(35_615, "AdaStrat", r, 18, labels) for r, labels in enumerate((13_900, 14_100))]
    rows += [row(35_615, "LogStrat", 0, 78, 20_000), row(35_615, "PAULA", 0, 78, 12_000)]
    rows += [row(35_615, "random", 0, 0, 20_000, error=1.2)]
    lists = by_list(rows)
    text = verdicts(lists)
    assert "AdaStrat queries 4.3 times fewer points than LogStrat and PAULA (sec. 1) | yes | 4.3 ± 0 |" in text
    assert "20 to 61 % fewer labels than LogStrat, or still fewer (sec. 5.1) | yes | by items: 30 ± 0.5 % |" in text
    assert "41 to 97 % fewer labels than random, or still fewer (sec. 5.1) | no | by items: 30 ± 0.5 % |" in text
    assert "PAULA needs the fewest labels on the two smaller lists (Fig. 3) | yes |" in text
    assert "random is within beta (1 + epsilon) with a probability of 95 % (Theorems 1 and 8) | no | 0.00 of 1" in text
    assert "Statements that hold here: 5 of 7." in text
    assert "| 35,615 | AdaStrat | 2 | 18.0 | 18 | 14,000 ± 1e+02 |" in table(lists)


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped_and_reports(monkeypatch, tmp_path, capsys):
    made, session_row = [], study.session_row
    monkeypatch.setattr(study, "session_row", lambda *given: made.append(given) or session_row(*given))
    rows, out = str(tmp_path / "rows.jsonl"), tmp_path / "curve.md"
    common = ["--rows", rows, "--sizes", *map(str, SIZES), "--out", str(out)]
    study.main([*common, "--minutes", "0"])
    assert made == []
    study.main([*common, "--repeats", "1", "--methods", "AdaStrat", "PAULA"])
    study.main([*common, "--repeats", "2", "--methods", "AdaStrat", "PAULA"])
    assert len(made) == len(set(made)) == 8
    assert len(read_rows(rows)) == 8
    study.main([*common, "--report"])
    text = out.read_text()
    assert "nan" not in text
    assert "| 40,000 | PAULA | 2 |" in text
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["curve_curves.png", "curve_growth.png"]
    capsys.readouterr()


def test_wrong_options_are_sentences(tmp_path, capsys):
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    with pytest.raises(SystemExit, match="There are no rows in"):
        study.main([*rows, "--report"])
    with pytest.raises(SystemExit, match="Lists have at least 6,984 items"):
        study.main([*rows, "--sizes", "100"])
    with pytest.raises(SystemExit):
        study.main([*rows, "--repeats", "none"])
    assert "takes a positive whole number; found 'none'" in capsys.readouterr().err
