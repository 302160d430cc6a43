"""Labels of a calibration curve that come in blocks: the belief of `calibration_curve`, for simulated campaigns.

The posterior after a block is what it is after its labels one by one. Particles are weighed by all of them at once, and
moved afterwards where their weights have become far more uneven than a session lets them, as every future has particles
of its own and their errors average out. On the host.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bayes_assess._tools import engine
from bayes_assess._tools.shapes import Int
from bayes_assess.models._numerics import particles as smc
from bayes_assess.models._numerics.beta_binomial import log_likelihood
from bayes_assess.models._numerics.particles import Particles
from bayes_assess.models.calibration_curve import CurveState, Deciding, drawn, rejuvenated

_N_DECIDING = 128


class Effort(NamedTuple):
    """How closely futures follow the belief of a session.

    Attributes
    ----------
    negligible : float
        Probability of a member below which a future does without.
    uneven : float
        Effective share of the particles below which they are moved.
    n_group_steps : int
        Of a move of parameters by groups.
    """

    negligible: float
    uneven: float
    n_group_steps: int

    @classmethod
    def of(cls, state: CurveState) -> Effort:
        """Return less with groups, whose many parameters take five times as long to move, for plans that are alike."""
        return Effort(0.03, 0.1, 6) if state.coordinates.groups.shape[1] else Effort(1e-3, 0.35, smc.N_GROUP_STEPS)


def thinned(state: CurveState, rng: np.random.Generator, n: int) -> CurveState:
    """Return the belief with `n` of the particles of every member that counts.

    Parameters
    ----------
    state : CurveState
        Of NumPy arrays.
    rng : Generator
        Its draws number the moves to come, too.
    n : int
        An even number.

    Returns
    -------
    CurveState
    """
    members = np.flatnonzero(state.member_weights > Effort.of(state).negligible)
    held = state.particles
    with engine.eager():
        # With their weights: where these are uneven, the next labels are to move them, as they would the session's.
        chosen = np.stack([rng.permutation(held.log_weight.shape[1])[:n] for _ in members])
        at = members[:, None], chosen
        fewer = replace(
            state,
            members=state.members[members],
            key=engine.random.key(int(rng.integers(2**62))),
            particles=Particles(
                held.place[at], held.log_weight[at], held.log_evidence[members], held.log_likelihood[at]
            ),
            share=state.share[at],
            strength=state.strength[at],
        )
        return _decided(fewer)


def learned(state: CurveState, labels: Int[np.ndarray, "K 2"]) -> CurveState:
    """Learn the labels of a block.

    Parameters
    ----------
    state : CurveState
        Of NumPy arrays.
    labels : (K, 2) integers
        Items without and with the event.

    Returns
    -------
    CurveState

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(scores=np.linspace(0.05, 0.95, 40)), ba.Metric("f1"), seed=0)
    >>> belief = thinned(a._state.belief, np.random.default_rng(0), 32)
    >>> block = np.zeros((a.cells.n_cells, 2), int)
    >>> block[-3:, 1] = 1  # the items of the greatest scores are positive
    >>> learned(belief, block).counts.sum(0).tolist()
    [0.0, 3.0]
    """
    cells = np.flatnonzero(labels.sum(1))
    before = state.counts[cells]
    after = before + labels[cells].astype(before.dtype)
    shape = state.share.shape
    with engine.eager():
        share, strength = (part[..., cells].reshape(-1, len(cells)) for part in (state.share, state.strength))
        then, now = (log_likelihood(share, strength, told[:, 1], told.sum(1)) for told in (before, after))
        seen = smc.observe(state.particles, (now - then).reshape(shape[:2]))
        counts = state.counts.copy()
        counts[cells] = after
        after_block = replace(state, counts=counts, particles=seen)
        effort = Effort.of(state)
        uneven = smc.uneven(seen, after_block.log_prior, effort.uneven)
        return rejuvenated(after_block, uneven, effort.n_group_steps) if uneven.any() else _decided(after_block)


def _decided(state: CurveState) -> CurveState:
    """Choose anew the curves that decisions look at."""
    share, strength, _ = drawn(state, _N_DECIDING)
    return replace(state, deciding=Deciding(share, strength, np.zeros(_N_DECIDING, np.float32)))
