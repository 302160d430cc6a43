"""Settings that all tests share."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import sys
import threading
import warnings
from importlib.metadata import version
from pathlib import Path

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")  # before anything imports matplotlib
# Compiling takes a third of the time of the tests. What a worker or its subprocesses have compiled serves the others
# and the next run; of other clones, too, where BAYES_ASSESS_TEST_CACHE names a folder for all of them, as `.ci/run`
# does. A file that is read while it is written is compiled anew; pyproject.toml ignores JAX's warning of that.
_COMPILED = os.environ.get("BAYES_ASSESS_TEST_CACHE") or Path(__file__).parent / ".pytest_cache" / "jax"
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(_COMPILED)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
# XLA keeps settings of GPUs beside programs, whose place is then in the key of every program: a folder that has been
# moved or copied would hold none that is found.
os.environ["JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"] = "none"
# Programs that are not optimised compile in a third of the time; whoever sets XLA_FLAGS, even to nothing as `make
# test-all` does, tests others.
# XLA ends the process at a flag that it does not know, and some flags are gone with the next release.
_FLAGS = "--xla_backend_optimization_level=0"
_OF_RELEASE = " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
_FLAGS += _OF_RELEASE * version("jaxlib").startswith("0.10.")
os.environ.setdefault("XLA_FLAGS", _FLAGS)
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")  # programs need not say which lines they are from
# Folders of tests lie in memory where there is room: a journal waits for the disk whenever it is written, which takes
# longer than what most of its tests compute.
_MEMORY = Path("/dev/shm")
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 2_000_000_000:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
# Every worker has a core: threads of NumPy's matrix products, which are small here, would wait for each other on it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

gc.set_threshold(100_000, 50, 100)  # tracing makes many objects, and collecting them often takes a tenth of the time


_COMPILED = (".program", ".fit", ".sample", ".Study", ".interval_table")


def _accept(_: None) -> None:
    pass


def pytest_configure(config):
    """Let ArviZ warn before there are workers: it notes the day in a file, which two at once take from each other."""
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("arviz")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the slow tests what compiles for seconds among examples: programs, fits, draws and whole studies."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.name.endswith(_COMPILED):
            item.add_marker("slow")


def pytest_collection_finish():
    """Take what is imported by now out of what is searched for garbage, which pytest does five times at the end."""
    # Hypothesis looks for garbage when it is imported, which its plugin does later, and at the first test of a process
    # for what refers to its random generator, which may be out of its sight behind `freeze`.
    hypothesis = importlib.import_module("hypothesis")
    hypothesis.settings(max_examples=1, database=None)(hypothesis.given(hypothesis.strategies.none())(_accept))()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _close_figures():
    """Leave no open figure behind: pyplot warns about many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_functions():
    """Stay below the memory maps that Linux allows, as studies and fits do: a file of tests takes some thousand."""
    _keep_contexts()
    yield
    if "jax" in sys.modules:
        importlib.import_module("bayes_assess._tools.compiled_cache").leave_room()


def _keep_contexts() -> None:
    """Let JAX lower all programs of a thread in one context of MLIR.

    It makes one for every program, which takes half of the time of small programs that are in the cache.
    """
    mlir = sys.modules.get("jax._src.interpreters.mlir")
    make = getattr(mlir, "make_ir_context", None)
    if make is None or hasattr(make, "contexts"):
        return
    contexts = {}

    def context_of_thread():
        thread = threading.get_ident()
        if thread not in contexts:
            contexts[thread] = make()
        return contexts[thread]

    context_of_thread.contexts = contexts
    mlir.make_ir_context = context_of_thread
