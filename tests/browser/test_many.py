"""Many tasks, old ones and small screens: nothing is cut without saying so, and what is current can be seen."""

import re

from playwright.sync_api import Browser, Locator, expect

from tests.browser.agents import Agents, announce
from tests.browser.person import Person
from tests.browser.world import World
from tests.linking.a2a_builder import begin

LONG = "Inspect every shop in the country and say which of them are slow on phones"


def family(server: World, children: int) -> Agents:
    agents = Agents(server)
    lead = begin(agents, "lead", "root", LONG)
    agents.seen()
    for at in range(children):
        announce(lead, "root", f"child-{at}", title=f"Shop {at} of the northern districts and islands")
    return agents


def is_in_sight(place: Locator) -> None:
    expect(place).to_be_in_viewport(ratio=0.9)


def sideways(person: Person) -> int:
    """How much wider than the screen the page is."""
    return int(person.page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def test_many_tabs_do_not_widen_the_page_and_the_current_one_is_in_sight(server: World, person: Person) -> None:
    agents = family(server, 30)
    person.opens(f"{server.url}/task/{agents.id('root')}")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Inspect every shop")
    agents.seen()
    tabs = person.page.get_by_role("navigation", name="open tasks")
    expect(tabs.get_by_role("listitem")).to_have_count(31)
    assert sideways(person) <= 0
    last = tabs.get_by_role("link", name=re.compile("Shop 29"))
    expect(last).not_to_be_in_viewport()
    person.page.goto(f"{server.url}/task/{agents.id('child-29')}")
    is_in_sight(last)


def test_on_a_phone_the_current_page_and_view_are_in_sight(told: World, browser: Browser) -> None:
    with Person.at(browser, 390, 844) as person:
        root = told.task("Our tea")
        person.opens(f"{told.url}/task/{root}?tab=flow")
        is_in_sight(person.tab("Flow"))
        for page in ("/health", "/findings", "/"):
            person.opens(told.url + page)
            is_in_sight(person.page.get_by_role("navigation", name="pages").locator("[aria-current]"))


def test_details_stand_at_the_foot_of_a_phone_and_leave_room_above(told: World, browser: Browser) -> None:
    with Person.at(browser, 390, 844) as person:
        person.opens(f"{told.url}/task/{told.task('Our tea')}?tab=tree&sel=task:{told.task('Run the tests')}&pane=why")
        pane = person.page.get_by_role("complementary", name="details")
        expect(pane).to_contain_text("Linked because")
        box = pane.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] == 844
        assert box["y"] > 100


def test_a_title_that_was_cut_says_so(server: World, person: Person) -> None:
    agents = family(server, 1)
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}?tab=tree")
    expect(person.row("Inspect every")).to_contain_text("Inspect every shop in the country and say which…")


def test_a_run_says_when_it_was_and_who_was_never_shown_took_no_time(server: World, person: Person) -> None:
    agents = family(server, 1)
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}?tab=tree")
    figures = person.page.locator("dl").first
    expect(figures).to_contain_text(re.compile(r"asked\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))
    expect(person.row("Shop 0")).not_to_contain_text("0 ms")
    person.row("Shop 0").click()
    expect(person.page.get_by_role("complementary", name="details")).to_contain_text("nobody knows")


def test_each_figure_leads_to_what_it_counts(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}")
    figures = person.page.locator("dl").first
    for name, tab in (("model calls", "Calls"), ("tools", "Tools"), ("sub-tasks", "Tree"), ("time", "Timeline")):
        figures.locator("div").filter(has=person.page.get_by_text(name, exact=True)).get_by_role("button").click()
        expect(person.tab(tab)).to_have_attribute("aria-selected", "true")
    person.tab("Calls").click()
    person.sees("further calls belong to its sub-tasks")
    person.page.get_by_role("link", name="all calls of the conversation").click()
    expect(person.page.get_by_role("row")).to_have_count(1 + len(told.served.questions.calls(limit=0)["items"]))
