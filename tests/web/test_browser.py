"""A person labels a whole campaign in a real browser, by keys, and nothing is lost."""

from __future__ import annotations

import csv
import time

import numpy as np
import pytest

import bayes_assess as ba
from bayes_assess.books.annotators import UNNAMED
from bayes_assess.cli import files
from bayes_assess.errors import JournalError
from bayes_assess.sessions.journal import Journal
from bayes_assess.web.history import History
from cli.commands import done
from web.browsers import Server, served, until

N = 200
TEXTS = [f"ticket {i}" for i in range(N)]


@pytest.fixture
def run(tmp_path):
    """A campaign as the command line starts it."""
    with (tmp_path / "tickets.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "prediction"])
        rows.writerows([f"t{i}", TEXTS[i], ("bill", "bug")[i % 2]] for i in range(N))
    options = files.reader_options(None, None, None, None, None) | {"show": ["text"], "groups": [], "systems": []}
    pool = ba.read_pool(tmp_path / "tickets.csv", **options)
    source = files.source_of(tmp_path / "tickets.csv", options)
    ba.assess(pool, ba.GroupAccuracy(), design="random", journal=tmp_path / "run.db", source=source).journal.close()
    return tmp_path / "run.db"


def known(run) -> dict[str, str]:
    """Return the labels in a journal, by the texts of their items."""
    session = files.reopen(run, None)
    ids, labels = session.labelled
    session.journal.close()
    return {f"ticket {name[1:]}": label for name, label in zip(ids.tolist(), labels.tolist(), strict=True)}


def answer(browser, key: str) -> str:
    """Press a key, wait for another item, and return the text of the item that was answered."""
    before = until(lambda: browser.text(".card .field p"))
    browser.press(key)
    until(lambda: browser.text(".card .field p") not in ("", before), "the next item")
    return before


def test_a_whole_campaign_by_keys(run, browser):
    server = Server(run)
    try:
        browser.open(server.address)
        assert "token" not in browser.driver.current_url
        said = {answer(browser, "12"[i % 2]): ("bill", "bug")[i % 2] for i in range(10)}
        fifth = list(said)[4]

        undone = answer(browser, "1")
        browser.press("u")  # a slip
        until(lambda: browser.text(".card .field p") == undone)
        assert browser.run("return document.querySelector('.choice[aria-pressed=true]').innerText").endswith("bill")
        browser.press("2")
        said[undone] = "bug"

        skipped = answer(browser, " ")
        browser.saved()
        until(lambda: browser.text(".count").endswith("1 set aside"))

        row = next(row for row in browser.all(".recent button") if fifth in row.text.splitlines())
        row.click()
        until(lambda: browser.text(".card .field p") == fifth)
        browser.press("2")
        said[fifth] = "bug"
        browser.saved()

        current = browser.text(".card .field p")
        browser.driver.refresh()
        until(lambda: browser.text(".card .field p") == current, "the same item after a reload")
        until(lambda: len(browser.all(".recent li")) == 10)
        said |= {answer(browser, "1"): "bill" for _ in range(9)}
        browser.saved()
        assert browser.used() == 20
        assert known(run) == said

        server.kill()
        lost = answer(browser, "2")  # the next ones are there already
        said[lost] = "bug"
        until(lambda: "1 answer waits here" in browser.text(".notice"))
        server.start(server.port)
        until(lambda: "server was started anew" in browser.text(".notice"))  # it has another token, and refuses
        assert "1 answer waits here" in browser.text(".notice")
        assert browser.open(server.address).text(".notice") == ""
        browser.saved()
        said |= {answer(browser, "1"): "bill" for _ in range(9)}
        browser.saved()
        assert browser.used() == 30
        assert server.command("status", "run.db").startswith("30 of 200 items labelled")
        assert known(run) == said
        assert skipped not in said
        assert not [one for one in browser.complaints() if "policy" in one.lower()]
    finally:
        server.end()
    assert not (run.parent / "run.db.page").exists()


@pytest.mark.slow
def test_answers_that_wait_in_one_tab_are_sent_when_another_one_is_let_in(run, browser):
    server = Server(run)
    try:
        browser.open(server.address)
        first = browser.driver.current_window_handle
        server.kill()
        said = {answer(browser, "2"): "bug", answer(browser, "1"): "bill"}
        server.start(server.port)
        until(lambda: "server was started anew" in browser.text(".notice"))
        browser.driver.switch_to.new_window("tab")
        browser.open(server.address)
        browser.driver.switch_to.window(first)
        browser.saved()
        until(lambda: browser.text(".notice") == "")
        assert known(run) == said
    finally:
        server.end()


@pytest.mark.slow
def test_the_answer_so_far_goes_on_when_a_browser_is_let_in_again(run, browser):
    server = Server(run, "--show-answer")
    try:
        browser.open(server.address)
        first = browser.driver.current_window_handle
        next(button for button in browser.all(".tools button") if button.text == "Answer").click()
        answer(browser, "2")
        until(lambda: "1 label used" in browser.text("aside"))
        server.kill()
        answer(browser, "2")
        server.start(server.port)
        until(lambda: "server was started anew" in browser.text(".notice"))
        time.sleep(5)  # until the stream was refused, too
        browser.driver.switch_to.new_window("tab")
        browser.open(server.address)
        browser.driver.switch_to.window(first)
        browser.saved()
        answer(browser, "1")
        until(lambda: "3 labels used" in browser.text("aside"), "the answer from three labels")
    finally:
        server.end()


@pytest.mark.slow
def test_answers_that_wait_in_several_tabs_are_all_sent_as_those_of_their_people(run, browser):
    server, names, tabs = Server(run), ("", "anna", "ben", "anna"), []
    try:
        for name in names:
            browser.driver.switch_to.new_window("tab")
            browser.open(server.address + f"&name={name}" * bool(name))
            tabs.append(browser.driver.current_window_handle)
        server.kill()
        said: dict[str, dict[str, str]] = {name: {} for name in names}
        for tab, name, keys in zip(tabs, names, ("1", "2", "1", "21"), strict=True):
            browser.driver.switch_to.window(tab)
            said[name] |= {answer(browser, key): ("bill", "bug")[key == "2"] for key in keys}
            browser.driver.close()
        browser.driver.switch_to.window(browser.driver.window_handles[0])
        server.start(server.port)
        browser.open(f"{server.address}&name=cleo")
        browser.saved()
        session = files.reopen(run, None)
        history = History(session)
        session.journal.close()
        told = {name: history.latest(name or UNNAMED, N) for name in said}
        assert len(said["anna"]) == 2
        assert {name: {f"ticket {i[1:]}": label for (i,), (label,) in all_} for name, all_ in told.items()} == said
    finally:
        server.end()


@pytest.mark.slow
def test_answers_that_wait_are_not_sent_to_another_campaign(run, browser):
    server = Server(run)
    other = run.parent / "other.db"
    done("start", run.parent / "tickets.csv", "--question", "group-accuracy", "--show", "text", "--out", other)
    try:
        browser.open(f"{server.address}&name=anna")
        first, port = browser.driver.current_window_handle, server.port
        server.kill()
        said = {answer(browser, "2"): "bug"}
        server.run = other
        server.options = ("--show", "text")
        server.start(port)
        browser.driver.switch_to.new_window("tab")  # which lets the first one in, too
        browser.open(f"{server.address}&name=anna")
        second = browser.driver.current_window_handle
        browser.driver.switch_to.window(first)
        until(lambda: "Another campaign is served here now" in browser.text(".notice"))
        assert "1 answer waits" in browser.text(".notice")
        browser.driver.switch_to.window(second)
        other_said = {answer(browser, "1"): "bill"}
        until(lambda: browser.used() == 1)
        server.end()
        server.run = run
        server.start(port)
        browser.open(f"{server.address}&name=anna")
        browser.saved()
        assert (known(other), known(run)) == (other_said, said)
    finally:
        server.end()


@pytest.mark.slow
def test_three_people_and_a_sheet_share_a_journal_and_nothing_is_asked_twice_or_lost(run, browser):
    server = Server(run)
    try:
        browser.open(server.address)
        address = server.address.split("?")[0]
        windows, told = {}, {}
        for name in ("anna", "ben", "cleo"):
            browser.driver.switch_to.new_window("tab")
            browser.open(f"{address}?name={name}")
            windows[name] = browser.driver.current_window_handle
        for turn in range(6):
            for window in windows.values():
                browser.driver.switch_to.window(window)
                text = answer(browser, "1")
                assert text not in told
                told[text] = "bill"
            if turn == 2:
                server.command("ask", "run.db", "-n", "5", "-o", "sheet.csv")
        for window in windows.values():
            browser.driver.switch_to.window(window)
            until(lambda: "wait" not in browser.text(".notice"))
            browser.saved()
        server.kill()
        assert known(run) == told
        with (run.parent / "sheet.csv").open(newline="") as file:
            sheet = {row["text"] for row in csv.DictReader(file)}
        assert len(sheet) == 5
        assert not sheet & set(told)
        session = files.reopen(run, None)
        asked = [name for event in session.events if event.kind == "ask" for name in event.payload["ids"]]
        assert len(asked) == len(set(asked))
        assert {
            name for event in session.events if event.kind == "annotate" for name in event.payload["annotators"]
        } == set(windows)
        session.journal.close()
    finally:
        server.end()


def test_what_items_say_is_shown_as_text_and_pictures_from_elsewhere_are_not_loaded(browser):
    texts = ["<img src=x onerror=\"document.title='broken'\">", "first line\nsecond line\n\nanother **paragraph**"]
    session = ba.assess(ba.Pool(predictions=["a", "b"], show={"text": texts}), ba.GroupAccuracy(), design="random")
    with served(session) as address:
        browser.open(address)
        browser.complaints()
        shown = [browser.text(".card .field"), answer(browser, "a") and browser.text(".card .field")]
        assert sorted(shown)[0] == texts[0]
        assert sorted(shown)[1] == "first line\nsecond line\n\nanother **paragraph**"
        assert "broken" not in browser.driver.title
        assert not browser.complaints()


@pytest.mark.slow
def test_the_answer_narrows_beside_the_items_with_the_numbers_of_the_session(browser):
    rng = np.random.default_rng(0)
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 200), ba.GroupAccuracy(), design="random", seed=1)
    with served(session, show_answer=True, width=0.2) as address:
        browser.open(address)
        assert not browser.all("aside:not([hidden])")  # not unless somebody wants to see it
        for _ in range(12):
            answer(browser, rng.choice(["a", "b"]))
        browser.saved()
        next(button for button in browser.all(".tools button") if button.text == "Answer").click()
        until(lambda: "12 labels used" in browser.text("aside"))
        result = session.result()
        mean, (low, high) = result.overall
        assert browser.text("aside .big") == f"{mean:.3f}"
        assert browser.text("aside .ends").startswith(f"[{low:.3f}, {high:.3f}]")
        said = browser.text("aside")
        assert "0.2 is wanted" in said
        assert "more for a width of 0.2" in said
        for line in result.summary().splitlines():
            assert line in said
        assert browser.all("aside svg polyline.line")
    with served(session) as address:
        browser.open(address)
        assert not [button for button in browser.all(".tools button") if button.text == "Answer"]
        assert browser.run("return fetch('api/stream').then((answer) => answer.status)") == 403


