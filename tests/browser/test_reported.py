"""A person reads a run that nobody saw on the wire: a transcript, a stream or a hook told of it."""

from playwright.sync_api import expect

from tests.browser.person import Person
from tests.browser.world import World
from tests.story import CASES, reports

CASE = CASES / "claude_more" / "sdk-nested"


def show(server: World, *sources: str) -> str:
    """The run's root, after these sources told of it."""
    server.see(seen for source in sources for record in reports(CASE, source) for seen in record)
    return str(server.served.questions.tasks(roots=True)["items"][0]["id"])


def test_what_was_reported_reads_in_its_order_and_says_by_whom(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show(server, 'transcripts')}")
    prompt = person.page.get_by_role("article", name="human said")
    expect(prompt).to_contain_text("user in a transcript")
    last = person.page.get_by_role("article", name="the agent said").last
    above, below = prompt.bounding_box(), last.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] < below["y"]
    person.sees("Everything that was seen is known")


def test_raw_says_that_a_call_was_only_reported_and_shows_the_report(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show(server, 'transcripts')}?tab=calls")
    person.page.get_by_role("region", name="model calls").get_by_role("button").first.click()
    expect(person.page.get_by_label("details").last).to_contain_text("reported by a transcript")
    person.presses("r")
    raw = person.page.get_by_role("tabpanel", name="raw")
    expect(raw).to_contain_text("only reported, by a transcript")
    expect(raw).to_contain_text('"parentUuid"')


def test_a_prompt_that_no_source_showed_is_said_to_be_missing(server: World, person: Person) -> None:
    root = show(server, "sdk")
    person.opens(f"{server.url}/task/{root}")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("prompt not seen")
    person.sees("Its prompt was not seen")
    person.sees("nobody knows who asked")


def test_why_says_in_words_what_each_source_knows(server: World, person: Person) -> None:
    root = show(server, "exchanges", "sdk", "transcripts")
    person.opens(f"{server.url}/task/{root}?tab=tree")
    person.page.get_by_role("treeitem").nth(1).click()
    person.presses("y")
    why = person.page.get_by_role("tabpanel", name="why linked")
    expect(why).to_contain_text("Linked because a file beside the transcript names the tool call")
    expect(why).to_contain_text("the client announced the task with the tool call's id")
    for source in ("a transcript", "the client's stream", "the wire"):
        expect(why.get_by_role("button", name=source).first).to_be_visible()
