"""Somebody who looks at the page: finds things by their role and name, and notices when it complains."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

SECONDS = 30_000


@dataclass
class Person:
    page: Page
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    expected: str = ""

    @classmethod
    @contextmanager
    def at(
        cls, browser: Browser, width: int = 1440, height: int = 900, scheme: Literal["light", "dark"] = "light", **more: Any
    ) -> Iterator["Person"]:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        expect.set_options(timeout=SECONDS)
        person = cls(page)
        page.on("console", person._heard)
        page.on("pageerror", lambda error: person.complaints.append(f"error: {error}"))
        page.on("request", lambda request: person._asked(request.url))
        page.on("dialog", lambda dialog: person.complaints.append(f"dialog: {dialog.message}"))
        yield person
        context.close()
        unexpected = [line for line in person.complaints if not person.expected or person.expected not in line]
        assert unexpected == []
        assert person.foreign == []

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, url: str) -> None:
        """The page works offline: nothing is asked of anybody but the server it came from."""
        if not url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.foreign.append(url)

    def opens(self, url: str) -> None:
        self.page.goto(url)
        expect(self.page.get_by_role("main")).not_to_be_empty()

    def presses(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def row(self, words: str) -> Locator:
        return self.page.get_by_role("treeitem").filter(has_text=words)

    def tab(self, name: str) -> Locator:
        return self.page.get_by_role("tab", name=name, exact=True)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def sees(self, words: str) -> None:
        expect(self.page.get_by_text(words).first).to_be_visible()
