"""The rooms of the package stand on floors: what is imported when a module is lies below them, or in the same room.

No files import each other in a circle, wherever in them the imports stand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bayes_assess

ROOT = Path(bayes_assess.__file__).parent
FLOORS = (
    ("errors",),
    ("_tools",),
    ("pool",),
    ("measures", "models"),
    ("acquisition",),
    ("estimators",),
    ("designs",),
    ("questions",),
    ("books", "results"),
    ("studies",),
    ("sessions",),
    ("web",),
    ("cli",),
)
FILES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ("__init__.py", "__main__.py")
)


def imported(body: list[ast.stmt]) -> Iterator[str]:
    """Modules of the package that are imported with a module, not inside its functions or for type checkers."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "bayes_assess":
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "bayes_assess")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from imported(node.body + node.orelse)
        elif isinstance(node, ast.Try | ast.With):
            yield from imported(node.body)
        elif isinstance(node, ast.ClassDef):
            yield from imported(node.body)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_import_from_their_own_room_and_from_floors_below(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imported(parsed(path).body):
        room = room_of(name)
        assert room == own or FLOOR.get(room, -1) < FLOOR[own], f"{path.relative_to(ROOT)} imports {name}"


def test_every_room_has_a_floor():
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    assert rooms == set(FLOOR)


def test_an_import_from_above_is_seen():
    tree = ast.parse("if x:\n    from bayes_assess.cli import app\ndef f():\n    import bayes_assess.web\n")
    assert [room_of(name) for name in imported(tree.body)] == ["cli"]


def all_imported(tree: ast.Module, files: Mapping[str, Path]) -> set[str]:
    """Files of the package that a file imports anywhere: in functions and for type checkers, too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {part if part in files else str(node.module) for part in parts}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(files)


def circle_of(imports: Mapping[str, set[str]]) -> list[str]:
    """A circle of files, the first of them again in the end; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_files_import_each_other_in_a_circle():
    assert circle_of({name: all_imported(parsed(path), FILES) for name, path in FILES.items()}) == []


def test_a_circle_of_imports_in_functions_and_for_type_checkers_is_seen():
    files = {name: ROOT for name in ("bayes_assess.a", "bayes_assess.b.c", "bayes_assess.d")}
    sources = (
        "def f():\n    from bayes_assess.b import c\n",
        "if TYPE_CHECKING:\n    from bayes_assess.d import x\n",
        "import bayes_assess.a\n",
    )
    imports = {name: all_imported(ast.parse(source), files) for name, source in zip(files, sources, strict=True)}
    assert set(circle_of(imports)) == set(files)
    assert circle_of({**imports, "bayes_assess.d": set()}) == []
