"""The server refuses what it cannot take in a sentence, changes nothing then, and never breaks."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

import bayes_assess as ba
from bayes_assess.errors import LabelError
from bayes_assess.web import server
from bayes_assess.web.acts import Acts
from bayes_assess.web.cards import Pictures
from bayes_assess.web.desk import Desk
from bayes_assess.web.guard import Guard, is_loopback
from bayes_assess.web.server import Page
from web.browsers import served, until


class Visitor:
    """Somebody who was let in, and sends what they like."""

    def __init__(self, address: str):
        self.host = urlsplit(address).netloc
        self.cookie = ""
        _, headers, _ = self.send("GET", address.removeprefix(f"http://{self.host}"))
        self.cookie = headers["set-cookie"].split(";")[0]

    def send(self, method: str, path: str, body: bytes | None = None, cookie: str | None = None):
        connection = http.client.HTTPConnection(self.host, timeout=30)
        headers = {"Content-Type": "application/json", "Cookie": cookie or self.cookie}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def act(self, act: str, **sent):
        """Return the status and what comes back."""
        status, _, text = self.send("POST", f"/api/{act}", json.dumps(sent).encode())
        return status, json.loads(text)

    @contextmanager
    def connected(self, request: str, headers: str = ""):
        """Send the beginning of a request, and leave whenever the test does."""
        host, port = self.host.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as open_socket:
            open_socket.sendall(
                f"{request} HTTP/1.1\r\nHost: {self.host}\r\nCookie: {self.cookie}\r\n"
                f"Content-Type: application/json\r\n{headers}\r\n".encode()
            )
            yield open_socket


@pytest.fixture
def session():
    return ba.assess(ba.Pool(predictions=["cat", "dog"] * 50), ba.GroupAccuracy(), design="random")


@pytest.fixture
def visitor(session):
    with served(session) as address:
        yield Visitor(address)


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/a/b", 404, "There is no such page."),
        ("GET", "/nothing", 404, "There is no such page."),
        ("GET", "/api/answer", 405, "This method is not allowed here."),
        ("POST", "/", 405, "This method is not allowed here."),
    ],
)
def test_where_nothing_is_a_sentence_says_so(visitor, method, path, status, said):
    found, headers, text = visitor.send(method, path, b"{}" if method == "POST" else None)
    assert (found, text) == (status, said)
    assert headers["content-type"].startswith("text/plain")


def test_cookies_of_other_servers_on_this_machine_shut_nobody_out(visitor):
    others = 'theme={"dark": 1}; quoted="a;b"; =; ; b[]=1'
    assert visitor.send("GET", "/", cookie=f"{others}; {visitor.cookie}")[0] == 200
    assert visitor.send("GET", "/", cookie=f"{visitor.cookie}; {others}")[0] == 200
    assert visitor.send("GET", "/", cookie=others)[0] == 403


def test_who_leaves_in_the_middle_of_a_request_leaves_no_traceback(session, capsys):
    with served(session) as address:
        visitor = Visitor(address)
        for _ in range(5):
            with visitor.connected("POST /api/answer", "Content-Length: 500\r\n") as begun:
                begun.sendall(b'{"person"')
        assert visitor.act("open", person="p")[0] == 200
    assert "Traceback" not in capsys.readouterr().err


def test_a_body_is_no_longer_than_its_length_says(visitor):
    with visitor.connected("POST /api/open", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n") as begun:
        assert begun.recv(1000).startswith(b"HTTP/1.1 400")  # before any of it was sent


def test_pictures_of_odd_names_are_none(session, tmp_path):
    (tmp_path / "loop.png").symlink_to(tmp_path / "loop.png")
    with served(session, pictures=Pictures.of(str(tmp_path))) as address:
        visitor = Visitor(address)
        for name in ("a" * 300 + ".png", "loop.png", "loop.png/a.png", "%00.png", "%ff.png"):
            found = visitor.send("GET", f"/pictures/{name}")
            assert (found[0], found[2]) == (404, "There is no such picture.")


@pytest.mark.parametrize("what", ["name", "person", "note", "key"])
@pytest.mark.parametrize("act", ["open", "next", "answer", "skip"])
def test_halves_of_characters_are_refused_and_nothing_is_asked_for(session, visitor, act, what):
    until(lambda: session.n_pending)  # the first items are chosen
    before = session.events
    sent = {"person": "p", "key": str(session.pending[0]), "answers": [0], what: "\ud83d"}
    assert visitor.act(act, **sent) == (400, {"error": "This is not what the page sends."})
    assert session.events == before


def test_answers_of_another_campaign_are_not_taken_though_its_items_are_called_alike(session, visitor):
    _, opened = visitor.act("open", person="p")
    known, key = {"person": "p", "campaign": opened["campaign"]}, opened["open"][0]["key"]
    before = session.events
    for act in ("answer", "skip", "next"):
        told = known | {"campaign": "0123456789abcdef", "key": key, "answers": [0]}
        assert visitor.act(act, **told) == (409, {"error": "Another campaign is served here now."})
    assert session.events == before
    assert visitor.act("open", person="q")[0] == 200  # who comes for the first time
    assert visitor.act("answer", **known, key=key, answers=[0])[0] == 200


def test_the_answer_so_far_of_another_campaign_is_not_shown(session):
    with served(session, show_answer=True) as address:
        status, _, said = Visitor(address).send("GET", "/api/stream?campaign=0123456789abcdef")
    assert (status, json.loads(said)) == (409, {"error": "Another campaign is served here now."})


def test_a_stranger_whose_request_is_refused_gets_no_items(session, visitor):
    until(lambda: session.n_pending)
    before = session.events
    for act, status in (("fly", 400), ("answer", 422), ("skip", 422)):
        assert visitor.act(act, person=act, name=f"{act}er", key="no item", answers=[0])[0] == status
    assert visitor.act("answer", person="p", key="0", answers=[7])[0] == 422
    assert session.events == before


def test_after_a_restart_an_answer_comes_first_and_its_item_is_not_shown_again(tmp_path):
    def pool():
        return ba.Pool(predictions=["cat", "dog"] * 50)

    acts = Acts(Desk(ba.assess(pool(), ba.GroupAccuracy(), design="random", journal=tmp_path / "run.db")))
    first, *later = [card["key"] for card in acts.do("open", {"person": "p"})["open"]]
    acts.desk.session.journal.close()
    acts = Acts(Desk(ba.resume(tmp_path / "run.db", pool())))
    found = acts.do("answer", {"person": "p", "key": first, "answers": [0]})
    assert [card["key"] for card in found["open"]][: len(later)] == later
    assert first not in [card["key"] for card in found["open"]]
    assert found["counts"]["used"] == 1


def test_a_name_is_nobody_who_gave_none(session):
    acts = Acts(Desk(session))
    nameless = acts.do("open", {"person": "p"})["open"]
    named = acts.do("open", {"person": "q", "name": "#p"})["open"]
    assert not {card["key"] for card in nameless} & {card["key"] for card in named}


def test_who_does_not_read_the_stream_costs_one_answer(session):
    page = Page(Acts(Desk(session), show_answer=True))

    async def look() -> list[str]:
        page._loop = asyncio.get_running_loop()
        events = (await page._stream(Request({"type": "http", "query_string": b""}))).body_iterator
        seen = [await anext(events)]
        for n in range(1, 4):
            session.tell(session.ask(1).ids, ["cat"])
            page._changed()
            await page._answering
            assert page._standing["labels"] == n
        seen.append(await anext(events))
        waiting = sum(news.qsize() for news in page._looking)
        await events.aclose()
        return [*(json.loads(one.removeprefix("data: "))["labels"] for one in seen), waiting, len(page._looking)]

    assert asyncio.run(look()) == [0, 3, 0, 0]


def test_what_changes_while_an_answer_fails_is_answered_too(session):
    begun, changed = threading.Event(), threading.Event()
    looks = []

    def look():
        looks.append(len(looks))
        if len(looks) > 1:
            return {"labels": 1}
        begun.set()
        changed.wait(20)
        raise LabelError("There are no labels yet.")

    page = Page(SimpleNamespace(desk=Desk(session), show_answer=True, look=look))

    async def change() -> None:
        page._loop = asyncio.get_running_loop()
        page._changed()
        await asyncio.to_thread(begun.wait, 20)
        page._changed()
        changed.set()
        await asyncio.wait_for(_told(page, {"labels": 1}), 20)

    asyncio.run(change())


async def _told(page: Page, wanted: dict[str, int]) -> None:
    while page._standing != wanted:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("host", ["0.0.0.0", "", "127.0.0.1"])
def test_others_are_told_an_address_of_this_machine_that_is_theirs_too(session, tmp_path, monkeypatch, host):
    monkeypatch.setattr(server.Service, "run", lambda service: service._socket.close())
    said: list[str] = []
    server.serve(Page(Acts(Desk(session))), tmp_path / "run.db", host, 0, say=said.append)
    here = urlsplit(said[0])
    if host == "127.0.0.1":
        assert len(said) == 1
        return
    there = urlsplit(said[1].removeprefix("Others on the network open "))
    assert (there.port, there.query) == (here.port, here.query)
    assert is_loopback(str(here.hostname))
    assert there.hostname not in (here.hostname, "0.0.0.0", "::", None)
    assert Guard(None, "0.0.0.0", there.port, "", "").knows_host(there.netloc)