@pytest.mark.slow
def test_every_kind_of_label_by_keys(browser):
    several = ba.assess(
        ba.Pool(predictions=["cat;dog", "-", "dog", "cat"], multilabel=True), ba.Metric("f1_micro"), design="passive"
    )
    with served(several) as address:
        browser.open(address)
        for keys in ("12", "0"):
            n = browser.used()
            browser.press(*keys, *(["\ue007"] if keys == "12" else []))
            until(lambda n=n: browser.used() == n + 1)
    assert sorted(several.labelled[1].tolist()) == ["-", "cat;dog"]

    numbers = ba.assess(ba.Pool(predictions=[7.5, 60, 3, 99], bounds=(0, 100)), ba.Mean())
    with served(numbers) as address:
        browser.open(address)
        browser.press("4", "2", "\ue007")
        until(lambda: browser.used() == 1)
        browser.press(" ")  # nobody can say, in a field of numbers, too
        until(lambda: "1 set aside" in browser.text(".count"))
    assert numbers.labelled[1].tolist() == ["42"]

    names = [f"class {i:02}" for i in range(30)]
    many = ba.assess(ba.Pool(predictions=names, classes=names), ba.GroupAccuracy(), design="random")
    with served(many) as address:
        browser.open(address)
        browser.press(*"23", "\ue007")
        until(lambda: browser.used() == 1)
    assert many.labelled[1].tolist() == ["class 23"]

    groups = {"system": ["a"] * 5 + ["b"] * 5, "prompt": [*range(5), *range(5)]}
    texts = {"text": [f"{s}{i}" for s in "ab" for i in range(5)]}
    pool = ba.Pool(predictions=[1, 0] * 5, groups=groups, show=texts)
    pairs = ba.assess(pool, ba.Compare("a", "b", by="system", measure="rate", pair="prompt"))
    with served(pairs) as address:
        browser.open(address)
        shown = [side.text.splitlines()[-1] for side in browser.all(".card .side")]
        browser.press("1", "0")  # the first is good, the second is not
        until(lambda: browser.used() == 2)
    ids, labels = pairs.labelled
    assert {texts["text"][i]: label for i, label in zip(ids, labels, strict=True)} == {shown[0]: 1, shown[1]: 0}


