"""Agreement of annotators, held against tables worked out by hand and against definitions."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.sessions.team.agreement import Agreement

# Three annotators, -1 where one gave no label. By hand: items of m labels add n_c n_k / (m - 1) to the coincidences.
#   item 0: a a a; 1: a b -; 2: b b b; 3: c c -; 4: a b b
# o_aa = 6/2 + 0 = 3, o_bb = 6/2 + 2/2 = 4, o_cc = 2, o_ab = 1 (item 1) + 2/2 (item 4) = 2, o_ba = 2.
# n_a = 5, n_b = 6, n_c = 2, n = 13; D_o = 4 / 13; D_e = 2 (30 + 10 + 12) / (13 * 12) = 104 / 156.
CODES = np.array([[0, 0, 1, 2, 0], [0, 1, 1, 2, 1], [0, -1, 1, -1, 1]])
ALPHA = 1 - (4 / 13) / (104 / 156)


def test_alpha_is_that_of_the_table_worked_out_by_hand():
    pytest.importorskip("krippendorff", reason="Krippendorff's alpha needs the extra agreement")
    assert Agreement(("A1", "A2", "A3"), CODES).alpha == pytest.approx(ALPHA, abs=1e-12)
    assert pytest.approx(0.538462, abs=1e-6) == ALPHA


def test_raw_agreement_counts_pairs_of_labels_of_one_item():
    # pairs of items: 3 of 3, 0 of 1, 3 of 3, 1 of 1, 1 of 3
    assert Agreement(("A1", "A2", "A3"), CODES).raw == pytest.approx(8 / 11)


def test_kappa_is_that_of_the_table_worked_out_by_hand():
    pytest.importorskip("sklearn")
    # 20 both yes, 5 and 10 apart, 15 both no: p_o = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    first = np.repeat([1, 1, 0, 0], [20, 5, 10, 15])
    second = np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    found = Agreement(("A1", "A2"), np.stack([first, second]))
    assert found.raw == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4, abs=1e-12)
    assert found.table()["kappa"].tolist() == [pytest.approx(0.4)]


def test_three_annotators_have_a_kappa_for_every_two():
    pytest.importorskip("sklearn")
    found = Agreement(("A1", "A2", "A3"), CODES)
    assert found.kappa is None
    table = found.table()
    assert list(zip(table["first"], table["second"], table["items"], strict=True)) == [
        ("A1", "A2", 5),
        ("A1", "A3", 3),
        ("A2", "A3", 3),
    ]
    assert table["agree"].tolist() == pytest.approx([3 / 5, 2 / 3, 1])


def test_labels_that_are_all_alike_have_no_kappa_and_no_alpha():
    found = Agreement(("A1", "A2"), np.zeros((2, 4), int))
    assert (found.raw, found.kappa, found.alpha) == (1.0, None, None)
    assert found.summary() == "2 annotators agree in 100.0% of the pairs of labels of 4 items."


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=1, max_size=12))
def test_alpha_is_its_definition(rows):
    pytest.importorskip("krippendorff", reason="Krippendorff's alpha needs the extra agreement")
    codes = np.array([row for row in rows if sum(code >= 0 for code in row) > 1], int).reshape(-1, 3).T
    if not codes.size or len(np.unique(codes[codes >= 0])) < 2:
        return
    o = np.zeros((3, 3))
    for column in codes.T:
        told = column[column >= 0]
        for i, one in enumerate(told):
            for j, other in enumerate(told):
                o[one, other] += (i != j) / (len(told) - 1)
    n = o.sum(0)
    d_o, d_e = o.sum() - np.trace(o), (n.sum() ** 2 - (n**2).sum()) / (n.sum() - 1)
    assert Agreement(("A1", "A2", "A3"), codes).alpha == pytest.approx(1 - d_o / d_e)


def test_corrections_do_not_make_annotators_agree():
    a = ba.assess(ba.Pool(predictions=["cat", "dog"] * 2), ba.GroupAccuracy())
    with pytest.raises(ba.LabelError, match="No item has labels of two annotators"):
        a.agreement()
    a.tell([0, 1, 2], ["cat", "dog", "cat"], annotator="A1")
    a.tell([1, 2, 3], ["dog", "dog", "dog"], annotator="A2")
    a.tell([3], ["dog"], annotator="A1")
    a.resolve(rule="A1")
    found = a.agreement()
    assert (found.n_items, found.raw) == (3, pytest.approx(2 / 3))


@pytest.mark.parametrize(("module", "value"), [("krippendorff", "alpha"), ("sklearn", "kappa")])
def test_without_the_library_a_sentence_names_the_extra(monkeypatch, module, value):
    for name in [module, *(loaded for loaded in sys.modules if loaded.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    found = Agreement(("A1", "A2"), np.array([[0, 1], [0, 0]]))
    with pytest.raises(ba.OutputError, match=r'pip install "bayes-assess\[agreement\]"'):
        getattr(found, value)


@pytest.mark.parametrize(("bounds", "step"), [((-np.inf, np.inf), 0.1), ((0, 100), 4)])  # to which labels are rounded
def test_numbers_agree_by_their_squared_differences(bounds, step):
    krippendorff = pytest.importorskip("krippendorff", reason="Krippendorff's alpha needs the extra agreement")
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, 100, 30)
    pool = ba.Pool(predictions=truth, bounds=bounds)
    a = ba.assess(pool, ba.Metric("mae") if step < 1 else ba.Mean())
    told = np.clip((truth + rng.normal(0, 4, (3, 30))) / step, 0, 100 / step).round() * step
    told[2, 20:] = np.nan
    for name, numbers in zip(["A1", "A2", "A3"], told, strict=True):
        there = np.flatnonzero(~np.isnan(numbers))
        a.tell(there, numbers[there], annotator=name)
    found = a.agreement()
    expected = krippendorff.alpha(reliability_data=told, level_of_measurement="interval")
    assert found.alpha == pytest.approx(expected, abs=1e-12)
    assert found.alpha > 0.9  # where hardly any two numbers are equal
    assert found.to_dict()["level_of_measurement"] == found.level_of_measurement == "interval"
    assert found.summary().endswith(f"Krippendorff's alpha {expected:.3f} (interval).")


def test_classes_agree_as_names():
    pytest.importorskip("krippendorff", reason="Krippendorff's alpha needs the extra agreement")
    assert Agreement(("A1", "A2", "A3"), CODES).summary().endswith("Krippendorff's alpha 0.538 (nominal).")
