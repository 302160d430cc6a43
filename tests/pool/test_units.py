"""Units: items, and pairs of them, as sessions and records know them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayes_assess as ba
from bayes_assess.errors import LabelError

PROMPTS = ["p", "q", "r", "s"]
POOL = ba.Pool(
    predictions=[1, 0, 2, 1, 0, 2, 1, 0, 1],
    ids=list("abcdefghi"),
    groups={"system": ["x", "y", "x", "y", "z", "y", "x", "x", "y"], "prompt": [*"qpprp", *"qsrs"]},
)
RATINGS = ba.Compare("x", "y", by="system", measure="mean", pair="prompt", values=[0, 1, 2], rope=0.1)


def units_of(question: ba.Metric | ba.Compare):
    pool, _ = question.for_pool(POOL).posed(POOL)
    return question.for_pool(POOL).units(pool)


ITEMS, PAIRS = units_of(ba.Metric("accuracy")), units_of(RATINGS)


@pytest.mark.parametrize("units", [ITEMS, PAIRS], ids=["items", "pairs"])
@given(data=st.data())
def test_what_is_recorded_of_labels_leads_back_to_them(units, data):
    n, n_codes = (4, 9) if units is PAIRS else (9, 3)
    chosen = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1)))
    codes = np.array([data.draw(st.integers(0, n_codes - 1)) for _ in chosen])
    record = units.recorded(chosen, codes)
    assert units.named(record["ids"]).tolist() == chosen.tolist()
    assert units.codes_in([record]).tolist() == codes.tolist()
    nobody = np.full(n, -1)
    ids, labels = units.labels_of(chosen, codes)
    order = np.argsort(chosen)
    again = units.read(ids, labels, lambda units: nobody[units])
    assert [part[np.argsort(again[0])].tolist() for part in again] == [chosen[order].tolist(), codes[order].tolist()]


@given(st.integers(0, 3), st.integers(0, 8), st.integers(0, 8))
def test_labels_of_halves_are_counted_one_by_one(pair, code, other):
    ids, now = PAIRS.labels_of(np.array([pair]), np.array([code]))
    _, then = PAIRS.labels_of(np.array([pair]), np.array([other]))
    assert PAIRS.n_differing(np.array([code]), np.array([other])) == (now != then).sum()
    first, second = PAIRS.together(ids[:1])[0].tolist()
    label = dict(zip(ids.tolist(), now.tolist(), strict=True))
    assert PAIRS.pairs.label_space.names(PAIRS.counted(np.array([code]))).tolist() == [label[first] - label[second]]


def test_a_pair_is_found_by_either_half_and_shown_whole():
    assert PAIRS.find(["b", "c"]).tolist() == [0, 0]
    assert PAIRS.together(["b"]).tolist() == PAIRS.together_in(["p"]).tolist() == [["c", "b"]]
    assert PAIRS.ids_of(np.array([0])).tolist() == ["b", "c"]  # in the order of the pool
    assert PAIRS.n_items == 8
    assert ITEMS.n_items == 9


def test_an_item_of_no_pair_has_no_part():
    with pytest.raises(LabelError, match="neither x nor y"):
        PAIRS.find(["e"])


def test_codes_of_no_label_stay_so():
    assert PAIRS.counted(np.array([-1, -2])).tolist() == [-1, -2]
