"""Items on which annotators differ, as a sheet for whoever decides."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bayes_assess._tools.shapes import Bool
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.pool.labels import LabelSpace
from bayes_assess.sessions.queries import LabelSheet


@dataclass(frozen=True, eq=False, repr=False)
class Disagreements(LabelSheet):
    """Items whose annotators differ, in pool order.

    `to_csv` and `to_xlsx` write the sheet for whoever decides: ids, what annotators saw, what each of them said, and an
    empty column ``label`` to fill in, which `Assessment.resolve` takes.

    Attributes
    ----------
    ids : (n,) item ids
    labels : mapping of str to array (n,)
        What every annotator said, None where nothing.
    in_force : (n,) class names
        The labels that count: the first ones told, unless they were corrected or resolved.
    resolved : (n,) booleans
        Whether somebody has decided.
    show : mapping of str to array (n,)
        What annotators saw.
    choices : sequence of class names
        From which whoever decides chooses one; empty where an item may have several labels.
    label_space : LabelSpace, optional
        All labels that an item can have, which labelling tools need to know.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> a = ba.assess(ba.Pool(predictions=["cat", "dog"], ids=[7, 8]), ba.GroupAccuracy())
    >>> a.tell([7, 8], ["cat", "cat"], annotator="A1")
    >>> a.tell([7, 8], ["cat", "dog"], annotator="A2")
    >>> items = a.disagreements()
    >>> items.ids.tolist(), items.sheet().columns
    ([8], ('id', 'A1', 'A2', 'label'))
    """

    ids: np.ndarray
    labels: Mapping[str, np.ndarray]
    in_force: np.ndarray
    resolved: Bool[np.ndarray, " n"]
    show: Mapping[str, np.ndarray] = field(default_factory=dict)
    choices: tuple[Hashable, ...] = ()
    label_space: LabelSpace | None = None

    def table(self) -> Table:
        """Tabulate what every annotator said, and the label in force."""
        said = self._said()
        if any("-" in labels for labels in said.values()):  # a label, of sets; tables print None so, too
            said = {name: np.where(np.equal(labels, None), "", labels) for name, labels in said.items()}
        columns = {"id": self.ids, **said, **self._shown_alone(), "in_force": self.in_force}
        return Table(columns | {"resolved": self.resolved}, title=self._title())

    def _shown(self) -> dict[str, np.ndarray]:
        return {**self._shown_alone(), **self._said()}

    def _said(self) -> dict[str, np.ndarray]:
        """Return what annotators said, without those who said nothing of any of these items."""
        said = {name: labels for name, labels in self.labels.items() if any(label is not None for label in labels)}
        return said if len(self) else dict(self.labels)

    def _shown_alone(self) -> dict[str, np.ndarray]:
        return super()._shown()

    def _swaying(self) -> dict[str, np.ndarray]:
        return {}  # what others said is shown anyway

    def _title(self) -> str:
        return f"{plural(len(self), 'item')} on which annotators differ"
