"""A run is watched while it grows; the connection breaks and comes back."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError, expect

from ramify.demo import scenario
from ramify.demo.scenario import script
from ramify.demo.upstream import Script, prompt
from ramify.demo.wire import Json, Reply
from tests.browser.person import Person
from tests.browser.world import World, world

TOKEN = "a-token-for-tests"


@pytest.fixture
def unhurried() -> Iterator[World]:
    """A model that takes its time."""
    with world(script(0.3)) as served:
        yield served


@pytest.fixture
def locked() -> Iterator[World]:
    with world(token=TOKEN) as served:
        yield served


def test_an_empty_store_says_how_to_begin_and_turns_by_itself(server: World, person: Person) -> None:
    person.opens(server.url)
    person.sees("Nothing was seen yet")
    expect(person.page.get_by_text(f"export ANTHROPIC_BASE_URL={server.url}")).to_be_visible()
    person.sees("Waiting for the first request")
    server.start(0.05)
    expect(person.page.get_by_role("link", name=re.compile("tea shop's site"))).to_be_visible()


def test_a_demo_run_is_loaded_by_a_click_and_fills_the_page(server: World, person: Person) -> None:
    person.expected = "409"  # the browser itself notes that the second one was refused
    server.served.demonstration.pace = 0.3
    person.opens(server.url)
    person.button("Load a demo run").click()
    run = person.page.get_by_role("link", name=re.compile("tea shop's site"))
    expect(run).to_contain_text("working")
    expect(run).to_contain_text(re.compile(r"[0-4]/[3-5]"))
    person.presses("Control+k")
    person.button("Load a demo run").click()
    person.sees("A demo run is playing already")
    person.presses("Escape")
    expect(run).to_contain_text("5/5")
    expect(run).to_contain_text("completed")
    run.click()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("tea shop's site")
    expect(person.page.get_by_role("article", name="sub-task")).to_have_count(4)


def holding(held: str) -> Script:
    """A model that waits in the middle of its answer to one prompt, until it is released."""
    usual = script()

    def answer(body: Json) -> Reply:
        reply = usual(body)
        return replace(reply, hold_after=2) if prompt(body) == held else reply

    return answer


def test_a_run_grows_and_what_is_read_stays_in_its_place(person: Person) -> None:
    person.expected = "ERR_"  # the server stops before the page does
    with world(holding(scenario.COVERAGE)) as server:
        server.start(0.0)
        person.opens(f"{server.url}/latest")
        person.tab("Tree").click()
        first = person.row("tea shop's site")
        expect(first).to_contain_text("working")
        before = first.bounding_box()
        expect(person.row("Look at the tests")).to_contain_text("working")
        server.release()
        expect(person.row("Look at the tests")).to_contain_text("completed")
        expect(person.row("Measure the pages")).to_contain_text("completed")
        expect(person.row("Run the tests")).to_contain_text("completed")
        expect(person.row("Thank you!")).to_contain_text("completed")
        expect(person.page.get_by_role("treeitem")).to_have_count(7)
        assert first.bounding_box() == before
        person.tab("Transcript").click()
        person.sees("The note is in notes/speed.md.")


def test_a_transcript_grows_while_it_is_read(unhurried: World, person: Person) -> None:
    unhurried.start(0.3)
    person.opens(f"{unhurried.url}/latest")
    person.sees("I will look at this from three sides")
    card = person.page.get_by_role("article", name="sub-task Run the tests")
    expect(card).to_be_visible()
    person.sees("214 passed. The product page now takes")


def test_who_stands_still_is_said_without_any_news(person: Person) -> None:
    person.expected = "ERR_"  # the server stops before the page does
    with world(holding(scenario.COVERAGE), stalled_after=2) as server:
        server.start(0.0)
        person.opens(f"{server.url}/latest")
        person.tab("Tree").click()
        silent = person.row("Look at the tests")
        expect(silent).to_contain_text("working")
        expect(silent.get_by_text("stalled")).to_be_visible()
        expect(person.row("tea shop's site").get_by_text("stalled")).to_have_count(0)
        expect(person.page.get_by_role("status").filter(has_text="has been silent for")).to_contain_text("1 task above waits for it")
        person.opens(server.url)
        run = person.page.get_by_role("link", name=re.compile("tea shop's site"))
        expect(run).to_contain_text("working")
        expect(run.get_by_text("stalled")).to_have_count(0)


def test_a_held_page_does_not_move_until_it_is_let_go(server: World, person: Person) -> None:
    server.play()
    person.opens(f"{server.url}/conversation/{server.served.questions.conversations()['items'][0]['id']}?tab=tree")
    expect(person.page.get_by_role("treeitem")).to_have_count(7)
    person.presses(".")
    person.sees("Held still")
    server.served.unlink(server.task("Look at the tests"))
    expect(person.page.get_by_text(re.compile(r"Held still; [1-9]\d* changes? waiting"))).to_be_visible()
    expect(person.page.get_by_text("unattached")).to_have_count(0)
    person.presses(".")
    expect(person.row("Look at the tests")).to_contain_text("unattached")


def test_a_broken_connection_is_said_and_nothing_is_lost_or_doubled(person: Person, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/live.db"
    person.expected = "ERR_"  # the browser itself notes each request that failed
    with world(store=store) as server:
        server.play()
        port = int(server.url.rpartition(":")[2])
        person.opens(f"{server.url}/conversation/{server.served.questions.conversations()['items'][0]['id']}?tab=tree")
        expect(person.page.get_by_role("treeitem")).to_have_count(7)
    person.sees("disconnected for")
    expect(person.page.get_by_role("treeitem")).to_have_count(7)
    with world(store=store, port=port) as server:
        server.served.link(server.task("Look at the tests"), server.task("Read the checkout"))
        with suppress(TimeoutError):  # it may have been quicker by itself
            person.button("now").click(timeout=3000)
        expect(person.page.get_by_text("live", exact=True)).to_be_visible()
        expect(person.row("Look at the tests")).to_have_attribute("aria-level", "3")
        expect(person.page.get_by_role("treeitem")).to_have_count(7)


def test_a_token_is_asked_for_once_and_no_script_can_read_what_stands_for_it(locked: World, person: Person) -> None:
    person.expected = "401"
    locked.play()
    person.opens(locked.url)
    person.page.get_by_label("Token").fill("something else")
    person.button("Log in").click()
    person.sees("This token opens nothing")
    person.page.get_by_label("Token").fill(TOKEN)
    person.button("Log in").click()
    expect(person.page.get_by_role("link", name=re.compile("tea shop's site"))).to_be_visible()
    person.page.reload()
    expect(person.page.get_by_role("link", name=re.compile("tea shop's site"))).to_be_visible()
    expect(person.page.get_by_text("live", exact=True)).to_be_visible()
    held = person.page.evaluate("document.cookie + JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")
    assert TOKEN not in held
    assert "ramify_login" not in held
    person.page.get_by_role("link", name="Audit").click()
    expect(person.page.get_by_role("row", name=re.compile("login-failed"))).to_be_visible()
    person.button("log out").click()
    expect(person.page.get_by_label("Token")).to_be_visible()
    person.page.reload()
    expect(person.page.get_by_label("Token")).to_be_visible()
