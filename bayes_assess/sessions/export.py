"""Labelled items as rows of a table, each with the number of items of the pool that it stands for."""

from __future__ import annotations

from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayes_assess._tools.arrays import objects, show
from bayes_assess._tools.files import written_whole
from bayes_assess._tools.shapes import Float, Int
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural
from bayes_assess.errors import DesignError, OutputError
from bayes_assess.sessions.campaign import Campaign
from bayes_assess.sessions.volunteered import known_alone

if TYPE_CHECKING:
    import duckdb
    import pyarrow

NO_WEIGHTS = (
    "Labels of pairs and of ranked lists do not stand for items of the pool one by one, and have no weights: in Python "
    "`labelled` of the session has ids and labels; or ask measures or groups of a pool."
)
_TOLD = ("tell", "annotate", "correct", "resolve", "revise")  # events after which an item has another label


class Exporting(Campaign):
    """What hands labels on with their weights; `Assessment` is one."""

    def export(
        self, to: str | PathLike[str] | None = None, *, connection: duckdb.DuckDBPyConnection | None = None
    ) -> Table:
        r"""Hand on the labels told so far, each with the number of items of the pool that it stands for.

        Sums over weights estimate sums over the pool, for whoever joins labels with other columns: a warehouse, say.

        - Designs that draw with known probabilities weigh labels as their own estimate does ([NH] eq. 1): N draws whose
          weights p / q add up to W_cy in cell c and label y, n_cy of whose items are labelled, give each of these
          :math:`M W_{cy} / (N n_{cy})`. Sums of weights estimate M, and sums of weighted losses, over M, are those that
          `result` puts its measure together from: an accuracy is 1 less the weights of wrong predictions over M, an F1
          the ratio of sums. Once every item that matters is labelled, every label counts 1. Labels that are numbers are
          weighed by cell alone; sets of labels by the rounds in which items were drawn (Horvitz-Thompson, [SEME]).
        - All other designs choose cells, and items at random within these: each of n_c labels of a cell of M_c items
          stands for M_c / n_c, which is post-stratification. Weights add up to the items of all cells that have
          labels. Where labels decided which cells come next, such sums are nearly unbiased, not exactly, and they know
          nothing of the model by which `result` pools cells.

        Parameters
        ----------
        to : path-like or str, optional
            A file to write, .parquet or .csv; with a connection the name of a table to make. An existing file is
            replaced, an existing table is not.
        connection : DuckDB connection, optional

        Returns
        -------
        Table
            The columns ``id``, ``cell`` (its number), ``group`` (its name), ``label``, ``weight``, ``round`` (which of
            the asks handed the item out, from 1; 0 where nobody asked) and ``time`` (when the label was told last, as
            the journal has it; None without one), in the order of telling.

        Raises
        ------
        OutputError
            If a file or table cannot be written.
        DesignError
            If the session is about pairs or ranks, whose labels do not stand for items one by one.

        Examples
        --------
        >>> import bayes_assess as ba
        >>> a = ba.assess(ba.Pool(predictions=["cat"] * 6 + ["dog"] * 4), ba.GroupAccuracy(), design="random_group")
        >>> a.tell(a.ask(2).ids, ["cat", "cat"])
        >>> a.export()["weight"].sum() in (10, 6, 4)
        True
        """
        if self._units.one_label:
            raise DesignError(NO_WEIGHTS)
        if to is None and connection is not None:
            raise OutputError("Name the table that is to be made in DuckDB: export('labels', connection=...).")
        if to is not None and not isinstance(to, str | PathLike):
            raise OutputError(f"Labels are exported to a path, or the name of a table; found {show(to)}.")
        table = self._take_turn(lambda: _labels_of(self))
        if to is not None:
            write_labels(table, to, connection)
        return table

    def _weighed_labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return labelled items, codes of their labels, and how many items of the pool each stands for."""
        items, codes = self._items.told
        return items, codes, label_weights(self, items, codes)


def _labels_of(session: Exporting) -> Table:
    items, codes, weight = session._weighed_labels()
    rounds, times, order = _history(session, items)
    items, codes, weight = items[order], codes[order], weight[order]
    cells = session._items.cells_of(items)
    names = session.cells.names[cells]
    columns = {
        "id": session.pool.ids[items],
        "cell": cells,
        "group": names if names.dtype.kind in "biufUS" else objects([str(name) for name in names.tolist()]),
        "label": session.pool.label_space.names(codes),
        "weight": weight,
        "round": rounds[order],
        "time": times[order],
    }
    return Table(columns, title=f"{plural(len(items), 'label')} of {plural(session.pool.n_items, 'item')}")


def _history(session: Campaign, items: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ask and the time of every item, and the order in which items got their labels."""
    journal = session.journal
    events = session.events if journal is None or journal.closed else tuple(journal.events())
    asked: dict[int, int] = {}
    told: dict[int, tuple[int, str | None]] = {}
    first: dict[int, int] = {}
    n_asks = 0
    for event in events:
        n_asks += event.kind == "ask"
        if event.kind != "ask" and event.kind not in _TOLD:
            continue
        ids = [*event.payload["ids"], *event.payload.get("further", {}).get("ids", [])]
        for place, item in enumerate(session.pool.positions(np.asarray(ids)).tolist() if len(ids) else []):
            if event.kind == "ask":
                asked[item] = n_asks
            else:
                told[item] = event.sequence, event.time or None
                first.setdefault(item, (event.sequence << 32) + place)
    known = items.tolist()
    times = objects([told[item][1] if item in told else None for item in known])
    order = np.argsort(np.array([first.get(item, 0) for item in known], np.int64), kind="stable")
    return np.array([asked.get(item, 0) for item in known], np.int64), times, order


