"""Simulation-based calibration of every model, as rank plots: the closed form, and NUTS on the program.

    python benchmarks/sbc_ranks.py --out sbc

Parameters are drawn from the prior and labels given the parameters, many times over; under a right posterior the rank
of the true parameter among posterior draws is uniform (Talts et al. 2018, "Validating Bayesian Inference Algorithms
with Simulation-Based Calibration"). Each model of the tests' registry gets one figure: histograms of ranks, and the
empirical CDF of the ranks less the uniform one, with a band that holds the whole curve at once (Säilynoja, Bürkner and
Vehtari 2022, "Graphical test for discrete uniformity and its applications in goodness-of-fit evaluation and multiple
sample comparison"). In grey beside them is a wrong closed form from the registry, on the same data sets. NUTS runs on
some of the data sets that the closed form is calibrated on, so that chance moves both curves alike.

Progress goes to standard error and a Markdown table to standard output. The exit status is 1 if a right posterior
leaves its band, or a wrong one stays inside.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpyro.infer import MCMC, NUTS
from scipy import stats

# The tests import each other from their folder, by pytest's setting pythonpath = ["tests"]; so does this script.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from models.registry import MODELS, ModelCase
from sbc import ranks, uniformity

LABELS = (1, 2, 4, 8)  # of the groups of one data set; groups are independent, so each gives a rank of its own
REPLICATIONS = 1500  # data sets
NUTS_REPLICATIONS = 400  # the first of them
N_DRAWS = 63  # ranks 0..63 fall into 16 or 64 bins of equal probability
WARMUP, THINNING = 300, 8  # of every chain; so thinned, draws have the effective sample size of independent ones
LEVEL = 0.99  # of all bands
BINS = 16
FAULT = "the prior counted twice"  # or, if a model has no such fault, its first
SEED = 1

PALE = "#E4E4E4"
RIGHT = {"color": "#0072B2", "linewidth": 1.8}
WRONG = {"color": "#6E6E6E", "linewidth": 1.0}
START = time.perf_counter()


@dataclass(frozen=True)
class Campaign:
    """Replicated draws of (parameters, labels) of one model, with the same prior and groups every time."""

    case: ModelCase
    prior: Any
    groups: np.ndarray  # (N,) group of every label
    truth: np.ndarray  # (R, G, ...) latent parameters
    outcomes: np.ndarray  # (R, N)
    fault: str  # name of the wrong posterior

    def first(self, n: int) -> Campaign:
        """Keep the first `n` replications."""
        return replace(self, truth=self.truth[:n], outcomes=self.outcomes[:n])


@dataclass(frozen=True)
class Calibration:
    """Ranks of the true parameters, under a right posterior and under a wrong one."""

    posterior: str
    fault: str
    right: np.ndarray  # (R * G,) integers in 0..N_DRAWS
    wrong: np.ndarray  # (R * G,)


@dataclass(frozen=True)
class Deviation:
    """Empirical CDF of ranks less the uniform CDF, and its simultaneous band."""

    curve: np.ndarray  # (L,) at ranks 0..L-1
    band: np.ndarray  # (2, L) lower and upper end

    @property
    def greatest(self) -> tuple[float, float]:
        """Deviation and end of the band where the curve comes nearest to leaving the band, or leaves it farthest."""
        end = np.where(self.curve < 0, *self.band)
        j = np.argmax(self.curve / end)
        return float(self.curve[j]), float(end[j])

    @property
    def inside(self) -> bool:
        """Whether the whole curve lies in the band."""
        deviation, end = self.greatest
        return deviation / end <= 1


# -- ranks -----------------------------------------------------------------------------------------------------------


def simulate(case: ModelCase, key: jax.Array) -> Campaign:
    """Run the program, without observations, once per replication."""
    prior, groups = case.prior(len(LABELS)), np.repeat(np.arange(len(LABELS)), LABELS)

    def replicate(key):
        seeded = numpyro.handlers.seed(case.program, key)
        sites = numpyro.handlers.trace(seeded).get_trace(groups, **case.arguments(prior))
        return sites[case.latent]["value"], sites[case.observed]["value"]

    with jax.enable_x64(True):
        truth, outcomes = jax.jit(jax.vmap(replicate))(jax.random.split(key, REPLICATIONS))
    fault = FAULT if FAULT in case.faults else next(iter(case.faults))
    return Campaign(case, prior, groups, np.asarray(truth), np.asarray(outcomes), fault)


def rank_draws(campaign: Campaign, draws: np.ndarray) -> np.ndarray:
    """Rank the true parameters (R, G, ...) among their draws (L, R, G, ...); one number per group."""
    scalar = campaign.case.scalar
    return ranks(scalar(campaign.truth), scalar(draws), np.random.default_rng(2)).ravel()


def closed_form_ranks(campaign: Campaign, key: jax.Array) -> np.ndarray:
    """Rank the true parameters among draws of the closed-form posterior."""
    case, prior, groups = campaign.case, campaign.prior, campaign.groups
    posteriors = [prior.update(*case.statistics(groups, seen, len(LABELS))) for seen in campaign.outcomes]
    return rank_draws(campaign, stack(posteriors).sample(key, N_DRAWS))


def wrong_ranks(campaign: Campaign, key: jax.Array) -> np.ndarray:
    """Rank the true parameters among draws of the wrong posterior."""
    predictions = np.random.default_rng(3).integers(0, 2, campaign.outcomes.shape)
    labels = campaign.case.label(predictions, campaign.outcomes)
    wrong = campaign.case.faults[campaign.fault]
    posteriors = [wrong(campaign.prior, campaign.groups, *seen) for seen in zip(predictions, labels, strict=True)]
    return rank_draws(campaign, stack(posteriors).sample(key, N_DRAWS))


def stack(posteriors: list) -> Any:
    """Make one posterior of the replications', with parameters (R, G, ...)."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *posteriors)


