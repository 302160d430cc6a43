"""Draw the figure of the page on designs: the error of F1 against labels, by design.

    python docs/compare_designs.py

It writes docs/figures/designs.png and prints the errors that the figure shows, in about two minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import bayes_assess as ba  # noqa: E402 (the package beside this file)

DESIGNS = ["variance_reduction", "adaptive", "importance", "stratified", "passive"]
BUDGETS = [50, 100, 200, 400]
REPEATS = 60


def made_pool(n_items: int = 20_000, share: float = 0.02, seed: int = 0) -> tuple[ba.Pool, np.ndarray]:
    """Make a pool with rare positives whose scores rank well and promise too much, and its labels."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < share).astype(int)
    evidence = rng.normal(2.6 * truth, 1.0)
    return ba.Pool(scores=1 / (1 + np.exp(4.0 - 2.6 * evidence)), predictions=(evidence > 2.4).astype(int)), truth


def main() -> int:
    """Simulate, print and draw."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    pool, truth = made_pool()
    study = ba.simulate(pool, truth, ba.Metric("f1"), designs=DESIGNS, budgets=BUDGETS, repeats=REPEATS)
    square = {name: (study.estimates[name] - study.truth) ** 2 for name in DESIGNS}
    print("labels             ", *(f"{n:5}" for n in BUDGETS))
    for name, errors in square.items():
        print(f"{name:20}", *(f"{rmse:.3f}" for rmse in np.sqrt(errors.mean(0))))
    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    title = f"{pool.n_items:,} items, {truth.mean():.1%} positive, {REPEATS} campaigns each"
    ba.plots.label_curves(BUDGETS, square, ylabel="RMSE of F1", title=title, logx=True, logy=True, ax=ax)
    shown = (0.03, 0.05, 0.1, 0.2, 0.4)  # the curves are of squares, which are averaged
    ax.set_yticks([rmse**2 for rmse in shown], [f"{rmse:g}" for rmse in shown])
    ax.set_xticks(BUDGETS, [str(n) for n in BUDGETS])
    ax.minorticks_off()
    figure.savefig(ROOT / "docs" / "figures" / "designs.png", dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())
