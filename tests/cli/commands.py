"""Commands as tests call them, in this process."""

from __future__ import annotations

from functools import cache

import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from bayes_assess.cli.app import app

typer.testing._get_command = cache(get_command)  # otherwise every call makes all commands anew


def call(*arguments: object) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments: object) -> str:
    """Run a command that succeeds; return what it printed."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: object) -> str:
    """Run a command that is refused; return what it says of that."""
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr
