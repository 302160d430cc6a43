"""The designs by name."""

from __future__ import annotations

from bayes_assess.acquisition.rewards import Reward
from bayes_assess.designs._base import Design
from bayes_assess.designs.bandits import BayesUCB, EpsilonGreedy, Thompson, TopTwo
from bayes_assess.designs.uniform import RandomGroup, RandomItem
from bayes_assess.errors import DesignError

_CLASSES: tuple[type[Design], ...] = (Thompson, TopTwo, EpsilonGreedy, BayesUCB, RandomItem, RandomGroup)
DESIGNS: dict[str, type[Design]] = {design.name: design for design in _CLASSES}


def find_design(design: str | Design, reward: Reward) -> Design:
    """Return the design of that name, or the given one, if it can serve a question with this reward.

    Parameters
    ----------
    design : str or Design
    reward : Reward
        What the question pays for a label.

    Raises
    ------
    DesignError
        If the name is unknown or the design cannot play that many groups in a round.

    Examples
    --------
    >>> from bayes_assess.acquisition.rewards import LowAccuracy
    >>> find_design("epsilon_greedy", LowAccuracy())
    EpsilonGreedy(epsilon=0.1)
    """
    if isinstance(design, str):
        if design not in DESIGNS:
            raise DesignError(f"There is no design {design!r}; the designs are {_names(DESIGNS)}.")
        design = DESIGNS[design]()
    if not isinstance(design, Design):
        raise DesignError(f"A design is a name or a Design object; found {type(design).__name__}.")
    if design.max_round is not None and reward.m > design.max_round:
        able = [name for name, other in DESIGNS.items() if other.max_round is None or other.max_round >= reward.m]
        raise DesignError(
            f"Design {design.name!r} plays one group at a time and cannot look for m = {reward.m} groups; "
            f"these can: {_names(able)}."
        )
    return design


def _names(names) -> str:
    return ", ".join(repr(name) for name in names)
