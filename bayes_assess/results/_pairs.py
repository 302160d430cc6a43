"""The table of all pairs of groups, whatever they are compared by."""

from __future__ import annotations

import numpy as np

from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import formats_of
from bayes_assess.estimators.joint_draws import PairDifferences


def pairs_table(names: np.ndarray, found: PairDifferences, title: str, comparatives: tuple[str, str]) -> Table:
    """Tabulate every pair of groups, the surest verdicts first.

    Parameters
    ----------
    names : (G,)
    found : PairDifferences
    title : str
    comparatives : two words
        What the first of a pair is where it comes after the second, and before it, such as "worse" and "better".
    """
    below, above = (f"first is {word}" for word in comparatives)
    first, second = np.triu_indices(len(names), 1)
    masses, ends = found.masses[first, second], found.interval[first, second]
    order = np.argsort(-masses.max(-1), kind="stable")
    columns = {
        "first": names[first],
        "second": names[second],
        "difference": found.estimate[first, second],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "p_worse": masses[:, 0],
        "p_equal": masses[:, 1],
        "p_better": masses[:, 2],
        "verdict": np.array([below, "equivalent", above])[masses.argmax(-1)],
    }
    columns = {name: np.asarray(values)[order] for name, values in columns.items()}
    differences, probabilities = list(columns)[2:5], list(columns)[5:8]
    formats = formats_of(columns, differences, least=3) | dict.fromkeys(probabilities, ".3f")
    return Table(columns, title=title, formats=formats)
