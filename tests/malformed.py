"""Files with something broken in them: they are read, or refused in a sentence of ours.

    PYTHONPATH=tests python -m malformed --files 20000 --kinds pool sheet
    PYTHONPATH=tests python -m malformed --minutes 5 --kinds sheet

The first breaks values, columns and bytes at random. The second lets Atheris (``pip install atheris``) choose bytes by
what code they reach. Both print how many files were read and refused, and stop at the first that does otherwise.
"""

from __future__ import annotations

import argparse
import copy
import csv
import io
import json
import os
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import bayes_assess as ba
from bayes_assess.errors import BayesAssessError
from pool.test_logs import harness_rows, inspect_log, promptfoo_log
from sessions.exchange.tool_exports import flat_record, label_studio, label_studio_minimal, record

Table = dict[str, list]
ODD = [None, True, 7, -1.5, 10**30, 1e308, float("nan"), float("inf"), "", "cat", "\ud800", "a\x00", "=1+1", "1,5", "½"]
ODD += ["7.0", "1e400", " ", "\ufeff", "b;c", 'a"b', "a\nb", "2030-01-01", b"\xff", [], {}, [[]], [None], {"id": None}]
CELLS = [odd for odd in ODD if not isinstance(odd, list | dict)]
BYTES = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b",",
    b";",
    b"\t",
    b'"',
    b"\n",
    b"\r",
    b"{",
    b"]",
    b"null",
    b"1e999",
]
IDS = ["007", "b", "c", "d"]
ITEMS = ba.Pool(predictions=["cat", "dog", "cat", "dog"], ids=IDS)
SETS = ba.Pool(predictions=["cat;dog", "cat", "dog", "-"], ids=IDS, multilabel=True)
LISTED = ba.RankedList(4, ids=IDS, classes=["cat", "dog"])
SAID = [("007", "cat", "anna"), ("b", "dog", "anna"), ("007", "dog", "ben")]


# -- breaking ----------------------------------------------------------------------------------------------------------


def broken_values(found: Any, rng: np.random.Generator) -> Any:
    """Return a copy of what JSON holds with a few values replaced, dropped, doubled or moved."""
    found = copy.deepcopy(found)
    parent: Any
    key: Any
    for _ in range(rng.integers(1, 4)):
        at, parent, key = found, None, None
        while isinstance(at, dict | list) and len(at) and (parent is None or rng.random() < 0.8):
            key = list(at)[rng.integers(len(at))] if isinstance(at, dict) else int(rng.integers(len(at)))
            parent, at = at, at[key]
        if parent is None:
            return found
        action, odd = rng.integers(4), copy.deepcopy(one_of([odd for odd in ODD if odd != b"\xff"], rng))
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[str(odd)] = parent.pop(key)
        elif action == 2 and isinstance(parent, list):
            parent.append(copy.deepcopy(at))
        else:
            parent[key] = odd
    return found


def broken_table(table: Table, rng: np.random.Generator) -> Table:
    """Return a copy with cells replaced, or columns dropped, renamed, copied, cut or made of one kind of value."""
    table = {name: list(values) for name, values in table.items()}
    for _ in range(rng.integers(1, 4)):
        if not table:
            break
        name, action, odd = one_of(list(table), rng), rng.integers(7), one_of(CELLS, rng)
        values = table[name]
        if action == 0:
            del table[name]
        elif action == 1:
            table[str(odd)] = table.pop(name)
        elif action == 2:
            table[name] = copy.copy(table[one_of(list(table), rng)])
        elif action == 3:
            table = {other: column[: rng.integers(len(values) + 1)] for other, column in table.items()}
        elif action == 4:
            table[name] = [odd] * len(values)
        elif values:
            values[rng.integers(len(values))] = odd
    return table


