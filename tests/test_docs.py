"""Pages in `docs` show what their code prints, and their links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples(name: str) -> str:
    """Return the code of a page, block by block, with what it runs unseen between ``<!-- run`` and ``-->``."""
    text = (DOCS / name).read_text(encoding="utf-8")
    return "\n".join(a + b for a, b in re.findall(r"^```pycon\n(.*?)^```|^<!-- run\n(.*?)^-->", text, re.M | re.S))


@pytest.mark.parametrize("name", [name for name in PAGES if examples(name)])
def test_pages_show_what_their_code_prints(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages may write files
    test = doctest.DocTestParser().get_doctest(examples(name), {}, name, str(DOCS / name), 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=_FLAGS).run(test, out=said.append)
    assert tried > 0
    assert failed == 0, "".join(said)


@pytest.mark.parametrize("name", PAGES)
def test_links_of_pages_lead_somewhere(name):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", (DOCS / name).read_text(encoding="utf-8"))
    assert [target for target in targets if not (DOCS / target).exists()] == []
