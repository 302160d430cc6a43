"""Files that the command line reads and writes: pools, sheets of labels, figures, tables."""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_assess._tools.arrays import listing, show, text_as_int, values_of
from bayes_assess._tools.files import written_whole
from bayes_assess.cli.asked import columns_of
from bayes_assess.cli.live import open_session
from bayes_assess.cli.parse import names_in, parse_names, spelled_as
from bayes_assess.errors import JournalError, LabelError, OutputError, PoolError
from bayes_assess.pool._columns import EmptyGroupError
from bayes_assess.pool._table import MissingColumnError
from bayes_assess.pool.logs import SUFFIXES as LOGS
from bayes_assess.pool.logs import read_log
from bayes_assess.pool.pool import Pool
from bayes_assess.pool.ranked import RankedList
from bayes_assess.pool.readers import read_pool, read_ranked, read_scored
from bayes_assess.pool.scan.opening import DUCKDB, files_of, is_address
from bayes_assess.pool.scan.reading import scan_pool
from bayes_assess.questions import PrecisionCurve
from bayes_assess.sessions.exchange.exports import is_export
from bayes_assess.sessions.exchange.matching import IdMatcher
from bayes_assess.sessions.exchange.records import RECORDS
from bayes_assess.sessions.exchange.sheets import read_texts
from bayes_assess.sessions.exchange.tasks import SUFFIX as EXPORTS
from bayes_assess.sessions.exchange.tasks import TOOLS, check_tool, setup_path
from bayes_assess.sessions.exchange.workbook import OTHER_FORMATS, SUFFIX, need_openpyxl
from bayes_assess.sessions.journal import Journal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayes_assess.sessions.queries import LabelSheet
    from bayes_assess.sessions.session import AnySession


def reader_options(
    id: str | None,
    scores: list[str] | None,
    prediction: str | None,
    confidence: str | None,
    classes: str | None,
    multilabel: bool = False,
) -> dict[str, Any]:
    """Collect the options of `read_pool` as plain values; one score column of single labels is P(positive)."""
    columns = [name for text in scores or [] for name in names_in(text)]
    return {
        "id": id,
        "scores": columns[0] if len(columns) == 1 and not multilabel else columns or None,
        "prediction": prediction,
        "confidence": confidence,
        "classes": parse_names(classes),
        **({"multilabel": True} if multilabel else {}),
    }


def read_items(
    path: Path, options: Mapping[str, Any], *, ranked: bool, seed: int, of_ranks: bool = False
) -> Pool | RankedList:
    """Read a pool, or a ranked list where one score of any scale is to rank the items.

    Of a question about ranks, items are a pool if a design asks for one and the scores are probabilities.
    """
    if options.get("scan") or is_address(str(path)):
        return _scanned(path, options)
    known = {name: options[name] for name in ("id", "scores", "classes", "show") if name in options}
    if ranked and isinstance(options["scores"], str) and options["prediction"] is None:
        return read_ranked(path, **known, seed=seed)
    if of_ranks and _have_one_score(options):
        return read_scored(path, **known, groups=options.get("groups", ()), seed=seed)
    if path.suffix.lower() in LOGS or path.is_dir():
        known = {name: options[name] for name in ("classes", "bounds") if name in options}
        return read_log(path, score=options["prediction"], **known)
    return read_pool(path, **options)


def _have_one_score(options: Mapping[str, Any]) -> bool:
    """Whether a column of scores is all that is known of the items, but for groups and what annotators see."""
    more = ("prediction", "confidence", "systems", "wide", "multilabel", "bounds")
    return isinstance(options["scores"], str) and not any(options.get(name) for name in more)


def _scanned(address: Path, options: Mapping[str, Any]) -> Pool:
    """Make a pool of a table that stays where it is."""
    for name in ("wide", "multilabel", "bounds"):
        if options.get(name):
            raise PoolError(f"Tables that stay in an engine have one label of a class per row: leave out --{name}.")
    known = {
        name: options[name]
        for name in ("id", "scores", "confidence", "classes", "groups", "systems", "show")
        if options.get(name)
    }
    return scan_pool(str(address), predictions=options.get("prediction"), **known)


