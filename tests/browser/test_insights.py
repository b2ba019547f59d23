"""Findings, statistics and comparisons, as a person meets them."""

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.person import Person
from tests.browser.test_pages import serious
from tests.browser.world import World, world
from tests.linking.world_builder import BEGIN, SECOND, Story, agent, report, result, use

DAY = 86_400.0
MODELS = ("claude-opus-5-5", "claude-sonnet-5", "claude-haiku-4-5")
SPENT = {"input_tokens": 900, "output_tokens": 400, "cache_read_input_tokens": 30_000, "cache_creation_input_tokens": 4_000}


def work() -> Story:
    """Nine days up to today, with a loop, a failure that was passed over, a secret, and two runs that part."""
    story = Story()
    today = time.time() - BEGIN / SECOND
    for day in range(9):
        story.now = today - (9 - day) * DAY * 0.9
        for number in range(1 + day % 4):
            one_day(story, f"{day}-{number}", MODELS[(day + number) % 3], day)
    story.now = today - 3000
    looping(story)
    for session, command in (("left", "npm test"), ("right", "make check")):
        parting(story, session, command)
    return story


def one_day(story: Story, name: str, model: str, day: int) -> None:
    main = story.line(session=name)
    body = {"model": model}
    main.ask(f"{name}a", f"Look after the hats of day {day}", agent(f"toolu_{name}", "Count the hats", subagent_type="Explore"), body=body, model=model, usage=SPENT)
    child = story.line(session=name, agent=f"agent-{name}")
    child.ask(f"{name}b", "Count the hats", use(f"toolu_{name}b", command="ls"), body=body, model=model, usage=SPENT)
    if day % 5 == 3:
        child.ask(f"{name}c", result(f"toolu_{name}b"), http=529, body=body, model=model)
        main.ask(f"{name}d", result(f"toolu_{name}", "it failed", is_error=True), "All is well.", body=body, model=model, usage=SPENT)
    else:
        child.ask(f"{name}c", result(f"toolu_{name}b"), "seven", body=body, model=model, usage=SPENT)
        main.ask(f"{name}d", report(f"toolu_{name}", f"agent-{name}"), "Seven hats.", body=body, model=model, usage=SPENT)


def looping(story: Story) -> None:
    line = story.line(session="loop")
    said: object = "Make it work with [redacted:github-token]"
    for at in range(5):
        line.ask(f"loop{at}", said, use(f"toolu_loop{at}", command="make"))
        said = result(f"toolu_loop{at}", "no rule", is_error=True)
    line.ask("loop_end", said, "It does not work.")


def parting(story: Story, session: str, command: str) -> None:
    line = story.line(session=session)
    said: object = "Check the work"
    for at, one in enumerate(["git status", "git diff", "git log", "cat README", command]):
        line.ask(f"{session}{at}", said, use(f"toolu_{session}{at}", command=one), usage=SPENT)
        said = result(f"toolu_{session}{at}")
    line.ask(f"{session}_end", said, "Checked.")


@pytest.fixture(scope="module")
def worked() -> Iterator[World]:
    with world() as server:
        server.see(one for seen in work().seen for one in seen)
        yield server


def test_findings_are_listed_worst_first_and_lead_to_their_task(worked: World, person: Person) -> None:
    person.opens(f"{worked.url}/findings")
    expect(person.page.get_by_role("listitem").filter(has_text="a person wrote a secret into the prompt: github-token")).to_have_count(1)
    expect(person.page.locator(".finding").first).to_contain_text("secret-in-prompt")
    person.page.get_by_role("group", name="checks").get_by_role("button", name="looping").click()
    person.sees("What to do: read the tool's result")
    expect(person.page.locator(".finding")).to_have_count(1)
    person.page.get_by_role("link", name="Make it work").click()
    expect(person.page.get_by_role("list", name="2 findings")).to_contain_text("asked for Bash with the same input 5 times in a row")


def test_statistics_are_drawn_by_day_and_told_in_a_table(worked: World, person: Person) -> None:
    person.opens(f"{worked.url}/statistics")
    expect(person.page.get_by_role("img", name="cost by day")).to_be_visible()
    table = person.page.get_by_role("region", name="by model")
    expect(table.get_by_role("rowheader", name="claude-opus-5-5")).to_be_visible()
    person.page.get_by_role("group", name="by").get_by_role("button", name="agent").click()
    expect(person.page.get_by_role("region", name="by agent").get_by_role("rowheader", name="Explore")).to_be_visible()
    person.page.get_by_role("group", name="measure").get_by_role("button", name="tokens").click()
    expect(person.page.get_by_role("img", name="tokens by day")).to_be_visible()
    address = person.page.url
    person.page.reload()
    assert person.page.url == address
    expect(person.page.get_by_role("region", name="by agent")).to_be_visible()


def test_a_time_in_which_nothing_happened_says_so(person: Person) -> None:
    with world() as empty:
        person.opens(f"{empty.url}/statistics")
        person.sees("Nothing happened in this time.")
        person.opens(f"{empty.url}/findings")
        person.sees("Nothing to look at in the newest 0 runs.")
        person.page.goto("about:blank")  # the server goes before the person does


def test_two_runs_part_where_the_server_says(worked: World, person: Person) -> None:
    person.opens(f"{worked.url}/compare?a=left&b=right")
    person.sees("4 steps are the same; then they part.")
    first = person.page.get_by_role("region", name="first difference")
    expect(first).to_contain_text("npm test")
    expect(first).to_contain_text("make check")
    expect(first).to_contain_text("From there on the left one spent")
    expect(person.page.get_by_role("list", name="steps")).to_contain_text("2 steps the same")


def test_the_pages_are_reached_by_keys(worked: World, person: Person) -> None:
    person.opens(worked.url)
    person.presses("g", "f")
    expect(person.page.get_by_role("heading", name="Findings")).to_be_visible()
    person.presses("g", "s")
    expect(person.page.get_by_role("heading", name="Statistics")).to_be_visible()


@pytest.mark.parametrize("page", ["/findings", "/findings?kind=looping", "/statistics?since=all", "/statistics?by=tool", "/compare?a=left&b=right", "/compare?a=left&b=0-0"])
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_each_fits_the_screen_and_shuts_nobody_out(worked: World, browser: Browser, page: str, width: int, scheme: str) -> None:
    with Person.at(browser, width, 844, scheme) as person:  # type: ignore[arg-type]
        person.opens(worked.url + page)
        expect(person.page.get_by_role("main")).not_to_be_empty()
        expect(person.page.get_by_role("status", name="loading")).to_have_count(0)
        person.page.wait_for_timeout(200)
        assert person.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(person) == []
