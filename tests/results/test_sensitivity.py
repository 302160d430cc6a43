"""What answers would be if positives hid: worked out by hand on posteriors without spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import bayes_assess as ba
from bayes_assess.errors import QuestionError

LABELS = np.repeat([0, 1, 0], [90, 8, 2])  # of the ten items that are predicted positive, eight are
PREDICTED = np.repeat([0, 1], [90, 10])
OTHER = np.repeat([0, 1, 0], [90, 5, 5])  # predicts five of them, all of which are positive
POOL = ba.Pool(scores=np.repeat([0.01, 0.9], [90, 10]), predictions=PREDICTED, systems={"other": OTHER})


def told(question):
    a = ba.assess(POOL, question)
    a.tell(np.arange(90, 100), LABELS[90:])
    return a


def sure(result, n_random: int = 9):
    """Return a result whose belief is sure that all positives are known, with so many random labels of the others."""
    quiet = np.asarray(result.cells.events.coordinates.feature) < 0
    quiet &= np.asarray(result.cells.sizes) == 90
    assert quiet.sum() == 1
    curves = np.where(quiet, 0.0, 0.8) * np.ones((400, 1))
    events, audits = result.evidence.found.events.copy(), np.zeros_like(result.evidence.found.audits)
    events[quiet], audits[quiet] = (n_random, 0), (n_random, 0)
    posterior = result.evidence.found._replace(
        curves=curves,
        strength=np.full_like(curves, 1e12),
        events=events,
        audits=audits,
        draws=result.evidence.found.draws[:400],
        cautious=result.evidence.found.cautious[:400],
    )
    return replace(result, evidence=replace(result.evidence, found=posterior))


@pytest.fixture(scope="module")
def session():
    return told(ba.Metric("f1"))


@pytest.fixture(scope="module")
def f1(session):
    return sure(session.result())


def test_f1_counts_hidden_positives(f1):
    hidden = f1.sensitivity([0.0, 0.2, 0.5])
    np.testing.assert_allclose(hidden.estimate, [16 / 18, 16 / 20, 16 / 26], rtol=1e-6)  # 0, 2 and 8 hide
    np.testing.assert_allclose(hidden.interval, np.repeat(hidden.estimate[:, None], 2, axis=1), rtol=1e-6)
    assert hidden.n_items == 81


def test_random_labels_rule_out_what_the_hypergeometric_distribution_says(f1):
    most = max(x for x in range(91) if stats.hypergeom.cdf(0, 90, x, 9) > 0.05)
    hidden = f1.sensitivity()
    assert hidden.random_labels == 9
    assert hidden.ruled_out == pytest.approx(most / (most + 8))
    assert f"9 random labels there rule out more than {most / (most + 8):.0%}." in hidden.summary()


def test_a_verdict_holds_up_to_a_share(f1):
    hidden = f1.sensitivity()
    # 16 / (18 + H) > 0.7 up to H = 4.857, which is 37.8 % of 8 + H.
    assert hidden.holds_up_to(above=0.7) == pytest.approx(0.37)
    assert np.isnan(hidden.holds_up_to(above=0.95))
    assert hidden.holds_up_to(above=0.1) == pytest.approx(0.99)
    for no_number in ("high", [0.1, 0.2], np.nan):
        with pytest.raises(ba.QuestionError, match="The threshold of a verdict is a number; found"):
            hidden.holds_up_to(above=no_number)
    with pytest.raises(QuestionError, match="pass above="):
        hidden.holds_up_to(better_than=0)
    with pytest.raises(QuestionError, match="one threshold"):
        hidden.holds_up_to()


def test_tables_have_a_row_per_share(f1):
    table = f1.sensitivity([0.0, 0.2]).table()
    assert table["hidden"].tolist() == [0.0, 0.2]
    assert table["estimate"].tolist() == pytest.approx([16 / 18, 0.8])
    assert table["ruled_out"].tolist() == [False, False]


def test_summaries_say_what_one_hidden_positive_in_ten_would_make_of_the_answer(f1):
    said = f"If 1 in 10 positives hid among the 81 unlabelled items of low score, f1 would be {16 / (18 + 8 / 9):.3f} ["
    line = next(line for line in f1.summary().splitlines() if line.startswith(said))
    assert "]; 9 random labels there rule out more than" in line
    assert "1 in 10" not in sure(f1, n_random=88).summary()  # which rule that out


def test_more_positives_than_there_are_items_are_not_said_to_hide(f1):
    said = f1.sensitivity([0.1, 0.95]).summary().splitlines()[-1]  # 81 items, and 8 positives elsewhere: 91 %
    start = "If all 81 unlabelled items of low score were positive, 91% of all positives, f1 would be "
    assert said == f"{start}{16 / 99:.3f} [{16 / 99:.3f}, {16 / 99:.3f}]."
    assert f1.sensitivity([0.91]).summary().splitlines()[-1].startswith("If 91% of all positives hid among the 81 ")


def test_precision_is_the_same_whatever_hides(session):
    hidden = sure(session.result(question=ba.Metric(["precision", "recall"]))).sensitivity([0.0, 0.2])
    np.testing.assert_allclose(hidden.estimate, [[0.8, 1.0], [0.8, 0.8]], rtol=1e-6)
    assert hidden.holds_up_to(above=0.745).tolist() == pytest.approx([0.99, 0.25])  # 8 / (8 + H) is 1 - h
    assert "precision: the same whatever hides" in hidden.summary()
    assert "recall would be 0.800" in hidden.summary()


@pytest.mark.parametrize("shares", [[0.5], [0.0]])
def test_a_single_share_does_not_make_measures_the_same_whatever_hides(session, shares):
    said = sure(session.result(question=ba.Metric(["precision", "f1"]))).sensitivity(shares).summary()
    assert "precision: the same whatever hides" in said
    assert f"If {shares[0]:.0%} of all positives hid among the 81 unlabelled items of low score, f1 would be" in said


def test_summaries_of_curves_name_what_changes_most_by_thresholds_that_are_rounded(session, monkeypatch):
    hidden = sure(session.result(question=ba.PRCurve([1 / 3, 0.5, 0.6, 0.7]))).sensitivity()
    asked, draws = [], type(hidden.hidden).draws
    monkeypatch.setattr(type(hidden.hidden), "draws", lambda self, share: asked.append(share) or draws(self, share))
    lines = hidden.summary().splitlines()
    assert len(asked) == len(set(asked)) == 3  # no hidden positives, all, and the share that is said
    assert [line.split(" would be ")[0].split(", ")[1] for line in lines[2:5]] == [
        "recall[0.3333]",
        "recall[0.5]",
        "recall[0.6]",
    ]
    assert lines[5:] == ["No other measure changes by more; the table has all 8."]


def test_thresholds_that_lie_close_together_keep_the_digits_that_tell_them_apart():
    a = ba.assess(POOL, ba.PRCurve([0.5, 0.500001, 2 / 3]))
    names = a.result().evidence.names_said
    assert names[:3].tolist() == ["precision[0.5]", "precision[0.500001]", "precision[0.666667]"]


def test_the_accuracy_of_two_classes_falls_by_positives_that_hide():
    hidden = sure(told(ba.Metric("accuracy")).result()).sensitivity([0.0, 0.5])
    np.testing.assert_allclose(hidden.estimate, [0.98, 0.90], rtol=1e-6)  # eight known, and eight more among the 90


def test_a_first_system_stays_better_up_to_a_share():
    hidden = sure(told(ba.Compare("prediction", "other", measure="f1")).result()).sensitivity([0.0, 0.5])
    shares = np.arange(100) / 100
    h = np.minimum(8 * shares / (1 - shares), 81)
    difference = 16 / (18 + h) - 10 / (13 + h)
    np.testing.assert_allclose(hidden.estimate, difference[[0, 50]], rtol=1e-6)
    assert hidden.holds_up_to(better_than=0.1) == pytest.approx(shares[difference > 0.1].max())
    with pytest.raises(QuestionError, match="pass better_than="):
        hidden.holds_up_to(above=0.1)


def test_of_losses_the_first_is_better_where_it_is_lower():
    """Of the 100 items the pool's system has 2 + H wrong, the other one, which misses three of eight, 3 + H."""
    hidden = sure(told(ba.Compare("prediction", "other", measure="zero_one_loss")).result()).sensitivity([0.0, 0.5])
    np.testing.assert_allclose(hidden.estimate, -0.01, atol=1e-9)
    assert hidden.holds_up_to(better_than=0.005) == pytest.approx(0.99)
    assert np.isnan(hidden.holds_up_to(better_than=0.02))
    turned = sure(told(ba.Compare("other", "prediction", measure="zero_one_loss")).result()).sensitivity()
    assert np.isnan(turned.holds_up_to(better_than=0.0))