def broken_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with a few of them replaced, dropped, doubled or added, or in another encoding."""
    if rng.random() < 0.1:
        return content.decode("utf-8", "replace").encode(
            one_of(["utf-16", "utf-16-le", "latin-1", "utf-7"], rng), "replace"
        )
    for _ in range(rng.integers(1, 4)):
        start, end = sorted(rng.integers(len(content) + 1, size=2))
        end = min(end, start + rng.integers(1, 9)) if rng.random() < 0.8 else end
        new = one_of([*BYTES, rng.bytes(1), content[start:end] * 2], rng)
        content = content[:start] + new + content[end:]
    return content


def one_of(values: Any, rng: np.random.Generator) -> Any:
    return values[rng.integers(len(values))]


# -- files -------------------------------------------------------------------------------------------------------------


def printable(text: str) -> str:
    """Return a text without halves of letters."""
    return text.encode(errors="replace").decode()


def as_csv(table: Table, rng: np.random.Generator) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=one_of(",,;\t", rng), lineterminator=one_of(["\n", "\r\n"], rng))
    writer.writerow(table)
    rows = [list(row) for row in zip(*table.values(), strict=False)]
    if rows and rng.random() < 0.2:
        row = one_of(rows, rng)  # longer or shorter than the others
        row[:] = row[:-1] if rng.random() < 0.5 else [*row, "more"]
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def as_parquet(table: Table, _: np.random.Generator) -> bytes:
    stream = io.BytesIO()
    columns = {printable(name): _column(values) for name, values in table.items()}
    n = min(map(len, columns.values()), default=0)
    parquet.write_table(pa.table({name: column[:n] for name, column in columns.items()}), stream)
    return stream.getvalue()


def _column(values: list) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, UnicodeError, OverflowError):
        return pa.array([None if value is None else repr(value) for value in values])


def as_npz(table: Table, rng: np.random.Generator) -> bytes:
    stream = io.BytesIO()
    arrays = {}
    for name, values in table.items():
        try:
            found = np.array(values, object if rng.random() < 0.1 else None)
        except UnicodeError:  # of bytes beside texts
            found = np.array(values, object)
        if rng.random() < 0.1:
            found = one_of([found[:, None], found[:0], found[:1].reshape(()) if len(found) else found, found[::2]], rng)
        arrays[printable(name).replace("\x00", "")] = found
    np.savez(stream, **arrays)
    return stream.getvalue()


def as_xlsx(table: Table, _: np.random.Generator) -> bytes:
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook()
    for row in (list(table), *zip(*table.values(), strict=False)):
        try:
            book.active.append(
                [value.encode(errors="replace").decode() if isinstance(value, str) else value for value in row]
            )
        except (IllegalCharacterError, ValueError):
            book.active.append([repr(value) for value in row])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def as_json(content: Any, _: np.random.Generator) -> bytes:
    return json.dumps(content).encode()


def as_lines(content: Any, _: np.random.Generator) -> bytes:
    return "\n".join(map(json.dumps, content if isinstance(content, list) else [content])).encode()


def as_eval(content: Any, rng: np.random.Generator) -> bytes:
    stream, log = io.BytesIO(), content if isinstance(content, dict) else {"samples": content}
    samples = log.get("samples")
    with zipfile.ZipFile(stream, "w") as archive:
        for at, one in enumerate(samples if isinstance(samples, list) else [samples]):
            archive.writestr(f"samples/{at}_epoch_1.json", json.dumps(one))
        if rng.random() < 0.95:
            archive.writestr("header.json", json.dumps({name: log[name] for name in log if name != "samples"}))
    return stream.getvalue()


# -- kinds of files ----------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """A reader, and files that it reads; `write` turns what was broken into bytes."""

    examples: list[tuple[Any, str, Callable[[Any, np.random.Generator], bytes]]]  # content, suffix, writer
    read: Callable[[Path, np.random.Generator], Any]


ROWS = range(6)
POOL = {
    "id": [f"i{i}" for i in ROWS],
    "p_cat": [0.1 * i for i in ROWS],
    "p_dog": [1 - 0.1 * i for i in ROWS],
    "prediction": ["dog" if i < 4 else "cat" for i in ROWS],
    "confidence": [0.5 + 0.05 * i for i in ROWS],
    "site": ["north", "NA"] * 3,
    "points": [10.0 * i for i in ROWS],
    "text": [f"text, {i}" for i in ROWS],
}
ARRAYS = {
    "scores": [0.1 * i for i in ROWS],
    "predictions": [0, 0, 0, 1, 1, 1],
    "confidence": [0.9] * 6,
    "ids": [f"i{i}" for i in ROWS],
    "classes": [0, 1],
    "site": ["north", "south"] * 3,
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"groups": ["site"]},
    {"scores": "p_dog", "classes": ["cat", "dog"]},
    {"scores": ["p_cat", "p_dog"], "id": "id", "show": ["text"]},
    {"prediction": "prediction", "confidence": "confidence"},
    {"prediction": "points", "bounds": (0, 100)},
    {"prediction": "prediction", "multilabel": True},
    {"systems": ["site"]},
    {"wide": ["prediction", "site"]},
]
SHEET = {"id": IDS, "text": ["a", "b; c", "d\ne", ""], "label": ["cat", "dog", "", "?"], "annotator": ["anna"] * 4}


def read_pool(path: Path, rng: np.random.Generator) -> None:
    pool = ba.read_pool(path, **one_of(OPTIONS, rng))
    assert len(pool.fingerprint()) > 0
    assert len(pool.ids) == pool.n_items > 0
    for scores in (pool.scores, pool.confidence):
        assert scores is None or (np.isfinite(scores).all() and scores.min() >= 0 and scores.max() <= 1)
    if not pool.multilabel:
        assert 0 <= pool.predictions.min() <= pool.predictions.max() < pool.n_classes


def read_ranked(path: Path, rng: np.random.Generator) -> None:
    listed = ba.read_ranked(path, scores=one_of(["p_cat", "scores", "points"], rng))
    assert listed.ranks_of(listed.ids_at(np.arange(1, len(listed) + 1))) is not None


def read_labels(path: Path, rng: np.random.Generator) -> None:
    pool = (ITEMS, SETS, None)[rng.integers(3)]
    ids, labels, names = ba.read_labels(path, pool, annotators=True)
    assert len(ids) == len(labels) == len(names)
    assert pool is None or (
        set(ids.tolist()) <= set(IDS) and (pool.multilabel or set(labels.tolist()) <= {"cat", "dog"})
    )


def tell(path: Path, rng: np.random.Generator) -> None:
    """Tell a sheet to a session with a journal: all of it, or nothing."""
    from bayes_assess.cli.told import read_told

    journal = path.with_name("run.db")
    journal.unlink(missing_ok=True)
    items, question = one_of([(ITEMS, ba.GroupAccuracy()), (LISTED, ba.PrecisionCurve())], rng)
    a = ba.assess(items, question, journal=journal)
    before = len(list(a.journal.events()))
    try:
        sheet = read_told(a, path, "id", "label", ["?"], None)
        named = (sheet.annotators != "").any()
        a.tell(sheet.ids, sheet.labels, annotator=sheet.annotators if named else None)
    except BayesAssessError:
        assert len(list(a.journal.events())) == before
        raise
    finally:
        a.journal.close()
    again = ba.resume(journal, items)
    assert again.labels_used == a.labels_used
    again.journal.close()


def read_log(path: Path, rng: np.random.Generator) -> None:
    assert ba.read_log(path, score=one_of([None, None, "score", "match"], rng)).n_items > 0


TABLES = [(POOL, ".csv", as_csv), (POOL, ".parquet", as_parquet), (ARRAYS, ".npz", as_npz)]
SHEETS = [(SHEET, ".csv", as_csv), (SHEET, ".xlsx", as_xlsx)]
EXPORTS = [(form(SAID), ".json", as_json) for form in (label_studio, label_studio_minimal, record, flat_record)]
LOGS = [
    (inspect_log(), ".json", as_json),
    (inspect_log(), ".eval", as_eval),
    (promptfoo_log(), ".json", as_json),
    (harness_rows(), ".jsonl", as_lines),
]
KINDS = {
    "pool": Kind(TABLES, read_pool),
    "ranked": Kind(TABLES, read_ranked),
    "sheet": Kind(SHEETS, read_labels),
    "told": Kind([*SHEETS, *EXPORTS], tell),
    "export": Kind(EXPORTS, read_labels),
    "log": Kind(LOGS, read_log),
}


def is_read(kind: str, path: Path, rng: np.random.Generator) -> bool:
    """Whether a file is read; refused it is otherwise, in a sentence that can be printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # of ours: what was taken for what, what was left out
        try:
            KINDS[kind].read(path, rng)
        except BayesAssessError as error:
            said = str(error)
            said.encode()  # halves of letters could not be printed
            assert said.endswith("."), said
            return False
    return True


