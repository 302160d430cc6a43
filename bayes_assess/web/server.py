"""The server of the labelling page: routes, the stream of answers, and the threads behind them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from bayes_assess._tools.shapes import Json
from bayes_assess.errors import BayesAssessError, OutputError
from bayes_assess.web.acts import ANSWERING, AWAY, Acts, AnotherCampaignError
from bayes_assess.web.cards import PICTURES, Pictures
from bayes_assess.web.guard import REFUSED, Guard, is_loopback
from bayes_assess.web.notice import COMMAND, NO_COMMAND, Notice, noticed

STATIC = Path(__file__).parent / "static"
PORT = 8642  # where it is free
_TYPES = {"label.js": "text/javascript", "label.css": "text/css"}
_ANOTHER = "Another campaign is served here now."
_HEARTBEAT = 15.0  # seconds between signs of life in the stream
_LOOK = 0.25  # seconds until a stream sees that the server is ending
_END = 2  # seconds that open streams are given when the server ends


class Ran(TypedDict):
    """What a command has printed that was run here for another process, and its exit code."""

    code: int
    out: str
    err: str


Commands = Callable[[list[str], str], Ran]  # of words and a folder


class Page:
    """One labelling page: a desk, and who looks at it.

    Parameters
    ----------
    acts : Acts
        What the page can do at its desk.
    pictures : Pictures
    commands : function, optional
        Runs a command of the command line on the desk's session.
    """

    def __init__(self, acts: Acts, *, pictures: Pictures | None = None, commands: Commands | None = None):
        self.desk, self.show_answer = acts.desk, acts.show_answer
        self._acts = acts
        self._pictures = pictures or Pictures()
        self._commands = commands
        self._at_desk = ThreadPoolExecutor(1, thread_name_prefix="desk")  # one after the other
        self._answers = ThreadPoolExecutor(1, thread_name_prefix="answers")
        self._looking: set[asyncio.Queue[str]] = set()
        self._standing: dict[str, Json] | None = None
        self._stale = False
        self._answering: asyncio.Task[None] | None = None
        self.ending: Callable[[], bool] = lambda: False  # whether streams are to end

    def app(self) -> Starlette:
        """Return the ASGI application, without its guard."""
        routes = [
            Route("/", self._page),
            Route("/{name:str}", self._static),
            Route("/pictures/{path:path}", self._picture),
            Route("/api/stream", self._stream),
            Route("/api/{act:str}", self._act, methods=["POST"]),
        ]
        if self._commands is not None:
            routes.insert(0, Route(COMMAND, self._command, methods=["POST"]))
        handlers = {HTTPException: _refused, ClientDisconnect: _left}
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        ready = asyncio.create_task(self._get_ready())
        yield
        ready.cancel()
        self._at_desk.shutdown(wait=True)
        self._answers.shutdown(wait=False, cancel_futures=True)

    async def _get_ready(self) -> None:
        await self._loop.run_in_executor(self._at_desk, self.desk.prepare)
        await self._loop.run_in_executor(self._answers, self.desk.rehearse)
        self._changed()

    async def _page(self, request: Request) -> Response:
        return Response((STATIC / "page.html").read_bytes(), media_type="text/html")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "favicon.ico":
            return Response(status_code=204)
        if name not in _TYPES:
            raise HTTPException(404)
        return Response((STATIC / name).read_bytes(), media_type=_TYPES[name])

    async def _picture(self, request: Request) -> Response:
        folder, name = self._pictures.folder, request.path_params["path"]
        path = None if folder is None else _picture_in(Path(folder), name)
        if path is None:
            return Response("There is no such picture.", 404, media_type="text/plain")
        return FileResponse(path)

    async def _act(self, request: Request) -> Response:
        """Do what the page asks for."""
        act = request.path_params["act"]
        try:
            sent = json.loads(await request.body())
            reply = await self._loop.run_in_executor(self._at_desk, self._acts.do, act, sent)
        except AWAY as error:
            return _said(str(error), 503)
        except BayesAssessError as error:
            return _said(str(error), 422)
        except AnotherCampaignError:
            return _said(_ANOTHER, 409)
        except (ValueError, RecursionError):
            return _said("This is not what the page sends.", 400)
        if act in ANSWERING:
            self._changed()
        return JSONResponse(reply)

    async def _command(self, request: Request) -> Response:
        """Run a command of the command line on the session that is open."""
        try:
            sent = json.loads(await request.body())
            words, folder = [str(word) for word in sent["words"]], str(sent["folder"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return _said(NO_COMMAND, 400)
        commands = self._commands
        assert commands is not None

        def run() -> Ran:
            with self.desk.lock:
                return commands(words, folder)

        ran = await self._loop.run_in_executor(self._at_desk, run)
        self._changed()
        return JSONResponse(ran)

    async def _stream(self, request: Request) -> Response:
        """Stream the answer so far, anew whenever it has changed."""
        if not self.show_answer:
            return _said("The answer is not shown here; start the page with --show-answer.", 403)
        if not self._acts.is_of(request.query_params.get("campaign")):
            return _said(_ANOTHER, 409)

        async def events() -> AsyncIterator[str]:
            news: asyncio.Queue[str] = asyncio.Queue(1)  # the latest alone, however slowly it is read
            self._looking.add(news)
            try:
                if self._standing is None:
                    self._changed()
                else:
                    news.put_nowait(_event(self._standing))
                silent = 0.0
                while not self.ending():
                    try:
                        yield await asyncio.wait_for(news.get(), _LOOK)
                        silent = 0.0
                    except TimeoutError:
                        silent += _LOOK
                    if silent > _HEARTBEAT:
                        silent = 0.0
                        yield ": still here\n\n"
            finally:
                self._looking.discard(news)

        return StreamingResponse(events(), media_type="text/event-stream")

    def _changed(self) -> None:
        """Answer anew, for those who look at the answer; several changes at once count as one."""
        if not self.show_answer:
            return
        self._stale = True
        if self._answering is None or self._answering.done():
            self._answering = self._loop.create_task(self._answer_anew())

    async def _answer_anew(self) -> None:
        while self._stale:
            self._stale = False
            try:
                answer = await self._loop.run_in_executor(self._answers, self._acts.look)
            except BayesAssessError as error:
                answer = {"lines": [str(error)], "path": []}
            self._standing = answer
            for news in self._looking:
                while not news.empty():
                    news.get_nowait()
                news.put_nowait(_event(answer))


def listening(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; by default at the usual port, or at any one where that is taken.

    Raises
    ------
    OutputError
        If the address cannot be had.
    """
    for wanted in (PORT, 0) if port is None else (port,):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.socket(family)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host.strip("[]"), wanted))
            bound.listen(128)
            return bound
        except (OSError, OverflowError) as error:
            bound.close()
            if isinstance(error, socket.gaierror):
                raise OutputError(
                    f"The page cannot be served at {host}: {error.strerror}; take another --host."
                ) from None
            if port is not None or wanted == 0:
                why = str(getattr(error, "strerror", None) or error).rstrip(".")
                raise OutputError(
                    f"The page cannot be served at {host}:{wanted}: {why}; take another --port."
                ) from None
    raise AssertionError  # the loop has returned or raised


