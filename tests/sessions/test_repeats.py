"""What repeats exactly: in another process, with other threads, and on other processors."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bayes_assess as ba

ROOT = Path(__file__).parents[2]
CAMPAIGN = """
import sys
import numpy as np
import bayes_assess as ba

question, design, journal, rounds = sys.argv[1:]
rng = np.random.default_rng(0)
truth = (rng.random(4_000) < 0.02).astype(int)
scores = 1 / (1 + np.exp(4 - 2.6 * rng.normal(2.6 * truth, 1.0)))
pool = ba.Pool(scores=scores, groups={"site": rng.integers(0, 4, 4_000)})
questions = ba.Metric("f1"), ba.Metric("f1", by="site"), ba.GroupAccuracy(by="site")
asked = dict(zip(["f1", "f1 by site", "groups"], questions))[question]
a = ba.assess(pool, asked, design=design, seed=0, journal=journal or None)
for _ in range(int(rounds)):
    queries = a.ask(16)
    a.tell(queries.ids, truth[queries.ids])
    print(*queries.ids)
print(a.result().summary(), a.result().interval.round(9).tolist())
"""


def campaign(question: str, design: str, flags: str, journal: str = "", rounds: int = 5, **environment: str) -> str:
    """Return what a campaign prints in a process of its own."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", CAMPAIGN, question, design, journal, str(rounds)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "XLA_FLAGS": flags, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


OTHER_BLAS = {"OPENBLAS_CORETYPE": "Sandybridge"}  # as NumPy's matrices are multiplied on an older processor
WITH, WITHOUT = "--xla_cpu_max_isa=AVX2", "--xla_cpu_max_isa=AVX"  # fused multiply-add
needs_x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the flag is one of x86 processors"
)


@pytest.mark.slow
@needs_x86
@pytest.mark.parametrize(
    ("question", "design"), [("groups", "thompson"), ("f1", "adaptive"), ("f1", "importance"), ("f1", "poisson")]
)
def test_published_designs_do_not_depend_on_the_processor(question, design):
    assert campaign(question, design, WITH) == campaign(question, design, WITHOUT)


@pytest.mark.slow
def test_the_default_design_repeats_whatever_the_threads():
    one = campaign("f1", "variance_reduction", "", OPENBLAS_NUM_THREADS="1")
    assert one == campaign("f1", "variance_reduction", "", OPENBLAS_NUM_THREADS="2")


@pytest.mark.slow
@needs_x86
@pytest.mark.parametrize("question", ["f1", "f1 by site"])
def test_the_default_design_repeats_whatever_adds_up_its_matrices(question):
    one = campaign(question, "variance_reduction", "", rounds=10)
    assert one == campaign(question, "variance_reduction", "", rounds=10, **OTHER_BLAS)


def features_beyond(level: str = "X86_V3") -> list[str]:
    """Return what NumPy uses of this processor that one of ten years ago lacks."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return found[found.index(level) + 1 :] if level in found else []


@pytest.mark.slow
@pytest.mark.skipif(not features_beyond(), reason="the processor has nothing that older ones lack")
@pytest.mark.parametrize("question", ["f1", "f1 by site"])
def test_the_default_design_repeats_without_wide_vectors(question):
    without = {"NPY_DISABLE_CPU_FEATURES": " ".join(features_beyond())}
    one = campaign(question, "variance_reduction", "", rounds=10)
    assert one == campaign(question, "variance_reduction", "", rounds=10, **without)


@pytest.mark.slow
@needs_x86
def test_a_campaign_goes_on_on_another_processor(tmp_path):
    """The journal is written with other last digits than those that this process computes with."""
    journal = tmp_path / "run.db"
    asked = campaign("f1", "variance_reduction", WITHOUT, str(journal), **OTHER_BLAS).splitlines()[:5]
    rng = np.random.default_rng(0)
    truth = (rng.random(4_000) < 0.02).astype(int)
    scores = 1 / (1 + np.exp(4 - 2.6 * rng.normal(2.6 * truth, 1.0)))
    pool = ba.Pool(scores=scores, groups={"site": rng.integers(0, 4, 4_000)})
    a = ba.resume(journal, pool)
    assert a.labels_used == 80
    before = {int(item) for line in asked for item in line.split()}
    queries = a.ask(16)
    assert not before & set(queries.ids.tolist())
    a.tell(queries.ids, truth[queries.ids])
    assert a.labels_used == 96