@pytest.mark.slow
def test_people_differ_and_somebody_decides(browser):
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 5), ba.GroupAccuracy(), design="random")
    session.tell([3, 4], ["a", "a"], annotator="anna")
    session.tell([3, 4], ["b", "a"], annotator="ben")
    with served(session, show_answer=True) as address:
        browser.open(address)
        next(button for button in browser.all(".tools button") if button.text == "To decide (1)").click()
        until(lambda: "anna: a · ben: b. Decide." in browser.text(".card"))
        browser.press("n")  # a decision takes no note
        assert not [field for field in browser.all("textarea") if field.is_displayed()]
        browser.press("b")
        until(lambda: not session.n_disagreements)
        next(button for button in browser.all(".tools button") if button.text == "Answer").click()
        until(lambda: "Annotators agree in 50% of the labels of 2 items" in browser.text("aside"))
    assert dict(zip(*(part.tolist() for part in session.labelled), strict=True)) == {3: "b", 4: "a"}


@pytest.mark.slow
def test_decisions_wait_for_a_server_that_is_away(run, browser):
    session = files.reopen(run, None)
    session.tell(["t3", "t4"], ["bug", "bug"], annotator="anna")
    session.tell(["t3", "t4"], ["bill", "bill"], annotator="ben")
    session.journal.close()
    server = Server(run)
    try:
        browser.open(server.address)
        first = browser.driver.current_window_handle
        server.kill()
        next(button for button in browser.all(".tools button") if button.text == "To decide (2)").click()
        until(lambda: browser.text(".notice") == "The server does not answer. Trying again.")
        server.start(server.port)
        browser.driver.switch_to.new_window("tab")
        browser.open(server.address)
        browser.driver.switch_to.window(first)
        decided = until(lambda: "Decide." in browser.text(".card") and browser.text(".card .field p"))
        assert browser.text(".notice") == ""
        server.kill()
        browser.press("2")
        until(lambda: browser.text(".notice") == "The server does not answer. Trying again.")
        server.start(server.port)
        browser.driver.switch_to.new_window("tab")
        browser.open(server.address)
        browser.driver.switch_to.window(first)
        until(lambda: browser.text(".card .field p") not in ("", decided), "the other item to decide on")
        assert browser.text(".notice") == ""
    finally:
        server.end()
    assert known(run)[decided] == "bug"


