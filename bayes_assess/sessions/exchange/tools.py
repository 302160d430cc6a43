"""Tasks written to files, with what a labelling tool has to know to show them beside them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from bayes_assess._tools.files import written_whole
from bayes_assess.sessions.exchange import argilla, label_studio
from bayes_assess.sessions.exchange.tasks import Tasks, check_tool, setup_path


def write_tasks(path: Path, tasks: Tasks, tool: str) -> Path:
    """Write tasks for a tool, and beside them how the tool has to be set up; return where that is.

    Raises
    ------
    OutputError
        If there is no such tool, or a file cannot be written.
    """
    check_tool(tool, path)
    if tool == "argilla":
        content = argilla.import_records(tasks)
        setup = json.dumps(argilla.settings(tasks), ensure_ascii=False, indent=1)
    else:
        content, setup = label_studio.import_tasks(tasks), label_studio.configuration(tasks)
    beside = setup_path(path, tool)
    tasks_text = json.dumps(content, ensure_ascii=False, indent=1)
    new = [where.resolve() for where in (beside, path) if not where.exists()]
    try:
        for where, text, what in ((beside, setup, "set-up of the tool"), (path, tasks_text, "tasks")):
            with written_whole(where, what) as temporary:
                temporary.write_bytes(f"{text}\n".encode(errors="replace"))  # halves of letters, which logs may have
    except BaseException:  # an interrupt, too: one of the two would be in the way of the next try
        for where in new:
            with contextlib.suppress(OSError):
                where.unlink()
        raise
    return beside
