"""How long sessions take to resume, and to correct a label, as their journals grow.

Labels are told one by one, the longest way to write them down. For every design it prints seconds of processor time at
some number of labels and at four times as many, and their ratio, which is 4 where time grows as the journal does:

    python benchmarks/bench_resume.py --labels 16000

Journals are written directly: nothing is chosen, so that the benchmark takes a minute and not an hour. Whoever resumes
one first follows all of it, which takes longer, and takes a snapshot, as a session does while it is told labels.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bayes_assess as ba

GROWTH = 4
PER_ITEM = ("weight", "p_new", "p_pending")  # of what an ask records
DESIGNS: dict[str, tuple[Any, dict[str, Any]]] = {
    "thompson": (ba.GroupAccuracy(), {}),
    "thompson, fixed prior": (ba.GroupAccuracy(), {"prior": "uninformative"}),
    "variance_reduction": (ba.Metric("f1"), {}),
    "passive": (ba.Metric("f1"), {"design": "passive"}),
}


def recorded(path: Path, pool: Any, labels: np.ndarray, name: str, n: int, asked_singly: bool) -> None:
    """Write the journal of a session that was told `n` labels one by one."""
    question, options = DESIGNS[name]
    a = ba.assess(pool, question, journal=path, **options)
    first = a.ask(1).ids
    one = next(iter(a.journal.events())).payload
    a.tell(first, labels[first])  # or all labels would wait for it
    ids = np.setdiff1d(np.random.default_rng(1).permutation(len(labels))[: n + 1], first)[:n]

    def ask(some: np.ndarray) -> None:
        each = {key: one[key] * len(some) for key in PER_ITEM if key in one}
        a.journal.append("ask", {**one, **each, "ids": some})

    if not asked_singly:
        ask(ids)
    for item in ids:
        if asked_singly:
            ask(np.array([item]))
        a.journal.append("tell", {"ids": [item], "labels": [int(labels[item])]})
    a.journal.close()


def seconds(act: Callable[[], Any]) -> float:
    """Measure the processor time of this process: other processes take their share of the clock's."""
    start = time.process_time()
    act()
    return time.process_time() - start


def measured(pool: Any, labels: np.ndarray, name: str, n: int, asked_singly: bool) -> tuple[float, ...]:
    """Return the seconds that it takes to resume, first and again, and to correct a label that was told last or first.

    What is compiled before does not count.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        recorded(path, pool, labels, name, n, asked_singly)
        first = seconds(lambda: ba.resume(path, pool).journal.close())
        resumed = seconds(lambda: ba.resume(path, pool).journal.close())
        a = ba.resume(path, pool)
        tells = [event.payload for event in a._events if event.kind == "tell"]

        def correct(entry: Any) -> float:
            return seconds(lambda: a.correct(entry["ids"], [1 - entry["labels"][0]]))

        return first, resumed, correct(tells[-100]), correct(tells[100])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=16_000, help="at first, and four times as many then")
    parser.add_argument("--design", choices=DESIGNS, action="append", help="one or several; all by default")
    parser.add_argument("--asked-singly", action="store_true", help="ask for items one by one, too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    scores = rng.random(GROWTH * options.labels * 2).round(3)
    labels = (rng.random(len(scores)) < scores).astype(int)
    pool = ba.Pool(scores=scores)
    heads = "".join(f"{what:>10}{'ratio':>8}" for what in ("first", "resume", "late", "early"))
    print(f"{'':24}{'labels':>8}{heads}   (late, early: a label that is corrected)")
    for name in options.design or DESIGNS:
        before = (np.nan,) * 4
        for n in (options.labels, GROWTH * options.labels):
            now = measured(pool, labels, name, n, options.asked_singly)
            cells = "".join(f"{s:9.2f}s{s / b:8.1f}" for s, b in zip(now, before, strict=True))
            print(f"{name:24}{n:8,}{cells}", flush=True)
            before = now


if __name__ == "__main__":
    main()