def test_why_an_answer_was_not_taken_can_be_read(browser):
    session = ba.assess(ba.Pool(predictions=[7.5], bounds=(-np.inf, np.inf)), ba.Metric("mae"))
    with served(session) as address:
        browser.open(address)
        browser.press(*"1e70", "\ue007")
        until(lambda: "1e+60 at most in size" in browser.text(".notice"))
        until(lambda: browser.all(".typed input"), "the item once more")
        assert "1e+60 at most in size" in browser.text(".notice")
        browser.press("4", "2", "\ue007")
        until(lambda: browser.used() == 1)
        assert "1e+60 at most in size" in browser.text(".notice")  # for some seconds
    assert session.labelled[1].tolist() == [42]


@pytest.mark.slow
def test_answers_wait_for_a_journal_that_cannot_be_written(run, browser, monkeypatch):
    append, session = Journal.append, files.reopen(run, None)

    def full(*_, **__):
        raise JournalError(f"The journal {run} cannot be written: database or disk is full.")

    with served(session) as address:
        browser.open(f"{address}&name=anna")
        first = answer(browser, "1")
        until(lambda: browser.used() == 1)
        monkeypatch.setattr(Journal, "append", full)
        given = [answer(browser, "2"), answer(browser, "1")]
        until(lambda: "disk is full. 2 answers wait here" in browser.text(".notice"))
        browser.driver.refresh()
        until(lambda: "disk is full. 2 answers wait here" in browser.text(".notice"))
        monkeypatch.setattr(Journal, "append", append)
        until(lambda: browser.used() == 3)
        until(lambda: not browser.text(".notice"))
    session.journal.close()
    assert known(run) == dict(zip([first, *given], ["bill", "bug", "bill"], strict=True))


