"""Whatever people do, in whatever order: sessions keep count, answer alike after a crash, and move for labels alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import bayes_assess as ba
from made import made_pool

POOL, LABELS = made_pool([0.9, 0.5, 0.7], [25, 12, 3])
QUESTIONS = {
    "thompson": ba.LeastAccurate(),
    "top_two": ba.GroupAccuracy(),
    "passive": ba.Metric("accuracy"),
    "adaptive": ba.Rate(1),
    "poisson": ba.Metric("f1_macro"),
    "variance_reduction": ba.Metric("accuracy"),
}
SOME = st.sets(st.integers(0, 39), min_size=1, max_size=8)  # places in a list, modulo its length


class Course(RuleBasedStateMachine):
    """A session, and beside it what was asked for, told and set aside."""

    design: str
    journal: str

    @initialize(seed=st.integers(0, 3))
    def start(self, seed):
        self.session = ba.assess(POOL, QUESTIONS[self.design], design=self.design, seed=seed, journal=self.journal)
        self.pending, self.told, self.aside = [], {}, set()

    @rule(n=st.integers(1, 9))
    def ask(self, n):
        before = self.session.result()
        if n > self.session.n_remaining:
            with pytest.raises(ba.BudgetError):
                self.session.ask(n)
            return
        ids = self.session.ask(n).ids.tolist()
        assert len(set(ids)) == n
        assert not {*ids} & {*self.pending, *self.told, *self.aside}
        self.pending += ids
        self.answers_as(before)

    @precondition(lambda self: self.pending)
    @rule(some=SOME)
    def tell(self, some):
        ids = self.chosen(self.pending, some)
        self.session.tell(ids, LABELS[ids])
        self.told |= {item: int(LABELS[item]) for item in ids}
        self.pending = [item for item in self.pending if item not in self.told]

    @rule(item=st.integers(0, 39))
    def volunteer(self, item):
        if item in self.told or item in self.aside:
            return
        self.session.tell([item], [LABELS[item]])
        self.told[item] = int(LABELS[item])
        self.pending = [other for other in self.pending if other != item]

    @precondition(lambda self: self.told)
    @rule(some=SOME, label=st.integers(0, 2))
    def correct(self, some, label):
        ids = self.chosen(list(self.told), some)
        self.session.correct(ids, [label] * len(ids))
        self.told |= dict.fromkeys(ids, label)

    @precondition(lambda self: self.pending)
    @rule(some=SOME)
    def release(self, some):
        before, ids = self.session.result(), self.chosen(self.pending, some)
        self.session.release(ids)
        self.pending = [item for item in self.pending if item not in ids]
        self.answers_as(before)

    @rule(items=st.sets(st.integers(0, 39), min_size=1, max_size=3))
    def skip(self, items):
        items = sorted(items - {*self.told} - self.aside)
        if items:
            self.session.skip(items)
            self.aside.update(items)
            self.pending = [item for item in self.pending if item not in self.aside]

    @rule()
    def crash(self):
        before = self.session.result()
        self.session.journal.close()
        self.session = ba.resume(self.journal, POOL)
        self.answers_as(before)

    @invariant()
    def keeps_count(self):
        if not hasattr(self, "session"):
            return
        ids, labels = self.session.labelled
        assert dict(zip(ids.tolist(), labels.tolist(), strict=True)) == self.told
        assert sorted(self.session.pending.tolist()) == sorted(self.pending)
        assert (self.session.labels_used, self.session.n_skipped) == (len(self.told), len(self.aside))
        assert self.session.n_pending == len(self.pending)
        assert self.session.n_remaining == 40 - len(self.told) - len(self.pending) - len(self.aside)

    def teardown(self):
        if hasattr(self, "session"):
            result = self.session.result()
            low, high = np.moveaxis(result.interval, -1, 0)
            assert ((low - 1e-9 <= result.estimate) & (result.estimate <= high + 1e-9)).all()
            left = {*range(40)} - {*self.told} - {*self.pending} - self.aside
            assert not left or {*self.session.ask(len(left)).ids.tolist()} == left
            self.session.journal.close()

    def answers_as(self, before):
        now = self.session.result()
        np.testing.assert_allclose(now.estimate, before.estimate, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(now.interval, before.interval, rtol=1e-9, atol=1e-12)

    @staticmethod
    def chosen(items, places):
        return sorted({items[place % len(items)] for place in places})


@pytest.mark.parametrize(
    "design",
    [pytest.param(name, marks=[] if name in ("thompson", "poisson") else pytest.mark.slow) for name in QUESTIONS],
)
def test_any_course_of_a_session_keeps_count_and_survives_a_crash(design, tmp_path):
    runs = iter(range(1000))

    def course():
        machine = Course()
        machine.design, machine.journal = design, str(tmp_path / f"{next(runs)}.db")
        return machine

    how = {"phases": [Phase.generate], "deadline": None, "derandomize": True}  # so few steps are read as they are
    run_state_machine_as_test(course, settings=settings(max_examples=8, stateful_step_count=16, **how))
