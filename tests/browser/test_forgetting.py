"""A person forgets a conversation: sees what goes, may still keep it, and finds the note afterwards."""

import pytest
from playwright.sync_api import expect

from ramify.model.mistake import UserMistake
from tests.browser.person import Person
from tests.browser.world import World


def test_a_conversation_is_forgotten_after_it_was_shown_what_goes(server: World, person: Person) -> None:
    server.play()
    [conversation] = server.served.questions.conversations()["items"]
    calls = server.served.questions.stats()["calls"]
    person.opens(f"{server.url}/task/{server.task('Our tea')}?tab=tree")
    tab = person.page.locator(".tabs").get_by_text("Our tea")
    expect(tab).to_have_count(1)
    person.button("forget…").click()
    dialog = person.page.get_by_role("dialog", name="forget this conversation")
    expect(dialog.get_by_role("alert")).to_contain_text(f"{conversation['tasks']} tasks, {calls} model calls and")
    expect(dialog).to_contain_text("Nobody can bring it back")
    dialog.get_by_role("button", name="keep it").click()
    expect(dialog).to_be_hidden()
    assert server.served.questions.stats()["calls"] == calls

    person.button("forget…").click()
    dialog.get_by_label("who asks for it").fill("Ada")
    dialog.get_by_role("button", name="Forget it for good").click()
    expect(dialog.get_by_role("status")).to_contain_text("observations left the log")
    assert server.served.questions.stats()["calls"] == 0
    expect(tab).to_have_count(0)
    dialog.get_by_role("button", name="to the runs").click()
    expect(person.page).to_have_url(f"{server.url}/")
    person.opens(f"{server.url}/health")
    noted = person.page.get_by_role("list", name="what was forgotten")
    expect(noted).to_contain_text(conversation["id"])
    expect(noted).to_contain_text("by page, Ada")


def test_what_cannot_be_forgotten_is_said_and_the_page_goes_on(server: World, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is away: nothing went, and the run is there as before."""
    server.play()
    person.opens(f"{server.url}/task/{server.task('Our tea')}?tab=tree")

    def refuse(id: str, by: str) -> None:
        raise UserMistake("it was not forgotten: the store is away", "try again later")

    monkeypatch.setattr(server.served, "forget_one", refuse)
    person.button("forget…").click()
    dialog = person.page.get_by_role("dialog", name="forget this conversation")
    person.expected = "400"
    dialog.get_by_role("button", name="Forget it for good").click()
    expect(dialog).to_contain_text("the store is away. try again later")
    dialog.get_by_role("button", name="keep it").click()
    expect(person.row("Look at the tests")).to_be_visible()