@pytest.mark.slow
def test_who_waits_for_others_goes_on_when_their_items_are_back(browser):
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 2), ba.GroupAccuracy(), design="random")
    away = session.ask(3).ids  # of a sheet
    with served(session) as address:
        browser.open(address)
        # The page looks every half of a second in the place of five.
        browser.run("const later = setTimeout; window.setTimeout = (then, wait) => later(then, wait / 10)")
        browser.press("a")
        until(lambda: "wait until they are back" in browser.text(".card"))
        session.release(away[:1])
        until(lambda: browser.text(".card .field p") == str(away[0]), "the item that is back")
        browser.press("b")
        browser.saved()
        session.tell(away[1:], ["a", "b"])
        until(lambda: "Nothing is left to label." in browser.text(".card"))


def test_bounds_in_an_empty_field_can_be_read_in_the_dark(browser):
    session = ba.assess(ba.Pool(predictions=[7.5] * 20, bounds=(0, np.inf)), ba.Metric("mae"))
    with served(session) as address:
        for dark in (False, True):
            browser.size(1280, 900, dark)
            browser.open(address)
            style = "(part) => getComputedStyle(document.querySelector('.typed input'), part)"
            ink, ground = browser.run(f"const of = {style}; return [of('::placeholder').color, of().backgroundColor]")
            lighter, darker = sorted((_light(ground), _light(ink)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) > 4.5


@pytest.mark.slow
def test_numbers_are_taken_as_people_write_them_or_not_at_all(browser):
    session = ba.assess(ba.Pool(predictions=[7.5] * 20, bounds=(0, np.inf)), ba.Metric("mae"))
    written = {"4,5": 4.5, "4.5": 4.5, "1e1": 10, "0,125": 0.125, ".5": 0.5, "1,2345": 1.2345, "12": 12, "5,": 5}
    refused = ["1,234", "1.234,5", "3 000", "-3", "1e999", "4 5", "--4", "1x"]  # none, or one of two
    with served(session) as address:
        browser.open(address)
        for n, text in enumerate(written, start=1):
            browser.press(*text, "\ue007")
            until(lambda n=n: browser.used() == n, text)
        for text in refused:
            browser.press(*text, "\ue007")
            until(lambda text=text: f'found "{text}"' in browser.text(".notice"), text)
            browser.press(*["\ue003"] * len(text))
        browser.press("\ue007")
        said = "A label here is a number of at least 0, written like 1234.5; found none."
        until(lambda: browser.text(".notice") == said)
        browser.saved()
    assert sorted(map(float, session.labelled[1])) == sorted(written.values())
    assert not session.n_skipped


def test_texts_and_names_run_in_their_own_direction(browser):
    text, south = "\u0645\u0631\u062d\u0628\u0627! (1) hello.", "\u062c\u0646\u0648\u0628"
    groups = {"site": ["north", south]}
    pool = ba.Pool(predictions=["a", "b"], show={"text": [text, text]}, groups=groups)
    session = ba.assess(pool, ba.Metric("accuracy", by="site"), design="passive")
    with served(session, show_answer=True) as address:
        browser.open(address)
        assert browser.run("return getComputedStyle(document.querySelector('.card .field p')).direction") == "rtl"
        browser.press("a")
        browser.saved()
        next(button for button in browser.all(".tools button") if button.text == "Answer").click()
        until(lambda: south in browser.text("aside"))
        # Or the figures beside a name would be read in the other order, 0.5, 95% as 95 ,0.5%.
        apart = "return [...document.querySelectorAll('aside bdi')].map((one) => one.innerText)"
        assert set(browser.run(apart)) == {south}


def test_who_cannot_be_called_so_is_asked_for_another_name(browser):
    pool = ba.Pool(predictions=["a", "b"], show={"text": ["one", "two"]})
    session = ba.assess(pool, ba.GroupAccuracy(), design="random")
    with served(session) as address:
        browser.open(f"{address}&name=text")
        assert "take another name" in browser.text(".notice")
        browser.all(".card input")[0].click()
        browser.press(*"nu", "\ue007")
        until(lambda: browser.text(".count") == "0 labelled · nu")


def test_a_long_item_is_read_from_its_beginning_after_another_one(browser):
    texts = {"text": [f"{i} " + "word " * 3000 for i in range(9)]}
    session = ba.assess(ba.Pool(predictions=["a", "b", "b"] * 3, show=texts), ba.GroupAccuracy(), design="random")
    top = "return document.querySelector('.card').getBoundingClientRect().top"
    with served(session) as address:
        browser.open(address)
        browser.all(".choice")[0].click()  # below the text
        browser.saved()
        assert 0 <= browser.run(top) < 200
        browser.all(".recent button")[0].click()
        until(lambda: browser.all(".recent [aria-current=true]"))
        assert 0 <= browser.run(top) < 200


def test_sides_of_a_pair_are_answered_in_any_order_and_put_right_by_keys(browser):
    groups = {"system": ["a"] * 5 + ["b"] * 5, "prompt": [*range(5), *range(5)]}
    texts = {"text": [f"{s}{i}" for s in "ab" for i in range(5)]}
    pool = ba.Pool(predictions=[1, 0] * 5, groups=groups, show=texts)
    session = ba.assess(pool, ba.Compare("a", "b", by="system", measure="rate", pair="prompt"))
    with served(session) as address:
        browser.open(address)
        first, second = (texts["text"].index(side.text.splitlines()[-1]) for side in browser.all(".card .side"))

        def found():
            browser.saved()
            ids, labels = session.labelled
            return dict(zip(ids.tolist(), labels.tolist(), strict=True))

        browser.all(".card .side")[1].click()
        browser.press("1", "0")
        until(lambda: browser.used() == 2)
        assert found() == {first: 0, second: 1}
        browser.press("u", "1", "0")
        until(lambda: not browser.all(".recent [aria-current=true]"))
        assert found() == {first: 1, second: 0}


def test_on_a_phone_the_answer_is_brought_into_sight_and_words_are_whole(browser):
    texts = {"text": ["word " * 300] * 20}
    session = ba.assess(ba.Pool(predictions=["a;b", "-"] * 10, multilabel=True, show=texts), ba.Metric("f1_micro"))
    with served(session, show_answer=True) as address:
        browser.size(360, 740)
        browser.open(address)
        none = browser.all(".choice.none span")[0]
        assert none.size["height"] < 60  # two lines of two words
        next(button for button in browser.all(".tools button") if button.text == "Answer").click()
        until(lambda: 0 <= browser.run("return document.querySelector('aside').getBoundingClientRect().top") < 740)


def test_a_key_is_no_answer_to_an_item_that_came_in_the_place_of_another(browser):
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 10), ba.GroupAccuracy(), design="random")
    with served(session) as address:
        browser.open(address)
        first, second, third = next(event for event in session.events if event.kind == "ask").payload["ids"].tolist()
        assert browser.text(".card .field p") == str(first)
        session.tell([second], ["a"])  # by a sheet
        press = """
            const [third] = arguments;
            new MutationObserver((_, watch) => {
                if (document.querySelector(".card .field p")?.innerText !== third) return;
                watch.disconnect();
                document.dispatchEvent(new KeyboardEvent("keydown", { key: "b" }));
            }).observe(document.querySelector(".card"), { childList: true, subtree: true });
        """
        browser.run(press, str(third))
        browser.press("b")
        until(lambda: browser.text(".card .field p") == str(third))
        until(lambda: browser.used() == 2)
        assert third not in session.labelled[0]
        time.sleep(0.5)  # in which it can be read
        browser.press("b")
        until(lambda: browser.used() == 3)


