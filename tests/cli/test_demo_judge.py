"""The demo of a judge that prefers the wrong channel."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from bayes_assess.cli import demo_judge
from bayes_assess.cli.app import app
from bayes_assess.errors import OutputError

pytest.importorskip("sklearn")


def share(labels, here):
    return np.mean(labels[here] == "good")


@pytest.mark.slow
def test_the_judge_is_right_on_the_web_and_prefers_the_app():
    for seed in range(3):
        reviews = demo_judge.judged_reviews(seed)
        pool, meant = reviews.pool, reviews.labels
        said, app_here = pool.classes[pool.predictions], pool.groups["channel"] == "app"
        assert (said == meant)[~app_here].mean() > 0.9 > 0.85 > (said == meant)[app_here].mean()
        assert share(said, app_here) > share(said, ~app_here) + 0.03
        assert share(meant, app_here) < share(meant, ~app_here) - 0.03


def test_reviews_mean_what_their_words_say():
    reviews = demo_judge.judged_reviews()
    for text, meant in zip(reviews.pool.show["text"][:200], reviews.labels, strict=False):
        for sentence in re.split(r"(?<=[.!]) ", text)[1:]:
            words = set(re.findall("[a-z]+", sentence.lower()))
            praises = bool(words & set(demo_judge._PRAISE))
            denies = bool(words & {"not", "nobody"})
            assert (praises != denies) == (meant == "good"), sentence


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    path = tmp_path / "taken"
    path.write_text("x")
    with pytest.raises(OutputError, match="is a file"):
        demo_judge.run(path)


@pytest.mark.slow
def test_what_is_printed_is_what_is_written(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--judge", "--output", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    reviews = demo_judge.judged_reviews()
    with (tmp_path / "out" / "rates.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, name in zip(rows, ("app", "web"), strict=True):
        here = reviews.pool.groups["channel"] == name
        assert float(row["judge"]) == pytest.approx(share(reviews.pool.classes[reviews.pool.predictions], here))
        printed = f"{float(row['estimate']):.3f} [{float(row['lower']):.3f}, {float(row['upper']):.3f}]"
        assert printed in result.output
        assert f"{share(reviews.labels, here):.3f}" in result.output
    for name in ("rates.png", "rates.csv", "reviews.csv", "review_labels.csv"):
        assert (tmp_path / "out" / name).stat().st_size > 100
        assert name in result.output
