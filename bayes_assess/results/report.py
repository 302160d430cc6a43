"""Reports: an answer on one page, as HTML or Markdown, for those who were not there.

A page says what was asked, the answer and what it leans on, shows figure and table, and how to get the same again. HTML
is one file that loads nothing, for narrow screens, dark ones and paper; names of the pool are text in it, whatever they
contain.
"""

from __future__ import annotations

import base64
import datetime
import html
import io
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from bayes_assess import __version__
from bayes_assess._tools.arrays import show
from bayes_assess._tools.files import path_of, written_whole
from bayes_assess._tools.shapes import Json
from bayes_assess._tools.strict_json import plain
from bayes_assess._tools.tables import Table
from bayes_assess._tools.text import plural, without_links
from bayes_assess.errors import OutputError
from bayes_assess.results._in_words import LABELLED, measure_in_words, question_in_words

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from bayes_assess.questions._base import Question

FORMATS = {".html": "html", ".htm": "html", ".md": "md"}
_ROWS = 1_000  # of a table; a longer one shows its head and its tail
_NUMPY = re.compile(r"np\.\w+\(((?:'[^']*')|(?:\"[^\"]*\")|[\w.+-]+)\)")
_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]+"  # Hebrew, Arabic and their kin
_RIGHT_TO_LEFT = re.compile(rf"({_TO_LEFT}(?:[\W_]+{_TO_LEFT})*)")
_LACKING_GLYPH = re.compile(r"Glyph \d+ .*missing from")  # a warning of Matplotlib
_LONGEST = 300  # characters of a question
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~@])")


class Reported(Protocol):
    """What a report needs of an answer; what else an answer has, it says by the same names."""

    @property
    def question(self) -> Question | str:
        """What was asked."""
        ...

    @property
    def design(self) -> str:
        """How items were chosen."""
        ...

    @property
    def level(self) -> float:
        """Of the interval."""
        ...

    @property
    def labels_used(self) -> int:
        """Labels told so far."""
        ...

    @property
    def headline(self) -> str:
        """The answer as one sentence."""
        ...

    def summary(self) -> str:
        """Say the answer in a few sentences."""
        ...

    def table(self) -> Table:
        """Tabulate the answer."""
        ...

    def full_table(self) -> Table:
        """Tabulate all of the answer."""
        ...

    def plot(self) -> Axes:
        """Draw the answer."""
        ...


@dataclass(frozen=True)
class ReportSection:
    """A part of a report.

    Attributes
    ----------
    title : str
    lines : tuple of str
        Paragraphs.
    tables : tuple of Table
    figure : Axes, optional
    code : str
        As it is to be typed.
    """

    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figure: Axes | None = field(default=None, repr=False)
    code: str = ""


def sections(
    answer: Reported, made_by: Mapping[str, str] | None = None, date: str | None = None
) -> list[ReportSection]:
    """Take an answer apart into what every report has.

    Parameters
    ----------
    answer : Answer
    made_by : mapping of str to str, optional
        What else tells where it comes from; ``"command"`` is shown as code.
    date : str, optional
        When the answer was given; today by default.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> result = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy()).result()
    >>> [section.title for section in sections(result)]
    ['Answer', 'What it leans on', 'Figure', 'Table', 'Labels', 'How to get it again']
    """
    lines = answer.summary().splitlines()
    of_labels = [line for line in lines if LABELLED.match(line)]
    leans = [getattr(answer, "promise", None), getattr(answer, "assumption", None)]
    if getattr(answer, "guarantee", None) == "exact" and leans[1]:
        leans = leans[1:]  # which says why nothing is assumed
    price, first = _price(answer), answer.headline
    said = {*of_labels, *getattr(answer, "said_in_headline", (first,)), *leans}
    return [
        ReportSection("Answer", (first, _labelled(answer, date), *(line for line in lines if line not in said))),
        ReportSection("What it leans on", tuple(dict.fromkeys(line for line in leans if line))),
        ReportSection("Figure", figure=answer.plot()),
        ReportSection("Table", tables=(_for_people(answer),)),
        ReportSection("Labels", (*of_labels, *([price] if price else []))),
        _origin(answer, dict(made_by or {})),
    ]


