"""A small table of named columns that prints well in a terminal, a notebook and a Markdown file."""

from __future__ import annotations

import html
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import show
from bayes_assess._tools.csv_files import csv_cell, csv_values
from bayes_assess._tools.files import written_whole
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.text import (
    MAX_CELL,
    MAX_CELL_ON_PAGES,
    View,
    as_text,
    has_words,
    is_numeric,
    line,
    more_rows,
    one_line,
    pad_text,
    plain_values,
    text_width,
    visible,
    without_links,
)
from bayes_assess.errors import OutputError, UnknownColumnError

if TYPE_CHECKING:
    import rich.table

MAX_ROWS = 20  # a longer table shows its head and its tail
BACKENDS = ("pandas", "polars", "pyarrow")


class Table:
    """An immutable table: named columns of one length.

    Parameters
    ----------
    columns : mapping of str to array-like, each of shape (rows,)
        The columns in the order in which they are shown.
    title : str, optional
        A line above the table.
    formats : mapping of str to str, optional
        Python format specifications by column, such as ``{"estimate": ".3f"}``. They change how numbers are shown,
        never the numbers.

    Raises
    ------
    OutputError
        If columns have no names, if one is not one-dimensional, if lengths differ, or if a format does not fit its
        column.

    Examples
    --------
    >>> Table({"group": ["cat", "dog"], "labels": [12, 7], "accuracy": [0.9166, 0.5714]})
    group  labels  accuracy
    -----  ------  --------
    cat        12     0.917
    dog         7     0.571
    """

    __slots__ = ("_columns", "_formats", "_title")

    def __init__(
        self,
        columns: Mapping[str, ArrayLike],
        *,
        title: str | None = None,
        formats: Mapping[str, str] | None = None,
    ):
        if not isinstance(columns, Mapping) and not hasattr(columns, "items"):  # frames of pandas have them
            raise OutputError(
                f"A table takes its columns by name, such as {{'labels': [12, 7]}}; found {show(columns)}."
            )
        held: dict[str, np.ndarray] = {}
        for name, values in columns.items():
            text = str(name)
            if text in held:
                raise OutputError(f"Two columns of the table are both named {text!r}; give each its own name.")
            held[text] = _column(text, values)
        lengths = {name: len(values) for name, values in held.items()}
        if len(set(lengths.values())) > 1:
            raise OutputError(f"The columns of a table need one length, but these differ: {lengths}.")
        self._columns = held
        self._title = title
        self._formats = dict(formats or {})
        self._check_formats()

    def __eq__(self, other: object) -> bool:
        """Whether another table has the same title, and the same columns with the same values, however they are shown.

        Examples
        --------
        >>> Table({"x": [1.0, np.nan]}) == Table({"x": [1.0, np.nan]}), Table({"x": [1]}) == Table({"x": [2]})
        (True, False)
        """
        if not isinstance(other, Table):
            return NotImplemented
        if (self._title, self.columns) != (other._title, other.columns):
            return False
        return all(_are_equal(column, other._columns[name]) for name, column in self._columns.items())

    def __hash__(self) -> int:
        return hash((self._title, self.columns))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._columns)

    @property
    def title(self) -> str | None:
        """The line above the table, or None."""
        return self._title

    def renamed(self, name_of: Callable[[str], str], **values: ArrayLike) -> Table:
        """Return the same table with other names of the columns, and other values of some.

        Examples
        --------
        >>> Table({"se": [0.125]}, formats={"se": ".2f"}).renamed(lambda name: "standard error").columns
        ('standard error',)
        """
        columns = {name_of(name): values.get(name, column) for name, column in self._columns.items()}
        formats = {name_of(name): spec for name, spec in self._formats.items() if name not in values}
        return Table(columns, title=self._title, formats=formats)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._columns[name]
        except (KeyError, TypeError):
            raise UnknownColumnError(
                f"The table has no column {name!r}; its columns are {', '.join(self.columns) or 'none'}."
            ) from None

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._columns)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Go through the rows as dictionaries of plain Python values.

        Yields
        ------
        dict
            Column name to value.

        Examples
        --------
        >>> list(Table({"group": ["cat"], "labels": [12]}).rows())
        [{'group': 'cat', 'labels': 12}]
        """
        names = self.columns
        for values in zip(*map(plain_values, self._columns.values()), strict=True):
            yield dict(zip(names, values, strict=True))

    __iter__ = rows
    __contains__ = None  # `"name" in table` could mean rows or columns: use `table.columns`

    # -- text ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        view = self._view(MAX_ROWS)
        widths = [max(map(text_width, [name, *cells])) for name, cells in zip(view.names, view.cells, strict=True)]
        view, widths = view.narrowed(widths)
        lines = [] if self._title is None else [visible(self._title)]
        if not widths:
            return "\n".join([*lines, "(no columns)"])
        lines.append(line(view.names, widths, view.right))
        lines.append("  ".join("-" * width for width in widths))
        for row, cells in enumerate(zip(*view.cells, strict=True)):
            if row == view.cut:
                lines.append(f"... ({more_rows(view.hidden)})")
            lines.append(line(cells, widths, view.right))
        if not len(self):
            lines.append("(no rows)")
        if view.left_out:
            lines.append(f"({view.left_out} of {len(self.columns)} columns not shown)")
        return "\n".join(line.rstrip() for line in lines)

    def to_markdown(self) -> str:
        """Write the whole table in Markdown.

        Returns
        -------
        str
            A pipe table without a final newline; the title, if any, is a paragraph above it.

        Examples
        --------
        >>> print(Table({"group": ["cat"], "labels": [12]}).to_markdown())
        | group | labels |
        | :---- | -----: |
        | cat   |     12 |
        """
        view = self._view(None, MAX_CELL_ON_PAGES).escaped(_in_markdown)
        widths = [max(3, *map(text_width, [name, *cells])) for name, cells in zip(view.names, view.cells, strict=True)]
        rules = [
            ("-" * (w - 1) + ":") if right else (":" + "-" * (w - 1))
            for w, right in zip(widths, view.right, strict=True)
        ]
        rows = [view.names, rules, *zip(*view.cells, strict=True)]
        lines = [
            "| "
            + " | ".join(pad_text(cell, w, right) for cell, w, right in zip(row, widths, view.right, strict=True))
            + " |"
            for row in rows
        ]
        return "\n".join([f"{_in_markdown(self._title)}\n", *lines] if self._title else lines)

    def _repr_html_(self) -> str:
        return self.to_html(max_rows=MAX_ROWS)

    def to_html(self, *, max_rows: int | None = None) -> str:
        """Write the table in HTML; names are text in it, whatever they contain.

        Parameters
        ----------
        max_rows : int or None
            A longer table shows its head and its tail; None shows every row.

        Examples
        --------
        >>> "<b>" in Table({"group": ["<b>"]}).to_html()
        False
        """
        view = self._view(max_rows, MAX_CELL_ON_PAGES).escaped(html.escape)
        align = ['style="text-align: right"' if right else 'style="text-align: left"' for right in view.right]
        parts = ["<table>"]
        if self._title is not None:
            parts.append(f"<caption>{html.escape(self._title)}</caption>")
        heads = "".join(f"<th {a}>{name}</th>" for a, name in zip(align, view.names, strict=True))
        parts.append(f"<thead><tr>{heads}</tr></thead><tbody>")
        for row, cells in enumerate(zip(*view.cells, strict=True)):
            if row == view.cut:
                note = f"… ({more_rows(view.hidden)})"
                parts.append(f'<tr><td colspan="{len(align)}" style="text-align: center">{note}</td></tr>')
            parts.append(
                "<tr>" + "".join(f"<td {a}>{cell}</td>" for a, cell in zip(align, cells, strict=True)) + "</tr>"
            )
        parts.append("</tbody></table>")
        return "\n".join(parts)

    def to_rich(self, *, max_rows: int | None = MAX_ROWS) -> rich.table.Table:
        """Make a table for Rich, which colours it and fits it to the terminal: words are wrapped before numbers are.

        Parameters
        ----------
        max_rows : int or None
            A longer table shows its head and its tail; None shows every row.

        Returns
        -------
        rich.table.Table
            To print on a ``rich.console.Console``.

        Examples
        --------
        >>> Table({"group": ["cat"], "labels": [12]}).to_rich().row_count
        1
        """
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        view = self._view(max_rows)
        # `Text`, not str: a group named "[red]" is a name, not markup.
        table = RichTable(box=box.SIMPLE_HEAD, title_justify="left", caption_justify="left")
        table.show_edge, table.pad_edge, table.padding = False, False, (0, 1, 0, 0)  # as wide as the plain text
        if self._title is not None:
            table.title = Text(visible(self._title))
        if view.hidden:
            table.caption = Text(f"{len(self) - view.hidden:,} of {len(self):,} rows")
        for name, cells, right in zip(view.names, view.cells, view.right, strict=True):
            side, rigid = "right" if right else "left", right or not has_words(cells)
            table.add_column(Text(name), justify=side, no_wrap=rigid, overflow="fold")
        for row, cells in enumerate(zip(*view.cells, strict=True)):
            if row == view.cut:
                table.add_row(*["..."] * len(cells))
            table.add_row(*map(Text, cells))
        return table

    def __rich__(self) -> rich.table.Table:
        return self.to_rich()

    # -- data ----------------------------------------------------------------------------------------------------

    def to_frame(self, backend: str = "pandas") -> Any:
        """Hand the columns to a dataframe library.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            A copy; changing it leaves this table as it is.

        Raises
        ------
        OutputError
            If the library is unknown or not installed.

        Examples
        --------
        >>> Table({"labels": [12, 7]}).to_frame()["labels"].tolist()
        [12, 7]
        """
        if backend not in BACKENDS:
            raise OutputError(f"`to_frame` knows the backends {', '.join(BACKENDS)}; found {backend!r}.")
        if importlib.util.find_spec(backend) is None:
            raise OutputError(
                f"`to_frame(backend={backend!r})` needs {backend}, which is not installed here; "
                f"`pip install {backend}`, or choose another backend ({', '.join(BACKENDS)})."
            )
        library = importlib.import_module(backend)
        if backend == "pandas":
            return library.DataFrame({name: values.copy() for name, values in self._columns.items()})
        # Text goes as Python strings, because NumPy's fixed-width text is no type of theirs.
        columns = {
            name: values.copy() if values.dtype.kind in "biufmM" else values.tolist()
            for name, values in self._columns.items()
        }
        return library.DataFrame(columns) if backend == "polars" else library.table(columns)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write every row to a CSV file, or with tabs to one whose name ends in ``.tsv``, all or nothing.

        Numbers are written in full; missing values (None and NaN) as empty fields. The file is complete or, after a
        crash, what it was before.

        Parameters
        ----------
        path : path-like
            Where to write. An existing file is replaced.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OutputError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(Table({"id": ["a", "b"]}).to_csv(f"{folder}/to_label.csv").read_text().split())
        ['id', 'a', 'b']
        """
        with written_whole(path, "table") as temporary, temporary.open("x", encoding="utf-8", newline="") as stream:
            rows = zip(*(csv_values(plain_values(values)) for values in self._columns.values()), strict=True)
            empty = '""' if len(self.columns) == 1 else ""  # an empty cell alone would be a blank line
            between = "\t" if Path(path).suffix.lower() == ".tsv" else ","
            for row in chain([tuple(map(csv_cell, self.columns))], rows):
                stream.write(f"{between.join(row) or empty}\n")
        return Path(path)

    # -- inside --------------------------------------------------------------------------------------------------

    def _check_formats(self) -> None:
        for name, spec in self._formats.items():
            if name not in self._columns:
                raise OutputError(f"A format was given for {name!r}, which is no column of {', '.join(self.columns)}.")
            for value in self._columns[name][:1].tolist():
                try:
                    format(value, spec) if value is not None else None
                except (ValueError, TypeError):
                    raise OutputError(f"The format {spec!r} of column {name!r} does not fit {show(value)}.") from None

    def _view(self, max_rows: int | None, most: int = MAX_CELL) -> View:
        """Everything as text: without the middle of more than `max_rows` rows, and words of `most` characters."""
        count = len(self)
        head, tail = count, 0
        if max_rows is not None and count > max_rows:
            tail = max_rows // 2
            head = max_rows - tail
        rows = np.r_[:head, count - tail : count]
        cells = [as_text(values[rows], self._formats.get(name), most) for name, values in self._columns.items()]
        right = [is_numeric(values) for values in self._columns.values()]
        return View([one_line(name) for name in self.columns], cells, right, head, count - head - tail)


def _column(name: str, values: Any) -> np.ndarray:
    """Copy values into a read-only array of shape (rows,)."""
    try:
        array = np.array(values)
    except ValueError:  # rows of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1:
        shape = f"shape {array.shape}" if array.size else "no one-dimensional shape"
        raise OutputError(f"Column {name!r} of the table has {shape}; a column is one value per row.")
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        values = list(values)
        if not all(isinstance(value, (str, bytes)) for value in values):
            # NumPy would turn the numbers of ["a", 1] into text.
            array = np.empty(len(values), dtype=object)
            array[:] = values
    array.flags.writeable = False
    return array


def _in_markdown(text: str) -> str:
    """Escape what would end a cell, or begin a tag, an entity, a link or code, or call somebody by name."""
    for letters in ("\\", "|", "<", "&", "`"):
        text = text.replace(letters, f"\\{letters}")
    return without_links(text.replace("](", "]\\("))


def _are_equal(first: np.ndarray, second: np.ndarray) -> bool:
    """Tell whether two columns have the same values; missing ones are equal."""
    if first.shape != second.shape:
        return False
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return all(one is other or one == other or (one != one and other != other) for one, other in pairs)