def nuts_ranks(campaign: Campaign, key: jax.Array) -> np.ndarray:
    """Rank the true parameters among thinned draws of NUTS on the program: one chain per replication, side by side."""
    case = campaign.case

    def chain(key, outcomes):
        schedule = {"num_warmup": WARMUP, "num_samples": N_DRAWS * THINNING, "thinning": THINNING}
        mcmc = MCMC(NUTS(case.program), progress_bar=False, **schedule)
        mcmc.run(key, campaign.groups, outcomes, **case.arguments(campaign.prior))
        return mcmc.get_samples()[case.latent]

    with jax.enable_x64(True):
        keys = jax.random.split(key, len(campaign.outcomes))
        draws = jax.jit(jax.vmap(chain, out_axes=1))(keys, campaign.outcomes)
    return rank_draws(campaign, np.asarray(draws))


def calibrate(case: ModelCase, key: jax.Array) -> list[Calibration]:
    """Rank under the closed form and under NUTS."""
    key_data, key_right, key_wrong, key_nuts = jax.random.split(key, 4)
    report(f"{case.name}: closed form of {REPLICATIONS:,} data sets")
    campaign = simulate(case, key_data)
    right, wrong = closed_form_ranks(campaign, key_right), wrong_ranks(campaign, key_wrong)
    report(f"{case.name}: NUTS on {NUTS_REPLICATIONS:,} of them")
    few = nuts_ranks(campaign.first(NUTS_REPLICATIONS), key_nuts)
    return [
        Calibration("Closed form", campaign.fault, right, wrong),
        Calibration("NUTS on the program", campaign.fault, few, wrong[: few.size]),
    ]


# -- bands -----------------------------------------------------------------------------------------------------------


@cache
def simultaneous_band(n_ranks: int, n_simulations: int = 10_000) -> np.ndarray:
    """Find counts (2, L) of ranks <= 0, 1, ..., L - 1 that uniform ranks all obey at once with probability LEVEL.

    Each count is binomial. Both tails are cut off at one probability, the same everywhere, which simulated uniform
    ranks give: that of the rarest count of each simulation, at its lowest 1 - LEVEL.
    """
    values = N_DRAWS + 1
    at = np.arange(1, values) / values
    simulated = np.random.default_rng(4).multinomial(n_ranks, np.full(values, 1 / values), n_simulations)
    below = simulated.cumsum(1)[:, :-1]
    tail = np.minimum(stats.binom.cdf(below, n_ranks, at), stats.binom.sf(below - 1, n_ranks, at))
    cut = np.quantile(tail.min(1), 1 - LEVEL)
    return stats.binom.ppf([[cut], [1 - cut]], n_ranks, at)


def deviation(rank: np.ndarray) -> Deviation:
    """Compare the empirical CDF of ranks with the uniform one."""
    values = N_DRAWS + 1
    at = np.arange(1, values) / values
    below = np.bincount(rank, minlength=values).cumsum()[:-1]
    return Deviation(below / rank.size - at, simultaneous_band(rank.size) / rank.size - at)


