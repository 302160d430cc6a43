"""The setting of a campaign: what its decisions depend on before any label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.acquisition.rewards import Reward
from bayes_assess.designs import Design, State
from bayes_assess.estimators.drawn_items import ItemWeights
from bayes_assess.measures.cell_measure import CellMeasure
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.pool.pool import Pool


class Setting(NamedTuple):
    """A question put to a pool, in the order in which ``Design.init`` takes it; `Question.setting` makes it.

    Attributes
    ----------
    cells : Cells
        The pool's K cells.
    prior : Belief
        What is believed of every cell before any label.
    reward : Reward or CellMeasure
        What one label is worth, or what is measured.
    playable : (K,) booleans
        Cells whose items are worth a label.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> setting = ba.LeastAccurate().setting(ba.Pool(predictions=["cat", "cat", "dog"]))
    >>> setting.n_playable
    3
    >>> ba.designs.Thompson().init(*setting).remaining.tolist()
    [2, 1]
    """

    cells: Cells
    prior: Any
    reward: Reward | CellMeasure
    playable: Bool[np.ndarray, " K"]

    def of_draws(self) -> Setting:
        """Return the setting in which labels are draws from p(y | x), and the measure is that of expected losses.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> setting = ba.Metric("f1").setting(ba.Pool(predictions=[0, 0, 1])).of_draws()
        >>> setting.reward.stochastic, setting.cells.measure.stochastic
        (True, True)
        """
        cells, reward = cast("tuple[Any, Any]", (self.cells, self.reward))  # of a measure
        measure = replace(reward, stochastic=True)
        return self._replace(cells=replace(cells, measure=measure), reward=measure)

    @property
    def stochastic(self) -> bool:
        """Whether labels are draws from p(y | x)."""
        return self.reward.stochastic

    @property
    def n_outcomes(self) -> int:
        """Outcomes that a label can have."""
        return self.reward.n_outcomes

    @property
    def n_playable(self) -> int:
        """Items that are worth a label."""
        return int(self.cells.sizes[self.playable].sum())


class Labelled(NamedTuple):
    """What a session knows of its pool by now, from which its question is answered.

    Attributes
    ----------
    pool, cells
        Of the session; the cells have the measure of the question that is answered.
    design : Design
    state : State
        Of the design, with that measure.
    codes : (M,) integers
        Codes of the labels as the question knows them, negative where there is none.
    items : (n,) integers
        Labelled items.
    volunteered : (n,) booleans
        Whether nobody asked for them.
    weights : ItemWeights, optional
        Of the labelled items, where a session keeps account of rounds; None while no item is labelled that was drawn.
    inclusion : (K,)
        Probability that an item of every cell was drawn, where a session keeps account of rounds; else 1.
    skipped : (K,) integers
        Items set aside.
    seed : int
    level : float
        Of intervals.
    given : function, optional
        Returns what the posterior of another model says of the question, in the place of what the design finds.
    """

    pool: Pool
    cells: Cells
    design: Design
    state: State
    codes: Int[np.ndarray, " M"]
    items: Int[np.ndarray, " n"]
    volunteered: Bool[np.ndarray, " n"]
    weights: ItemWeights | None
    inclusion: Float[np.ndarray, " K"]
    skipped: Int[np.ndarray, " K"]
    seed: int
    level: float
    given: Callable[[Labelled], dict[str, object]] | None = None


class Simulated(Protocol):
    """What simulated campaigns of a design found, R of them at B budgets."""

    @property
    def record(self) -> Any:
        """What the design records."""
        ...

    @property
    def divergence(self) -> Float[np.ndarray, "R B"] | None:
        """Of the proposals from the best ones, for designs that weigh draws."""
        ...

    @property
    def prior(self) -> Belief:
        """What was believed before any label."""
        ...

    @property
    def cells(self) -> Cells:
        """The pool as decisions see it."""
        ...

    @property
    def full(self) -> Int[np.ndarray, "K O"]:
        """Items of every cell by outcome."""
        ...

    @property
    def counts(self) -> Int[np.ndarray, "R B K O"]:
        """Labels of every cell by outcome."""
        ...
