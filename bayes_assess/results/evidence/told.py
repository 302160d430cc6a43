"""What was asked, and the labels told so far, with the words that all evidence has for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from bayes_assess._tools.levels import checked_level
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.text import labels_suggest
from bayes_assess.estimators.random_counts import RandomLabels
from bayes_assess.models.belief import Belief
from bayes_assess.pool.cells import Cells
from bayes_assess.questions import Question

# Posterior draws: as many as fit in this many numbers, within these bounds.
_DRAW_NUMBERS = 1_000_000
_MOST_DRAWS, _FEWEST_DRAWS = 10_000, 500


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Told(ABC):
    """What was asked, and how many labels were told, with the words that all evidence has for them."""

    question: Question
    level: float
    design: str
    volunteered: int = 0
    withdrawn: int = 0  # of these, those whose items had been asked for, and set aside or given back
    notes: tuple[str, ...] = ()
    labelled_by: str = ""

    def __post_init__(self):
        object.__setattr__(self, "level", checked_level(self.level))

    @property
    @abstractmethod
    def labels_used(self) -> int:
        """Labels told so far."""

    @property
    def labels_learned(self) -> int:
        """Labels from which something is learned of other items: all, unless some count as known, no more."""
        return self.labels_used

    @property
    @abstractmethod
    def n_skipped(self) -> int:
        """Items that were set aside."""

    @property
    @abstractmethod
    def _n_items(self) -> int:
        """Items of the pool that labels can be of."""

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """What intervals promise."""

    @property
    def leans_on_prior(self) -> bool:
        """Whether the answer leans on a prior of which labels tell something."""
        return False

    @property
    def of_what_is_given(self) -> list[str]:
        """Say what is taken for granted of a posterior that was given, where no other sentence does."""
        return []

    @property
    def before_labels(self) -> str:
        """Where probabilities come from before any label, the end of a part of a sentence; nothing after that."""
        return "" if self.labels_used else f", as {labels_suggest(0)}"

    def tells_nothing(self, probability: float) -> bool:
        """Whether there are neither labels nor a belief that bear a verdict of this probability."""
        return False

    def from_labels(self, whose: str) -> str:
        """Say how an answer is known that is exact, the end of a sentence: predictions alone may settle it."""
        return f"as {whose} labels show" if self.labels_used else f"whatever {whose} labels are"

    @property
    def interval_label(self) -> str:
        """What intervals are called."""
        return f"{self.level:.0%} {self.guarantee} interval"

    def with_ends(self, ends: Float[np.ndarray, " 2"], spec: str = ".3f") -> str:
        """Say the interval of a value after it, or that the value is exact."""
        if self.guarantee == "exact":
            return " (exact)"
        return f", {self.interval_label} [{ends[0]:{spec}}, {ends[1]:{spec}}]"

    @property
    def progress_of_design(self) -> str:
        """How far the design has come, the end of a sentence, where it has an end before all is labelled."""
        return ""

    def _of_labels(self) -> str:
        """Say how many labels there are, the beginning of a sentence."""
        return f"{self.labels_used:,} of {self._n_items:,} items labelled"

    @property
    def _use_of_volunteered(self) -> str:
        """What became of labels that nobody asked for, the end of a sentence."""
        return "and taken for chosen at random within groups"

    @property
    def _others_of_skipped(self) -> str:
        """Which items the answer takes those to be like that were set aside."""
        return f"others of {'its' if self.n_skipped == 1 else 'their'} group"

    def warning(self, consequence: str) -> list[str]:
        """Say what random items contradict, and the consequence: nothing, of most kinds of evidence."""
        return []

    def _if_skipped(self) -> list[str]:
        """Say what the answer would be if all items set aside were right, or all wrong; nothing where that is hard."""
        return []

    def _progress(self) -> str:
        return f"{self.labels_used:,} of {self._n_items:,} labelled"

    def _tails(self, level: float | None = None) -> list[float]:
        level = self.level if level is None else level
        return [(1 - level) / 2, (1 + level) / 2]

    def _supposition(self, name: str, kinds: tuple[str, str], found: list[tuple[float, np.ndarray]]) -> str:
        """Say estimates and intervals if all items set aside were of one kind, and of the other."""
        subject = "it were" if self.n_skipped == 1 else "all of them were"
        first, second = (
            f"if {subject} {kind}, {value:.3f} [{low:.3f}, {high:.3f}]"
            for kind, (value, (low, high)) in zip(kinds, found, strict=True)
        )
        return f"{name[0].upper()}{name[1:]}, with a {self.level:.0%} credible interval, would be {first}; {second}."


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceBase(Told):
    """What was asked, and labels that are counted by cell and outcome; results have its fields, too."""

    prior: Belief
    cells: Cells
    counts: Int[np.ndarray, "K O"]
    skipped: Int[np.ndarray, " K"] | None = None
    seed: int = 0
    random: RandomLabels | None = None  # which labels are of random items of their cells, where a design draws these

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        return int(self.counts.sum()) * self.question.labels_each

    @property
    def n_skipped(self) -> int:
        """Items that were set aside."""
        return 0 if self.skipped is None else int(self.skipped.sum()) * self.question.labels_each

    @property
    def n_draws(self) -> int:
        """How many posterior draws are taken."""
        return int(np.clip(_DRAW_NUMBERS // self.counts[:, 0].size, _FEWEST_DRAWS, _MOST_DRAWS))

    @property
    def groups(self) -> np.ndarray:
        """Names of the groups that are asked about, (G,)."""
        return self.question.groups(self.cells)

    @property
    def _n_items(self) -> int:
        """Items of the pool that labels can be of."""
        return self.cells.n_items * self.question.labels_each
