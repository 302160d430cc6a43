"""What the reference needs to know of the sources, which are read and not run.

The package imports its public names on first use, so that no import statement says where they are; `_OWNERS` in its
`__init__` does. And formulas under ``.. math::`` become blocks of TeX, as pages are Markdown.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from griffe import Alias, Extension, Module, Object

_MATH = re.compile(r"^( *)\.\. math:: *(.*(?:\n(?:\1 +\S.*| *(?=\n\1 +\S)))*)", re.MULTILINE)


class PublicNames(Extension):
    """Makes lazy names members of the package, and formulas readable."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Add the names that `_OWNERS` and `_MODULES` list; called by Griffe once the package is loaded."""
        for listed, owned in (("_OWNERS", True), ("_MODULES", False)):
            if listed in pkg.members:
                for name, owner in ast.literal_eval(str(pkg[listed].value)).items():
                    if owned or name not in pkg.members:  # the stub has questions of its own, without docstrings
                        path = f"{pkg.path}.{owner}.{name}" if owned else f"{pkg.path}.{owner}"
                        pkg.set_member(name, Alias(name, path))

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Mend a docstring; called by Griffe."""
        if obj.docstring is not None and ".. math::" in obj.docstring.value:
            obj.docstring.value = _MATH.sub(_tex, obj.docstring.value)


def _tex(found: re.Match[str]) -> str:
    indent, formula = found.groups()
    lines = [line.strip() for line in formula.splitlines()]
    return "\n".join([f"{indent}```tex", *(indent + line for line in lines if line), f"{indent}```"])
