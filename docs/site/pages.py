"""Pages of the site that are made from other files of the repository, and links that lead to these.

Sources in `docs` link to these as they lie in the repository, so that links work wherever one reads them. On the site
they are pages of their own, notebooks with their outputs.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
MADE = {  # file of the repository -> page
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "licence.txt",
}
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)([^)]*)\)")
_NOTHING_SAID = re.compile(r"\s*\u2013\s*<div class=\"doc-md-description\">\s*</div>")
_NAME = re.compile(r"(?<!\[)`([A-Za-z_][\w.]*)`(?!\])")
_ENTRY = re.compile(r"^::: bayes_assess\.(\S+)$", re.MULTILINE)
_HIDDEN = re.compile(r"<!-- run\n.*?-->\n*", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from other files; called by MkDocs."""
    for source, uri in MADE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, uri, content=text))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text, figures = page_of(json.loads(path.read_text(encoding="utf-8")), path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, content in figures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links lead to pages of the site; called by MkDocs."""
    uri = page.file.src_uri
    came_from = {made: source for source, made in MADE.items()}.get(uri)
    if came_from is None:
        came_from = uri if uri.startswith("notebooks/") else f"docs/{uri}"

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(came_from), link[1]))
        return f"]({posixpath.relpath(_uri(target), posixpath.dirname(uri) or '.')}{link[2]})"

    def change(text: str) -> str:
        return linked(_LINK.sub(moved, text), _documented())

    return outside_code(_HIDDEN.sub("", markdown), change)


def on_page_content(html: str, **_: Any) -> str:
    """Leave out the dashes after arguments that have a name and a type that say all; called by MkDocs."""
    return _NOTHING_SAID.sub("", html)


def linked(text: str, documented: Collection[str]) -> str:
    """Let names of the reference lead there, but in headings and where they are links already.

    Examples
    --------
    >>> linked("See `models.Pool`, `ba.Pool` and `other`.", {"Pool"})
    'See [`models.Pool`][bayes_assess.Pool], [`ba.Pool`][bayes_assess.Pool] and `other`.'
    """

    def link(found: re.Match[str]) -> str:
        name = found[1].removeprefix("ba.")
        known = [path for path in (name, name.rpartition(".")[2]) if path in documented]
        return f"[{found[0]}][bayes_assess.{known[0]}]" if known else found[0]

    return "".join(line if line.startswith("#") else _NAME.sub(link, line) for line in text.splitlines(True))


@cache
def _documented() -> frozenset[str]:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    return frozenset(name for page in pages for name in _ENTRY.findall(page.read_text(encoding="utf-8")))


def outside_code(markdown: str, change: Callable[[str], str]) -> str:
    r"""Change Markdown everywhere but in its fenced blocks.

    Examples
    --------
    >>> print(outside_code("a\n```\na\n```\na", str.upper))
    A
    ```
    a
    ```
    A
    """
    return "".join(part if i % 2 else change(part) for i, part in enumerate(_FENCED.split(markdown)))


def page_of(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its figures by their file names.

    Examples
    --------
    >>> shown = {"output_type": "stream", "name": "stdout", "text": ["2"]}
    >>> cell = {"cell_type": "code", "source": ["print(1 + 1)"], "outputs": [shown]}
    >>> print(page_of({"cells": [cell]}, "sum")[0])
    ```python
    print(1 + 1)
    ```
    <BLANKLINE>
    ```text
    2
    ```
    """
    parts: list[str] = []
    figures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else _fenced("python", source))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                figure = f"{name}_{len(figures) + 1}.png"
                figures[figure] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![Figure {len(figures)} of this notebook]({figure})")
            elif output.get("name") != "stderr":
                parts.append(_fenced("text", "".join(data.get("text/plain", output.get("text", "")))))
    return "\n\n".join(parts), figures


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text.rstrip()}\n```"


def _uri(path: str) -> str:
    """Page of a file of the repository."""
    if path in MADE:
        return MADE[path]
    return path.removeprefix("docs/").replace(".ipynb", ".md") if path.startswith(("docs/", "notebooks/")) else path
