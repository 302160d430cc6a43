"""Designs on the command line: a name, or a name with options such as ``poisson:labels=curve``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from bayes_assess._tools.suggestions import did_you_mean
from bayes_assess.errors import DesignError

if TYPE_CHECKING:
    from bayes_assess.designs import Design
    from bayes_assess.designs.ranked import RankedDesign


def parse_design(text: str) -> str | Design | RankedDesign:
    """Return a design with the options that follow its name after colons; a name alone as it is.

    Raises
    ------
    DesignError
        If the design has no such option, or its value is of another kind.

    Examples
    --------
    >>> parse_design("poisson")
    'poisson'
    >>> design = parse_design("poisson:labels=curve:floor=0.2")
    >>> design.labels, design.floor
    ('curve', 0.2)
    """
    name, *given = text.split(":")
    if not given:
        return text
    from bayes_assess.designs import DESIGNS  # and with them JAX, which takes a second
    from bayes_assess.designs.ranked import RANKED_DESIGNS

    designs = {**RANKED_DESIGNS, **DESIGNS}  # random, which both have, takes no options in either
    if name not in designs:
        hint = did_you_mean(name, designs) or " Designs of your own are for Python."
        raise DesignError(f"There is no design {name!r} with options; the designs are {', '.join(designs)}.{hint}")
    kind = designs[name]
    # Options of numbers and texts; strata of features are for Python.
    parameters = inspect.signature(kind).parameters.items()
    known = {option: _kind_of(parameter) for option, parameter in parameters if _kind_of(parameter) is not None}
    options = {}
    for pair in given:
        option, equals, value = pair.partition("=")
        if option not in known or not equals:
            having = f"these: {', '.join(known)}" if known else "none"
            raise DesignError(
                f"Options of a design are written such as poisson:labels=curve, and {name} has {having}; "
                f"found {pair!r}."
            )
        if option in options:
            raise DesignError(f"The option {option} of {name} is given twice; leave out one.")
        options[option] = _value(name, option, value, known[option])
    return kind(**options)


def _kind_of(parameter: inspect.Parameter) -> Any:
    """Return the kind of an option: that of its default or, where that is None, the first of its annotation."""
    if isinstance(parameter.default, int | float | str):
        return type(parameter.default)
    kinds = {"int": int, "float": float, "str": str}
    return kinds.get(str(parameter.annotation).split(" | ")[0]) if parameter.default is None else None


def _value(name: str, option: str, text: str, kind: type) -> str | int | float:
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise DesignError(f"The option {option} of {name} is {what}; found {text!r}.") from None