def test_a_double_click_answers_one_item(browser):
    several = ba.Pool(predictions=["a;b", "-"] * 10, multilabel=True)
    for pool, question in (
        (ba.Pool(predictions=["a", "b"] * 10), ba.GroupAccuracy()),
        (several, ba.Metric("f1_micro")),
    ):
        session = ba.assess(pool, question)
        with served(session) as address:
            browser.open(address)
            button = browser.all(".choice")[-1]  # of several labels, that none applies
            browser.double_click(button)
            browser.saved()
            assert session.labels_used == 1
            browser.double_click(next(one for one in browser.all(".acts button") if "Nobody" in one.text))
            browser.saved()
            assert (session.labels_used, session.n_skipped) == (1, 1)
            for n in (2, 3):
                browser.all(".choice")[-1].click()
                until(lambda n=n: browser.used() == n)


def test_a_note_stays_with_its_item_when_its_field_is_left(browser):
    session = ba.assess(ba.Pool(predictions=["a;b", "-"] * 10, multilabel=True), ba.Metric("f1_micro"))
    with served(session) as address:
        browser.open(address)
        browser.press("a", "n", *"odd", "\ue00c")
        assert browser.run("return document.querySelector('textarea').value") == "odd"
        browser.press("\ue007")
        browser.saved()
        browser.press("n", "\ue00c")  # nothing was written, and nothing is left
        assert not [field for field in browser.all("textarea") if field.is_displayed()]
    assert [note.text for note in session.notes] == ["odd"]
    assert session.labelled[1].tolist() == ["a"]


