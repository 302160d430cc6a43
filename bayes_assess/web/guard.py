"""The guard of the page: who may see it, and what browsers may do with it.

A page on 127.0.0.1 can be reached by every site that is open in the same browser, and under every name that somebody
lets point to that address. So a request is answered only where its ``Host`` is the server's own name, nothing says that
another site sent it, and it carries a cookie that the printed address was exchanged for. Decisions are on ``path`` of
the ASGI scope, which is what routes see, and never on a URL put together from headers.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlencode

from bayes_assess.web.notice import COMMAND

Message = MutableMapping[str, Any]  # of ASGI, as Starlette has it
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_OWN = ("same-origin", "none")  # values of Sec-Fetch-Site: the page itself, or somebody who typed the address
_PORT = re.compile(r"(?P<name>.*):(?P<port>[0-9]*)")
_USUAL = "80"  # which browsers leave out
_METHODS = ("GET", "HEAD", "POST")
_LONGEST = 1_000_000  # bytes of a body
REFUSED = {  # by status
    400: "This request is not one that the page sends.",
    403: "Open the page by the address that bayes-assess printed; type or paste it, as links from other sites are "
    "refused.",
    404: "There is no such page.",
    405: "This method is not allowed here.",
    413: "That is too long.",
    415: "Write in JSON.",
}


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """An ASGI application around another one, to which only requests of the page come through.

    Parameters
    ----------
    app : ASGI application
    host : str
        Where the server listens.
    port : int
    token : str
        Which the printed address carries.
    secret : str
        Of commands on this machine, which no browser has.
    pictures : str, optional
        Origin of pictures from elsewhere.

    Examples
    --------
    >>> Guard(None, "127.0.0.1", 8000, "token", "secret").knows_host("localhost:8000")
    True
    >>> Guard(None, "127.0.0.1", 8000, "token", "secret").knows_host("evil.example:8000")
    False
    """

    def __init__(self, app: Application, host: str, port: int, token: str, secret: str, pictures: str | None = None):
        self._app, self._host, self._port = app, host, port
        self._token, self._secret = token, secret
        self._cookie = f"bayes-assess-{port}"
        self._sessions: set[str] = set()
        images = " ".join(["'self'", *([pictures] if pictures else [])])
        self._headers = [
            (
                "content-security-policy",
                f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src {images}; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ]

    def knows_host(self, host: str) -> bool:
        """Tell whether a ``Host`` header names this server.

        Where the server listens everywhere, numbers are names, too: no site's name can stand for them.
        """
        whole = _PORT.fullmatch(host.lower())
        name, port = (whole["name"], whole["port"]) if whole else (host.lower(), _USUAL)
        if port != str(self._port):
            return False
        if name in LOOPBACK or name == self._host.lower():
            return True
        if is_loopback(self._host):
            return False
        if name == socket.gethostname().lower():
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page here opens sockets
            return
        headers, token = _headers_of(scope), _token_in(scope)
        refused = self._refused(scope, headers, token is not None)
        if refused:
            await self._refuse(send, refused)
            return
        if token is not None:
            await self._exchange(scope, send, token)
            return
        await self._app(scope, receive, self._guarded(send))

    def _refused(self, scope: Message, headers: Mapping[str, list[str]], with_token: bool) -> int:
        """Return the status with which a request is refused, 0 where it is not; tokens are checked later."""
        method, path = scope["method"], scope["path"]
        hosts, origins, sites = (headers.get(name, []) for name in ("host", "origin", "sec-fetch-site"))
        if len(hosts) != 1 or not self.knows_host(hosts[0]):
            return 403
        if any(origin not in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins):
            return 403
        if any(site not in _OWN for site in sites):
            return 403
        if method not in _METHODS:
            return 405
        if path == COMMAND:
            sent = headers.get("authorization", [""])[0]
            return 0 if secrets.compare_digest(sent.encode(), f"Bearer {self._secret}".encode()) else 403
        if not with_token and not self._is_known(headers):
            return 403
        if method == "POST":
            if headers.get("content-type", [""])[0].split(";")[0].strip() != "application/json":
                return 415
            length = headers.get("content-length", [""])[0]
            if not length.isdecimal() or "transfer-encoding" in headers:  # which is as long as it likes
                return 400
            if int(length) > _LONGEST:
                return 413
        return 0

    def _is_known(self, headers: Mapping[str, list[str]]) -> bool:
        """Tell whether a cookie is ours; others are of any form, as all servers of a machine share its cookies."""
        cookies = (cookie.partition("=") for header in headers.get("cookie", []) for cookie in header.split(";"))
        return any(name.strip() == self._cookie and value.strip() in self._sessions for name, _, value in cookies)

    async def _exchange(self, scope: Message, send: Send, token: str) -> None:
        """Change the token of the printed address for a cookie, and take it out of the address."""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            await self._refuse(send, 403)
            return
        cookie = secrets.token_urlsafe(32)
        self._sessions.add(cookie)
        query = parse_qs(scope["query_string"].decode("latin-1"))
        rest = urlencode({name: values[0] for name, values in query.items() if name != "token"})
        headers = [
            ("location", f"/?{rest}" if rest else "/"),
            ("set-cookie", f"{self._cookie}={cookie}; Path=/; HttpOnly; SameSite=Strict"),
        ]
        await _send(send, 303, [*self._headers, *headers], b"")

    async def _refuse(self, send: Send, status: int) -> None:
        text = REFUSED[status].encode()
        await _send(send, status, [*self._headers, ("content-type", "text/plain; charset=utf-8")], text)

    def _guarded(self, send: Send) -> Send:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in self._headers}
                rest = [(name, value) for name, value in message.get("headers", []) if name.decode().lower() not in own]
                message = {**message, "headers": [*rest, *_encoded(self._headers)]}
            await send(message)

        return guarded


def _token_in(scope: Message) -> str | None:
    """Return the token with which the first page is asked for; None for every other request."""
    if scope["path"] != "/" or scope["method"] != "GET":
        return None
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return query.get("token", [None])[0]


def _headers_of(scope: Message) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _send(send: Send, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
    all_headers = [*_encoded(headers), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body})
