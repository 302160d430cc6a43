"""Only the page itself, opened by the printed address, may see items and write labels."""

from __future__ import annotations

import pytest

import bayes_assess as ba
from bayes_assess.web.acts import Acts
from bayes_assess.web.cards import Pictures
from bayes_assess.web.desk import Desk
from bayes_assess.web.guard import Guard
from bayes_assess.web.server import STATIC, Page
from web.asgi import HOST, PORT, SECRET, TOKEN, Browser


async def echo(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"public")]})
    await send({"type": "http.response.body", "body": b"inside " + scope["path"].encode()})


@pytest.fixture
def browser():
    found = Browser(echo)
    found.come_in()
    return found


def test_the_token_is_changed_for_a_cookie_that_scripts_and_other_sites_do_not_get():
    browser = Browser(echo)
    assert browser.get("/").status == 403
    answer = browser.get(f"/?token={TOKEN}&name=anna", **{"sec-fetch-site": "none"})
    assert (answer.status, answer.headers["location"]) == (303, "/?name=anna")
    cookie, *flags = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(flags)
    assert TOKEN not in cookie
    browser.cookie = cookie
    assert browser.get("/").status == 200


def test_every_browser_gets_a_cookie_of_its_own():
    browser = Browser(echo)
    assert browser.come_in().headers["set-cookie"] != browser.come_in().headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "wrong", "%00", TOKEN[:-1], TOKEN + "x", "%C3%A4"])
def test_another_token_opens_nothing(token):
    answer = Browser(echo).get(f"/?token={token}")
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_a_token_opens_nothing_but_the_first_page():
    assert Browser(echo).get(f"/api/open?token={TOKEN}").status == 403
    assert Browser(echo).post(f"/?token={TOKEN}", {}).status == 403


@pytest.mark.parametrize(
    "cookie", ["", f"bayes-assess-{PORT}=", f"bayes-assess-{PORT}=guess", f"other={TOKEN}", "==;;"]
)
def test_another_cookie_opens_nothing(cookie):
    browser = Browser(echo)
    browser.cookie = cookie
    assert browser.get("/").status == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
        f"@{HOST}",
    ],
)
def test_another_host_is_refused_as_after_dns_rebinding(browser, host):
    assert browser.get("/", host=host).status == 403
    assert Browser(echo).get(f"/?token={TOKEN}", host=host).status == 403


def test_a_request_has_one_host(browser):
    assert browser.get("/", raw=[(b"host", b"evil.example")]).status == 403
    assert browser.get("/", host=None).status == 403


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_this_machine_has_several_names(browser, host):
    assert browser.get("/", host=host).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"http://localhost:{PORT}", "http://127.0.0.1:1", ""]
)
def test_another_origin_is_refused(browser, origin):
    assert browser.post("/api/answer", {}, origin=origin).status == 403
    assert browser.post("/api/answer", {}).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_what_another_site_sends_is_refused(browser, site):
    assert browser.post("/api/answer", {}, **{"sec-fetch-site": site}).status == 403
    assert browser.get("/", **{"sec-fetch-site": site}).status == 403
    assert Browser(echo).get(f"/?token={TOKEN}", **{"sec-fetch-site": site}).status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(browser, method):
    assert browser.get("/api/answer", method).status == 405


def test_writes_are_json_and_not_too_long(browser):
    assert browser.post("/api/answer", {}, **{"content-type": "text/plain"}).status == 415
    assert browser.post("/api/answer", {}, **{"content-type": "application/x-www-form-urlencoded"}).status == 415
    assert browser.post("/api/answer", {}, **{"content-length": "99999999"}).status == 413
    assert browser.post("/api/answer", {}, **{"content-length": None}).status == 400


def test_every_answer_says_what_browsers_may_do(browser):
    for answer in (browser.get("/"), browser.get("/", host="evil.example"), browser.come_in()):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"  # the first address has the token
        assert answer.headers["cache-control"] == "no-store"