def write_report(
    answer: Reported,
    path: str | os.PathLike[str],
    format: str | None = None,
    made_by: Mapping[str, str] | None = None,
    date: str | None = None,
) -> Path:
    """Write an answer as one page; see `Answer.report`."""
    target = path_of(path, "report")
    kind = FORMATS.get(target.suffix.lower()) if format is None else format
    if kind not in FORMATS.values():
        given = f"the suffix of {str(target)!r}" if format is None else show(format)
        raise OutputError(f"A report is 'html' or 'md', by its format or the suffix of its file; found {given}.")
    text = (as_html if kind == "html" else as_markdown)(answer, made_by, date)
    with written_whole(target, "report") as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return target


def as_html(answer: Reported, made_by: Mapping[str, str] | None = None, date: str | None = None) -> str:
    """Render an answer as one HTML page.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> pool = ba.Pool(predictions=["<b>", "dog"])
    >>> "<b>" in as_html(ba.assess(pool, ba.GroupAccuracy()).result())
    False
    """
    question = question_in_words(answer.question)
    title = html.escape(question)
    style = resources.files("bayes_assess.results").joinpath("report.css").read_text(encoding="utf-8")
    body = "\n".join(_html_of(section, title) for section in sections(answer, made_by, date))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{title}</title>\n<style>\n{style}</style>\n</head>\n'
        f"<body>\n<main>\n<h1>{_in_html(question)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def as_markdown(answer: Reported, made_by: Mapping[str, str] | None = None, date: str | None = None) -> str:
    """Render an answer in Markdown, without its figure, for the thread of a pull request.

    Examples
    --------
    >>> import bayes_assess as ba
    >>> result = ba.assess(ba.Pool(predictions=["cat", "dog"]), ba.GroupAccuracy()).result()
    >>> as_markdown(result).splitlines()[0]
    '## How accurate is the system, by prediction?'
    """
    parts = [f"## {_plain_markdown(question_in_words(answer.question))}"]
    for section in sections(answer, made_by, date):
        _closed(section)
        if section.figure is not None:
            continue
        parts.append(f"### {section.title}")
        parts += [_plain_markdown(line) for line in section.lines]
        parts += [table.to_markdown() for table in section.tables]
        parts += [f"```\n{section.code.replace('```', '` ` `')}\n```"] if section.code else []
    return "\n\n".join(parts) + "\n"


def as_dict(answer: Reported) -> dict[str, Json]:
    """Return an answer as plain values; see `Answer.to_dict`."""
    fields = ("design", "level", "guarantee", "promise", "assumption", "labels_used", "seed")
    values = ("estimate", "interval", "design_interval", "masses", "verdict")
    asked = answer.question
    content: dict[str, object] = {
        "bayes_assess": __version__,
        "question": question_in_words(asked),
        "asked": _as_typed(asked),
        "summary": answer.summary(),
        **{name: getattr(answer, name) for name in (*fields, *values) if hasattr(answer, name)},
        "table": list(answer.full_table().rows()),
    }
    return plain(content)


def _html_of(section: ReportSection, title: str) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    parts += [f"<p>{_in_html(line)}</p>" for line in section.lines]
    parts += [f'<div class="wide">{table.to_html(max_rows=_ROWS)}</div>' for table in section.tables]
    if section.figure is not None:
        # As an image of its own: nothing that names could smuggle in is run, and a dark page can turn its colours.
        drawn = base64.b64encode(_svg(section.figure)).decode()
        parts.append(f'<div class="wide"><img alt="{title}" src="data:image/svg+xml;base64,{drawn}"></div>')
    if section.code:
        parts.append(f'<pre class="wide"><code>{html.escape(section.code)}</code></pre>')
    _closed(section)
    kind = re.sub(r"\W+", "-", section.title.lower())
    return f'<section class="{kind}">\n' + "\n".join(parts) + "\n</section>"


def _in_html(text: str) -> str:
    """Write a sentence so that names that run from right to left do not turn round the figures beside them.

    Examples
    --------
    >>> _in_html("rate (site \u062c\u0646\u0648\u0628) 0.5, 95% <")
    'rate (site <bdi>\u062c\u0646\u0648\u0628</bdi>) 0.5, 95% &lt;'
    """
    parts = map(html.escape, _RIGHT_TO_LEFT.split(text))
    return "".join(f"<bdi>{part}</bdi>" if at % 2 else part for at, part in enumerate(parts))


def _svg(axes: Axes) -> bytes:
    """Draw a figure on no background; the same figure gives the same bytes.

    Letters are drawn as paths, which look alike everywhere, unless the font lacks some of them: then all text stays
    text, for which the browser has fonts of its own.
    """
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        drawn = _svg_with(axes, "path")
    lacking = [warning for warning in found if _LACKING_GLYPH.match(str(warning.message))]
    for warning in found:
        if warning not in lacking:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if not lacking:
        return drawn
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _LACKING_GLYPH.pattern)
        return _svg_with(axes, "none")


