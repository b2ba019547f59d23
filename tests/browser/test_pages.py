"""Every page, in both themes and widths: no complaints, nothing wider than the screen, nothing that shuts people out."""

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, expect

from ramify.demo import scenario
from tests.browser.person import Person
from tests.browser.world import World

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
PAGES = (
    "/", "/conversations", "/conversation/{conversation}", "/conversation/{conversation}?tab=tree&sel=task:{sub}",
    "/task/{root}", "/task/{root}?tab=timeline&critical=1", "/conversation/{conversation}?tab=timeline&lanes=1", "/task/{root}?tab=graph", "/task/{root}?tab=calls", "/task/{root}?tab=cache",
    "/task/{root}?tab=tree&sel=task:{sub}&pane=why", "/task/{sub}?sel=task:{sub}&pane=raw", "/calls", "/search?q=pictures",
    "/compare?a={root}&b={sub}", "/findings", "/statistics", "/health",
)  # fmt: skip


def place(told: World, page: str) -> str:
    root = told.task("Our tea")
    conversation = told.served.questions.task(root)["conversation"]
    return told.url + page.format(root=root, sub=told.task("Measure the pages"), conversation=conversation)


def opened(person: Person, url: str) -> None:
    person.opens(url)
    expect(person.page.get_by_role("main")).not_to_be_empty()
    expect(person.page.get_by_role("status", name="loading")).to_have_count(0)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_page_is_usable(told: World, browser: Browser, page: str, width: int, scheme: Literal["light", "dark"]) -> None:
    with Person.at(browser, width, 844, scheme) as person:
        opened(person, place(told, page))
        assert person.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(person) == []


def serious(person: Person) -> list[Any]:
    """What axe finds that would shut somebody out: contrast, names, roles, focus."""
    person.page.evaluate(AXE.read_text("utf-8"))
    found = person.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"]][:3])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def test_the_theme_is_chosen_and_kept(told: World, person: Person) -> None:
    person.opens(told.url)
    person.button("dark").click()
    person.page.reload()
    assert person.page.evaluate("document.documentElement.dataset.theme") == "dark"
    expect(person.button("light")).to_be_visible()


def test_everything_is_reached_with_the_keyboard_alone(told: World, person: Person) -> None:
    person.opens(told.url)
    expect(person.page.get_by_role("link", name="tea shop's site")).to_be_visible()
    person.presses("j", "j", "Enter")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("tea shop's site")
    person.presses("2")
    expect(person.page.get_by_role("treeitem")).to_have_count(6)
    person.presses("j", "j")
    expect(person.page.get_by_role("treeitem", selected=True)).to_contain_text("Measure the pages")
    person.presses("ArrowLeft")
    expect(person.page.get_by_role("treeitem")).to_have_count(5)
    person.presses("ArrowRight", "ArrowRight")
    expect(person.page.get_by_role("treeitem", selected=True)).to_contain_text("Weigh the pictures")
    person.presses("Enter")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Weigh the pictures")
    person.presses("u", "?")
    expect(person.page.get_by_role("dialog", name="keys")).to_contain_text("return to the parent")
    person.presses("Escape", "g", "h")
    expect(person.page.get_by_role("heading", name="Health")).to_be_visible()


def test_a_view_is_the_same_after_a_reload(told: World, person: Person) -> None:
    person.opens(place(told, "/conversation/{conversation}?tab=tree"))
    person.row("Measure the pages").get_by_role("button", name="fold").click()
    person.row("Read the checkout").click()
    person.tab("why linked").click()
    address = person.page.url
    person.page.reload()
    assert person.page.url == address
    expect(person.page.get_by_role("treeitem", selected=True)).to_contain_text("Read the checkout")
    expect(person.row("Weigh the pictures")).to_have_count(0)
    expect(person.page.get_by_role("tabpanel", name="why linked")).to_be_visible()


def test_two_runs_are_compared_from_where_they_part(server: World, person: Person) -> None:
    server.play()
    server.play(session="7ea5e550-0000-4000-8000-000000000002")
    tasks = server.served.questions.tasks(limit=0)["items"]
    slow = [task["id"] for task in tasks if task["title"].startswith("Our tea")]
    person.opens(f"{server.url}/compare?a={slow[0]}&b={slow[1]}")
    person.sees("Both did the same, step by step.")
    person.opens(f"{server.url}/compare?a={slow[0]}&b={server.task('Thank you!')}")
    expect(person.page.get_by_role("region", name="first difference")).to_contain_text("Agent")
    person.sees("They part at the first step.")


def test_the_whole_session_is_in_the_conversation(told: World, person: Person) -> None:
    person.opens(place(told, "/conversation/{conversation}"))
    for words in (scenario.SLOW, scenario.NOTE):
        expect(person.page.get_by_role("article", name="human said").filter(has_text=words)).to_be_visible()


def test_a_printed_transcript_has_no_controls(told: World, person: Person) -> None:
    person.opens(place(told, "/task/{root}"))
    person.sees("three sides")
    person.page.emulate_media(media="print")
    assert not person.page.get_by_role("navigation", name="pages").is_visible()
    assert person.page.get_by_text("three sides").is_visible()
