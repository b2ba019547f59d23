"""The pages of agents that talk to agents, in both themes and widths: nothing complains, nothing is too wide or shuts people out."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from ramify.web.page_shapes import Hit
from tests.browser.person import Person
from tests.browser.screenshots import show_agents
from tests.browser.test_pages import opened, serious
from tests.browser.world import World, world

PAGES = (
    "/task/{agents}?toggled={child}", "/task/{asking}", "/task/{unresolved}", "/task/{agents}?tab=artifacts", "/task/{mesh}?tab=tools",
    "/task/{mesh}?tab=reasoning", "/task/{mesh}?tab=flow", "/task/{logged}", "/operations", "/operation/op_sync_e5fe9a5b?toggled=mcp_alpha", "/events",
)  # fmt: skip

# Its words are as wide as they are, and no wider than their column.
ON_ONE_LINE = """cell => {
  const words = document.createRange();
  words.selectNodeContents(cell);
  const {width, height} = words.getBoundingClientRect();
  return height < 24 && cell.scrollWidth <= Math.ceil(cell.getBoundingClientRect().width) && width <= cell.getBoundingClientRect().width;
}"""


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


def test_a_moment_of_another_day_stands_beside_the_row_on_one_line(agents: tuple[World, dict[str, str]], person: Person) -> None:
    server, named = agents
    server.served._index()
    for page, row, cell in (
        ("/task/{mesh}?tab=tools", ".tool-row", "span"),
        ("/task/{mesh}?tab=flow", ".flow-row", ".flow-time"),
        ("/events", ".events summary", "time"),
        ("/search?q=temperature", ".hits a", "time"),
    ):
        person.opens(server.url + page.format(**named))
        moment = person.page.locator(f"{row} {cell}").first
        expect(moment).to_have_text(re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))
        assert moment.evaluate(ON_ONE_LINE), page


def test_words_of_a_mesh_are_found_and_say_what_they_are(agents: tuple[World, dict[str, str]], person: Person) -> None:
    server, _ = agents
    server.served._index()
    found = server.served.questions.search("temperature", limit=100)
    kinds = {hit.kind for hit in msgspec.convert(found["items"], list[Hit])}
    assert {"thinking", "context"} & kinds
    person.opens(f"{server.url}/search?q=temperature")
    hits = person.page.get_by_role("list").filter(has=person.page.locator(".snippet")).get_by_role("listitem")
    expect(hits).to_have_count(len(found["items"]))
    assert all(hits.locator(".chip").all_inner_texts())
    assert not any("null" in (link.get_attribute("href") or "") for link in hits.get_by_role("link").all())
