"""The command ``label``: a page in the browser that asks item by item."""

from __future__ import annotations

from typing import Annotated

import typer

from bayes_assess._tools.progress import progress
from bayes_assess.cli.echo import echo
from bayes_assess.cli.options import Level, Moved, RunFile, Show, shown_columns
from bayes_assess.errors import OutputError

Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; only this machine by default.")]
Port = Annotated[
    int | None, typer.Option("--port", help="Where to listen; 0 takes any that is free.", show_default=False)
]
Images = Annotated[
    str | None,
    typer.Option(
        "--images", metavar="PLACE", help="Folder that pictures are shown from, or the beginning of their addresses."
    ),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Whether to open the page in a browser.")]
ShowAnswer = Annotated[bool, typer.Option("--show-answer", help="Let the page show the answer so far.")]
Overlap = Annotated[
    float, typer.Option("--overlap", help="Share of the items that two people label, such as 0.1, or 1 for all.")
]
Width = Annotated[float | None, typer.Option("--width", help="What the interval is to be wide, such as 0.05.")]


def label(
    run: RunFile,
    port: Port = None,
    open: Open = True,
    show: Show = None,
    images: Images = None,
    show_answer: ShowAnswer = False,
    width: Width = None,
    level: Level = None,
    overlap: Overlap = 0.0,
    host: Host = "127.0.0.1",
    pool: Moved = None,
) -> None:
    """Label item by item in the browser.

    Opens a page that shows one item after the other and takes answers by keys; the next items are chosen meanwhile. The
    first line printed is its address. Several people label at once at ADDRESS&name=anna. Other commands on the same run
    talk to this one. It ends by Ctrl-C; what was answered is in the run by then.
    """
    from bayes_assess.cli import files, live
    from bayes_assess.web.acts import Acts
    from bayes_assess.web.cards import Pictures
    from bayes_assess.web.desk import Desk
    from bayes_assess.web.needs import need_server
    from bayes_assess.web.notice import read_notice
    from bayes_assess.web.standing import check_goal

    need_server()
    from bayes_assess.web.server import Page, serve

    check_goal(width, level, show_answer)
    if read_notice(run) is not None:
        raise OutputError(f"The page of {run} is served already; use that one, or end it first.")
    pictures = Pictures.of(images)
    with progress("Reading"):
        assessment = files.reopen(run, pool, shown_columns(show))
        desk = Desk(assessment, pictures=pictures, overlap=overlap)
    acts = Acts(desk, title=run.stem, show_answer=show_answer, width=width, level=level)
    page = Page(acts, pictures=pictures, commands=live.runner(run.resolve(), assessment))
    serve(page, run.resolve(), host, port, pictures, say, _open if open else None)


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    echo(line)
    import sys

    sys.stdout.flush()


def _open(address: str) -> None:
    """Open a page in a browser once there has been time to begin."""
    import threading
    import webbrowser

    timer = threading.Timer(0.5, webbrowser.open, (address,))
    timer.daemon = True
    timer.start()