def source_of(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Say how a pool was read, for the journal."""
    plain = dict(options)
    if "bounds" in plain:  # of which JSON has no infinite ones
        plain["bounds"] = [end if np.isfinite(end) else str(end) for end in plain["bounds"]]
    text = str(path)
    if text.startswith(DUCKDB):
        place = DUCKDB + str(Path(text.removeprefix(DUCKDB)).resolve())
    else:
        place = str(path.resolve())
    return {"path": place, "options": plain}


def reopen(run: Path, moved_to: Path | None, more: Mapping[str, list[str]] = MappingProxyType({})) -> AnySession:
    """Read the pool of a journal as it was read before, but for some options, and go on with the assessment."""
    from bayes_assess.sessions.start import resume

    known = open_session(run)
    if known is not None:
        known.catch_up()
        return known
    path, options, meta = _as_read(run, moved_to)
    try:
        items = _items_of(path, {**options, **more}, meta)
    except MissingColumnError as error:
        if error.column in [name for names in more.values() for name in names]:  # which the run does not need
            raise
        raise PoolError(
            f"{path} lacks a column that {run} was started with. {error} Put it back, or name a file that has it by "
            "--pool."
        ) from None
    try:
        return resume(run, items)
    except JournalError as error:
        if meta["source"] is not None:
            raise
        raise JournalError(
            f"{error} {run} was started in Python, and of its pool only columns with telling names are read here, such "
            "as id, prediction and score: where others were named, go on in Python, by ba.resume."
        ) from None


def reopen_wider(run: Path, moved_to: Path | None, columns: Mapping[str, list[str]]) -> AnySession:
    """Go on with the assessment of a journal to ask another question, for which its pool needs further columns."""
    from bayes_assess.sessions.campaign import Campaign
    from bayes_assess.sessions.other_questions import take_columns

    assessment = reopen(run, moved_to)
    path, options, meta = _as_read(run, moved_to)
    more = {name: [*(options.get(name) or []), *named] for name, named in columns.items()}
    wider = {name: list(dict.fromkeys(names)) for name, names in more.items() if names}
    further = any(wider[name] != options.get(name) for name in wider)
    if isinstance(assessment, Campaign) and assessment.answers_others and further:
        if not assessment.pool.in_memory:
            raise JournalError(
                f"The table of {run} was counted by other columns; start a run with "
                f"{listing([name for names in wider.values() for name in names])}, by --by or --second."
            )
        # The same items: `reopen` has compared what the journal knows of them.
        items = _items_of(path, {**options, **wider}, meta)
        take_columns(assessment, items.as_pool())
    return assessment


def _items_of(path: Path, options: Mapping[str, Any], meta: Mapping[str, Any]) -> Pool | RankedList:
    """Read the items of a journal as they were read when it was started."""
    of_ranks = meta["question"]["question"] == PrecisionCurve.__name__
    return read_items(path, options, ranked="ranked_design" in meta, seed=meta["seed"], of_ranks=of_ranks)


def _as_read(run: Path, moved_to: Path | None) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Return where the pool of a journal is, how it was read, and what the journal says of itself."""
    with Journal.open(run) as journal:
        meta = journal.meta
    source = meta["source"]
    if source is None:
        if moved_to is None:
            raise JournalError(f"{run} was not started on the command line, so it does not know its pool; add --pool.")
        source = {"path": "", "options": columns_of(meta["question"])}
    path = moved_to or _find(Path(source["path"]), run)
    return path, {"id": None, "scores": None, "prediction": None, "classes": None} | source["options"], meta


def inputs_of(run: Path, moved_to: Path | None) -> list[Path]:
    """Return the files of a run: its journal and its pool."""
    with Journal.open(run) as journal:
        source = journal.meta["source"]
    recorded = None if source is None else Path(source["path"])
    places = [] if recorded is None else [*files_of(str(recorded)), run.resolve().parent / recorded.name]
    return [run, *([] if moved_to is None else [moved_to]), *places]


def _find(recorded: Path, run: Path) -> Path:
    """Where the pool is: at its place, or beside the journal if the two moved together."""
    beside = [] if is_address(str(recorded)) else [run.resolve().parent / recorded.name]
    for path in (recorded, *beside):
        if any(file.exists() for file in files_of(str(path))):
            return path
    raise JournalError(f"The pool {recorded} of {run} is not there any more; say where it is by --pool.")


def write_sheet(queries: LabelSheet, path: Path, show_prediction: bool = False, tool: str | None = None) -> None:
    """Write a sheet for annotators in the format of its suffix, or tasks for a tool."""
    if tool is not None:
        queries.to_json(path, tool=tool, show_prediction=show_prediction)
        return
    write = queries.to_xlsx if path.suffix.lower() == SUFFIX else queries.to_csv
    write(path, show_prediction=show_prediction)


def known_labels(pool: Pool, ids: np.ndarray, labels: np.ndarray, name: str) -> np.ndarray:
    """Put labels into the pool's order; every item needs exactly one."""
    if pool.classes.dtype.kind == "i" and len(labels) and not pool.multilabel:
        labels = _as_numbers(spelled_as(pool.classes, labels))
    items = _items_named(pool, ids, name)
    times = np.bincount(items, minlength=pool.n_items)
    if (times != 1).any():
        item = int(np.argmax(times != 1))
        given = "no label" if times[item] == 0 else f"{times[item]} labels"
        raise LabelError(f"simulate needs one label for every item, but {name} has {given} of {show(pool.ids[item])}.")
    ordered = np.empty(pool.n_items, labels.dtype)
    ordered[items] = labels
    return ordered


def _items_named(pool: Pool, ids: np.ndarray, name: str) -> np.ndarray:
    """Return items by ids, also such as spreadsheets have changed, as `tell` takes them."""
    items = pool.find(ids)
    unknown = np.flatnonzero(items < 0)
    for at, match in zip(unknown.tolist(), IdMatcher(pool)(ids[unknown].tolist()), strict=True):
        if match.found is None:
            raise LabelError(f"Nothing was taken from {name}: {show(ids[at])} {match.problem}.")
        items[at] = match.found
    return items


def _as_numbers(labels: np.ndarray) -> np.ndarray:
    numbers = text_as_int(labels)
    if numbers is None:
        odd = next(label for label in labels if text_as_int(np.asarray([label])) is None)
        raise LabelError(
            f"The label {show(odd)} is no whole number, as the pool's classes are; name them by --classes."
        )
    return numbers


def pool_and_labels(
    path: Path, options: Mapping[str, Any], labels: str, label_column: str, of_ranks: bool = False
) -> tuple[Pool, np.ndarray]:
    """Read a pool and the label of each of its items from a file of labels or from a column of the pool's own file.

    All labels are known here, so that classes that are never predicted need not be declared. Of a question about
    ranks, one score may be of any scale.
    """
    if options.get("scan") or is_address(str(path)):
        raise PoolError("A simulated campaign needs the labels of all items in memory; give one file, without --scan.")
    if Path(labels).is_file():
        pool = read_items(path, options, ranked=False, seed=0, of_ranks=of_ranks).as_pool()
        ids, texts, _, _ = read_texts(Path(labels), options["id"] or "id", label_column)
        known = known_labels(pool, ids, texts, labels)
    elif Path(labels).suffix.lower() in (".csv", ".tsv"):  # a name of a file rather than of a column
        raise FileNotFoundError(2, "No such file", labels)
    else:
        pool, known = _pool_and_column(path, options, labels, of_ranks)
    if not pool.classes_declared and not pool.multilabel:
        if known.dtype.kind == "O" or (pool.classes.dtype.kind == "U") != (known.dtype.kind == "U"):
            known = pool.classes[pool.label_codes(known)]  # or says that numbers are no names
        if not np.isin(known, pool.classes).any():
            raise LabelError(
                f"None of the labels in {labels}, {listing(np.unique(known))}, is predicted; {listing(pool.classes)} "
                "are. If labels have other names than predictions, write them alike; if all predictions are wrong, "
                "name all classes by --classes."
            )
        pool = pool.with_classes(np.union1d(pool.classes, known))
    return pool, known


def _pool_and_column(path: Path, options: Mapping[str, Any], labels: str, of_ranks: bool) -> tuple[Pool, np.ndarray]:
    """Read a pool and the column, or the array, of its labels."""
    npz = path.suffix.lower() == ".npz"
    if labels == "prediction" and not options.get("prediction") and not npz:
        raise LabelError("The column 'prediction' holds the predictions; name the one of true labels by --labels.")
    if not npz:  # of which labels are never read as a group
        options = {**options, "groups": list(dict.fromkeys([*options["groups"], labels]))}
    scored = of_ranks and _have_one_score(options)
    try:
        pool = read_items(path, options, ranked=False, seed=0, of_ranks=True) if scored else read_pool(path, **options)
    except EmptyGroupError as error:
        if error.column != labels:
            raise
        raise LabelError(
            f"simulate needs one label for every item, but the column {labels!r} of {path} has none in {error.row}; "
            "fill it in, or leave the item out."
        ) from None
    array = _array_of(path, labels) if npz else None
    if isinstance(pool, RankedList):  # whose items are in another order than the file's
        pool, labelled = pool.as_pool(), read_pool(path, id=options["id"], prediction=labels)
        return pool, known_labels(pool, labelled.ids, labelled.classes[labelled.predictions].astype(str), str(path))
    known = pool.groups[labels] if array is None else array
    if path.suffix.lower() in (".csv", ".tsv") and known.dtype.kind == "i":
        numerals = pool.classes.dtype.kind == "U" and np.strings.isdecimal(pool.classes).any()
        known = known.astype(str) if numerals else known  # as the file has them
    if pool.classes.dtype.kind == "i" and known.dtype.kind == "U" and not pool.multilabel:
        known = _as_numbers(spelled_as(pool.classes, known))
    return pool, known


def _array_of(path: Path, labels: str) -> np.ndarray:
    """Return the array of labels in an NPZ file."""
    with np.load(path, allow_pickle=False) as archive:
        if labels not in archive:
            raise LabelError(f"{path} has no array {labels!r}; its arrays are {listing(list(archive), 30)}.")
        return values_of(archive[labels])


def check_output(path: Path | None, force: bool, tool: str | None, inputs: Sequence[Path] = ()) -> None:
    """Raise OutputError if a sheet, or tasks for a tool, cannot be written there, before any item is asked for."""
    if tool is not None:
        if path is None:
            raise OutputError(f"Say by -o where to write the tasks, such as -o tasks{EXPORTS}.")
        check_tool(tool, path)
        refuse_to_overwrite(setup_path(path, tool), force, inputs)
    elif path is not None and is_export(path):
        raise OutputError(f"Say by --tool which labelling tool is to read {path.name}: {' or '.join(TOOLS)}.")
    refuse_to_overwrite(path, force, inputs)
    if tool is None and path is not None and path.suffix.lower() in (*OTHER_FORMATS, *RECORDS):
        raise OutputError(f"Sheets are written as .csv, .tsv or {SUFFIX}, not as {path.suffix}; choose another name.")


def refuse_to_overwrite(path: Path | None, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Raise OutputError if an output cannot be written there, before anything is done.

    `inputs` are files that a command reads, which no option lets it replace.
    """
    if path is None:
        return
    for given in inputs:
        if (path.exists() and given.exists() and path.samefile(given)) or path.resolve() in _remains(given):
            raise OutputError(f"{path} belongs to {given.name}, which this command reads; choose another name.")
    if path.exists() and not force:
        raise OutputError(f"{path} exists already, perhaps with labels in it; choose another name, or add --force.")
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {path.parent} to write {path.name} in.")
    if path.suffix.lower() == SUFFIX:
        need_openpyxl()


def check_table_and_figure(csv: Path | None, plot: Path | None, force: bool, inputs: Sequence[Path]) -> None:
    """Raise OutputError if a table or a figure of a result cannot be written there, before anything is done."""
    for output in (csv, plot):
        refuse_to_overwrite(output, force, inputs)
    if plot is None:
        return
    if csv is not None and csv.resolve() == plot.resolve():
        raise OutputError(f"Table and figure cannot both be {plot}; choose another name for one of them.")
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if plot.suffix and plot.suffix[1:].lower() not in known:
        raise OutputError(f"Cannot write the figure {plot}: its suffix should be one of .{', .'.join(sorted(known))}.")


def _remains(path: Path) -> list[Path]:
    """Return the files that SQLite keeps beside a journal."""
    return [path.resolve().with_name(path.name + suffix) for suffix in ("-journal", "-wal", "-shm")]


def pending_queries(assessment: AnySession, annotator: str | None = None) -> LabelSheet:
    """Gather all items that were handed out and not labelled yet, or those that an annotator was to label."""
    if not assessment.n_pending:
        raise OutputError("No item is pending: every item that was asked for has its label.")
    if annotator is None:
        return assessment.pending_queries
    found = assessment.pending_queries_of(annotator)
    if not len(found):
        raise OutputError(
            f"No item that was asked for {annotator} is pending; leave out --annotator for all "
            f"{assessment.n_pending:,} that await labels."
        )
    return found


def as_command(words: list[str]) -> str:
    """Write a call as it is typed in a shell."""
    return shlex.join(words)


def save_figure(ax: Axes, path: Path) -> None:
    """Write a figure in the format of its suffix."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    drawn = io.BytesIO()  # a figure that cannot be finished leaves no file
    try:
        figure.savefig(drawn, dpi=150, format=path.suffix[1:] or "png")
    except ValueError as error:  # an unknown suffix; the message lists those it knows
        raise OutputError(f"Cannot write the figure {path}: {error}.") from None
    with written_whole(path, "figure") as temporary:
        temporary.write_bytes(drawn.getvalue())
