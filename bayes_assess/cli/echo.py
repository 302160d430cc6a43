"""What the command line prints."""

from __future__ import annotations

import typer

from bayes_assess._tools.text import visible


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text, whatever names of items and classes are in it."""
    typer.echo(visible(text), err=err, nl=nl)
