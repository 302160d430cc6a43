from __future__ import annotations

import base64
import datetime
import html
import json
import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.results._in_words import question_in_words
from bayes_assess.results.report import as_html, as_markdown

HOSTILE = ["<script>alert(1)</script>", "b&\"'--></style> x", "c|d\n# e", "$f^2$"]
ALLOWED = set("html head meta title style body main h1 h2 section p div img table caption thead tbody tr th td".split())


def hostile(question, **options):
    predictions = np.array(HOSTILE)[np.arange(80) % 4]
    sites = np.array(HOSTILE[:2])[np.arange(80) // 40]
    pool = ba.Pool(predictions=predictions, classes=HOSTILE, groups={"<i>site</i>": sites})
    session = ba.assess(pool, question, **options)
    some = np.arange(80) % 16 < 4  # of every class and site alike, as random items are
    session.tell(pool.ids[some], predictions[some])
    return session.result()


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        assert not [name for name, _ in attributes if name.startswith("on")]


@pytest.mark.parametrize(
    "question",
    [
        ba.GroupAccuracy("<i>site</i>"),
        ba.LeastAccurate(),
        ba.ConfusionMatrix(),
        ba.Compare(HOSTILE[0], HOSTILE[1], by="prediction"),
    ],
    ids=lambda question: type(question).__name__,
)
def test_names_of_the_pool_are_text_and_nothing_is_loaded(question):
    result = hostile(question, prior="uninformative")
    page = as_html(result)
    found = Tags()
    found.feed(page)
    assert found.tags <= ALLOWED
    (figure,) = found.links
    assert figure.startswith("data:image/svg+xml;base64,")
    drawn = base64.b64decode(figure.split(",")[1]).decode()
    assert "<script>" not in drawn
    assert "<script" not in as_markdown(result).replace("\\<", "")
    assert not re.findall(r"https?://", page)
    json.dumps(result.to_dict(), allow_nan=False)


def test_a_page_has_question_answer_figure_table_and_origin_and_the_same_answer_the_same_page():
    result = hostile(ba.GroupAccuracy(), design="random")
    page = as_html(result)
    assert page == as_html(result)
    for text in (
        "<h1>How accurate is the system, by prediction?</h1>",
        "Overall accuracy",
        "design: random",
        "seed: 0",
    ):
        assert text in page
    for feature in ("width=device-width", "prefers-color-scheme: dark", "@media print"):
        assert feature in page
    assert f"fingerprint {result.cells.source.fingerprint()}" in page
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("question", "found"),
    [
        (ba.LeastAccurate(m=2), "The 2 least accurate of 4 groups: "),
        (ba.MostCostly(1.0 - np.eye(4)), "The most costly of 4 groups: "),
        (ba.MostAccurate("<i>site</i>"), "The most accurate of 2 groups: "),
        (ba.GroupAccuracy(), "Overall accuracy "),
    ],
)
def test_a_page_opens_with_the_groups_that_are_sought(question, found):
    result = hostile(question)
    assert result.headline.startswith(found)
    assert result.headline in result.summary().splitlines()
    opening = as_markdown(result).partition("### Answer\n\n")[2]
    assert opening.startswith(found)
    assert opening.count(found) == 1


@pytest.mark.parametrize("measure", ["accuracy", "rate"])
def test_a_page_on_all_pairs_opens_with_how_many_verdicts_are_sure(measure):
    pool = ba.Pool(predictions=["yes", "no"] * 60, groups={"system": ["a", "b", "c"] * 40})
    a = ba.assess(pool, ba.Compare(by="system", measure=measure, positive="yes" if measure == "rate" else None))
    for n in (30, 90):  # then the answer is exact
        queries = a.ask(n)
        a.tell(queries.ids, pool.classes[pool.predictions[queries.ids]])
        result = a.result()
        assert " 3 pairs of groups" in result.headline
        assert as_markdown(result).partition("### Answer\n\n")[2].startswith(result.headline[:20])


