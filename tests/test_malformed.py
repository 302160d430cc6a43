"""Files with something broken in them are read, or refused in a sentence of ours; see `malformed`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malformed import KINDS, try_broken


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("malformed")


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_broken_files_are_read_or_refused_in_our_words(folder, kind, seed):
    try_broken(kind, folder, seed)


@pytest.mark.parametrize("kind", KINDS)
def test_some_broken_files_are_readable_and_others_are_not(folder, kind):
    read = [try_broken(kind, folder, seed) for seed in range(60)]
    assert 3 < sum(read) < 57