def _svg_with(axes: Axes, letters: Literal["path", "none"]) -> bytes:
    """Draw a figure with letters as paths, or as text."""
    import matplotlib

    figure = axes.get_figure(root=True)
    assert figure is not None
    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "bayes_assess", "svg.fonttype": letters}):
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    return drawn.getvalue()


def _closed(section: ReportSection) -> None:
    """Let pyplot forget the figure."""
    if section.figure is not None:
        import matplotlib.pyplot as plt

        plt.close(section.figure.get_figure(root=True))


def _labelled(answer: Reported, date: str | None) -> str:
    """Say when the answer was given, and from whose labels."""
    when = datetime.date.today().isoformat() if date is None else date
    return f"As of {when}, from {plural(answer.labels_used, 'label')}{getattr(answer, 'labelled_by', '')}."


_HEADINGS = {
    "se": "standard error",
    "rank_lower": "lowest rank",
    "rank_upper": "highest rank",
    "design_lower": "lower, {} not trusted",
    "design_upper": "upper, {} not trusted",
    "plug_in": "error as it was found",
    "max_error": "greatest error",
}
_ENDS = {"lower": "{}, lower", "upper": "{}, upper"}


def _for_people(answer: Reported) -> Table:
    """Return the table of an answer with headings and names of measures that people say."""
    table = answer.table()
    measures = (
        {"measure": [measure_in_words(str(cell)) for cell in table["measure"]]} if "measure" in table.columns else {}
    )
    return table.renamed(lambda name: heading(name, getattr(answer, "_trusted", "scores")), **measures)


def heading(name: str, trusted: str = "scores") -> str:
    """Return the name of a column as people say it.

    Examples
    --------
    >>> [heading(name) for name in ("design_lower", "p_best", "bias_upper", "random_labels", "lower", "FP_rate")]
    ['lower, scores not trusted', 'P(best)', 'bias, upper', 'random labels', 'lower', 'FP_rate']
    """
    if name in _HEADINGS:
        return _HEADINGS[name].format(trusted)
    if name != name.lower():  # a class, perhaps
        return name
    first, _, last = name.rpartition("_")
    if first == "p":
        return f"P({last})"
    if first and last in _ENDS:
        return _ENDS[last].format(first.replace("_", " "))
    return name.replace("_", " ")


def _price(answer: Reported) -> str | None:
    """Say how many random labels would do as well, where that is known."""
    count = getattr(answer, "labels_as_good", None)
    if count is None or not answer.labels_used or getattr(answer, "guarantee", None) == "exact":
        return None
    saved = count - answer.labels_used
    said = f"About {plural(count, 'random label')} would give an interval as narrow"
    were = "was" if saved == 1 else "were"
    return f"{said}: {plural(saved, 'label')} {were} saved." if saved > 0 else f"{said}, no more than were used."


def _origin(answer: Reported, made_by: dict[str, str]) -> ReportSection:
    """Say which version, seed, design and pool an answer comes from."""
    code = made_by.pop("command", "")
    cells = getattr(answer, "cells", None)
    fields = {
        "bayes_assess": __version__,
        "question": _as_typed(answer.question),
        "design": answer.design,
        "seed": getattr(answer, "seed", None),
        "labels": answer.labels_used,
        "items": None if cells is None else f"{cells.n_items * getattr(answer.question, 'labels_each', 1):,}",
        "kinds of items": None if cells is None else f"{cells.n_cells:,}, fingerprint {cells.source.fingerprint()}",
    }
    said = (f"{name}: {value}" for name, value in {**fields, **made_by}.items() if value is not None)
    return ReportSection("How to get it again", tuple(said), code=code)


def _as_typed(question: Question | str) -> str:
    """Write a question in one line as it is typed, without the types of NumPy."""
    text = question if isinstance(question, str) else " ".join(repr(question).split())
    if not isinstance(question, str) and question.made_by:  # on some pools a question is of a class of its own
        text = text.replace(f"{type(question).__name__}(", f"{question.made_by}(", 1)
    text = _NUMPY.sub(r"\1", text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _plain_markdown(text: str) -> str:
    r"""Write text so that Markdown shows it as it is.

    Examples
    --------
    >>> print(_plain_markdown("a<b>_c"))
    a\<b\>\_c
    """
    return without_links(_MARKDOWN.sub(r"\\\1", " ".join(text.split())))