@pytest.mark.slow
def test_what_is_searched_and_not_chosen_is_asked_about(browser):
    names = [f"class {i:02}" for i in range(90)]
    pool = ba.Pool(predictions=[f"{name};class 00" for name in names[1:]], multilabel=True)
    session = ba.assess(pool, ba.Metric("f1_micro"))
    with served(session) as address:
        browser.open(address)
        browser.press(*"89", "\ue007")
        until(lambda: browser.text(".chosen") == "Chosen: class 89")
        assert "class 89" in browser.text(".choices")  # though it is the last of them
        assert browser.text(".acts").split() == ["Nobody", "can", "say", "space", "Undo", "Note"]
        browser.press(*"clas 7", "\ue007")  # a slip
        until(lambda: browser.text(".notice") == 'No label has "clas 7" in its name.')
        browser.press(*["\ue003"] * 6, *"class 7")
        browser.all(".send")[0].click()
        until(lambda: "Choose one of the labels" in browser.text(".notice"))
        browser.press("\ue007", "\ue007")
        browser.saved()
        assert session.labelled[1].tolist() == ["class 70;class 89"]
        browser.press(*"none", "\ue007")
        until(lambda: browser.used() == 2)
    assert sorted(session.labelled[1].tolist()) == ["-", "class 70;class 89"]


