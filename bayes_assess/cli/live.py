"""Commands on a run whose page is being served: they are run by the server, whose session is open and compiled.

The client, which is all but Python's own start, sends words and folder; the server runs the same command and sends back
what it printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bayes_assess._tools.shapes import Json
from bayes_assess.web.notice import COMMAND, SUFFIX, Notice, read_notice

if TYPE_CHECKING:
    from bayes_assess.sessions.session import AnySession
    from bayes_assess.web.server import Ran

_SessionT = TypeVar("_SessionT", bound="AnySession")

_COMMANDS = frozenset(
    ("ask", "tell", "correct", "disagreements", "resolve", "skip", "release", "status", "plan", "report")
)
_APART = ("--pool", "--show", "--question", "--help", "-h")  # they read the pool in another way
_STREAMS = re.compile(r"(-o|--[a-z]+=)?/(dev|proc)/")  # of the process that names them: a pipe, or <(sed ... sheet.csv)
_PATIENCE = 600.0  # seconds for a plan on a machine that has other things to do

_session: tuple[Path, AnySession] | None = None  # of the command that is being run here


def ask_server(words: list[str]) -> int | None:
    """Let a server run a command; return its exit code, None where no server is to.

    Parameters
    ----------
    words : list of str
        The command line, without the program.
    """
    if not words or words[0] not in _COMMANDS:
        return None
    if any(word.split("=")[0] in _APART or _STREAMS.match(word) for word in words):
        return None
    run = next((word for word in words[1:] if Path(f"{word}{SUFFIX}").is_file()), None)
    notice = None if run is None else read_notice(Path(run))
    if notice is None:
        return None
    try:
        reply = _sent(notice, {"words": words, "folder": os.getcwd()})
    except ConnectionRefusedError:  # it has just ended
        return None
    except (OSError, ValueError) as error:
        sys.stderr.write(f"Error: The page of this run is served, but its server did not answer ({error}).\n")
        return 1
    sys.stdout.write(reply["out"])
    sys.stderr.write(reply["err"])
    return reply["code"]


def _sent(notice: Notice, message: Mapping[str, Json]) -> Ran:
    import http.client

    from bayes_assess._tools.progress import progress

    with progress("The labelling page's session is at work"):
        connection = http.client.HTTPConnection(notice.host, notice.port, timeout=_PATIENCE)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {notice.secret}"}
            connection.request("POST", COMMAND, json.dumps(message), headers)
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(response.reason)
            return json.loads(response.read())


def runner(run: Path, assessment: AnySession) -> Callable[[list[str], str], Ran]:
    """Return what runs commands on the session of a run that is open here.

    Parameters
    ----------
    run : path
        Absolute, of the journal.
    assessment : Session
    """

    def run_command(words: list[str], folder: str) -> Ran:
        global _session
        from bayes_assess.cli.group import app

        out, err, code = io.StringIO(), io.StringIO(), 0
        before = os.getcwd()
        _session = run, assessment
        try:
            os.chdir(folder)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                app(words, prog_name="bayes-assess")
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except OSError as error:
            err.write(f"Error: {error.strerror or error}: {error.filename}\n")
            code = 2
        finally:
            _session = None
            os.chdir(before)
        return {"code": code, "out": out.getvalue(), "err": err.getvalue()}

    return run_command


def open_session(run: Path) -> AnySession | None:
    """Return the session of a run that is open here; None where none is."""
    return None if _session is None or _session[0] != run.resolve() else _session[1]


@contextlib.contextmanager
def let_go(assessment: _SessionT) -> Iterator[_SessionT]:
    """Close the journal of a session in the end, unless the session is that of a page and goes on."""
    try:
        yield assessment
    finally:
        if assessment.journal is not None and (_session is None or _session[1] is not assessment):
            assessment.journal.close()
