"""Compiled programs that one process leaves to the next."""

import os
import subprocess
import sys
import time

import jax
import pytest

from bayes_assess._tools import compiled_cache
from bayes_assess._tools.compiled_cache import cache_folder, leave_room

SCRIPT = """
import jax
import jax.numpy as jnp
from bayes_assess._tools.compiled_cache import keep_compiled

jnp.arange(3.0) * 2  # before anything is kept
keep_compiled()
jax.jit(lambda x: jnp.sin(x) + 1)(jnp.ones(3))
print(jax.config.jax_compilation_cache_dir)
"""


def where(tmp_path, **settings):
    """Return where a process keeps what it compiles, and the files there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), **settings}
    command = [sys.executable, "-c", SCRIPT]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()
    return found, list(tmp_path.rglob("*-cache"))


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("BAYES_ASSESS_CACHE", str(tmp_path))
    return tmp_path


def test_what_is_compiled_is_kept_for_this_processor(tmp_path):
    folder, files = where(tmp_path)
    assert folder.startswith(str(tmp_path / "bayes-assess"))
    assert [path.name for path in files if "lambda" in path.name]


def test_a_folder_that_the_user_has_chosen_comes_first(tmp_path):
    chosen = tmp_path / "chosen"
    folder, files = where(tmp_path / "home", JAX_COMPILATION_CACHE_DIR=str(chosen))
    assert folder == str(chosen)
    assert not files


def test_a_variable_turns_it_off(tmp_path):
    assert where(tmp_path, BAYES_ASSESS_CACHE="off") == ("None", [])


def test_nobody_else_reads_the_folder(chosen):
    folder = cache_folder()
    assert folder is not None
    assert folder.is_relative_to(chosen)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_newest_files_are_kept(chosen, monkeypatch):
    monkeypatch.setattr(compiled_cache, "_MOST_BYTES", 12)
    folder, now = cache_folder(), time.time()
    assert folder is not None
    for age in range(5):
        (folder / f"{age}").write_text("code")
        os.utime(folder / f"{age}", (now - age, now - age))
    (folder / "empty").touch()  # the newest, but what should be in it was never written
    (folder / "old").write_text("code")
    os.utime(folder / "old", (now - 1e7, now - 1e7))
    assert cache_folder() == folder
    assert {path.name for path in folder.iterdir()} == {"0", "1", "2"}


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BAYES_ASSESS_CACHE", str(tmp_path / "file"))
    assert cache_folder() is None


@pytest.mark.slow
@pytest.mark.skipif(not compiled_cache._MAPS.exists(), reason="no Linux")
@pytest.mark.parametrize(("share", "kept"), [(0.4, True), (0.6, False)])
def test_programs_are_forgotten_before_their_maps_are_too_many(tmp_path, monkeypatch, share, kept):
    double = jax.jit(lambda x: 2 * x)
    double(1.0)
    most = tmp_path / "max_map_count"
    most.write_text(f"{len(compiled_cache._MAPS.read_bytes().splitlines()) / share:.0f}\n")
    monkeypatch.setattr(compiled_cache, "_MOST_MAPS", most)
    leave_room()
    assert (double._cache_size() == 1) == kept


def test_systems_without_such_a_limit_keep_all(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_cache, "_MOST_MAPS", tmp_path / "none")
    double = jax.jit(lambda x: 2 * x)
    double(1.0)
    leave_room()
    assert double._cache_size() == 1