def label_weights(
    session: Campaign, items: Int[np.ndarray, " n"], codes: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return how many items of the pool every one of these stands for, all that are labelled; see `export`."""
    if len(items) == session.pool.n_items:
        return np.ones(len(items))
    cells = session._items.cells_of(items)
    if session._rounds is not None and session._rounds.n_told:
        return np.asarray(session._rounds.weights(items, cells).total, np.float64)
    state, design = session._state, session.design
    weighed = design.weighed_labels(state)
    if weighed is not None:
        if weighed.n == 0 or (not session.question.numeric and weighed.complete):
            return np.ones(len(items))
        total = weighed.weights * session.pool.n_items / weighed.n
        if session.question.numeric:
            total = total.sum(-1, keepdims=True)
            outcomes = np.zeros(len(items), np.int64)
        else:
            outcomes = session.outcomes_of(items, codes)
        labelled = np.zeros(total.shape)
        np.add.at(labelled, (cells, outcomes), 1)
        return total[cells, outcomes] / labelled[cells, outcomes]
    # Designs for measures let labels that nobody asked for stand for no others, and all do where they seem chosen.
    alone = session._items.volunteered(items) & (not design.plays_arms)
    if design.plays_arms:
        alone = np.isin(items, session._items.told[0][known_alone(session)])
    labelled, known = (np.bincount(cells, which, session.cells.n_cells) for which in (~alone, alone))
    stands_for = (session.cells.sizes - known) / np.maximum(labelled, 1)
    return np.where(alone, 1.0, stands_for[cells])


def write_labels(table: Table, to: str | PathLike[str], connection: duckdb.DuckDBPyConnection | None = None) -> None:
    """Write labels to a file, or to a new table of DuckDB.

    Raises
    ------
    OutputError
        If that is no Parquet or CSV file, pyarrow is missing, or the table exists or cannot be made.
    """
    if connection is not None:
        own = "bayes_assess_export"
        name = ".".join('"' + part.replace('"', '""') + '"' for part in str(to).split("."))
        try:
            connection.register(own, _arrow(table))
            try:
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {own}")
            finally:
                connection.unregister(own)
        except Exception as error:
            said = str(error).strip().splitlines()[0].rstrip(" .!")
            todo = " Choose another name, or drop that one." if "already exists" in said else ""
            raise OutputError(f"DuckDB cannot make the table {str(to)!r}: {said}.{todo}") from error
        return
    path = Path(to)
    check_writable(path, or_table=", or with connection= to a table of DuckDB")
    if path.suffix.lower() == ".csv":
        table.to_csv(path)
        return
    from pyarrow import parquet

    with written_whole(path, "labels") as temporary:
        parquet.write_table(_arrow(table), temporary)


def _arrow(table: Table) -> pyarrow.Table:
    """Return labels as a table of Arrow, whose times are texts even where all are missing."""
    import pyarrow as pa

    arrow_table = table.to_frame("pyarrow")
    return arrow_table.set_column(arrow_table.column_names.index("time"), "time", arrow_table["time"].cast(pa.string()))


def check_writable(path: Path, or_table: str = "") -> None:
    """Raise OutputError unless labels can be written in the format of this name; in Python there are tables, too."""
    if path.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise OutputError(f"Labels are exported to .parquet or .csv{or_table}; found {str(path)!r}.")
    if path.suffix.lower() != ".csv" and find_spec("pyarrow") is None:
        raise OutputError('Writing Parquet needs pyarrow: pip install "bayes-assess[parquet]".')
