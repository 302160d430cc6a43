"""Pages in `docs` show what their code prints, their links lead somewhere, and the reference is complete."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import bayes_assess as ba
from bayes_assess.cli.asked import QuestionName, flag, options_of
from bayes_assess.designs import DESIGNS
from bayes_assess.questions import QUESTIONS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def text_of(name: str) -> str:
    """Return the source of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def examples(name: str) -> str:
    """Return the code of a page, block by block, with what it runs unseen between ``<!-- run`` and ``-->``."""
    found = re.findall(r"^```pycon\n(.*?)^```|^<!-- run\n(>>>.*?)^-->", text_of(name), re.M | re.S)
    return "\n".join(a + b for a, b in found)


def documented() -> list[str]:
    """Return the names that the reference has entries for, without that of the package."""
    pages = [text_of(name) for name in PAGES if name.startswith("reference/")]
    return [name for text in pages for name in re.findall(r"^::: bayes_assess\.(\S+)$", text, re.M)]


def loaded(script: str) -> Any:
    """Return a script of `docs` as a module."""
    spec = importlib.util.spec_from_file_location(Path(script).stem, DOCS / script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def maker():
    """Return the script that runs pages."""
    return loaded("make_readme.py")


LONG = ("queries_from_draws.md", "multilabel.md")  # fits a model of every kind, and has a study


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in PAGES if examples(name)],
)
def test_pages_show_what_their_code_prints(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages may write files
    test = doctest.DocTestParser().get_doctest(examples(name), {}, name, str(DOCS / name), 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=_FLAGS).run(test, out=said.append)
    assert tried > 0
    assert failed == 0, "".join(said)


QUICK = ("index.md", "stop.md")  # with much that starts sessions, prints tables and ends


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in PAGES
        if re.search(r"^```(python|console)$", text_of(name), re.M)
    ],
)
def test_pages_show_what_their_scripts_and_commands_print(name, maker):
    # Tests compile programs without optimising them, which moves draws of a posterior a little.
    assert "".join(maker.differences(DOCS / name, within=0.02)) == ""


def test_a_page_with_another_output_is_noticed(tmp_path, maker):
    page = tmp_path / "page.md"
    for shown, printed in (("3", "2"), ("0.53", "0.50")):
        page.write_text(f"```python\nprint('{printed}')\n```\n\n```text\n{shown}\n```\n")
        assert f"-{shown}\n+{printed}\n" in "".join(maker.differences(page, within=0.02))


def test_examples_of_the_maker_of_pages_run():  # those of docs/site/pages.py are run by `make docs`
    module = loaded("make_readme.py")
    assert doctest.testmod(module).attempted > 0
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", PAGES)
def test_links_of_pages_lead_somewhere(name):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text_of(name))
    assert [target for target in targets if not ((DOCS / name).parent / target).exists()] == []


def test_every_public_name_is_in_the_reference():
    assert set(ba.__all__) - set(documented()) == set()


def test_every_name_in_the_reference_is_there_and_once():
    names = documented()
    assert len(names) == len(set(names))
    for name in names:
        assert resolve_name(f"bayes_assess.{name}") is not None


def test_every_row_on_the_papers_says_which_tests_hold_it():
    rows = [line for line in text_of("papers.md").splitlines() if line.startswith("| ") and not line.startswith("| --")]
    assert len(rows) > 50
    for row in rows:
        *_, tests = row.strip("| ").split(" | ")
        paths = re.findall(r"`(tests/\S+)`", tests)
        assert paths or tests == "held by", row
        assert all((DOCS.parent / path).is_file() for path in paths), row


def test_names_that_stand_for_methods_of_papers_are_there():
    names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", text_of("papers.md"))
    assert len(names) > 40
    for name in names:
        assert resolve_name(f"bayes_assess.{name}") is not None


def test_tables_name_all_questions_and_designs():
    assert [name for name in QUESTIONS if f"`{name}" not in text_of("questions.md")] == []
    assert [name for name in DESIGNS if f"| `{name}` |" not in text_of("designs.md")] == []


def test_default_designs_are_those_of_the_questions():
    rows = re.findall(r"^\|.*\| `(\w+)\((.*?)\)` \| `(\w+)` \|", text_of("questions.md"), re.M)
    assert {name for name, _, _ in rows} == set(QUESTIONS)
    for name, options, design in rows:
        if name != "Compare" and "_micro" not in options:
            assert design == getattr(QUESTIONS[name], "default_design"), name  # noqa: B009 (Compare has none)


def test_questions_are_spelled_as_on_the_command_line():
    spelled = re.findall(r"^\|.*\| `([^`]+)`(?:, with `--multilabel`)? \|$", text_of("questions.md"), re.M)
    names = {QuestionName(text.split()[0]) for text in spelled}
    assert names == set(QuestionName)
    for text in spelled:
        name, *options = re.findall(r"(?:^|--)[a-z-]+", text)
        assert set(options) <= {flag(option) for option in options_of(QuestionName(name))}, text


def test_pages_are_all_in_the_navigation():
    listed = re.findall(r": (\S+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(), re.M)
    assert set(PAGES) <= set(listed)
