"""The Dirichlet tree of design ``"adaptive"`` as posterior draws of the labels of blocks ([NH] section 4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayes_assess._tools.seeds import generator
from bayes_assess._tools.to_arviz import ArvizData, to_arviz
from bayes_assess.designs.adaptive import LabelTree
from bayes_assess.models.dirichlet_tree import DirichletTree

_DRAW_NUMBERS = 4_000_000  # as many as fit in this many numbers, within these bounds
_MOST_DRAWS, _FEWEST_DRAWS = 4_000, 200
_DIMS = {
    "theta": ["true_label"],
    "psi": ["true_label", "block"],
    "probability": ["block", "true_label"],
    "labels": ["block", "true_label"],
}


def tree_to_arviz(
    found: LabelTree, blocks: np.ndarray, classes: np.ndarray, seed: int, attributes: Mapping[str, object]
) -> ArvizData:
    """Draw from prior and posterior of the tree, and hand both to ArviZ; see `MetricResult.to_arviz`."""
    n = int(np.clip(_DRAW_NUMBERS // found.labels.size, _FEWEST_DRAWS, _MOST_DRAWS)) // 4 * 4  # four chains
    groups = {name: _drawn(getattr(found, name), seed, f"{name} of labels", n) for name in ("posterior", "prior")}
    return to_arviz(
        groups["posterior"],
        prior=groups["prior"],
        dims=_DIMS,
        coords={"true_label": classes, "block": blocks},
        observed_data={"labels": found.labels},
        attrs=attributes,
    )


def _drawn(tree: DirichletTree, seed: int, purpose: str, n: int) -> dict[str, np.ndarray]:
    theta, psi = tree.drawn(generator(seed, purpose), n)
    joint = np.swapaxes(theta[..., None] * psi, 1, 2)
    return {"theta": theta, "psi": psi, "probability": joint / np.maximum(joint.sum(-1, keepdims=True), 1e-300)}
