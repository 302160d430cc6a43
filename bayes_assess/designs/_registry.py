"""The designs by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import is_one_of, show
from bayes_assess._tools.axes import own_settings
from bayes_assess._tools.lazy import jax
from bayes_assess._tools.shapes import Bool
from bayes_assess._tools.suggestions import did_you_mean
from bayes_assess.designs._arms import ArmDesign
from bayes_assess.designs._base import Design, StateT
from bayes_assess.designs._weighted import WeightedDesign
from bayes_assess.designs.adaptive import Adaptive
from bayes_assess.designs.bandits import BayesUCB, EpsilonGreedy, Thompson, TopTwo
from bayes_assess.designs.importance import Importance, Passive
from bayes_assess.designs.oasis import Oasis
from bayes_assess.designs.poisson import Poisson
from bayes_assess.designs.ranked import ranked_design
from bayes_assess.designs.stratified import Stratified
from bayes_assess.designs.uniform import RandomGroup, RandomItem
from bayes_assess.designs.variance_reduction import VarianceReduction
from bayes_assess.errors import DesignError
from bayes_assess.pool.cells import Cells

_ARM_DESIGNS: tuple[type[ArmDesign], ...] = (Thompson, TopTwo, EpsilonGreedy, BayesUCB, RandomItem, RandomGroup)
_WEIGHTED_DESIGNS: tuple[type[WeightedDesign], ...] = (Adaptive, Oasis, Importance, Poisson, Stratified, Passive)
ARMS: dict[str, type[ArmDesign]] = {design.name: design for design in _ARM_DESIGNS}
WEIGHTED: dict[str, type[WeightedDesign]] = {design.name: design for design in _WEIGHTED_DESIGNS}
BELIEVING: dict[str, type[Design]] = {VarianceReduction.name: VarianceReduction}
MULTILABEL: tuple[str, ...] = (Poisson.name, Passive.name)  # those that serve pools of several labels per item
NUMERIC: tuple[str, ...] = (Poisson.name, Importance.name, Stratified.name, Passive.name)  # of labels that are numbers
DESIGNS: dict[str, type[Design]] = {**ARMS, **WEIGHTED, **BELIEVING}


def find_design(design: object, m: int = 1, serving: Sequence[str] | None = None) -> Design:
    """Return the design of that name, or the given one, if it can serve a question.

    Parameters
    ----------
    design : str or Design
    m : int
        How many groups the question looks for in a round.
    serving : names of designs, optional
        Designs that can serve the question; all that play arms by default. Designs of the user's own only have to play
        arms where some of these do, or to weigh what they draw where some of these do.

    Raises
    ------
    DesignError
        If the name is unknown, the design cannot play that many groups in a round, or it cannot serve the question.

    Examples
    --------
    >>> find_design("epsilon_greedy", m=3)
    EpsilonGreedy(epsilon=0.1)
    """
    serving = tuple(ARMS) if serving is None else serving
    able = [
        name for name, kind in DESIGNS.items() if (kind.max_round is None or kind.max_round >= m) and name in serving
    ]
    if isinstance(design, str) and design in DESIGNS:
        design = DESIGNS[design]()
    ranked = ranked_design(design)
    if ranked is not None:
        raise DesignError(
            f"Design {ranked.name!r} is for ranked lists and PrecisionCurve, and cannot serve this question; these "
            f"can: {_names(able)}."
        )
    if isinstance(design, str):
        raise DesignError(
            f"There is no design {design!r}; the designs are {_names(DESIGNS)}.{did_you_mean(design, DESIGNS)}"
        )
    if not isinstance(design, Design):
        given = f"the class {design.__name__}" if isinstance(design, type) else show(design)
        raise DesignError(f"A design is a name or a Design object, such as Thompson(); found {given}.")
    if not isinstance(getattr(design, "name", None), str):
        raise DesignError(f"A design has a name, such as name: ClassVar[str] = 'mine'; {show(design)} has none.")
    ours = DESIGNS.get(design.name) is type(design)
    kinds = {DESIGNS[name].plays_arms for name in serving if name in DESIGNS}
    if (ours and design.name not in serving) or (not ours and kinds and design.plays_arms not in kinds):
        raise DesignError(f"Design {design.name!r} cannot serve this question; these can: {_names(able)}.")
    if design.max_round is not None and m > design.max_round:
        raise DesignError(
            f"Design {design.name!r} plays one group at a time and cannot look for m = {m} groups; "
            f"these can: {_names(able)}."
        )
    return design


EAGER, COMPILED = "eager", "compiled"


def find_engine(engine: str | None, design: Design, n_cells: int, prior: object = None) -> str:
    """Return what runs the steps of a session: what was asked for, or what answers soonest.

    Raises
    ------
    DesignError
        If there is no such engine, or the design has no eager steps, or none on such a prior.

    Examples
    --------
    >>> find_engine(None, DESIGNS["oasis"](), n_cells=257), find_engine(None, DESIGNS["oasis"](), n_cells=1_000_000)
    ('eager', 'compiled')
    """
    able = _has_eager_steps(design)
    if engine is None:
        return EAGER if able and design.can_be_eager(prior) and n_cells <= design.eager_up_to else COMPILED
    if not is_one_of(engine, (EAGER, COMPILED)):
        raise DesignError(f"An engine is {EAGER!r} or {COMPILED!r}; found {show(engine)}.")
    if engine == EAGER and not able:
        raise DesignError(f"Steps of design {design.name!r} are always compiled; leave out the engine.")
    if engine == EAGER and not design.can_be_eager(prior):
        raise DesignError(f"Steps on a prior of your own, {type(prior).__name__}, are compiled; leave out the engine.")
    return engine


def compiled_start(
    design: Design[StateT], cells: Cells, prior: object, reward: object, playable: Bool[np.ndarray, " K"] | None = None
) -> StateT:
    """Return a state without labels for compiled steps, as `Design.init` starts it.

    It is made on NumPy where the design has eager steps: JAX would compile a program for each operation and shape.
    """
    with engine.eager(_has_eager_steps(design) and design.can_be_eager(prior)):
        state = design.init(cells, prior, reward, playable)
    with own_settings(), engine.compiled():
        return jax.device_put(design.compiled_state(state))


def _has_eager_steps(design: Design) -> bool:
    return design.eager_up_to > 0 and DESIGNS.get(design.name) is type(design)


def check_campaign(design: Design, oracle: str = "deterministic") -> None:
    """Raise DesignError if a design cannot draw the labels of such an oracle.

    Parameters
    ----------
    design : Design
    oracle : {"deterministic", "stochastic"}
        Whether an item has one label, whoever gives it, or every label of it is a draw from p(y | x).

    Examples
    --------
    >>> check_campaign(Passive(), "stochastic")
    >>> check_campaign(Stratified(), "stochastic")
    Traceback (most recent call last):
    bayes_assess.errors.DesignError: Design 'stratified' takes one label of every item for its truth, ...
    """
    if oracle not in design.oracles:
        able = _names(name for name, kind in DESIGNS.items() if oracle in kind.oracles)
        raise DesignError(
            f"Design {design.name!r} takes one label of every item for its truth, and with oracle={oracle!r} an item "
            f"may be asked again; these can: {able}."
        )
    if design.of_draws_only and oracle == "deterministic":
        raise DesignError(
            "Adaptive(oracle='stochastic') is for labels that differ from draw to draw of an item, and this session or "
            "study takes one label of every item for its truth. Leave the option out, or pass oracle='stochastic' to "
            "`assess` or `simulate`."
        )


def _names(names) -> str:
    return ", ".join(repr(name) for name in names)
