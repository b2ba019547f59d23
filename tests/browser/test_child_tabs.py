"""A child that an agent announces gets its own tab: behind what is read, once, grouped with its parent, with its state."""

import re

from playwright.sync_api import Locator, Route, expect

from tests.browser.agents import Agents, announce
from tests.browser.person import Person
from tests.browser.world import World
from tests.linking.a2a_builder import begin, message


def strip(person: Person) -> Locator:
    return person.page.get_by_role("navigation", name="open tasks")


def links(person: Person) -> Locator:
    return strip(person).get_by_role("link")


def test_an_announced_child_gets_a_tab_behind_what_is_read_and_so_does_its_child(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan the portfolio")
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    expect(links(person)).to_have_count(1)
    announce(root, "root", "child", title="Lending strategy")
    agents.seen()
    tab = links(person).filter(has_text="Lending strategy")
    expect(tab).to_be_visible()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Plan the portfolio")  # nobody's eyes were moved
    expect(links(person).first).to_have_attribute("aria-current", "page")
    child = begin(agents, "planner", "child", "Lend it")  # it is shown, and is the same tab
    agents.seen()
    expect(links(person)).to_have_count(2)
    announce(child, "child", "grandchild", title="Rate lookup")
    begin(agents, "planner", "grandchild", "Look it up").status("grandchild", "COMPLETED", message("3 %", "g-end"))
    agents.seen()
    expect(links(person)).to_have_text([re.compile("Plan the portfolio"), re.compile("Lending strategy"), re.compile("Rate lookup")])
    expect(links(person).first).to_contain_text("1/2")
    person.page.reload()
    expect(links(person)).to_have_count(3)
    child.status("child", "COMPLETED", message("lent", "c-end"))
    agents.seen()
    expect(tab.get_by_title("completed")).to_be_visible()
    expect(links(person)).to_have_count(3)
    tab.click()
    expect(person.page.get_by_role("article", name="the agent said").filter(has_text="lent")).to_be_visible()
    person.presses("u")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Plan the portfolio")


def test_who_waits_for_an_answer_says_so_on_every_tab_above(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    announce(root, "root", "child", title="Lending strategy")
    child = begin(agents, "planner", "child", "Lend it")
    announce(child, "child", "leaf", title="Rate lookup")
    leaf = begin(agents, "planner", "leaf", "Look it up")
    agents.seen()
    expect(links(person)).to_have_count(3)
    expect(strip(person).get_by_title("somebody is waited for")).to_have_count(0)
    leaf.status("leaf", "INPUT_REQUIRED", message("Which rate?", "q"))
    agents.seen()
    expect(strip(person).get_by_title("somebody is waited for")).to_have_count(3)
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("working")  # the parent's own state stays
    leaf.status("leaf", "WORKING", message("thanks", "a"))
    agents.seen()
    expect(strip(person).get_by_title("somebody is waited for")).to_have_count(0)


def test_a_tab_that_was_closed_does_not_come_back_and_closing_takes_the_children_along(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    announce(root, "root", "one", title="First part")
    announce(root, "root", "two", title="Second part")
    one = begin(agents, "planner", "one", "Do the first")
    agents.seen()
    expect(links(person)).to_have_count(3)
    person.page.get_by_role("button", name="close First part").click()
    expect(links(person)).to_have_count(2)
    one.status("one", "WORKING", message("still here", "s"))
    agents.seen()
    expect(person.page.get_by_role("article", name="sub-task First part")).to_be_visible()
    expect(links(person)).to_have_count(2)
    person.page.get_by_role("button", name="close Plan it").click()
    person.sees("The work itself goes on")
    person.button("Close all").click()
    expect(strip(person)).to_have_count(0)


def test_children_come_to_the_front_where_somebody_wants_that(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    person.page.get_by_label("children in front").check()
    announce(root, "root", "child", title="Lending strategy")
    agents.seen()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Lending strategy")
    person.page.reload()
    expect(person.page.get_by_label("children in front")).to_be_checked()


def test_a_child_that_nobody_shows_keeps_its_tab_and_can_be_looked_for_again(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    announce(root, "root", "elsewhere", title="Lending strategy")
    agents.seen()
    links(person).filter(has_text="Lending strategy").click()
    note = person.page.get_by_role("status", name="unresolved")
    expect(note).to_contain_text("shown by no agent so far")
    note.get_by_role("button", name="Try again").click()
    expect(note).to_contain_text("nobody has shown this one")
    begin(agents, "lender", "elsewhere", "Lend it")
    agents.seen()
    expect(note).to_have_count(0)
    expect(person.page.get_by_role("article", name="prompt written by an agent")).to_contain_text("Lend it")
    expect(links(person)).to_have_count(2)


def test_children_that_were_announced_before_their_run_was_opened_get_tabs_while_they_go_on(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    announce(root, "root", "child", title="Lending strategy")
    announce(root, "root", "over", title="Rate lookup")
    begin(agents, "planner", "over", "Look it up").status("over", "COMPLETED", message("3 %", "o"))
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    expect(links(person)).to_have_text([re.compile("Plan it"), re.compile("Lending strategy")])


def test_a_child_that_is_announced_before_the_page_knows_its_parent_gets_its_tab(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    agents.seen()
    id = agents.id("root")

    held: list[Route] = []
    person.page.route(f"**/api/tasks/{id}", lambda route: held.append(route))
    with person.page.expect_request(f"**/api/tasks/{id}"):
        person.opens(f"{server.url}/task/{id}")
    announce(root, "root", "elsewhere", title="Lending strategy")
    agents.seen()
    expect(person.page.get_by_role("article", name="sub-task Lending strategy")).to_be_visible()  # the feed is ahead
    for route in held:
        route.continue_()
    person.page.unroute(f"**/api/tasks/{id}")
    expect(links(person)).to_have_text([re.compile("Plan it"), re.compile("Lending strategy")])


def test_a_run_that_is_over_opens_no_tabs_of_its_children(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    announce(root, "root", "child", title="Lending strategy")
    begin(agents, "planner", "child", "Lend it").status("child", "COMPLETED", message("lent", "c"))
    root.status("root", "COMPLETED", message("done", "r"))
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    expect(person.page.get_by_role("article", name="sub-task Lending strategy")).to_be_visible()
    expect(links(person)).to_have_count(1)
