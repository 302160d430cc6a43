"""The rooms of the package stand on floors: what is imported when a module is lies below them, or in the same room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
    ("results",),
    ("campaigns",),
    ("web",),
    ("cli",),
)
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


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_import_from_their_own_room_and_from_floors_below(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imported(ast.parse(path.read_text()).body):
        room = room_of(name)
        assert room == own or FLOOR.get(room, -1) < FLOOR[own], f"{path.relative_to(ROOT)} imports {name}"


def test_every_room_has_a_floor():
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    assert rooms == set(FLOOR)


def test_an_import_from_above_is_seen():
    tree = ast.parse("if x:\n    from bayes_assess.cli import app\ndef f():\n    import bayes_assess.web\n")
    assert [room_of(name) for name in imported(tree.body)] == ["cli"]
