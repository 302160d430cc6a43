"""What evaluation tools write down: logs of Inspect, results of promptfoo, samples of the LM evaluation harness."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayes_assess._tools.archives import NoZstandard, check_unpacked, read_part
from bayes_assess._tools.arrays import listing
from bayes_assess.errors import PoolError

_TASK_OF_FILE = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d{2}-\d{2}T.*)?")
_OF_HARNESS = frozenset({"doc_id", "target", "filter"})  # numbers there that are no metrics
_ERROR = 2  # failureReason of promptfoo: neither passed nor rejected by an assertion


@dataclass(frozen=True)
class JudgedOutput:
    """One output of a system, with what was said of it.

    Attributes
    ----------
    where : str
        Place in the file, for messages.
    prompt : str
        Which question was put; several systems, or repetitions, may share it.
    groups : dict
        The task, the system, the repetition and so on, as texts.
    scores : dict
        What scorers or metrics said, by name.
    show : dict
        What an annotator needs to see, as texts.
    """

    where: str
    prompt: str
    groups: dict[str, str]
    scores: dict[str, Any]
    show: dict[str, str] = field(default_factory=dict)


_HEADER = "header.json"  # of archives


def outputs_in(path: Path) -> list[JudgedOutput]:
    """Read all judged outputs of a file; its content says which tool has written it.

    Raises
    ------
    PoolError
        If the file is of no known tool, or a place in it is not as that tool writes it.
    """
    try:
        packed = _unpacked(path) if zipfile.is_zipfile(path) else None
        text = path.read_text(encoding="utf-8-sig") if packed is None else ""
    except NoZstandard:
        raise PoolError(
            f'{path} is compressed by Zstandard, as Inspect writes logs: pip install "bayes-assess[zstd]", or '
            f"convert it by `inspect log convert {path.name} --to json --output-dir json_logs`, and read that."
        ) from None
    except UnicodeDecodeError:
        raise PoolError(
            f"{path} is no text in UTF-8, as logs are; if it holds a table, read it by ba.read_pool."
        ) from None
    except Exception as error:  # whatever damaged archives raise
        raise PoolError(f"{path} cannot be read: {str(error).rstrip('.')}.") from None
    if packed is not None:
        return list(_inspect(*_of_archive(path, packed)))
    if path.suffix.lower() == ".jsonl":
        return list(_harness(path, [_parsed(line, path, f"line {i}") for i, line in _lines(text)]))
    whole = _parsed(text, path, "the file")
    if isinstance(whole, dict) and isinstance(whole.get("results"), dict) and "results" in whole["results"]:
        return list(_promptfoo(path, whole["results"]["results"]))
    if isinstance(whole, dict) and isinstance(whole.get("eval"), dict):
        samples = whole.get("samples")
        if not isinstance(samples, list):
            raise PoolError(f"{path} has no samples: it may be of a run that failed, or a log of headers alone.")
        return list(_inspect(path, whole, [(f"sample {i}", sample) for i, sample in enumerate(samples, 1)]))
    if isinstance(whole, list) and whole and isinstance(whole[0], dict) and "doc_id" in whole[0]:
        return list(_harness(path, [_a_dict(row, path, f"row {i}") for i, row in enumerate(whole, 1)]))
    raise PoolError(
        f"{path} is no log that is known: those of Inspect (.eval, .json), results of promptfoo (.json) and samples of "
        "the LM evaluation harness (.jsonl) are. Write a table with a row per output, and read that."
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip())


def _parsed(text: str, path: Path, where: str) -> Any:
    try:
        content = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise PoolError(f"{path}, {where}, is no JSON: {error}.") from None
    except ValueError:
        raise PoolError(f"{path}, {where}, has a number of more digits than can be read.") from None
    return _a_dict(content, path, where) if where != "the file" else content


def _a_dict(value: object, path: Path, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PoolError(f"{path}, {where}: an object with names and values should be here, not {_short(value)}.")
    return value


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _need(row: Mapping[str, object], name: str, path: Path, where: str) -> Any:
    if row.get(name) is None:
        raise PoolError(f"{path}, {where}, has no {name!r}.")
    return row[name]


# -- Inspect: {"eval": {"task", "model"}, "samples": [{"id", "epoch", "input", "target", "output", "scores"}]}


def _unpacked(path: Path) -> dict[str, str]:
    """Return the texts of an archive by their names, those that a log consists of."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name == _HEADER or name.startswith("samples/")]
        names = sorted(name for name in names if name.endswith(".json"))
        check_unpacked(archive, names)
        return {name: read_part(path, archive, name).decode() for name in names}


def _of_archive(path: Path, texts: Mapping[str, str]) -> tuple[Path, dict[str, Any], list[tuple[str, Any]]]:
    if _HEADER not in texts:
        raise PoolError(f"{path} has no header.json; logs of Inspect do once their run has ended.")
    entries = {name: _parsed(text, path, name) for name, text in texts.items()}
    return path, entries.pop(_HEADER), list(entries.items())


