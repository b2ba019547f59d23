"""A browser for the tests: the system's Chromium. Where it or the page is missing, tests are skipped with one line."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from ramify.web.built import STATIC
from tests.browser.person import Person
from tests.browser.world import World, world

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def chromium() -> str | None:
    """The one without a window first: the same engine for half the work."""
    return next((path for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


def lacking() -> str:
    if chromium() is None:
        return "no Chromium on this machine: apt install chromium"
    return "" if (STATIC / "index.html").exists() else "the page was not built: make web"


# For this folder only: as long as the browser's driver is open, its loop counts as running, and no other test has one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if why := lacking():
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def server() -> Iterator[World]:
    with world() as served:
        yield served


@pytest.fixture
def person(browser: Browser) -> Iterator[Person]:
    """Somebody at a screen of usual size. Whatever they do, the page must not complain in its console."""
    with Person.at(browser) as somebody:
        yield somebody


@pytest.fixture(scope="package")
def told() -> Iterator[World]:
    """A server whose session is over, for tests that only look."""
    with world() as served:
        served.play()
        yield served
