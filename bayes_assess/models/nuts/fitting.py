"""NUTS on any NumPyro program, ours or the user's, and its draws as an ArviZ object.

The program is run once with the data to learn its sites: which are latent, which observed, and on which plates they
lie. Chains that have not converged, or that diverged, are reported by one warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpyro
from numpyro.infer import MCMC, NUTS, Predictive, log_likelihood

from bayes_assess._tools.arrays import show
from bayes_assess._tools.axes import x64
from bayes_assess._tools.callers import warn_caller
from bayes_assess._tools.compiled_cache import keep_compiled, leave_room
from bayes_assess._tools.lazy import jax, jnp
from bayes_assess._tools.progress import progress as shown
from bayes_assess._tools.shapes import Array, ArrayLike, Key
from bayes_assess._tools.to_arviz import to_arviz
from bayes_assess.errors import InferenceError
from bayes_assess.models.nuts.convergence import findings
from bayes_assess.models.nuts.program_sites import (
    as_array,
    check_latent,
    joined_data,
    name_axes,
    observed_data,
    trace_sites,
    what_is_not_finite,
    without_observations,
)

if TYPE_CHECKING:
    from numpyro.infer.hmc import HMCState

Draws = dict[str, np.ndarray]

_MIN_DRAWS = 4  # two halves of two draws
_STATISTICS = {  # NumPyro's names and ArviZ's
    "diverging": "diverging",
    "num_steps": "n_steps",
    "accept_prob": "acceptance_rate",
    "energy": "energy",
    "adapt_state.step_size": "step_size",
    "potential_energy": "lp",
}


class ConvergenceWarning(UserWarning):
    """The draws of a Markov chain should not be trusted yet; the text says why and what to do."""


def fit(
    program: Callable[..., object],
    data: Mapping[str, object] | None = None,
    *,
    seed: int = 0,
    chains: int = 4,
    warmup: int = 500,
    draws: int = 1000,
    coords: Mapping[str, ArrayLike] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    progress: bool = False,
    target_accept: float = 0.9,
    max_tree_depth: int = 10,
    pointwise: bool = True,
    **arguments: object,
) -> Any:
    """Draw from the posterior of a NumPyro program by NUTS.

    Outcomes are simulated by the program without its observations. By convention an argument that the program passes
    to ``obs=`` may be None, and is None then (``def program(x, y=None)``). A program that cannot take None there, say
    because it asks for the length of `y`, is run with the data and the observed sites are drawn afresh: the same, as
    long as `y` enters nowhere else.

    Parameters
    ----------
    program : callable
        A NumPyro program with continuous latent sites. Work is done in 64-bit floats.
    data : mapping of str to anything, optional
        Keyword arguments of the program. Lists and series of numbers become NumPy arrays.
    **arguments
        More of them, or all, as ``fit(program, **belief.program_arguments(counts))``; those whose names are options of
        this function stand in `data`.
    seed : int
        The same seed gives the same draws.
    chains, warmup, draws : int
        Chains, run side by side; adaptation steps, thrown away, and draws kept of every chain.
    coords : mapping of str to array of shape (length,), optional
        Labels along a dimension, such as ``{"group": ["cat", "dog"]}``; otherwise 0, 1, ...
    dims : mapping of str to sequence of str, optional
        Names of all axes of a site. Otherwise an axis is named after its plate, or else ``<site>_dim_<axis>``.
    progress : bool
        Whether to show a progress bar.
    target_accept : float in (0, 1)
        Acceptance that the step size aims at: closer to 1, smaller steps.
    max_tree_depth : int
        At most 2^max_tree_depth - 1 leapfrog steps per draw.
    pointwise : bool
        Whether to add the groups that hold a number for every draw and observation: posterior predictive, prior
        predictive and log likelihood.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        The first with ArviZ 0.2x, the second with ArviZ 1.x. Groups ``posterior`` (chains, draws, ...),
        ``sample_stats``, ``prior`` (1, draws, ...; none if the prior is improper), ``observed_data``,
        ``posterior_predictive``, ``prior_predictive`` and ``log_likelihood``.

    Raises
    ------
    InferenceError
        If the program or the data cannot be used: names that do not fit, NaN or impossible observations, no latent
        site or a discrete one, outcomes whose shape is not that of the data, a density that is finite nowhere.
    OutputError
        If `coords` or `dims` have other sizes than the sites.

    Warns
    -----
    ConvergenceWarning
        Once, if R-hat exceeds 1.01, an effective sample size is below 100 per chain, draws diverged or the
        maximum tree depth was hit.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_assess.models.beta_bernoulli import program
    >>> data = {"groups": [0, 0, 0, 1], "agreements": [1, 1, 0, 1], "a": np.ones(2), "b": np.ones(2)}
    >>> draws = fit(program, data, coords={"group": ["cat", "dog"]})
    >>> theta = draws["posterior"]["theta"]
    >>> theta.dims, abs(float(theta.sel(group="cat").mean()) - 3 / 5) < 0.02
    (('chain', 'draw', 'group'), True)

    The models here hand out the arguments of their programs, for ``fit(program, **arguments)``:

    >>> from bayes_assess import BetaBernoulli
    >>> counts = np.array([[1, 3], [0, 1]])  # disagreements and agreements of two groups
    >>> arguments = BetaBernoulli(np.ones(2), np.ones(2)).program_arguments(counts)
    >>> arguments.keys() == data.keys(), np.bincount(arguments["groups"]), arguments["agreements"].sum()
    (True, array([4, 1]), np.int64(4))
    """
    settings = _Settings(seed, chains, warmup, draws, progress, target_accept, max_tree_depth, pointwise)
    data = joined_data(program, data, arguments)
    keep_compiled()
    leave_room()
    with shown("Sampling"), jax.debug_key_reuse(False), jax.check_tracer_leaks(False):  # which NumPyro is not made for
        run = _run(program, data, settings, coords or {}, dims or {})
    trouble = _trouble(run, settings)
    if trouble:
        warn_caller(trouble, ConvergenceWarning)
    attrs = {
        "inference_library": "numpyro",
        "inference_library_version": numpyro.__version__,
        "seed": seed,
        "tuning_steps": warmup,
    }
    return to_arviz(**run.groups, dims=run.dims, coords=run.coords, attrs=attrs, chains=True)


@dataclass(frozen=True)
class _Run:
    """Draws and what is known of their axes."""

    groups: dict[str, Draws]  # ArviZ group -> site -> (chains, draws, ...), or the data as they are
    dims: dict[str, list[str]]
    coords: dict[str, np.ndarray]


@dataclass(frozen=True)
class _Settings:
    """How to sample; see `fit`."""

    seed: int
    chains: int
    warmup: int
    draws: int
    progress: bool
    target_accept: float
    max_tree_depth: int
    pointwise: bool

    def __post_init__(self) -> None:
        least = {"seed": None, "chains": 1, "warmup": 0, "draws": _MIN_DRAWS, "max_tree_depth": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if not isinstance(value, int | np.integer):
                raise InferenceError(f"`{name}` is an integer; found {show(value)}.")
            if bound is not None and value < bound:
                raise InferenceError(f"`{name}` is at least {bound}; found {value}.")
        if not -(2**63) <= self.seed < 2**63:
            raise InferenceError(f"`seed` is an integer of 64 bits; found {self.seed}.")
        if not 0 < self.target_accept < 1:
            raise InferenceError(f"`target_accept` lies between 0 and 1; found {show(self.target_accept)}.")


@x64
def _run(
    program: Callable[..., object],
    data: Mapping[str, object],
    settings: _Settings,
    coords: Mapping[str, ArrayLike],
    dims: Mapping[str, Sequence[str]],
) -> _Run:
    """Inspect the program, sample it, and collect every group."""
    key_trace, key_chains, key_prior, key_predictive = jax.random.split(jax.random.key(settings.seed), 4)
    arguments = {name: as_array(value) for name, value in data.items()}
    model = partial(program, **arguments)
    trace = trace_sites(model, key_trace)
    observed = observed_data(trace)
    axes, labels = name_axes(trace, dims, coords)
    check_latent(trace)
    simulator = without_observations(program, arguments, trace, key_trace) if settings.pointwise and observed else None

    sample = partial(_sample, model, settings)
    # A start and the adaptation are some dozens of operations, each compiled by itself unless all are together; a
    # progress bar is drawn between the steps.
    try:
        posterior, statistics, moving = (sample if settings.progress else jax.jit(sample))(key_chains)
    except RuntimeError as error:  # by which NumPyro says the same, unless it is being compiled
        if "valid initial parameters" not in str(error):
            raise
        raise _no_start(model, key_trace) from error
    if not moving:
        raise _no_start(model, key_trace)
    groups = {"posterior": posterior, "sample_stats": statistics, "observed_data": observed}

    try:
        # Without observations to be drawn afresh, the program itself draws its latent sites from the prior.
        prior = Predictive(simulator or model, num_samples=settings.draws, return_sites=list(axes))
        drawn = {name: values[None] for name, values in jax.jit(prior)(key_prior).items()}
    except NotImplementedError:  # an improper prior has no draws
        drawn = {}
    groups["prior"] = {name: values for name, values in drawn.items() if name in posterior}
    if simulator is not None:
        latent = {name: values for name, values in posterior.items() if trace.sites[name].kind == "sample"}
        groups["prior_predictive"] = {name: values for name, values in drawn.items() if name in observed}
        predictive = Predictive(simulator, latent, return_sites=list(observed), batch_ndims=2)
        groups["posterior_predictive"] = jax.jit(predictive)(key_predictive)
        log_probability = jax.jit(partial(log_likelihood, model, batch_ndims=2))(latent)
        groups["log_likelihood"] = {name: log_probability[name] for name in observed}
    return _Run(jax.tree.map(np.asarray, groups), axes, labels)


def _sample(
    model: Callable[[], object], settings: _Settings, key: Key[jax.Array, ""]
) -> tuple[dict[str, Array], dict[str, Array], Array]:
    """Run all chains.

    Returns
    -------
    posterior : mapping of str to (chains, draws, ...) floats
    statistics : mapping of str to (chains, draws)
        Of the sampler, by ArviZ's names.
    moving : bool
        Whether all chains found a start at which log density and gradient are finite; others never leave theirs.
    """
    kernel = NUTS(model, target_accept_prob=settings.target_accept, max_tree_depth=settings.max_tree_depth)
    mcmc = MCMC(
        kernel,
        num_warmup=settings.warmup,
        num_samples=settings.draws,
        num_chains=settings.chains,
        chain_method="vectorized",
        progress_bar=settings.progress,
    )
    mcmc.run(key, extra_fields=tuple(_STATISTICS))
    fields = mcmc.get_extra_fields(group_by_chain=True)
    statistics = {name: fields[field] for field, name in _STATISTICS.items()}
    statistics["lp"] = -statistics["lp"]
    # A tree of depth d has at most 2^d - 1 steps.
    statistics["tree_depth"] = jnp.floor(jnp.log2(statistics["n_steps"])).astype(int) + 1
    last = cast("HMCState", mcmc.last_state)
    moving = jnp.array([jnp.isfinite(values).all() for values in (last.potential_energy, *last.z_grad.values())]).all()
    return mcmc.get_samples(group_by_chain=True), statistics, moving


def _no_start(model: Callable[[], object], key: Key[jax.Array, ""]) -> InferenceError:
    return InferenceError(
        "NUTS found no start at which the program's log density and its gradient are finite: "
        f"{what_is_not_finite(model, key)}."
    )


def _trouble(run: _Run, settings: _Settings) -> str:
    """Say what speaks against the draws and what may help; empty if nothing does."""
    statistics = run.groups["sample_stats"]
    total = statistics["diverging"].size
    problems, advice = [], []
    diverged = int(statistics["diverging"].sum())
    if diverged:
        problems.append(f"{diverged} of {total} draws diverged")
        advice.append(f"a higher target_accept (now {settings.target_accept})")
    slow = findings(run.groups["posterior"], run.dims, run.coords)
    if slow:
        problems.extend(slow)
        advice.append(f"more draws (draws={4 * settings.draws}, warmup={2 * max(settings.warmup, 250)})")
    deep = int((statistics["n_steps"] >= 2**settings.max_tree_depth - 1).sum())
    if deep:
        problems.append(f"{deep} of {total} draws hit the maximum tree depth")
        advice.append(f"a greater max_tree_depth (now {settings.max_tree_depth})")
    if not problems:
        return ""
    advice.append("another parametrisation (group effects as mean + scale * standard normal) or stronger priors")
    return f"The draws should not be trusted yet: {'; '.join(problems)}. What may help: {'; '.join(advice)}."