def test_pictures_come_from_the_place_that_was_named_and_from_no_other():
    assert "img-src 'self';" in Browser(echo).come_in().headers["content-security-policy"]
    named = Browser(echo, pictures="https://pictures.example.org").come_in().headers["content-security-policy"]
    assert "img-src 'self' https://pictures.example.org;" in named


def test_a_server_for_others_knows_itself_by_number_but_by_no_foreign_name():
    browser = Browser(echo, host="0.0.0.0")
    browser.come_in()
    assert browser.get("/", host=f"192.168.1.7:{PORT}").status == 200
    assert browser.get("/", host=f"evil.example:{PORT}").status == 403


def test_commands_need_their_secret_which_no_browser_has(browser):
    assert browser.post("/command", {}).status == 403
    assert browser.post("/command", {}, authorization=f"Bearer {TOKEN}").status == 403
    assert Browser(echo).post("/command", {}, authorization=f"Bearer {SECRET}").status == 200
    assert browser.post("/command", {}, authorization=f"Bearer {SECRET}", host="evil.example").status == 403


@pytest.fixture
def inside(tmp_path):
    """A page on pictures, with a secret beside their folder."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a cat.png").write_bytes(b"\x89PNG")
    (folder / "notes.txt").write_text("secret")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    pool = ba.Pool(predictions=["cat", "dog"], show={"photo": ["a cat.png", "<script>alert(1)</script>"]})
    pictures = Pictures.of(str(folder))
    session = ba.assess(pool, ba.GroupAccuracy(), design="random")
    browser = Browser(Page(Acts(Desk(session, pictures=pictures)), pictures=pictures).app())
    browser.come_in()
    return browser


@pytest.mark.parametrize("name", ["a cat.png", "pictures/a cat.png", "./pictures/a cat.png"])
def test_pictures_of_the_folder_are_shown(inside, name):
    answer = inside.get(f"/pictures/{name}")
    assert (answer.status, answer.body) == (200, b"\x89PNG")
    assert answer.headers["content-type"] == "image/png"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "/etc/hosts.png",
        "x/../../secret.png",
        "pictures/../secret.png",
        "secret.png",
        "pictures/link.png",
        "link.png",
        "notes.txt",
        "",
        ".",
        "a\0.png",
        "no.png",
    ],
)
def test_no_file_outside_the_folder_is_shown(inside, path):
    answer = inside.get(f"/pictures/{path}")
    assert answer.status == 404
    assert b"secret" not in answer.body


@pytest.mark.parametrize(
    "path", ["/page.html", "/../server.py", "/desk.py", "/static/label.js", "/api/open", "/command"]
)
def test_no_other_file_is_served(inside, path):
    assert inside.get(path).status in (403, 404, 405)


@pytest.mark.parametrize("body", [b"", b"\xff", b"[", b"[" * 100_000])
def test_what_no_page_sends_is_refused_in_a_sentence(inside, body):
    length = str(len(body))
    for act in ("open", "answer", "nothing"):
        answer = inside.get(
            f"/api/{act}", "POST", body, **{"content-type": "application/json", "content-length": length}
        )
        assert (answer.status, answer.json) == (400, {"error": "This is not what the page sends."})


def test_items_are_never_markup():
    code = (STATIC / "label.js").read_text()
    for dangerous in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"):
        assert dangerous not in code


def test_the_usual_port_is_not_named():
    guard = Guard(None, "127.0.0.1", 80, TOKEN, SECRET)
    assert all(map(guard.knows_host, ("127.0.0.1", "localhost", "[::1]", "127.0.0.1:80", "[::1]:80")))
    assert not any(map(guard.knows_host, ("evil.example", "127.0.0.1:8000", "127.0.0.1:", "evil.example:80", "")))
    assert not Guard(None, "127.0.0.1", 8000, TOKEN, SECRET).knows_host("127.0.0.1")
