"""Groups seen as parts: accuracies of groups whose labels were drawn part by part.

Where a session has drawn items of its own cells with probabilities that differ, the labels of another question's group
are no random sample of it, but those of every part are: of the items that are of one cell of the session and of one
group. With n_j items in part j of group g, N_j of them labelled, and accuracy theta_j in the population, the mean of
what is unlabelled in the group is

    theta_g = sum_j (n_j - N_j) theta_j / sum_j (n_j - N_j),

and the group's accuracy in the population has the weights n_j.
"""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.shapes import Float, Int
from bayes_assess.pool.cells import Cells, cells
from bayes_assess.pool.groups import Partition
from bayes_assess.pool.pool import Pool


def crossed(pool: Pool, groups: Cells, drawn: Cells) -> tuple[Cells, Int[np.ndarray, " J"]]:
    """Cut groups by the cells that a session draws from.

    Parameters
    ----------
    pool : Pool
    groups, drawn : Cells
        Of the question, and of the session.

    Returns
    -------
    parts : Cells
        Those with items, group by group; a group without items is one part without items.
    of : (J,) integers
        Group of every part, ascending.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 1, 1], groups={"site": ["n", "n", "s"]})
    >>> parts, of = crossed(pool, ba.cells(pool, "site"), ba.cells(pool, "prediction"))
    >>> parts.sizes.tolist(), of.tolist()
    ([1, 1, 1], [0, 0, 1])
    """
    n = drawn.n_cells
    pairs = groups.source.row_cells * n + drawn.source.row_cells
    used = np.union1d(np.unique(pairs), np.flatnonzero(groups.sizes == 0) * n)
    of = used // n
    names = np.array([f"{groups.names[pair // n]}, {drawn.names[pair % n]}" for pair in used.tolist()])
    by = Partition(np.searchsorted(used, pairs), names, f"{groups.description} and {drawn.description}")
    return cells(pool, by), of


def group_accuracies(
    theta: Float[np.ndarray, "S J"],
    unlabelled: Int[np.ndarray, " J"],
    parts: Cells,
    of: Int[np.ndarray, " J"],
    target: str,
) -> Float[np.ndarray, "S G"]:
    """Return draws of the groups' accuracies from those of their parts.

    Parameters
    ----------
    theta : (S, J)
        Draws of the accuracies of the parts in the population.
    unlabelled : (J,) integers
        Items of every part without a label.
    parts, of
        From `crossed`.
    target : {"pool", "population"}
        In a pool parts weigh by their unlabelled items, of which alone nothing is known.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=[0, 1, 1], groups={"site": ["n", "n", "s"]})
    >>> parts, of = crossed(pool, ba.cells(pool, "site"), ba.cells(pool, "prediction"))
    >>> group_accuracies(np.array([[0.5, 1.0, 0.25]]), np.array([1, 1, 1]), parts, of, "pool").tolist()
    [[0.75, 0.25]]
    """
    weight = unlabelled if target == "pool" else parts.sizes
    starts = np.searchsorted(of, np.arange(of[-1] + 1))
    nothing = np.add.reduceat(weight, starts) == 0  # where all is known, weights make no difference to the answer
    weight = np.where(nothing[of], np.maximum(parts.sizes, 1), weight)
    share = weight / np.add.reduceat(weight, starts)[of]
    return np.add.reduceat(theta * share, starts, axis=1).clip(0.0, 1.0)
