"""What the package says, in the words of the command line: options in the place of arguments, and notes of one line."""

from __future__ import annotations

import contextlib
import re
import shlex
import warnings
from collections.abc import Iterator, Mapping

from bayes_assess.cli.echo import echo

_TWICE = re.compile(r"(--[\w-]+) or \w+=(?:\[\.\.\.\]|\{\.\.\.\}|True\b)")
_DESIGN = re.compile(r"'(\w+)' with (\w+)='(\w+)'")
_ARGUMENT = re.compile(
    r"(?<![\w.'\"(=:-])(?P<name>[a-z_]+)="
    r"(?:\[\.\.\.\]|\{\.\.\.\}|True\b|'(?P<text>[^']*)'"
    r"|(?P<number>[0-9][\w.]*\w|[0-9])|\((?P<pair>[\w.-]+, [\w.-]+)\))?"
)
# Names alone: such as are no words of English, and words that a value was found for.
_NAME = re.compile(r"(?<![\w.'\"`(=:-])([a-z]+(?:_[a-z]+)+(?![\w='\"`(]|\.\w)|(?<= for )[a-z]+(?=; found | [<>]=? ))")


def with_options(message: str, options: Mapping[str, str]) -> str:
    """Return a message with the options of a command in the place of arguments in Python.

    Parameters
    ----------
    message : str
    options : mapping of str to str
        Flags by the names of arguments.

    Examples
    --------
    >>> options = {"classes": "--classes", "width": "--width", "design": "--design"}
    >>> with_options("Such as width=0.05; name them as classes=[...], with design='random'.", options)
    'Such as --width 0.05; name them as --classes, with --design random.'
    >>> with_options("By --classes or classes=[...].", options)
    'By --classes.'
    >>> with_options("By --multilabel or multilabel=True; pass multilabel=True.", {"multilabel": "--multilabel"})
    'By --multilabel; pass --multilabel.'
    >>> with_options("By bounds=(0, 100), or bounds=(-inf, inf).", {"bounds": "--bounds"})
    'By --bounds 0,100, or --bounds=-inf,inf.'
    >>> with_options("By 'poisson' with labels='curve', such as poisson:labels=curve.", {"labels": "--labels"})
    "By 'poisson:labels=curve', such as poisson:labels=curve."
    >>> with_options("A number in (0, 1] for p_min; found 3.", {"p_min": "--p-min"})
    'A number in (0, 1] for --p-min; found 3.'
    >>> with_options("A file labels_of.csv; leave out p_min.", {"p_min": "--p-min", "labels_of": "--labels"})
    'A file labels_of.csv; leave out --p-min.'
    """

    def written(found: re.Match[str]) -> str:
        flag, value = options.get(found["name"]), found["number"] if found["text"] is None else found["text"]
        if flag is None:
            return found[0]
        if found["pair"] is not None:  # "-inf" would be taken for an option of its own after a space
            pair = found["pair"].replace(" ", "")
            return f"{flag}{'=' if pair.startswith('-') else ' '}{pair}"
        return flag if value in (None, "...") else f"{flag} {shlex.quote(value)}"

    message = _NAME.sub(lambda found: options.get(found[1], found[1]), message)
    return _ARGUMENT.sub(written, _DESIGN.sub(r"'\1:\2=\3'", _TWICE.sub(r"\1", message)))


@contextlib.contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Print warnings to standard error as sentences, without the line of code that they come from."""
    before = warnings.showwarning

    def say(message: Warning | str, *_: object) -> None:
        echo(f"Note: {' '.join(str(message).split())}", err=True)

    warnings.showwarning = say
    try:
        yield
    finally:
        warnings.showwarning = before
