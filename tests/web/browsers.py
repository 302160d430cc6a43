"""A real browser, and pages for it: served by a process of their own, or by a thread of the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bayes_assess.web.acts import Acts
from bayes_assess.web.desk import Desk
from bayes_assess.web.server import Page, Service

PATIENCE = 25.0  # seconds, on a machine that compiles for other tests as well
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)


def until(found: Callable[[], Any], what: str = "it") -> Any:
    """Wait until something is there, and return it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            value = found()
            if value:
                return value
        time.sleep(0.03)
    raise AssertionError(f"waited in vain for {what}")


class Browser:
    """Chromium with what the tests do in it."""

    def __init__(self, profile: Path):
        selenium = pytest.importorskip("selenium.webdriver", reason="The labelling page is tested by selenium.")
        program, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if program is None or driver is None:
            pytest.skip("There is no chromium with chromedriver: apt-get install chromium chromium-driver.")
        options = selenium.ChromeOptions()
        options.binary_location = program
        for flag in (*_FLAGS.split(), f"--user-data-dir={profile}", "--window-size=1280,900"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        from selenium.webdriver.chrome.service import Service as Driver

        self.driver = selenium.Chrome(options=options, service=Driver(driver))

    def open(self, address: str) -> Browser:
        """Open an address, and wait for an item."""
        self.driver.get(address)
        until(lambda: self.text(".card .side") or self.text(".card .empty") not in ("", "Choosing the next item …"))
        return self

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        """Return the text of an element as it is shown, empty without one."""
        return self.run(f"return document.querySelector({selector!r})?.innerText ?? ''")

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def double_click(self, element: Any) -> None:
        """Click twice at once, whatever has come into the place of an element after the first time."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).double_click(element).perform()

    def saved(self) -> None:
        """Wait until the server has all answers."""
        until(lambda: self.run("return Object.keys(localStorage).length === 0"), "answers to be saved")

    def used(self) -> int:
        """Return the number of labels that the page shows."""
        return int(self.text(".count").split()[0].replace(",", ""))

    def complaints(self) -> list[str]:
        """Return what the browser has complained about since the last time, such as breaches of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def size(self, width: int, height: int, dark: bool = False) -> None:
        """Be a screen of this size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


class Server:
    """``bayes-assess label`` in a process of its own."""

    def __init__(self, run: Path, *options: str):
        self.run, self.options = run, options
        self.start()

    def start(self, port: int = 0) -> None:
        words = ["label", str(self.run), "--port", str(port), "--no-open", *self.options]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bayes_assess", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), self.address + self.process.stdout.read()

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].split("/")[0])

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self._wait()

    def end(self) -> None:
        """End it by Ctrl-C."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self._wait()

    def _wait(self) -> None:
        assert self.process.stdout is not None
        self.process.wait(20)
        self.process.stdout.close()

    def command(self, *words: str) -> str:
        """Run another command beside it."""
        done = subprocess.run(
            [sys.executable, "-m", "bayes_assess", *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.run.parent,
            env=os.environ,
        )
        return done.stdout


@contextlib.contextmanager
def served(session: Any, **options: Any) -> Iterator[str]:
    """Serve a page from a thread, and return its address."""
    pictures = options.get("pictures")
    desk = Desk(session, pictures=pictures, overlap=options.pop("overlap", 0.0))
    for_page = {name: options.pop(name) for name in ("pictures", "commands") if name in options}
    service = Service(Page(Acts(desk, **options), **for_page), port=0, pictures=pictures)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield service.address
    finally:
        service.end()
        thread.join()
