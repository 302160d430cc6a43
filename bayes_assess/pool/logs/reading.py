"""A pool from the logs of evaluation tools."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from bayes_assess._tools.arrays import listing
from bayes_assess._tools.callers import warn_caller
from bayes_assess._tools.progress import in_progress
from bayes_assess._tools.shapes import ArrayLike
from bayes_assess._tools.text import plural, without_halves
from bayes_assess.errors import PoolError
from bayes_assess.pool.logs.formats import JudgedOutput, outputs_in
from bayes_assess.pool.pool import Pool

SUFFIXES = (".eval", ".json", ".jsonl")
PROMPT = "prompt_id"
_CORRECT_LAST = ("I", "C")  # incorrect and correct, as Inspect has them
_TEXTS = ("groups", "scores", "show")
_MOST = 2**53  # whole numbers up to here are told apart as floats
_LONG = 40  # characters of a value that a message shows

T = TypeVar("T")


@in_progress("Reading the logs")
def read_log(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    score: str | None = None,
    classes: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
) -> Pool:
    """Read what evaluation tools have judged as a pool: an item per output, whose prediction is the verdict.

    Logs of Inspect (``.eval`` or ``.json``), results of promptfoo (``.json``) and samples of the LM evaluation harness
    (``samples_TASK_*.jsonl``, in a folder per model) are told apart by what is in them. The column ``prompt_id`` says
    which outputs answer the same prompt; models or providers, tasks, epochs and the like are groups where there are
    several. Inputs, outputs and targets are what annotators see.

    Parameters
    ----------
    source : path, or several
        Files, or folders of them.
    score : str, optional
        Scorer or metric whose verdict is taken; needed where there are several. By default that of promptfoo is
        ``success``.
    classes : sequence, optional
        All verdicts that there can be, where some do not occur. Of ``C`` and ``I``, correct and incorrect, the positive
        class is ``C``.
    bounds : two floats, optional
        Where verdicts are numbers, such as points: the least and the greatest, see `NumericPool`. By default (0, 1) if
        verdicts are numbers between 0 and 1 other than these two.

    Returns
    -------
    Pool

    Warns
    -----
    UserWarning
        If outputs without that score are left out.

    Raises
    ------
    PoolError
        If a file is no such log, nothing is in it, or it is not clear which score is meant.

    Examples
    --------
    >>> import json, tempfile
    >>> import bayes_assess as ba
    >>> rows = [{"doc_id": i, "target": "7", "filtered_resps": ["7"], "acc": float(i > 0)} for i in range(3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "samples_sums.jsonl"
    ...     _ = path.write_text(chr(10).join(map(json.dumps, rows)))
    ...     pool = ba.read_log(path)
    >>> pool.prediction_names(slice(None)).tolist(), pool.show["target"].tolist()
    ([0, 1, 1], ['7', '7', '7'])
    """
    outputs = [_whole(output) for path in _files(source) for output in outputs_in(path)]
    if not outputs:
        raise PoolError(f"Nothing has been judged in {_named(source)}; it has no samples.")
    name = _score(outputs, score)
    judged = [output for output in outputs if output.scores.get(name) is not None]
    if len(judged) < len(outputs):
        n, first = len(outputs) - len(judged), _without(outputs, name)
        text = f"Left out {plural(n, 'output')} of {len(outputs):,} without the score {name!r}; the first is {first}."
        warn_caller(text)
    verdicts = [_verdict(output, name) for output in judged]
    numbers = [value for value in verdicts if isinstance(value, float)]
    broken = [value for value in numbers if not value.is_integer()]
    if broken and len(numbers) < len(verdicts):
        raise PoolError(
            f"Verdicts of {name!r} are numbers here and words there ({listing(verdicts, 4)}); choose a score."
        )
    if bounds is None and broken:
        bounds = (0.0, 1.0)
        if not 0 <= min(numbers) <= max(numbers) <= 1:
            raise PoolError(f"Verdicts of {name!r} are numbers from {min(numbers):g} to {max(numbers):g}; give bounds.")
    predictions: Any = numbers if bounds is not None else _classes(verdicts)
    several = {key for output in judged for key in output.groups}
    groups = {key: [output.groups.get(key, "") for output in judged] for key in sorted(several)}
    groups = {key: values for key, values in groups.items() if len(set(values)) > 1}
    prompts = _prompts(judged, groups)
    shown = {key: [output.show.get(key, "") for output in judged] for key in ("input", "output", "target")}
    return Pool(
        predictions=predictions,
        ids=_ids(prompts, groups),
        groups={PROMPT: prompts, **groups},
        show={key: values for key, values in shown.items() if any(values)},
        classes=(_in_order(predictions) if classes is None else classes) if bounds is None else None,
        bounds=bounds,
    )


def _whole(output: JudgedOutput) -> JudgedOutput:
    """Return an output without halves of letters, which logs may have and sheets cannot."""
    parts = {name: {key: _clean(value) for key, value in getattr(output, name).items()} for name in _TEXTS}
    return replace(output, prompt=_clean(output.prompt), **parts)


def _clean(value: T) -> T | str:
    return without_halves(value).replace("\0", "\ufffd") if isinstance(value, str) else value


def _files(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    given: list[Any] = [source]
    if isinstance(source, Iterable) and not isinstance(source, str | os.PathLike):
        given = list(source)
    odd = [place for place in given if not isinstance(place, str | os.PathLike)]
    if odd:
        raise PoolError(f"Logs are named by the paths of their files or folders; found {listing(odd)}.")
    files: list[Path] = []
    for place in map(Path, given):
        if place.is_dir():
            inside = sorted(path for path in place.rglob("*") if path.suffix.lower() in SUFFIXES)
            samples = [path for path in inside if path.name.startswith("samples_")]
            files += samples or inside  # the harness writes its totals beside its samples
        elif place.is_file():
            files.append(place)
        else:
            raise PoolError(f"There is no file {str(place)!r}.")
    if not files:
        raise PoolError(f"There is no log in {_named(source)}: no file whose name ends in {', '.join(SUFFIXES)}.")
    return files


def _named(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else ", ".join(map(str, source))


def _score(outputs: list[JudgedOutput], score: str | None) -> str:
    """Return the score that is meant."""
    names = list(dict.fromkeys(name for output in outputs for name in output.scores))
    if score is not None:
        if score not in names:
            raise PoolError(f"There is no score {score!r}; there are {listing(names, 30)}.")
        return score
    if "success" in names:
        return "success"
    if len(names) != 1:
        there = f"several scores, {listing(names, 30)}: choose one by score" if names else "no score in it"
        raise PoolError(f"The log has {there}.")
    return names[0]


def _without(outputs: list[JudgedOutput], name: str) -> str:
    return next(output.where for output in outputs if output.scores.get(name) is None)


def _verdict(output: JudgedOutput, name: str) -> str | float:
    """Return a verdict as a number, true and false being 1 and 0, or as a word."""
    value = output.scores[name]
    if isinstance(value, bool | int | float) and abs(value) < _MOST:
        return float(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    shown = listing([value], 1) if len(str(value)) < _LONG else f"{str(value)[:_LONG]}..."
    raise PoolError(f"{output.where}: the score {name!r} is {shown}; a verdict is a word or a number, not beyond 2^53.")


def _classes(verdicts: list[str | float]) -> list[str] | list[int]:
    """Return verdicts as class names: whole numbers, or words."""
    if all(isinstance(value, float) for value in verdicts):
        return [int(value) for value in verdicts]
    return [value if isinstance(value, str) else f"{value:g}" for value in verdicts]


def _in_order(verdicts: list[str]) -> list[str] | None:
    """Return the verdicts of Inspect, correct being the positive one; None where there are others."""
    return list(_CORRECT_LAST) if set(verdicts) <= set(_CORRECT_LAST) else None


def _prompts(judged: list[JudgedOutput], groups: dict[str, list[str]]) -> list[str]:
    """Name prompts; those of several tasks are apart, whatever they are called."""
    tasks = groups.get("task")
    return [output.prompt if tasks is None else f"{tasks[i]}/{output.prompt}" for i, output in enumerate(judged)]


def _ids(prompts: list[str], groups: dict[str, list[str]]) -> list[str]:
    """Name items by their prompts and groups, and repetitions by numbers."""
    apart = [values for key, values in groups.items() if key != "task"]
    names = ["/".join(parts) for parts in zip(prompts, *apart, strict=True)]
    times: Counter[str] = Counter()
    ids = []
    for name in names:
        times[name] += 1
        ids.append(name if times[name] == 1 else f"{name}#{times[name]}")
    return ids
