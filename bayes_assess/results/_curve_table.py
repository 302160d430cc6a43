"""The table of a precision-recall curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from bayes_assess._tools.tables import Table
from bayes_assess.questions.metric import cells_table
from bayes_assess.results._base import Result


def curve_table(result: Result, value: Float[np.ndarray, " k"], ends: Float[np.ndarray, "k 2"]) -> Table:
    """Tabulate precision and recall with their intervals, a row per threshold."""
    n = len(value) // 2
    columns: dict[str, Any] = {"threshold": cells_table(result.cells).thresholds}
    for i, name in enumerate(("precision", "recall")):
        part = slice(i * n, (i + 1) * n)
        columns |= {name: value[part], f"{name}_lower": ends[part, 0], f"{name}_upper": ends[part, 1]}
    title = f"{result.question.name}, {result.level:.0%} {result.guarantee} intervals"
    return Table(columns, title=title, formats=dict.fromkeys(columns, ".3f"))
