"""Checking labels that are told: they are final, and each item has one."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from bayes_assess.errors import LabelError


def check_consistent(
    known: Int[np.ndarray, " n"],
    items: Int[np.ndarray, " n"],
    codes: Int[np.ndarray, " n"],
    ids: np.ndarray,
    classes: np.ndarray,
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Refuse contradictions, and drop repetitions.

    Parameters
    ----------
    known : (n,)
        Codes of the labels that the items have already; negative where there is none.
    items, codes, ids : (n,)
        Positions of the items, codes of the labels told, and the items' ids for messages.
    classes : (C,) names

    Returns
    -------
    items, codes : (m,)
        Every item once.

    Raises
    ------
    LabelError
        If a label contradicts another one of the same item.

    Examples
    --------
    >>> known, items, codes = np.array([-1, 0, -1]), np.array([4, 2, 4]), np.array([1, 0, 1])
    >>> check_consistent(known, items, codes, items, np.array(["cat", "dog"]))
    (array([4, 2]), array([1, 0]))
    """
    wrong = (known >= 0) & (known != codes)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise LabelError(
            f"Item {ids[i]!r} is already labelled {classes[known[i]]!r}, and {classes[codes[i]]!r} contradicts that. "
            "Labels are final: nothing was taken; leave the item out, or start a new assessment without the wrong "
            "label."
        )
    _, first, inverse = np.unique(items, return_index=True, return_inverse=True)
    differs = codes != codes[first][inverse]
    if differs.any():
        i = int(np.flatnonzero(differs)[0])
        raise LabelError(
            f"Item {ids[i]!r} occurs twice with different labels, {classes[codes[first][inverse][i]]!r} "
            f"and {classes[codes[i]]!r}; nothing was taken."
        )
    kept = np.sort(first)
    return items[kept], codes[kept]
