"""A person narrows lists: words are completed, what was understood stands below, a wrong word is pointed at; figures that cannot be known say so."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.agents import Agents, announce, show_a2a, show_log, show_mesh
from tests.browser.person import Person
from tests.browser.test_pages import serious
from tests.browser.world import World
from tests.linking.a2a_builder import begin


def box(person: Person, name: str) -> Locator:
    return person.page.get_by_role("combobox", name=name)


def offered(person: Person) -> Locator:
    return person.page.get_by_role("option")


def understood(person: Person) -> Locator:
    return person.page.get_by_role("list", name="what the filter means").get_by_role("listitem")


def test_a_filter_is_completed_name_by_name_and_value_by_value(told: World, person: Person) -> None:
    person.expected = "400"  # a browser says so of every filter that is not whole yet
    person.opens(told.url)
    field = box(person, "filter runs")
    field.press_sequentially("to", delay=20)
    expect(offered(person)).to_have_text([re.compile("^tool:"), re.compile("^tokens>"), re.compile("^tools>")])
    person.presses("ArrowDown", "Enter")
    expect(field).to_have_value("tool:")
    field.press_sequentially("gr", delay=20)
    expect(offered(person)).to_have_text(["Grep "])
    person.presses("ArrowDown", "Tab")
    expect(field).to_have_value("tool:Grep ")
    expect(field).to_be_focused()
    person.presses("Escape")
    expect(offered(person)).to_have_count(0)
    expect(understood(person)).to_have_text([re.compile("^tool is Grep")])
    expect(field).to_have_value("tool:Grep ")


def test_what_was_understood_stands_below_and_can_be_taken_out(told: World, person: Person) -> None:
    person.opens(f"{told.url}/?q=has:subtasks%20-status:failed%20calls%3E1")
    expect(understood(person)).to_have_text([re.compile("has subtasks"), re.compile("status is not failed"), re.compile("calls over 1")])
    person.sees("1 shown, 1 hidden")
    person.page.get_by_role("button", name="without: status is not failed").click()
    expect(box(person, "filter runs")).to_have_value("has:subtasks calls>1")
    expect(understood(person)).to_have_count(2)


def test_a_wrong_word_has_carets_under_it(told: World, person: Person) -> None:
    person.expected = "400"
    person.opens(told.url)
    box(person, "filter runs").fill("is:root statsu:failed tea")
    alert = person.page.get_by_role("alert")
    expect(alert).to_contain_text("did you mean status:?")
    assert alert.locator("pre").inner_text().splitlines() == ["is:root statsu:failed tea", " " * 8 + "^" * 13]
    expect(box(person, "filter runs")).to_have_attribute("aria-invalid", "true")
    box(person, "filter runs").fill("is:root")
    expect(alert).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out_of_a_box_that_is_open_or_wrong(told: World, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    with Person.at(browser, 390, 844, scheme) as person:
        person.expected = "400"
        person.opens(told.url)
        field = box(person, "filter runs")
        field.press_sequentially("is:root ", delay=20)
        person.presses("ArrowDown")
        expect(offered(person).first).to_have_attribute("aria-selected", "true")
        assert serious(person) == []
        field.fill("statsu:failed " * 8)
        expect(person.page.get_by_role("alert")).to_be_visible()
        assert serious(person) == []
        assert person.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_word_that_is_being_written_is_not_called_wrong(told: World, person: Person) -> None:
    person.expected = "400"
    person.opens(told.url)
    field = box(person, "filter runs")
    field.press_sequentially("status:fai", delay=20)
    expect(offered(person)).to_have_text(["failed "])
    expect(person.page.get_by_role("alert")).to_have_count(0)
    person.page.get_by_role("heading", level=1).click()
    expect(person.page.get_by_role("alert")).to_contain_text("did you mean failed?")


def test_conversations_are_narrowed_by_the_language(server: World, person: Person) -> None:
    server.play()
    show_mesh(server, "parallel")
    person.opens(f"{server.url}/conversations")
    rows = person.page.get_by_role("region", name="conversations").locator("ul.runs > li")
    every = rows.count()
    assert every >= 2
    box(person, "filter conversations").fill("tool:get_forecast")
    expect(rows).to_have_count(1)
    person.sees("1 fits")
    expect(person.page).to_have_url(re.compile("tool"))
    box(person, "filter conversations").fill("-tool:get_forecast")
    expect(rows).to_have_count(every - 1)
    box(person, "filter conversations").fill("agent:nobody")
    person.sees("Nothing fits.")
    person.button("show all").click()
    expect(rows).to_have_count(every)


def test_calls_operations_and_search_take_the_same_words(server: World, person: Person) -> None:
    server.play()
    show_log(server, "async_fanout")
    person.opens(f"{server.url}/calls")
    calls = person.page.get_by_role("table").get_by_role("row")
    expect(calls).not_to_have_count(0)
    every = calls.count()
    box(person, "filter model calls").fill("is:sub")
    expect(calls).not_to_have_count(every)
    person.opens(f"{server.url}/operations")
    box(person, "filter operations").fill("agent:mcp_alpha status:completed")
    person.sees("1 operation fits")
    box(person, "filter operations").fill("-agent:mcp_alpha")
    person.sees("Nothing fits.")
    person.opens(f"{server.url}/search")
    box(person, "words to look for").fill("pictures is:sub")
    person.presses("Enter")
    expect(person.page.get_by_role("listitem").filter(has=person.page.locator("mark")).first).to_be_visible()
    assert "is:sub" not in person.page.locator("mark").all_inner_texts()


def test_tool_calls_of_a_run_are_narrowed_by_the_language(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_mesh(server, 'parallel')}?tab=tools")
    rows = person.page.get_by_role("grid").get_by_role("row")
    expect(rows).to_have_count(7)
    box(person, "filter tool calls").fill("agent:Weather* -tool:get_forecast")
    expect(person.page.get_by_role("status").filter(has_text="2 of 7 shown")).to_be_visible()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("WeatherAgent")


# -- what cannot be known ------------------------------------------------------------------------------------------------


def test_a_child_that_nobody_showed_is_missing_until_it_is_shown(server: World, person: Person) -> None:
    agents = Agents(server)
    root = begin(agents, "planner", "root", "Plan it")
    announce(root, "root", "elsewhere", title="Lending strategy")
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    missing = person.button("1 task named, but never shown")
    expect(missing).to_be_visible()
    expect(person.page.get_by_text("Everything that was seen is known")).to_have_count(0)
    missing.click()
    expect(person.page.get_by_role("complementary", name="details")).to_contain_text("Lending strategy")
    begin(agents, "lender", "elsewhere", "Lend it")
    agents.seen()
    person.page.reload()
    person.sees("Everything that was seen is known")


@pytest.mark.parametrize("place", ["?tab=tree", "?tab=graph", ""])
def test_the_cost_of_agents_whose_models_nobody_saw_is_not_known(server: World, person: Person, place: str) -> None:
    run = show_a2a(server, "v1-input-required")
    person.opens(f"{server.url}/task/{run}{place}")
    expect(person.page.locator(".triple")).to_contain_text("—")
    expect(person.page.get_by_role("tab", selected=True)).to_be_visible()
    person.page.wait_for_timeout(300)
    assert "$0" not in person.page.get_by_role("main").inner_text()


def test_lists_and_details_say_that_tokens_and_cost_are_not_known(server: World, person: Person) -> None:
    run = show_a2a(server, "v1-input-required")
    person.opens(server.url)
    row = person.page.get_by_role("region", name="runs").get_by_role("listitem").first
    expect(row.get_by_title("model calls")).to_have_text("—")
    expect(row.get_by_title("cost of the whole tree")).to_have_text("—")
    assert "$0" not in row.inner_text()
    person.opens(f"{server.url}/task/{run}?sel=task:{run}")
    usage = person.page.get_by_role("table").filter(has_text="delegated")
    expect(usage.get_by_role("cell")).to_have_text(["—"] * 18)


def test_search_says_whether_the_newest_is_still_coming_or_never_will(server: World, person: Person) -> None:
    server.served.store.search.fed = False  # as a store that is encrypted is opened
    server.play()
    person.opens(f"{server.url}/search?q=pictures")
    person.sees("the store is encrypted, and what came since is not indexed")
    assert person.page.get_by_text("still being indexed").count() == 0
