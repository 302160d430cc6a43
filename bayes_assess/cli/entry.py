"""The entry point of the command line."""

from __future__ import annotations

import signal
import sys

from bayes_assess.cli import interrupt


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the caller wants it ignored
        signal.signal(signal.SIGINT, interrupt.end)
    from bayes_assess.cli.live import ask_server

    code = ask_server(sys.argv[1:])
    if code is not None:
        raise SystemExit(code)
    from bayes_assess.cli import app

    app.app(prog_name="bayes-assess")
