"""What became of the rows of a sheet, in words."""

from __future__ import annotations

import shlex
from pathlib import Path

from bayes_assess._tools.text import plural
from bayes_assess.sessions.exchange.tasks import setup_path
from bayes_assess.sessions.session import AnySession


def written(what: str, path: Path, tool: str | None, command: str) -> str:
    """Say what was written, what to do with it, and which command takes the labels."""
    if tool is None:
        return f"Wrote {what}; fill in the column label.\nNext: {command} {shlex.quote(str(path))}"
    setup = setup_path(path, tool)
    if tool == "label-studio":
        how = f"import it into a project that has {setup} as its labelling configuration"
    else:
        how = f"log its records to a dataset that has the settings {setup}"
    return f"Wrote {what}; {how}.\nNext: {command} EXPORT.json"


def taken(new: int, known: int, skipped: int, aside: int = 0, again: int = 0) -> str:
    """Say what became of the rows of a sheet."""
    notes = [f"{again:,} more of items that others had labelled"] if again else []
    notes += [f"{known:,} known before"] if known else []
    notes += [f"{aside:,} set aside"] if aside else []
    notes += [f"{skipped:,} without a label skipped"] if skipped else []
    return f"Took {new:,} label{'s' * (new != 1)}" + (f" ({', '.join(notes)})." if notes else ".")


def corrected(changed: int, as_before: int, skipped: int) -> str:
    """Say what became of the rows of a sheet of corrections."""
    notes = [f"{as_before:,} as they were"] if as_before else []
    notes += [f"{skipped:,} without a label skipped"] if skipped else []
    return f"Corrected {plural(changed, 'label')}" + (f" ({', '.join(notes)})." if notes else ".")


def differing(assessment: AnySession) -> str:
    """Say on how many items annotators differ."""
    n = assessment.n_disagreements
    return f"Annotators differ on {plural(n, 'item')} on which nobody has decided."


def resolved(n: int, left: int) -> str:
    """Say how many items were decided on, and how many are open."""
    return f"Decided on {plural(n, 'item')}; annotators differ on {left:,} more."


def set_aside(new: int, before: int) -> str:
    """Say how many items were set aside, and how many had been before."""
    return f"Set {plural(new, 'item')} aside" + (f" ({before:,} aside before)." if before else ".")


def released(n: int) -> str:
    """Say how many items may be asked for again."""
    return f"Released {plural(n, 'item')}: {'it' if n == 1 else 'they'} may be asked for again."
