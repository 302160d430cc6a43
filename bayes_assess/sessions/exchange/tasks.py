"""Items to label as tasks of a labelling tool, with what the tool has to know to show them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayes_assess._tools.arrays import is_one_of, listing
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess.errors import OutputError
from bayes_assess.pool._label_rows import NO_LABEL, SEPARATOR
from bayes_assess.pool.labels import LabelSpace

TOOLS = ("label-studio", "argilla")
SUFFIX = ".json"
LABEL = "label"  # what the control or the question is called that takes the label
HEADING = "Label"  # what annotators read above it


class Answers(NamedTuple):
    """What annotators can answer.

    Attributes
    ----------
    choices : tuple of str
        Names to choose from; none where the answer is a number.
    several : bool
        Whether any number of them may be chosen.
    bounds : (float, float), optional
        Of numbers.
    """

    choices: tuple[str, ...]
    several: bool = False
    bounds: tuple[float, float] | None = None

    @classmethod
    def of(cls, space: LabelSpace | None, choices: Sequence[object]) -> Answers:
        """Return what can be answered where labels are of this space; `choices` serve where there is none.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> Answers.of(ba.Pool(predictions=["a;b", "-"], multilabel=True).label_space, ())
        Answers(choices=('a', 'b', '-'), several=True, bounds=None)
        """
        if space is not None and space.bounds is not None:
            return cls((), bounds=space.bounds)
        names = tuple(map(str, choices if space is None else space.classes.tolist()))
        # That no class applies is an answer, unlike an empty one.
        several = space is not None and space.kind == "sets"
        return cls((*names, NO_LABEL), True) if several else cls(names)

    @property
    def within(self) -> str:
        """The bounds of numbers in words.

        Examples
        --------
        >>> Answers((), bounds=(0.0, 10.0)).within, Answers((), bounds=(0.0, float("inf"))).within
        ('0 to 10', 'a number of at least 0')
        """
        low, high = self.bounds or (-math.inf, math.inf)
        ends = [f"of at {most} {end:g}" for most, end in (("least", low), ("most", high)) if math.isfinite(end)]
        return f"{low:g} to {high:g}" if len(ends) == 2 else " ".join(["a number", *ends])

    def chosen(self, prediction: str) -> list[str]:
        """Return the choices that a prediction stands for."""
        return prediction.split(SEPARATOR) if self.several else [prediction]


class Tasks(NamedTuple):
    """Items with all that a tool shows of them, as texts.

    Attributes
    ----------
    ids : list of str
    shown : mapping of str to list of str
        What annotators need to see, by the names that people gave the columns.
    answers : Answers
    predictions : list of str, optional
        Pre-annotations, which sway annotators.
    scores : list of float, optional
        How probable they are; None where that is not known.
    """

    ids: list[str]
    shown: dict[str, list[str]]
    answers: Answers
    predictions: list[str] | None = None
    scores: list[float | None] | None = None

    @classmethod
    def of(
        cls, ids: ArrayLike, shown: Mapping[str, ArrayLike], swaying: Mapping[str, ArrayLike], answers: Answers
    ) -> Tasks:
        """Gather columns; of those that sway annotators, ``prediction`` and ``score`` become pre-annotations."""
        plain = {name: _texts(values) for name, values in [*shown.items(), *swaying.items()]}
        predictions, scores = plain.pop("prediction", None) if "prediction" in swaying else None, None
        if predictions is not None and "score" in swaying:
            del plain["score"]
            scores = [value if np.isfinite(value) else None for value in np.asarray(swaying["score"], float).tolist()]
        return cls(_texts(ids), plain, answers, predictions, scores)

    def named(self, allowed: str, taken: Collection[str], fold: Callable[[str], str] = str) -> dict[str, str]:
        """Return a name that a tool can take for every column that is shown, never one that is `taken`.

        Examples
        --------
        >>> Tasks([], {"der Text": [], "label": []}, Answers(())).named("A-Za-z_", ["label"])
        {'der Text': 'der_Text', 'label': 'label_'}
        """
        names: dict[str, str] = {}
        for column in self.shown:
            name = re.sub(f"[^{allowed}]", "_", fold(column)) or "_"
            while name in {*taken, *names.values()}:
                name += "_"
            names[column] = name
        return names


def check_tool(tool: str, path: Path) -> None:
    """Raise OutputError if there is no such tool, or tasks cannot be written to such a file."""
    if not is_one_of(tool, TOOLS):
        raise OutputError(f"There is no labelling tool {tool!r} here; take {listing(TOOLS)}.")
    if path.suffix.lower() != SUFFIX:
        raise OutputError(f"Tasks of {tool} are written as JSON; name the file {path.stem}{SUFFIX}, not {path.name}.")


def setup_path(path: Path, tool: str) -> Path:
    """Return where the set-up of a tool is written, beside the tasks.

    Examples
    --------
    >>> setup_path(Path("tasks.json"), "label-studio").name, setup_path(Path("tasks.json"), "argilla").name
    ('tasks.xml', 'tasks.settings.json')
    """
    return path.with_suffix(".xml" if tool == "label-studio" else f".settings{SUFFIX}")


def _texts(values: ArrayLike) -> list[str]:
    return ["" if value is None else str(value) for value in np.asarray(values).tolist()]