_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # listens at all addresses; by what this machine calls itself


class Service:
    """A page at an address, which serves until it is ended.

    Parameters
    ----------
    page : Page
    host : str
        Where to listen.
    port : int, optional
        By default the usual one, or any other where that is taken; 0 for any.
    pictures : Pictures, optional
        Where pictures may come from.

    Attributes
    ----------
    address : str
        With the token that lets a browser in.
    for_others : str
        The address by which other machines on the network come in; that of this machine where none can.
    notice : Notice
        For commands on this machine.
    """

    def __init__(self, page: Page, host: str = "127.0.0.1", port: int | None = None, pictures: Pictures | None = None):
        host = host.strip("[]") or "0.0.0.0"
        self._socket = listening(host, port)
        port = int(self._socket.getsockname()[1])
        token, secret = secrets.token_urlsafe(24), secrets.token_urlsafe(32)
        origin = None
        if pictures is not None and pictures.address is not None:
            parts = urlsplit(pictures.address)
            origin = f"{parts.scheme}://{parts.netloc}"
        own = _EVERYWHERE.get(host, host)
        self.address = _address(own, port, token)
        self.for_others = _address(_own_number(self._socket.family) if host in _EVERYWHERE else host, port, token)
        self.notice = Notice(own, port, secret)
        guard = Guard(page.app(), host, port, token, secret, origin)
        config = uvicorn.Config(
            guard, log_level="warning", access_log=False, timeout_graceful_shutdown=_END, server_header=False, ws="none"
        )
        self._server = uvicorn.Server(config)
        page.ending = lambda: self._server.should_exit

    def run(self) -> None:
        """Serve until `end`, or an interrupt where this is the main thread."""
        self._server.run(sockets=[self._socket])

    def end(self) -> None:
        """Let `run` return."""
        self._server.should_exit = True


def serve(
    page: Page,
    journal: Path,
    host: str = "127.0.0.1",
    port: int | None = None,
    pictures: Pictures | None = None,
    say: Callable[[str], object] = print,
    opened: Callable[[str], object] | None = None,
) -> None:
    """Serve the page of a journal until it is interrupted; its address is said first.

    Parameters
    ----------
    page : Page
    journal : path
        Beside which a notice says where the page is.
    host, port, pictures
        As of `Service`.
    say : function
        Prints a line.
    opened : function, optional
        Opens an address in a browser.
    """
    service = Service(page, host, port, pictures)
    with noticed(journal, service.notice):
        say(service.address)
        if not is_loopback(host):
            if service.for_others != service.address:
                say(f"Others on the network open {service.for_others}")
            say(
                f"Warning: at {host or 'every address'} others on the network can reach this page, and what they type "
                "is not encrypted; give the address to those alone who are to label."
            )
        if opened is not None:
            opened(service.address)
        with _ended_by_signals():
            service.run()


def _address(host: str, port: int, token: str) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"


def _own_number(family: int) -> str:
    """Return the number by which others on the network know this machine; its name where there is no network."""
    elsewhere = "2001:db8::1" if family == socket.AF_INET6 else "198.51.100.1"  # of documents: nobody is there
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))  # which sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let signals end the server and no more: once it has ended, uvicorn sends them again."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _picture_in(folder: Path, name: str) -> Path | None:
    """Return where a picture of a folder is; None where there is none of that name.

    Names may begin in the folder, `7.png`, or with it, `cats/7.png` of the folder `cats`.
    """
    for beginning in (folder, folder.parent):
        try:
            path = (beginning / name).resolve()
            if path.is_relative_to(folder) and path.suffix.lower() in PICTURES and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):  # a name that is too long or has a null, or a link to itself
            return None
    return None


async def _refused(_: Request, error: Exception) -> Response:
    """Say in a sentence why there is nothing at a path."""
    assert isinstance(error, HTTPException)
    return Response(REFUSED[error.status_code], error.status_code, error.headers, "text/plain")


async def _left(_: Request, __: Exception) -> Response:
    """End a request whose sender has gone in the middle of it, which is no fault of the server."""
    return Response(status_code=400)


def _event(found: dict[str, Json]) -> str:
    return f"data: {json.dumps(found)}\n\n"


def _said(text: str, status: int) -> Response:
    return JSONResponse({"error": text}, status)
