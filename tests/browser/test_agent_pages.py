"""The pages of agents that talk to agents, in both themes and widths: nothing complains, nothing is too wide or shuts people out."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.person import Person
from tests.browser.screenshots import show_agents
from tests.browser.test_pages import opened, serious
from tests.browser.world import World, world

PAGES = (
    "/task/{agents}?toggled={child}", "/task/{asking}", "/task/{unresolved}", "/task/{agents}?tab=artifacts", "/task/{mesh}?tab=tools",
    "/task/{mesh}?tab=reasoning", "/task/{mesh}?tab=flow", "/task/{logged}", "/operations", "/operation/op_sync_e5fe9a5b?toggled=mcp_alpha", "/events",
)  # fmt: skip


@pytest.fixture(scope="module")
def agents() -> Iterator[tuple[World, dict[str, str]]]:
    with world() as server:
        yield server, show_agents(server)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_page_of_agents_is_usable(
    agents: tuple[World, dict[str, str]], browser: Browser, page: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    server, named = agents
    with Person.at(browser, width, 844, scheme) as person:
        opened(person, server.url + page.format(**named))
        assert person.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(person) == []


def test_the_first_page_names_the_ways_in(server: World, person: Person) -> None:
    person.opens(server.url)
    for words in ("ramify run claude", "ANTHROPIC_BASE_URL", "--a2a", "ramify listen", "/api/events", "ramify import"):
        expect(person.page.get_by_role("region", name="start")).to_contain_text(words)
