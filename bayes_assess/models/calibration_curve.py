"""The calibration curve of a score: how the probability of an event rises with it, whatever the score means.

An event is a positive label, or a prediction that is right. Cell c holds items of about one score. A curve says how
probable the event is there, m_c, and cells scatter around it:

    p_c ~ Beta(nu_c m_c, nu_c (1 - m_c)),   k_c ~ Binomial(n_c, p_c),   nu_c = nu / (4 m_c (1 - m_c))^rho
    m_c = gamma + (1 - gamma) (1 - lambda_c) sigmoid(eta_c)
    eta_c = a + b (exp(v_c) bend_kappa(x_c) - tau) + delta f_c + zeta z_c + s sum_j e_j h_j(x_c) + u_c
    logit lambda_c = logit lambda + l_c

x is a coordinate of the score, f a feature such as the prediction, z another coordinate in standard units, and h_j are
smooth functions of x. Scores may mean different things in groups of items: u_c, v_c and l_c are the effects of a cell's
group, or their means over its items. Where groups are measured one by one, u_c is added to logit m_c in the place of
eta_c: what no score announces may then be frequent in one group alone. Verdicts of other systems are groups of two
sides, whose effects have a mean that is not 0. u may have heavy tails, u sinh(h r) / (h r) with
the mean square r^2 of the effects of all groups, or a scale that labels tell: no contrast of groups is preferred in
either. With rho = 1 the log odds of all cells scatter alike, by about 2 / sqrt(nu),
however improbable the event is; with rho = 0 their rates do, so that of a large cell of rare events anything is
believed.

gamma is the rate of events that no score announces: phi of them to one that is announced. As many items are announced
as lie beyond tau, sigmoid(t - tau) of all, where x is the logit of the rank and t that of the share of predicted
positives; with other coordinates as many as are predicted positive. lambda is the share of the surest items without
the event: a psychometric function with lapses. Either may be 0 with a probability of its own. Every parameter is a
function of a standard normal variable, so that models of different shape, the *members*, are rows of one table of
constants, and their evidence decides between them.

Particles (`_numerics.particles`) stand for the posterior of every member; given a particle, cells are independent
Beta distributions. `CurveState` is a label model: it is carried from label to label inside compiled steps.

Shapes: members B, particles S, cells K, groups G, parameters D.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from bayes_assess._tools import engine
from bayes_assess._tools.arrays import show
from bayes_assess._tools.engine import xp
from bayes_assess._tools.lazy import dist, numpyro
from bayes_assess._tools.pytrees import register_dataclass
from bayes_assess._tools.seeds import generator, jax_key
from bayes_assess._tools.shapes import Array, Bool, Float, Int, PRNGKey
from bayes_assess.errors import PriorError
from bayes_assess.models._numerics import particles as smc
from bayes_assess.models._numerics.beta_binomial import N_FACTORS, CellLabels, log_terms
from bayes_assess.models._numerics.particles import Particles
from bayes_assess.models.curve_members import Members
from bayes_assess.models.curve_rates import (
    N_OF_SCALE,
    N_PARAMETERS,
    N_SMOOTH,
    PARAMETERS,
    CellCoordinates,
    Coordinates,
    at_cells,
    curves_of,
    groups_apart,
    likelihood_parts,
    rates,
    slab,
    tied_shares,
)
from bayes_assess.models.program_items import added

_UNANNOUNCED, _LAPSE = PARAMETERS.index("unannounced"), PARAMETERS.index("lapse")

_N_PARTICLES = 256
_N_DECIDING = 128  # of all members together, on which decisions are taken
_BLOCK, _BLOCK_EAGER = 16, 128  # labelled cells whose likelihood is computed at once


def program(
    coordinates: Coordinates,
    member: Members,
    n: Int[Array, " K"],
    k: Int[Array, " K"] | None = None,
) -> None:
    """Run the generative program of one member: a curve, and the events among the labelled items of every cell.

    Parameters
    ----------
    coordinates : Coordinates
        Of K cells.
    member : Members
        One of them.
    n : (K,)
        Labelled items of every cell.
    k : (K,), optional
        How many of them show the event; left out, they are simulated.
    """
    values = [numpyro.sample(name, dist.Normal(0.0, 1.0)) for name in PARAMETERS]
    with numpyro.plate("smooth", N_SMOOTH):
        deviation = numpyro.sample("deviation", dist.Normal(0.0, 1.0))
    parts = [xp.stack([xp.asarray(value) for value in values]), xp.asarray(deviation)]
    if n_groups := coordinates.groups.shape[1]:
        scale = numpyro.sample("group_scale", dist.Normal(0.0, 1.0))
        parts.append(xp.asarray(scale)[None])
        with numpyro.plate("group", n_groups):
            for name in coordinates.group_effects:
                parts.append(xp.asarray(numpyro.sample(name, dist.Normal(0.0, 1.0))))
    place = xp.concatenate(parts)
    share, strength = rates(place[None], member, coordinates)
    curve = xp.asarray(numpyro.deterministic("curve", share[0]))
    nu = xp.asarray(numpyro.deterministic("nu", strength[0]))
    with numpyro.plate("cell", len(n)):
        numpyro.sample("k", dist.BetaBinomial(nu * curve, nu * (1 - curve), n), obs=k)


class Deciding(NamedTuple):
    """A few particles of all members together, by their weights: what decisions look at.

    Attributes
    ----------
    share, strength : (S, K)
    log_weight : (S,)
    """

    share: Float[Array, "S K"]
    strength: Float[Array, "S K"]
    log_weight: Float[Array, " S"]


@partial(
    register_dataclass,
    data_fields=["members", "coordinates", "key", "n_moved", "counts", "particles", "share", "strength", "deciding"],
    meta_fields=[],
)
@dataclass(frozen=True)
class CurveState:
    """Posterior of the curves after some labels; 32-bit arrays of fixed shapes, a pytree.

    Attributes
    ----------
    members : Members
    coordinates : Coordinates
    key : PRNG key
        Of all moves: the same labels in the same order give the same state.
    n_moved : integer
        How often particles were moved.
    counts : (K, 2)
        Labelled items without and with the event.
    particles : Particles
    share : (B, S, K)
        The curve of every particle.
    strength : (B, S, K)
        nu_c of every particle.
    deciding : Deciding
    """

    members: Members
    coordinates: Coordinates
    key: PRNGKey
    n_moved: Int[Array, ""]
    counts: Int[Array, "K 2"]
    particles: Particles
    share: Float[Array, "B S K"]
    strength: Float[Array, "B S K"]
    deciding: Deciding

    @property
    def log_prior(self) -> Float[Array, " B"]:
        """Log prior probability of every member."""
        return xp.log(self.members.prior)

    @property
    def member_weights(self) -> Float[np.ndarray, " B"]:
        """Posterior probability of every member, on the host."""
        prior, evidence = (np.asarray(x, np.float64) for x in (self.members.prior, self.particles.log_evidence))
        return special.softmax(np.log(prior) + evidence)

    def program_arguments(self, counts: Int[Array, "K 2"] | None = None, member: int = 0) -> dict[str, object]:
        """Return the arguments of `program` under which its posterior is that of one member after `counts`.

        Parameters
        ----------
        counts : (K, 2) integers, optional
            Further labelled items of every cell without and with the event.
        member : int
            Which of the members, 0..B-1.

        Raises
        ------
        LabelError
            If the counts do not fit the cells.
        PriorError
            If there is no such member.
        """
        n_members = len(self.members.prior)
        if not 0 <= member < n_members:
            raise PriorError(f"The members of the belief are 0 to {n_members - 1}; found {show(member)}.")
        told = added(np.asarray(self.counts, np.float64), counts)
        coordinates, members = engine.fetched((self.coordinates, self.members))
        return {"coordinates": coordinates, "member": members[member], "n": told.sum(1), "k": told[:, 1]}

    def observe(self, cell: Int[Array, ""], event: Bool[Array, ""]) -> CurveState:
        """Learn one label of a cell."""
        count = self.counts[cell]
        total = count.sum()

        def log_probability(share, strength):
            # Not 1 less the other: of an improbable label nothing would be left in 32 bits.
            worth = xp.where(event, strength * share + count[1], strength * (1 - share) + count[0])
            return xp.log(worth / (strength + total))

        seen = smc.observe(self.particles, log_probability(self.share[:, :, cell], self.strength[:, :, cell]))
        few = self.deciding
        few = few._replace(log_weight=few.log_weight + log_probability(few.share[:, cell], few.strength[:, cell]))
        counts = engine.at(self.counts)[cell, event.astype(xp.int32)].add(1)
        learned = replace(self, counts=counts, particles=seen, deciding=few)
        uneven = smc.uneven(seen, self.log_prior)
        return engine.cond(uneven.any(), lambda state: rejuvenated(state, uneven), lambda state: state, learned)

    @property
    def cautious(self) -> Bool[Array, "B S 2"]:
        """Of what a particle is a precaution: that positives hide, and that the surest items are not all positive."""
        place, members = self.particles.place, self.members
        spikes = (_UNANNOUNCED, members.spike[:, None]), (_LAPSE, members.lapse_spike[:, None])
        return xp.stack([(spike > 0) & slab(place[..., at], spike)[0] for at, spike in spikes], axis=-1)

    def weighted(self, n: int) -> tuple[Float[Array, "n K"], Float[Array, "n K"], Bool[Array, "n 2"]]:
        """Draw `n` curves with their strengths by their weights, (n, K) each, and what they are `cautious` of."""
        weight = smc.log_joint_weight(self.particles, self.log_prior)
        chosen = smc.resampled(0.5, weight.ravel(), n)
        return _flat(self.share)[chosen], _flat(self.strength)[chosen], _flat(self.cautious)[chosen]


def prior_curves(seed: int, members: Members, coordinates: Coordinates, n_particles: int = _N_PARTICLES) -> CurveState:
    """Return the belief before any label; computed on the host, as nothing needs to be compiled for it.

    Parameters
    ----------
    seed : int
    members : Members
    coordinates : Coordinates
        Of K cells.
    n_particles : int
        Per member.
    """
    n_members, n_cells = len(members.prior), len(coordinates.feature)
    shape = n_members, n_particles, coordinates.n_parameters
    first = smc.prior_particles(generator(seed, "calibration curve"), shape)
    with engine.eager():
        curves = [rates(place, members[i], coordinates) for i, place in enumerate(first.place)]
    share, strength = (np.stack(part).astype(np.float32) for part in zip(*curves, strict=True))
    chosen = _by_weight(_log_joint_weight(members, first), _N_DECIDING)
    deciding = Deciding(_flat(share)[chosen], _flat(strength)[chosen], np.zeros(_N_DECIDING, np.float32))
    state = CurveState(
        members=members,
        coordinates=coordinates,
        key=jax_key(seed, "calibration curve"),
        n_moved=np.zeros((), np.int32),
        counts=np.zeros((n_cells, 2), np.float32),
        particles=first,
        share=share,
        strength=strength,
        deciding=deciding,
    )
    return engine.put(state)


def drawn(
    state: CurveState, n: int
) -> tuple[Float[np.ndarray, "n K"], Float[np.ndarray, "n K"], Bool[np.ndarray, "n 2"]]:
    """Draw `n` curves by their weights, on the host: what `CurveState.weighted` does."""
    held, members = engine.fetched((state.particles, state.members))
    chosen = _by_weight(_log_joint_weight(members, held), n)
    share, strength, cautious = engine.fetched((state.share, state.strength, state.cautious))
    return _flat(share)[chosen], _flat(strength)[chosen], _flat(cautious)[chosen]


def _flat(values: Float[Array, "B S K"]) -> Any:
    """Put the particles of all members into one row: (B, S, K) to (B S, K)."""
    return values.reshape(-1, values.shape[-1])


def _log_joint_weight(members: Members, particles: Particles) -> Float[np.ndarray, "B S"]:
    """Compute `smc.log_joint_weight` on the host."""
    weight = np.asarray(particles.log_weight, np.float64)
    within = weight - np.logaddexp.reduce(weight, axis=1, keepdims=True)
    return (np.log(members.prior) + particles.log_evidence)[:, None] + within


def _by_weight(log_weight: Float[np.ndarray, "B S"], n: int) -> Int[np.ndarray, " n"]:
    """Draw systematically, from the middle of every n-th part of the weight."""
    weight = np.exp(log_weight - log_weight.max()).ravel()
    upto = np.cumsum(weight)
    return np.minimum(np.searchsorted(upto / upto[-1], (0.5 + np.arange(n)) / n), len(upto) - 1)


def _deciding(state: CurveState) -> Deciding:
    share, strength, _ = state.weighted(_N_DECIDING)
    return Deciding(share, strength, xp.zeros(_N_DECIDING, xp.float32))


def rejuvenated(state: CurveState, which: Bool[Array, " B"], n_group_steps: int = smc.N_GROUP_STEPS) -> CurveState:
    """Resample the particles of some members and move them, see `particles.moved` and `moved_by_groups`."""
    _, n_particles, dimension = state.particles.place.shape
    key = engine.random.fold_in(state.key, state.n_moved)
    n_groups = state.coordinates.groups.shape[1]
    n_random = smc.n_random(n_particles, dimension, n_groups, n_group_steps)
    n, k = state.counts.sum(1), state.counts[:, 1]
    constants, together = engine.flattened(state.members)
    # Cells with labels first, so that only their blocks are looked at.
    order, size = _order(n, k), _BLOCK_EAGER if engine.is_eager() else _BLOCK
    n_blocks = -(-(n > 0).sum() // size)

    def cut(ordered):
        if engine.is_eager():
            return ordered[: np.count_nonzero(n)]
        return xp.concatenate([ordered, xp.zeros((-len(n) % size, *ordered.shape[1:]), ordered.dtype)])

    def likelihood(member):
        of_groups = likelihood_parts(state.coordinates) if n_groups else None
        cells, told = engine.tree_map(
            lambda of_cell: cut(of_cell[order]),
            (CellCoordinates.of(member, state.coordinates), CellLabels(k, n, of_groups)),
        )

        def block_of(i):
            return engine.tree_map(lambda of_cell: engine.block(of_cell, i * size, size), (cells, told))

        blocks = [block_of(i) for i in range(n_blocks)] if engine.is_eager() else None  # for all steps of a move

        def of_places(place):
            curves = curves_of(place, member, state.coordinates)
            tied = tied_shares(curves, member, state.coordinates)

            def block(i, total):
                cells, told = block_of(i) if blocks is None else blocks[i]
                return total + log_terms(*at_cells(curves, member, cells, tied), told)

            # Compiled, cells of a block are summed in the end: in one operation with sums, logarithms take longer.
            n_sums = n_groups + 1 if n_groups else 1 if engine.is_eager() else size
            sums = engine.fori_loop(0, n_blocks, block, xp.zeros((n_sums, len(place)), xp.float32))
            return sums.T if n_groups else sums.sum(0)

        return of_places

    rows = xp.stack(constants, axis=1)

    def move(number, held):
        place, weight, known, _, _ = held
        member = together(value.astype(own.dtype) for value, own in zip(rows[number], constants, strict=True))
        bits = engine.random.row_bits(key, number, n_random)
        uniform = ((bits >> 9).astype(xp.float32) + 0.5) * 2.0**-23
        if n_groups:
            apart = groups_apart(member, state.coordinates)
            groups = smc.ParticleGroups(n_groups, N_PARAMETERS + N_OF_SCALE, apart)
            fresh, seen = smc.moved_by_groups(uniform, place, weight, likelihood(member), groups, n_group_steps)
        else:
            fresh, seen = smc.moved(uniform, place, weight, known, likelihood(member))
        return fresh, xp.zeros_like(weight), seen, *rates(fresh, member, state.coordinates)

    held = state.particles
    parts = held.place, held.log_weight, held.log_likelihood, state.share, state.strength
    place, weight, known, share, strength = engine.replaced(which, move, parts)
    after = replace(
        state,
        n_moved=state.n_moved + 1,
        particles=held._replace(place=place, log_weight=weight, log_likelihood=known),
        share=share,
        strength=strength,
    )
    return replace(after, deciding=_deciding(after))


def _order(n: Float[Array, " K"], k: Float[Array, " K"]) -> Int[Array, " K"]:
    """Put cells with labels first; compiled, those side by side that need the same parts of `log_likelihood`."""
    if engine.is_eager():
        return xp.argsort(n == 0, stable=True)
    many, others = k > N_FACTORS, n - k > N_FACTORS
    needs = xp.where(many, xp.where(others, 1, 0), xp.where(others, 2, xp.where(n > N_FACTORS, 3, 4)))
    return xp.argsort(xp.where(n > 0, needs, 5), stable=True)