@pytest.mark.parametrize(
    ("question", "word"), [(ba.Rate("yes", by="system"), "Highest"), (ba.Metric("accuracy", by="system"), "Best")]
)
def test_a_page_on_a_measure_by_group_opens_with_the_first_of_all_groups(question, word):
    pool = ba.Pool(predictions=["yes", "no"] * 60, groups={"system": ["a", "b", "c"] * 40})
    a = ba.assess(pool, question)
    for n in (30, 90):  # then the answer is exact
        queries = a.ask(n)
        a.tell(queries.ids, pool.classes[pool.predictions[queries.ids]])
        result = a.result()
        assert result.headline.startswith((f"{word} of 3: ", f"{word}: "))
        assert result.headline in result.summary().splitlines()
        assert as_markdown(result).partition("### Answer\n\n")[2].startswith(result.headline[:8])


def test_a_page_on_pairs_counts_items_as_its_summary_does():
    groups = {"system": ["a", "b"] * 30, "prompt": np.arange(60) // 2}
    a = ba.assess(
        ba.Pool(predictions=["yes", "no"] * 30, groups=groups),
        ba.Compare("a", "b", by="system", measure="rate", positive="yes", pair="prompt"),
    )
    a.tell(a.ask(20).ids, ["yes", "no"] * 10)
    page = as_markdown(a.result())
    assert "20 of 60 items labelled" in page
    assert "items: 60" in page


def test_labels_saved_are_those_of_the_overall_accuracy():
    result = hostile(ba.GroupAccuracy(), design="random")
    from bayes_assess.estimators.random_labels import random_labels

    mean, (low, high) = result.overall
    count = int(random_labels(mean, high - low, 80))
    assert result.labels_as_good == count
    said = as_markdown(result)
    assert f"About {count} random labels would give an interval as narrow" in said
    assert ("were saved" in said) == (count > 20)


def test_plain_values_have_no_nan_and_are_those_of_the_result():
    result = hostile(ba.GroupAccuracy(), design="random")
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    np.testing.assert_array_equal(found["interval"], result.interval)
    assert found["question"] == "How accurate is the system, by prediction?"
    assert sorted(row["group"] for row in found["table"]) == sorted(HOSTILE)


def test_names_that_run_from_right_to_left_do_not_turn_figures_round():
    south = "\u062c\u0646\u0648\u0628 \u0661"
    pool = ba.Pool(predictions=["a", "b"] * 4, groups={"site": ["north", south] * 4})
    a = ba.assess(pool, ba.Rate(by="site"), design="passive")
    a.tell(a.ask(4).ids, ["a", "b"] * 2)
    page, line = as_html(a.result()), next(line for line in a.result().summary().splitlines() if south in line)
    assert f"<p>{html.escape(line).replace(south, f'<bdi>{south}</bdi>')}</p>" in page


@pytest.mark.slow
def test_a_figure_of_all_pairs_of_many_groups_is_of_the_first_and_last_of_them():
    shops, right = np.arange(450) % 45, (np.arange(450) % 45 > 5) | (np.arange(450) % 4 == 0)
    pool = ba.Pool(predictions=np.ones(450, int), classes=[0, 1], groups={"shop": shops})
    a = ba.assess(pool, ba.Compare(by="shop"))
    a.tell(range(450), right.astype(int))
    result = a.result()
    ax = result.plot()
    shown = [int(text.get_text()) for text in ax.get_yticklabels()]
    assert len(shown) == 40
    assert {0, 1, 2, 3, 4, 5} <= set(shown)
    assert ", 20 lowest and 20 highest of 45 groups: " in " ".join(ax.get_title(loc="left").split())
    assert "data:image/svg" in as_html(result)


def drawing(page):
    found = Tags()
    found.feed(page)
    return base64.b64decode(found.links[0].split(",")[1]).decode()


def test_names_that_the_font_of_figures_lacks_are_left_to_the_browser():
    """Warnings are errors here: none is raised about the letters either."""
    for name, as_text in (("Ōsaka", False), ("\u75c5\u9662", True)):
        pool = ba.Pool(predictions=["a", "b"] * 4, groups={"site": ["north", name] * 4})
        page = as_html(ba.assess(pool, ba.GroupAccuracy(by="site")).result())
        assert (f">{name}</text>" in drawing(page)) is as_text


def test_a_report_is_of_a_known_format_and_leaves_no_half_of_itself(tmp_path):
    result = hostile(ba.GroupAccuracy(), design="random")
    with pytest.raises(ba.OutputError, match="the suffix of"):
        result.report(tmp_path / "report.pdf")
    with pytest.raises(ba.OutputError, match="found 'pdf'"):
        result.report(tmp_path / "report.html", format="pdf")
    with pytest.raises(ba.OutputError, match="Cannot write the report"):
        result.report(tmp_path / "missing" / "report.html")
    assert not list(tmp_path.iterdir())
    assert result.report(tmp_path / "report", format="md").read_text().startswith("## ")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (ba.LeastAccurate(m=2), "Which 2 groups by prediction are the least accurate?"),
        (ba.MostAccurate("site"), "Which group by site is the most accurate?"),
        (ba.Metric("f1", by="site"), "How high is F1, by site?"),
        (ba.Metric(["precision", "recall"]), "How high are precision and recall?"),
        (ba.Rate("good", by="system"), "What share of the items is labelled good, by system?"),
        (ba.Compare("new", "old", measure="f1"), "Has new or old the higher F1?"),
        (ba.Compare("cat", "dog", by="prediction"), "Is cat or dog more accurate?"),
        (ba.Compare(by="site"), "Which groups by site are more accurate than which?"),
        (ba.Best(["old", "new"]), "Which of old and new has the highest accuracy?"),
        (ba.Best([f"v{i}" for i in range(9)]), "Which of 9 systems has the highest accuracy?"),
        (ba.PRCurve(), "How do precision and recall change with the threshold?"),
        (ba.Calibration(), "How well is the confidence calibrated?"),
    ],
)
def test_questions_are_put_in_words(question, words):
    assert question_in_words(question) == words