def test_questions_without_hidden_positives_say_so():
    three = ba.Pool(predictions=PREDICTED, confidence=np.full(100, 0.9), classes=[0, 1, 2])
    with pytest.raises(QuestionError, match="one positive class"):
        ba.assess(three, ba.Metric("accuracy")).result().sensitivity()
    a = ba.assess(POOL, ba.Metric("f1"))
    a.tell(np.arange(100), LABELS)
    with pytest.raises(QuestionError, match="Nothing hides"):
        a.result().sensitivity()


@pytest.mark.parametrize("shares", [[0.1, 0.1], [1.0], [-0.1], [], [[0.1]], [float("nan")], "many", ["0.1"], None])
def test_shares_that_are_none_are_refused(f1, shares):
    with pytest.raises(QuestionError, match="Hidden shares increase"):
        f1.sensitivity(shares)


def test_figures_show_the_interval_against_the_share_and_what_is_ruled_out(f1):
    ax = sure(f1, n_random=60).sensitivity().plot()
    assert ax.get_ylabel() == "f1"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "95% interval given the share",
        "estimate",
        "ruled out by random labels",
    ]
    np.testing.assert_allclose(ax.lines[0].get_ydata()[0], 16 / 18, rtol=1e-6)


def test_a_verdict_holds_up_to_the_first_share_that_it_does_not_stand(session, monkeypatch):
    hidden = sure(session.result()).sensitivity()
    low = np.where(np.arange(100) % 40 < 8, 0.6, 0.4)  # it stands again from 40 % on

    def answers(shares):
        ends = np.stack([low[: len(shares)], np.ones(len(shares))], axis=-1)
        return np.ones((len(shares), 1)), ends[:, None]

    monkeypatch.setattr(type(hidden), "_answers", lambda self, shares: answers(shares))
    assert hidden.holds_up_to(above=0.5) == pytest.approx(0.07)
