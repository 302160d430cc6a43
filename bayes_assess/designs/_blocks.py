"""Campaigns side by side that ask for blocks of items, on NumPy: what plans follow in the place of single labels.

A block is chosen in a few rounds. Items of a round are chosen as if those of the rounds before came back at the
posterior mean, which is the design asking for small batches; their labels are learned when the block is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayes_assess._tools.shapes import Bool, Float, Int
from bayes_assess.models.belief import Belief, is_mixture

_MOST_HYPERGEOMETRIC = 10**9  # items
_ROUNDING = 1e-14  # relative, of values that are equal


@dataclass(frozen=True)
class SideBySide:
    """What F campaigns on the same K cells know before a round.

    Attributes
    ----------
    posterior : Belief
        Over (F, K, ...), after all labels but `since`.
    since : (F, K, O) integers
        Labels that came after the points of a mixture were placed.
    counts : (F, K, O) integers
        All labels by outcome.
    pending, remaining : (F, K) integers
        Items chosen in the rounds before, and those that may still be asked for.
    weight : (K,)
        Shares of the pool.
    reward : Reward
        What a label is worth, by moments.
    """

    posterior: Belief
    since: Int[np.ndarray, "F K O"]
    counts: Int[np.ndarray, "F K O"]
    pending: Int[np.ndarray, "F K"]
    remaining: Int[np.ndarray, "F K"]
    weight: Float[np.ndarray, " K"]
    reward: Any

    @property
    def available(self) -> Bool[np.ndarray, "F K"]:
        """Whether a cell has an item that may be asked for."""
        return self.remaining > 0

    def parts(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Any:
        """Draw parts of the posterior, (*shape, F, K, ...), if it is a mixture: a closed form is its only part."""
        whole: Any = self.posterior
        return (whole.components(rng, shape) if is_mixture(whole) else whole).update_counts(self.since)

    def whole_or_parts(self, rng: np.random.Generator, n_parts: int) -> Any:
        """Return the posterior where it has all labels, else parts of it, (n_parts, F, K, ...), or a closed form."""
        return self.parts(rng, (n_parts,)) if self.since.any() else self.posterior

    def after_reserving(self, asked: Int[np.ndarray, "F K"]) -> SideBySide:
        """Return the campaigns when these items are out."""
        return replace(self, pending=self.pending + asked, remaining=self.remaining - asked)


def choose_in_rounds(
    choose: Callable[[SideBySide, int], Int[np.ndarray, "n F"]], campaigns: SideBySide, n: int, n_rounds: int
) -> Int[np.ndarray, "F K"]:
    """Choose `n` items of every campaign in rounds.

    Parameters
    ----------
    choose : callable
        From campaigns and a number of items to the cells of so many items each, (n, F), -1 where there is none.
    campaigns : SideBySide
        Each with `n` items that may be asked for.
    n, n_rounds : int

    Examples
    --------
    >>> none, some = np.zeros((1, 2), int), np.array([[3, 1]])
    >>> side = SideBySide(None, none[..., None], none[..., None], none, some, np.ones(2), None)
    >>> def second_if_left(now, n):
    ...     return np.where(now.available[:, 1], 1, 0)[None].repeat(n, 0)
    >>> choose_in_rounds(second_if_left, side, 3, n_rounds=3).tolist()
    [[2, 1]]
    """
    start, size = campaigns, -(-n // n_rounds)
    missing = np.full(len(campaigns.remaining), n)
    while (most := int(missing.max())) > 0:
        length = min(size, most)
        cells = np.where(np.arange(length)[:, None] < missing, choose(campaigns, length), -1)
        asked = np.zeros_like(campaigns.remaining)
        np.add.at(asked, (np.broadcast_to(np.arange(len(missing)), cells.shape)[cells >= 0], cells[cells >= 0]), 1)
        asked = np.minimum(asked, campaigns.remaining)
        campaigns, missing = campaigns.after_reserving(asked), missing - asked.sum(1)
    return campaigns.pending - start.pending


def best_cells(
    rng: np.random.Generator, value: Float[np.ndarray, "*n F K"], available: Bool[np.ndarray, "*n F K"]
) -> Int[np.ndarray, "*n F"]:
    """Choose the available cell of the greatest value, ties at random up to rounding; -1 where none is available.

    Examples
    --------
    >>> value, available = np.array([[0.3, 0.9, 0.5], [0.1, 0.2, 0.3]]), np.array([[True, False, True], [False] * 3])
    >>> best_cells(np.random.default_rng(0), value, available).tolist()
    [2, -1]
    """
    value, available = np.broadcast_arrays(np.where(available, value, -np.inf), available)
    top = value.max(-1, keepdims=True)
    tied = available & (value >= top - _ROUNDING * np.abs(top))
    return np.where(available.any(-1), np.where(tied, rng.random(value.shape), -1.0).argmax(-1), -1)


def drawn_without_replacement(
    rng: np.random.Generator, left: Int[np.ndarray, "*batch O"], n: Int[np.ndarray, "*batch"]
) -> Int[np.ndarray, "*batch O"]:
    """Draw `n` of the items left without replacement, and count them by kind.

    Items of a kind are hypergeometric given those of the kinds before. Of very many items it makes no odds whether one
    comes back, and only then does NumPy's generator draw no hypergeometric variables.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> drawn_without_replacement(rng, np.array([[2, 3, 0], [1, 0, 4]]), np.array([5, 0])).tolist()
    [[2, 3, 0], [0, 0, 0]]
    """
    drawn, n = np.zeros_like(left), np.array(n)
    rest = left.sum(-1)
    for kind in range(left.shape[-1]):
        here = left[..., kind]
        rest = rest - here
        total = here + rest
        if total.max(initial=0) < _MOST_HYPERGEOMETRIC:
            drawn[..., kind] = rng.hypergeometric(here, rest, n)
        else:
            least, most = np.maximum(n - rest, 0), np.minimum(n, here)
            drawn[..., kind] = np.clip(rng.binomial(n, here / np.maximum(total, 1)), least, most)
        n = n - drawn[..., kind]
    return drawn
