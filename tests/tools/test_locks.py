"""A lock that an interrupt cannot leave behind."""

from __future__ import annotations

import threading

import pytest

from bayes_assess._tools.locks import Exclusive


def test_one_thread_at_a_time_runs_a_section():
    lock, inside, most = Exclusive(), [], []

    def work():
        for _ in range(200):
            with lock:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert len(most) == 800


def test_who_was_interrupted_on_the_way_in_locks_nobody_out():
    lock, done = Exclusive(), threading.Event()
    lock.__enter__()
    lock.__enter__()  # interrupted twice
    with pytest.raises(KeyError), lock:
        raise KeyError

    def other():
        with lock:
            done.set()

    threading.Thread(target=other, daemon=True).start()
    assert done.wait(10)