def try_broken(kind: str, folder: Path, seed: int) -> bool:
    """Break a file as `seed` says, and return whether it is read."""
    rng = np.random.default_rng([seed, 0x6D61])
    content, suffix, write = one_of(KINDS[kind].examples, rng)
    if rng.random() < 0.8:
        content = (broken_table if write in (as_csv, as_parquet, as_npz, as_xlsx) else broken_values)(content, rng)
    data = write(content, rng)
    path = folder / f"broken{suffix}"
    path.write_bytes(broken_bytes(data, rng) if rng.random() < 0.4 else data)
    return is_read(kind, path, rng)


def at_random(kind: str, n: int, first: int) -> None:
    """Read files that are broken at random, and print the counts."""
    counts: Counter[bool] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + n):
            try:
                counts[try_broken(kind, Path(folder), seed)] += 1
            except BaseException:
                print(f"{kind}, seed {seed}:", file=sys.stderr)
                raise
    print(f"{kind}: {n:,} broken files; {counts[True]:,} read, {counts[False]:,} refused", flush=True)


def guided(kind: str, minutes: float) -> None:
    """Let Atheris choose the bytes of files; this does not return."""
    import atheris

    counts: Counter[bool] = Counter()
    folder, end = Path(tempfile.mkdtemp()), float("inf")
    corpus, rng = folder / "corpus", np.random.default_rng(0)
    corpus.mkdir()
    examples = KINDS[kind].examples
    for at, (content, _, write) in enumerate(examples):
        (corpus / str(at)).write_bytes(bytes([at]) + write(content, rng))

    def one(data: bytes) -> None:
        if time.monotonic() > end:
            n = sum(counts.values())
            print(f"{kind}: {n:,} files by coverage; {counts[True]:,} read, {counts[False]:,} refused", flush=True)
            os._exit(0)  # libFuzzer takes other ends for faults
        at = data[0] % len(examples) if data else 0
        path = folder / f"broken{examples[at][1]}"
        path.write_bytes(data[1:])
        counts[is_read(kind, path, np.random.default_rng(len(data)))] += 1

    atheris.instrument_all()
    end = time.monotonic() + 60 * minutes
    atheris.Setup([sys.argv[0], str(corpus), "-max_len=4096"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first file")
    parser.add_argument("--minutes", type=float, help="of Atheris; the kind is the first given")
    options = parser.parse_args()
    if options.minutes:
        guided(options.kinds[0], options.minutes)
    for each in options.kinds:
        at_random(each, options.files, options.first)