def test_a_search_that_is_left_keeps_what_was_chosen(browser):
    names = [f"class {i:02}" for i in range(30)]
    pool = ba.Pool(predictions=[f"{name};class 00" for name in names[1:]], multilabel=True)
    with served(ba.assess(pool, ba.Metric("f1_micro"))) as address:
        browser.open(address)
        browser.press(*"23", "\ue007", *"11", "\ue00c")
        assert browser.run("return document.querySelector('.typed input').value") == ""
        assert [button.text for button in browser.all(".choice[aria-pressed=true]")] == ["class 23"]


def test_the_page_works_by_the_keyboard_alone_on_phones_and_in_the_dark(browser):
    texts = {"text": ["word " * 60, "x" * 300] * 5}
    session = ba.assess(ba.Pool(predictions=["a long name of a class", "b"] * 5, show=texts), ba.GroupAccuracy())
    with served(session) as address:
        browser.open(address)
        names = [
            (one.accessible_name, one.aria_role) for one in browser.all("button, input, textarea") if one.is_displayed()
        ]
        assert all(name for name, _ in names)
        assert {role for _, role in names} == {"button"}
        reached = set()
        for _ in range(12):
            browser.press("\ue004")
            active = browser.driver.switch_to.active_element
            reached.add(active.text)
            if active.tag_name == "button":
                outline = browser.run("return getComputedStyle(document.activeElement).outlineWidth")
                assert float(outline.removesuffix("px")) >= 2
        assert {"Keys?", "1\na long name of a class", "b\nb"} <= {text.replace("Keys\n?", "Keys?") for text in reached}
        browser.press("?")
        until(lambda: "nobody can say" in browser.text("dialog"))
        browser.press("\ue00c")
        browser.press("n", *"odd")
        browser.press("\ue00c")
        assert not session.labels_used
        for dark in (False, True):
            browser.size(360, 740, dark)
            assert browser.run("return document.documentElement.scrollWidth") <= 360
            style = "getComputedStyle(document.querySelector('.card'))"
            ground, ink = browser.run(f"return [{style}.backgroundColor, {style}.color]")
            assert (_light(ground) > 0.5) == (not dark)
            lighter, darker = sorted((_light(ground), _light(ink)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) > 7


@pytest.mark.slow
def test_the_next_item_is_painted_within_a_tenth_of_a_second(browser):
    session = ba.assess(ba.Pool(predictions=["a", "b"] * 500), ba.GroupAccuracy(), design="random")
    with served(session) as address:
        browser.open(address)
        assert _tail(browser, 20) < 100


@pytest.mark.slow
def test_the_next_item_of_a_million_is_painted_within_a_tenth_of_a_second(browser):
    rng = np.random.default_rng(0)
    truth = rng.random(1_000_000) < 0.02
    evidence = rng.normal(3.0 * truth, 1.0)
    texts = np.char.add("item ", np.arange(1_000_000).astype(str))
    pool = ba.Pool(
        scores=1 / (1 + np.exp(4.5 - 3 * evidence)), predictions=(evidence > 3).astype(int), show={"text": texts}
    )
    with served(ba.assess(pool, ba.Metric("f1"))) as address:
        browser.open(address)
        answer(browser, "0")
        browser.saved()  # whose label has compiled what others need
        browser.run("performance.clearMeasures()")
        assert _tail(browser, 40) < 100


def _tail(browser, n: int) -> float:
    """Answer so many items and return the 95th percentile of the milliseconds until the next one is painted."""
    for i in range(n):
        answer(browser, "01"[i % 2] if browser.text(".choice") in "01" else "ab"[i % 2])
    found = browser.run("return performance.getEntriesByName('answer to paint').map((one) => one.duration)")
    assert len(found) >= n
    return float(np.quantile(found, 0.95))


def _light(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG has it."""
    parts = np.array([float(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
