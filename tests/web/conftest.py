"""One browser for all tests."""

from __future__ import annotations

import pytest

from web.browsers import Browser


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.driver.quit()


@pytest.fixture
def browser(chromium):
    chromium.size(1280, 900)
    yield chromium
    chromium.driver.get("about:blank")
    for window in chromium.driver.window_handles[1:]:
        chromium.driver.switch_to.window(window)
        chromium.driver.close()
    chromium.driver.switch_to.window(chromium.driver.window_handles[0])
