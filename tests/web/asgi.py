"""Requests to an ASGI application without a server, with any header that a browser, or somebody else, may send."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from bayes_assess.web.guard import Guard

PORT, TOKEN, SECRET = 8000, "token-of-the-address", "secret-of-commands"
HOST = f"127.0.0.1:{PORT}"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Browser:
    """Sends requests as a page does; whatever is given instead is sent instead."""

    def __init__(self, app: Any, host: str = "127.0.0.1", pictures: str | None = None):
        self.guard = Guard(app, host, PORT, TOKEN, SECRET, pictures)
        self.cookie = ""

    def come_in(self) -> Answer:
        """Change the token for a cookie, as the first visit does."""
        answer = self.get(f"/?token={TOKEN}", **{"sec-fetch-site": "none"})
        self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer

    def get(self, path: str, method: str = "GET", body: bytes = b"", raw: Any = (), **headers: str | None) -> Answer:
        path, _, query = path.partition("?")
        given = {"host": HOST, "sec-fetch-site": "same-origin", "cookie": self.cookie or None, **headers}
        sent = [(name.encode(), value.encode()) for name, value in given.items() if value is not None]
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": ""}
        scope |= {
            "query_string": query.encode(),
            "headers": [*sent, *raw],
            "scheme": "http",
            "server": ("127.0.0.1", PORT),
        }
        scope |= {"client": ("127.0.0.1", 5), "http_version": "1.1", "asgi": {"version": "3.0"}}
        found: dict[str, Any] = {"body": b""}

        waiting = [body]

        async def receive() -> dict[str, Any]:
            if not waiting:  # nobody leaves
                await asyncio.Event().wait()
            return {"type": "http.request", "body": waiting.pop()}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                found["status"] = message["status"]
                found["headers"] = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            else:
                found["body"] += message.get("body", b"")

        asyncio.run(self.guard(scope, receive, send))
        return Answer(found["status"], found["headers"], found["body"])

    def post(self, path: str, sent: Any, **headers: str | None) -> Answer:
        body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        given = {"content-type": "application/json", "content-length": str(len(body)), "origin": f"http://{HOST}"}
        return self.get(path, "POST", body, **{**given, **headers})
