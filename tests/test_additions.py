"""What CONTRIBUTING says of additions, followed: one of each kind, by a class or a function and a line of a registry.

Each goes through a session with a journal, is resumed from it, simulated and reported; a measure and a design are asked
for on the command line, too.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess._tools.engine import xp
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.tables import Table
from bayes_assess.acquisition.arms import best_arm
from bayes_assess.acquisition.rewards import AccuracyVarianceReduction
from bayes_assess.cli.tables import narrow
from bayes_assess.designs import ARMS, DESIGNS, ArmDesign
from bayes_assess.estimators.finite_pool import value_draws
from bayes_assess.measures import MEASURES, Measure
from bayes_assess.measures._made_once import made_once
from bayes_assess.models.beta_bernoulli import BetaBernoulli
from bayes_assess.pool.cells import cells as pool_cells
from bayes_assess.pool.source import ArraySource
from bayes_assess.questions import QUESTIONS, Question
from bayes_assess.questions._priors import accuracy_prior
from bayes_assess.results import Result, Section
from bayes_assess.results.plots._drawing import new_axes
from cli.commands import done

N = 120
RNG = np.random.default_rng(8)
SITE = np.where(np.arange(N) % 3, "north", "south")
PREDICTED = RNG.integers(0, 3, N)
LABELS = np.where(RNG.random(N) < 0.7, PREDICTED, (PREDICTED + 1) % 3)
POOL = ba.Pool(predictions=PREDICTED, groups={"site": SITE})


def followed(pool, labels, question, folder: Path, **options):
    """Ask, tell, resume, report and simulate; return the answer once all is labelled."""
    path = folder / "run.db"
    a = ba.assess(pool, question, journal=path, seed=2, **options)
    ids = a.ask(20).ids
    a.tell(ids, labels[ids])
    a.journal.close()
    again = ba.resume(path, pool)
    assert again.result().summary() == a.result().summary()
    assert again.result().report(folder / "report.html").read_text().count("<h1>") == 1
    prior = {"prior": options["prior"]} if "prior" in options else {}
    design = options.get("design", a.design.name)
    study = ba.simulate(pool, labels, question, designs=[design], budgets=[20, 40], repeats=4, **prior)
    assert np.isfinite(study.estimates[design]).all()
    again.tell(pool.ids, labels)
    answer = again.result()
    np.testing.assert_allclose(answer.estimate, study.truth, atol=1e-9)
    return answer


@made_once
def false_alarms() -> Measure:
    """Make the share of negative labels that are predicted positive."""
    return Measure(
        loss=lambda y, f: xp.stack([(1 - y) * f, 1 - y]),
        g=lambda risk: risk[0] / risk[1],
        name="false_alarms",
        binary=True,
        bounded=True,
    )


BINARY = ba.Pool(predictions=(PREDICTED == 1).astype(int), classes=[0, 1], groups={"site": SITE})
POSITIVE = (LABELS == 1).astype(int)


@pytest.fixture
def with_measure(monkeypatch):
    monkeypatch.setattr("bayes_assess.measures._registry.MEASURES", {**MEASURES, "false_alarms": false_alarms})


def test_a_measure(with_measure, tmp_path):
    answer = followed(BINARY, POSITIVE, ba.Metric("false_alarms"), tmp_path, design="adaptive")
    negative = POSITIVE == 0
    assert answer.estimate == pytest.approx((BINARY.predictions[negative] == 1).mean())


@dataclass(frozen=True)
class InTurn(ArmDesign):
    """Takes the group of which the fewest items were asked for."""

    name: ClassVar[str] = "in_turn"
    learns: ClassVar[bool] = False

    def arms_per_round(self, reward):
        """One group at a time, whatever is looked for."""
        return 1

    def play(self, key, state):
        """Return the group; of several one at random."""
        return best_arm(key, state.left - state.size, state.available)[None]


@pytest.fixture
def with_design(monkeypatch):
    for registry in (ARMS, DESIGNS):
        monkeypatch.setitem(registry, InTurn.name, InTurn)


def test_a_design(with_design, tmp_path):
    answer = followed(POOL, LABELS, ba.GroupAccuracy(by="site"), tmp_path, design="in_turn")
    assert answer.guarantee == "exact"
    a = ba.assess(POOL, ba.GroupAccuracy(by="site"), design="in_turn")
    assert np.unique(SITE[a.ask(10).ids], return_counts=True)[1].tolist() == [5, 5]


def test_a_design_that_does_not_say_how_it_chooses_in_many_campaigns_at_once_is_planned(with_design):
    assert ba.plan(POOL, ba.GroupAccuracy(by="site"), width=0.4, design="in_turn").design == "in_turn"


@dataclass(frozen=True)
class OneArm(InTurn):
    """Takes one group, whatever is looked for, and does not say so."""

    name: ClassVar[str] = "one_arm"

    def arms_per_round(self, reward):
        """As many as are looked for."""
        return reward.m


def test_a_design_that_plays_another_number_of_groups_than_it_says_is_told_so():
    a = ba.assess(POOL, ba.LeastAccurate(by="site", m=2), design=OneArm())
    with pytest.raises(ba.DesignError, match=r"arms of shape \(1,\), and a round here has 2.*`arms_per_round`"):
        a.ask(3)
    assert len(ba.assess(POOL, ba.LeastAccurate(by="site"), design=OneArm()).ask(3)) == 3


class Near(ba.GroupAccuracy):
    """How often is the label the predicted class or the one after it?"""

    asks: ClassVar[str] = "How often is the label near the prediction{of_every}?"

    def outcomes(self, pool, items, labels):
        """Return 1 where the label is near the prediction, else 0."""
        return ((labels - pool.predictions[pool.rows_of(items)]) % 3 < 2).astype(np.int64)


def test_a_question(monkeypatch, tmp_path):
    monkeypatch.setitem(QUESTIONS, "Near", Near)
    assert followed(POOL, LABELS, Near(by="site"), tmp_path, design="random").estimate.tolist() == [1.0, 1.0]


@dataclass(frozen=True, eq=False)
class Apart(Question):
    """How far are the accuracies of the best and of the worst group apart?"""

    by: str
    target: str = "pool"
    quantity: ClassVar[str] = "distance"
    scores: ClassVar[tuple[str, ...]] = ("error",)

    def is_single(self, cells):
        """One number."""
        return True

    def cells(self, pool, seed, strata=None):
        """One per group."""
        return pool_cells(pool, self.by, seed=seed)

    def prior(self, pool, cells, prior, strength):
        """Of accuracies."""
        return accuracy_prior(cells, prior, strength, self.default_strength)

    def reward(self, cells, prior):
        """That of accuracies."""
        return AccuracyVarianceReduction()

    def outcomes(self, pool, items, labels):
        """Return 1 where the label agrees with the prediction, else 0."""
        return (labels == pool.predictions[pool.rows_of(items)]).astype(np.int64)

    def truth_of_counts(self, cells, full):
        """Subtract the least accuracy from the greatest."""
        return np.ptp(full[:, 1] / full.sum(1))

    def estimate(self, cells, prior, counts):
        """Compute the mean of some draws."""
        return self.draws(cells, prior, counts, 0, 1000).mean(0)

    def evaluate(self, cells, prior, counts, full):
        """Score by the error."""
        return {"error": np.abs(self.estimate(cells, prior, counts) - self.truth_of_counts(cells, full))}

    def _draw_blocks(self, cells, prior, counts, seed, n):
        return (np.ptp(b, axis=-1) for b in value_draws(prior.update_counts(counts), counts, cells.sizes, seed, n))


class ApartResult(Result):
    """A number."""

    def _answer(self):
        return [f"Groups are {self.estimate:.3f} apart{self.evidence.with_ends(self.interval)}."]

    def table(self):
        """Tabulate it."""
        return Table({"apart": np.array([self.estimate])})

    def plot(self, *, ax=None):
        """Draw it."""
        ax = new_axes(ax, height=3)
        ax.hist(self.draws)
        return ax

    def to_arviz(self):
        """Hand out the accuracies."""
        posterior, prior = self.evidence.thetas(100)
        return self.evidence.to_arviz({"theta": posterior}, {"theta": prior}, {}, {})


def test_a_question_with_a_result_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setitem(QUESTIONS, "Apart", Apart)
    question = Apart(by="site")
    with pytest.raises(ba.QuestionError, match="No class of results belongs to Apart"):
        ba.assess(POOL, question).result()
    monkeypatch.setitem(sys.modules["bayes_assess.results"]._RESULTS, Apart, (ApartResult, Section))
    answer = followed(POOL, LABELS, question, tmp_path, design="random")
    (shown,) = narrow(answer)
    assert shown["apart"].tolist() == [answer.estimate]
    assert 0 < ba.plan(POOL, question, width=0.4).labels.expected < N


@partial(register_dataclass, data_fields=["a", "b"], meta_fields=[])
@dataclass(frozen=True)
class Sceptical(BetaBernoulli):
    """Accuracies of groups that are taken to be low."""

    @classmethod
    def of(cls, n_groups: int) -> Sceptical:
        """Make it for some groups."""
        return cls(np.full(n_groups, 1.0), np.full(n_groups, 4.0))


def test_a_model(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules["bayes_assess.sessions.description"]._BELIEFS, "Sceptical", Sceptical)
    question = ba.GroupAccuracy(by="site")
    before = ba.assess(POOL, question, prior=Sceptical.of(2)).result()
    np.testing.assert_allclose(before.estimate, 0.2)
    followed(POOL, LABELS, question, tmp_path, prior=Sceptical.of(2), design="random")


class Sorted(ArraySource):
    """Items of cells in the order of the file, for whoever reads them from a tape."""

    asked: ClassVar[list[int]] = []

    def take(self, cells, ranks):
        """Return items by cell and place, and keep account of how many were fetched."""
        self.asked.append(len(cells))
        return super().take(cells, ranks)


class Tape(ba.Pool):
    """A pool whose items are where `Sorted` says."""

    def source_of(self, codes, sizes, seed):
        """Return where the items of cells are."""
        return Sorted(self, codes, np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes)


def test_an_item_source(tmp_path):
    pool = Tape(predictions=PREDICTED, groups={"site": SITE})
    a = ba.assess(pool, ba.GroupAccuracy(by="site"), design="random_group", seed=1)
    ids = a.ask(8).ids
    for site in ("north", "south"):
        own = np.sort(ids[SITE[ids] == site])
        assert own.tolist() == np.flatnonzero(SITE == site)[: len(own)].tolist()
    assert sum(Sorted.asked) < 10 * len(ids)  # never all items
    followed(pool, LABELS, ba.GroupAccuracy(by="site"), tmp_path, design="random")


def test_the_command_line_knows_them_by_name(with_measure, with_design, tmp_path):
    path = tmp_path / "pool.csv"
    rows = zip(range(N), BINARY.predictions, SITE, strict=True)
    path.write_text("id,prediction,site\n" + "".join(f"{i},{p},{site}\n" for i, p, site in rows))
    for options in (["--question", "metric", "--measure", "false_alarms"], ["--by", "site", "--design", "in_turn"]):
        out = tmp_path / f"{options[-1]}.db"
        done("start", path, *options, "--classes", "0,1", "--out", out)
        done("ask", out, "-n", "4", "-o", tmp_path / f"{options[-1]}.csv")
        assert "4 pending" in done("status", out)