# -- figures and table -----------------------------------------------------------------------------------------------


def draw_histogram(ax: Axes, calibration: Calibration) -> None:
    """Draw how often ranks fall into each bin, and the band that holds LEVEL of the uniform counts of one bin."""
    expected, edges = calibration.right.size / BINS, np.linspace(-0.5, N_DRAWS + 0.5, BINS + 1)
    low, high = stats.binom.interval(LEVEL, calibration.right.size, 1 / BINS)
    ax.axhspan(low / expected, high / expected, color=PALE, linewidth=0)
    ax.axhline(1, color="white", linewidth=1, zorder=0.9)
    for rank, style in ((calibration.wrong, WRONG), (calibration.right, RIGHT)):
        ax.stairs(np.histogram(rank, edges)[0] / expected, edges, baseline=None, **style)
    ax.set_ylabel("frequency / expected")


def draw_deviation(ax: Axes, calibration: Calibration) -> None:
    """Draw the empirical CDF of ranks less the uniform one, and the band that holds LEVEL of such curves."""
    boundary = np.arange(-0.5, N_DRAWS + 1)  # between two ranks; all curves begin and end at 0
    right, wrong = deviation(calibration.right), deviation(calibration.wrong)
    ax.fill_between(boundary, *np.pad(right.band, ((0, 0), (1, 1))), color=PALE, linewidth=0)
    ax.axhline(0, color="white", linewidth=1, zorder=1.1)
    for found, style in ((wrong, WRONG), (right, RIGHT)):
        ax.plot(boundary, np.pad(found.curve, 1), **style)
    ax.set_ylabel("ECDF less uniform CDF")


def draw(name: str, calibrations: list[Calibration]) -> Figure:
    """Draw the rank plots of one model, a row per posterior."""
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06, wspace=0.04)
    axes = figure.subplots(len(calibrations), 2, sharex=True, sharey="col")
    for (left, right), calibration in zip(axes, calibrations, strict=True):
        draw_histogram(left, calibration)
        draw_deviation(right, calibration)
        n = calibration.right.size
        title = f"{calibration.posterior}: {n:,} ranks from {n // len(LABELS):,} data sets"
        left.set_title(title, loc="left", fontsize=9.5)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
        ax.yaxis.label.set_size(9)
        ax.set(xlim=(-0.5, N_DRAWS + 0.5), xticks=[0, 16, 32, 48, N_DRAWS])
    for ax in axes[-1]:
        ax.set_xlabel(f"rank of the true value among {N_DRAWS} draws", fontsize=9)
    handles = [
        Line2D([], [], label="posterior", **RIGHT),
        Line2D([], [], label=f"planted fault: {calibrations[0].fault}", **WRONG),
        Patch(color=PALE, label=f"{100 * LEVEL:g} % band: each bin (left), whole curve (right)"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, columnspacing=1.5, frameon=False, fontsize=8)
    figure.suptitle(name, x=0.02, ha="left", fontsize=11, fontweight="bold")
    return figure


def table_row(name: str, posterior: str, rank: np.ndarray) -> str:
    """Write one line of the Markdown table."""
    found = deviation(rank)
    p_value = f"{uniformity(rank, N_DRAWS, BINS):.2g}"
    greatest, end = found.greatest
    verdict = "inside" if found.inside else "outside"
    return f"| {name} | {posterior} | {rank.size:,} | {p_value} | {greatest:+.4f} | {end:+.4f} | {verdict} |"


def report(line: str) -> None:
    print(f"{time.perf_counter() - START:5.0f} s  {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Calibrate all models."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("sbc"), help="folder for the figures, one per model")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    rows, as_expected = [], True
    for i, case in enumerate(MODELS):
        calibrations = calibrate(case, jax.random.fold_in(jax.random.key(SEED), i))
        draw(case.name, calibrations).savefig(folder / f"{case.name}.png", dpi=200)
        for found in calibrations:
            rows.append(table_row(case.name, found.posterior, found.right))
            rows.append(table_row(case.name, f"fault: {found.fault}", found.wrong))
            as_expected &= deviation(found.right).inside and not deviation(found.wrong).inside
    report(f"figures are in {folder}")
    print("| model | posterior | ranks | chi-square p | greatest ECDF deviation | end of its band | verdict |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    print("\n".join(rows))
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