def test_a_report_opens_with_the_answer_its_date_who_labelled_and_how_far_they_agree(tmp_path):
    pool = ba.Pool(predictions=np.arange(12) % 2)
    a = ba.assess(pool, ba.GroupAccuracy(), design="random", prior="uninformative")
    a.tell(range(4), [0, 1, 0, 0], annotator="anna")
    a.tell([3, 4, 5], [1, 0, 1], annotator="ben")
    result = a.result()
    page = result.report(tmp_path / "report.md", date="2026-11-25").read_text().splitlines()
    assert page[4].startswith("Overall accuracy ")
    assert page[6] == (
        "As of 2026-11-25, from 6 labels by anna (4) and ben (3), of whose labels one counts for each item; they "
        "agree on none of 1 item that several labelled."
    )
    assert page.count(page[4]) == 1
    assert f"As of {datetime.date.today().isoformat()}, from" in as_markdown(result)
    alone = ba.assess(pool, ba.GroupAccuracy(), design="random", prior="uninformative")
    alone.tell(range(2), [0, 1])
    assert "from 2 labels." in as_markdown(alone.result())


@pytest.mark.parametrize(
    ("pool", "question"),
    [
        (ba.Pool(predictions=[1.0, 2.0], bounds=(0, 5)), ba.Metric("mae")),
        (ba.Pool(predictions=["a", "b"], classes=["a", "b"], multilabel=True), ba.Metric("f1_micro")),
    ],
)
def test_a_question_is_shown_as_it_was_asked(pool, question):
    """And not by the class that it is of on such pools."""
    asked = ba.assess(pool, question).result().to_dict()["asked"]
    assert asked.startswith(f"Metric(measure='{question.measure}'")


def test_headings_of_a_wide_table_wrap_on_the_page(tmp_path):
    """As long as no line of one is broken, "upper, scores not trusted" is beyond the edge of the page."""
    a = ba.assess(ba.Pool(scores=[0.2, 0.7, 0.9]), ba.Metric("f1"))
    page = a.result().report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r"^th, td \{[^}]*white-space: nowrap", page, re.MULTILINE)  # which the next rule lifts
    assert re.search(r"^thead th \{[^}]*white-space: normal", page, re.MULTILINE)
