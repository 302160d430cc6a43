"""Exports of labelling tools in which something is broken: they are read, or refused in a sentence of ours."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_assess as ba
from campaigns.exchange.test_tools import FORMS, IDS, POOL, SAID, SETS, UNTOLD

MATCHED = "ignore:.* Took ids such as"  # a 7 for 007


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("mutated")


ODD = [
    None,
    True,
    7,
    -1.5,
    10**30,
    float("nan"),
    "",
    "cat",
    "\ud800",
    "a\x00",
    [],
    {},
    [[]],
    [None],
    {"id": None},
    "b;c",
]


def mutated(found: Any, rng: np.random.Generator) -> Any:
    """Return a copy with a few values replaced, dropped, doubled or moved."""
    found = copy.deepcopy(found)
    parent: Any
    key: Any
    for _ in range(rng.integers(1, 4)):
        at, parent, key = found, None, None
        while isinstance(at, dict | list) and len(at) and (parent is None or rng.random() < 0.8):
            key = list(at)[rng.integers(len(at))] if isinstance(at, dict) else int(rng.integers(len(at)))
            parent, at = at, at[key]
        if parent is None:
            return found
        action, odd = rng.integers(4), copy.deepcopy(ODD[rng.integers(len(ODD))])
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[str(odd)] = parent.pop(key)
        elif action == 2 and isinstance(parent, list):
            parent.append(copy.deepcopy(at))
        else:
            parent[key] = odd
    return found


def read_mutated(path: Path, seed: int) -> bool:
    """Read a mutated export of one of the formats; return whether anything was taken from it."""
    rng = np.random.default_rng(seed)
    form, pool = list(FORMS.values())[rng.integers(len(FORMS))], (POOL, SETS, None)[rng.integers(3)]
    text = json.dumps(mutated(form(SAID), rng))
    if rng.random() < 0.1:
        text = text[: rng.integers(len(text))]
    path.write_text(text, encoding="utf-8")
    try:
        ids, labels, names = ba.read_labels(path, pool, annotators=True)
    except ba.LabelError as error:
        message = str(error)
        message.encode()  # half letters could not be printed
        assert message.endswith(".")
        return False
    assert len(ids) == len(labels) == len(names)
    assert pool is None or set(ids.tolist()) <= set(IDS)
    return True


@pytest.mark.filterwarnings(UNTOLD, MATCHED)
@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_mutated_exports_are_read_or_refused_in_our_words(folder, seed):
    read_mutated(folder / "mutated.json", seed)


@pytest.mark.filterwarnings(UNTOLD, MATCHED)
def test_mutations_leave_some_exports_readable_and_break_others(folder):
    taken = [read_mutated(folder / "mutated.json", seed) for seed in range(60)]
    assert 5 < sum(taken) < 55