def _inspect(path: Path, header: dict[str, object], samples: list[tuple[str, object]]) -> Iterator[JudgedOutput]:
    about = _a_dict(header.get("eval"), path, "eval")
    run = {"task": str(about.get("task", "task")), "model": str(about.get("model", "model"))}
    for where, row in samples:
        sample = _a_dict(row, path, where)
        scores = _a_dict(sample.get("scores") or {}, path, f"{where}, scores")
        yield JudgedOutput(
            where=f"{path}, {where}",
            prompt=str(_need(sample, "id", path, where)),
            groups=run | {"epoch": str(sample.get("epoch", 1))},
            scores={name: score.get("value") if isinstance(score, dict) else score for name, score in scores.items()},
            show={
                "input": _said(sample.get("input")),
                "output": _output(sample.get("output")),
                "target": _said(sample.get("target")),
            },
        )


def _output(output: object) -> str:
    if not isinstance(output, dict):
        return _said(output)
    if output.get("completion"):
        return _said(output["completion"])
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return _said(first.get("message") if isinstance(first, dict) else None)


def _said(value: object) -> str:
    """Write texts, messages of a conversation, and lists of either, as one text."""
    if value is None:
        return ""
    if isinstance(value, dict):
        content = value.get("content", value.get("text"))
        text = _said(content) if content is not None else json.dumps(value, ensure_ascii=False)
        return (
            f"{value['role']}: {text}" if isinstance(value.get("role"), str) and value["role"] != "assistant" else text
        )
    if isinstance(value, list):
        return "\n".join(filter(None, map(_said, value)))
    return str(value)


# -- promptfoo: {"results": {"results": [{"testIdx", "promptIdx", "provider", "vars", "response", "success"}]}}


def _promptfoo(path: Path, rows: object) -> Iterator[JudgedOutput]:
    if not isinstance(rows, list):
        raise PoolError(f"{path}: results.results should be a list of results, not {_short(rows)}.")
    for i, row in enumerate(rows, 1):
        where = f"result {i}"
        result = _a_dict(row, path, where)
        provider, prompt = result.get("provider"), result.get("prompt")
        named = result.get("namedScores")
        scores = {name: result.get(name) for name in ("success", "score")} | (named if isinstance(named, dict) else {})
        response, given = result.get("response"), result.get("vars")
        given = given if isinstance(given, dict) else {}
        test = result.get("testIdx")
        yield JudgedOutput(
            where=f"{path}, {where}",
            prompt=json.dumps(given, sort_keys=True, ensure_ascii=False) if test is None else str(test),
            groups={
                "provider": str(provider.get("label") or provider.get("id"))
                if isinstance(provider, dict)
                else str(provider),
                "prompt_template": str(result.get("promptIdx", 0)),
            },
            scores={} if _ended_in_error(result) else scores,
            show={
                "input": _said(prompt.get("raw") if isinstance(prompt, dict) else prompt),
                "output": _said(response.get("output") if isinstance(response, dict) else response),
            },
        )


def _ended_in_error(result: dict[str, Any]) -> bool:
    """Tell whether a call failed, so that nothing was judged, although it counts as a test that failed.

    Reasons of failures are 0, 1 and 2: none, an assertion, an error. Before there were any, `error` was the reason of
    an assertion, too, which judged an output.

    Examples
    --------
    >>> failed = {"success": False, "error": "timeout"}
    >>> [_ended_in_error(failed | more) for more in ({}, {"failureReason": 2}, {"response": {"output": "no"}})]
    [True, True, False]
    """
    reason, response = result.get("failureReason"), result.get("response")
    if reason is not None:
        return reason == _ERROR
    answered = response.get("output") is not None if isinstance(response, dict) else response is not None
    return bool(result.get("error")) and not (answered and "success" in result)


# -- LM evaluation harness: {"doc_id", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}


def _harness(path: Path, rows: list[dict[str, object]]) -> Iterator[JudgedOutput]:
    if rows and rows[0].get("doc_id") is None:
        names = listing(list(rows[0]), 6) or "nothing"
        raise PoolError(
            f"{path} is taken for samples of the LM evaluation harness, as .jsonl files are, but its rows have no "
            f"'doc_id'; they have {names}. A pool of predictions is read from CSV or Parquet: in pandas "
            "pd.read_json(path, lines=True).to_csv('pool.csv', index=False) writes one, with the columns id, "
            "prediction and score or p_CLASS."
        )
    match = _TASK_OF_FILE.fullmatch(path.stem)
    run = {"task": match["task"] if match else path.stem, "model": path.parent.name or "model"}
    for i, row in enumerate(rows, 1):
        where = f"row {i}"
        named = row.get("metrics")
        metrics = named if isinstance(named, list) else [name for name in row if _is_metric(name, row[name])]
        yield JudgedOutput(
            where=f"{path}, {where}",
            prompt=str(_need(row, "doc_id", path, where)),
            groups=run | {"filter": str(row.get("filter", "none"))},
            scores={str(name): row.get(str(name)) for name in metrics},
            show={
                "input": _said(_first(row.get("arguments"))),
                "output": _said(_first(row.get("filtered_resps"))) or _said(_first(row.get("resps"))),
                "target": _said(row.get("target")),
            },
        )


def _is_metric(name: str, value: object) -> bool:
    return name not in _OF_HARNESS and isinstance(value, int | float)


def _first(value: object) -> Any:
    """Return what comes first in lists, or objects, within each other."""
    while isinstance(value, list | dict) and value:
        value = value[0] if isinstance(value, list) else next(iter(value.values()))
    return None if isinstance(value, list | dict) else value
