"""A person looks at operations over many agents, and at the events themselves, as they come."""

import json
import re
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.agents import show_log
from tests.browser.person import Person
from tests.browser.test_hostile import MARKUP, TURNED
from tests.browser.world import World
from tests.linking.test_operations import webhook

FANOUT = [
    {"eventType": "protocol_request", "operationId": "op_5678", "agentId": agent, "taskType": "sync_creatives", "payload": {"creatives": [1, 2]}}
    for agent in ("agent_a", "agent_b", "agent_c")
]


def status(agent: str, word: str, **more: Any) -> dict[str, Any]:
    return {"eventType": "status_update", "operationId": "op_5678", "agentId": agent, "taskType": "sync_creatives", "status": word, **more}


def post(server: World, *events: dict[str, Any], session: str = "") -> str:
    """The cookie of the session, for those who send more."""
    headers = {"content-type": "application/json", **({"X-Ramify-Session": session} if session else {})}
    request = urllib.request.Request(f"{server.url}/api/events", json.dumps(list(events)).encode(), headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return session or str(answer.headers["X-Ramify-Session"])


def test_open_operations_come_first_with_a_chip_for_each_agent_and_change_in_place(server: World, person: Person) -> None:
    show_log(server, "async_fanout")
    session = post(server, *FANOUT, status("agent_a", "completed"))
    person.opens(f"{server.url}/operations")
    rows = person.page.get_by_role("region", name="operations").get_by_role("list").get_by_role("listitem")
    expect(rows.first).to_contain_text("op_5678")
    chips = rows.first.get_by_label(re.compile("3 agents: 1 completed, 2"))
    expect(chips).to_contain_text("agent_a 1/1")
    expect(chips).to_contain_text("agent_b 0/1")
    expect(rows.first).to_contain_text("2 open tasks")
    post(server, status("agent_b", "completed"), status("agent_c", "failed"), session=session)
    row = rows.filter(has_text="op_5678")
    expect(row.get_by_label(re.compile("2 completed"))).to_contain_text("agent_c 1/1")
    expect(row.get_by_role("link")).to_contain_text("partial")
    expect(person.page.get_by_label("session")).to_contain_text("all 2")


def test_one_operation_shows_for_each_agent_request_and_answer_side_by_side(server: World, person: Person) -> None:
    show_log(server, "async_fanout")
    person.opens(f"{server.url}/operations")
    person.page.get_by_role("link", name=re.compile("op_sync")).click()
    person.sees("4 agents: 4 completed, 39 events")
    agent = person.page.get_by_role("region", name="agent mcp_beta")
    expect(agent).to_contain_text("clock +")
    expect(agent.get_by_role("article")).to_have_count(0)
    agent.get_by_role("button", name="unfold mcp_beta").click()
    call = agent.get_by_role("article", name="call sync_creatives")
    answer = call.get_by_role("group", name="answer").bounding_box()
    asked = call.get_by_text("its content was not told").bounding_box()
    assert answer
    assert asked
    assert asked["x"] < answer["x"]
    person.page.reload()
    expect(agent.get_by_role("article", name="call sync_creatives")).to_be_visible()
    agent.get_by_role("link", name="sync_creatives").click()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("sync_creatives")


@pytest.mark.parametrize(("operation", "mark"), [("op_t_late", "late"), ("op_t_conflict", "conflict"), ("op_t_again", "duplicate"), ("op_t_stranger", "unsolicited")])
def test_what_came_late_twice_or_against_the_rest_is_marked(server: World, person: Person, operation: str, mark: str) -> None:
    show_log(server, "edges")
    person.opens(f"{server.url}/operation/{operation}")
    expect(person.page.get_by_role("region", name=re.compile("^agent ")).get_by_text(mark, exact=True).first).to_be_visible()


def test_events_stream_in_and_their_filters_are_in_the_address(server: World, person: Person) -> None:
    session = post(server, *FANOUT)
    person.opens(f"{server.url}/events")
    events = person.page.get_by_role("list", name="events, newest first").get_by_role("listitem")
    expect(events).to_have_count(3)
    expect(person.page.get_by_role("status", name="stream")).to_have_text("streaming")
    post(server, status("agent_a", "working"), status("agent_b", "completed", payload={"approved": 2}), session=session)
    expect(events).to_have_count(5)
    expect(events.first).to_contain_text("agent_b")
    events.first.locator("summary").click()
    expect(events.first.get_by_role("group", name="payload")).to_contain_text("approved: 2")
    events.first.get_by_role("button", name="only agent_b").click()
    expect(events).to_have_count(2)
    expect(person.page).to_have_url(re.compile("agent=agent_b"))
    person.page.get_by_label("type").select_option("status_update")
    expect(events).to_have_count(1)
    person.page.reload()
    expect(events).to_have_count(1)
    person.page.get_by_role("button", name="agent: agent_b").click()
    expect(events).to_have_count(2)


def test_events_are_shown_from_a_moment_on_that_stands_in_the_address(server: World, person: Person) -> None:
    session = post(server, *FANOUT)
    person.opens(f"{server.url}/events")
    events = person.page.get_by_role("list", name="events, newest first").get_by_role("listitem")
    expect(events).to_have_count(3)
    events.first.locator("summary").click()
    events.first.get_by_role("button", name="only since then").click()
    expect(events).to_have_count(1)
    expect(person.page).to_have_url(re.compile("since=20"))
    post(server, status("agent_a", "working"), session=session)
    expect(events).to_have_count(2)
    person.page.reload()
    expect(events).to_have_count(2)
    person.page.get_by_role("button", name=re.compile("^since: ")).click()
    expect(events).to_have_count(4)
    person.page.get_by_label("since").select_option("an hour ago")
    expect(events).to_have_count(4)
    expect(person.page).to_have_url(re.compile("since=20"))
    person.opens(f"{server.url}/events?since=2099-01-01T00:00:00Z")
    person.sees("No event fits.")


def test_an_operation_says_which_objects_came_of_it(server: World, person: Person) -> None:
    made = [
        {"objectType": kind, "objectId": id, "operationId": "op_5678", "targetEntity": "agent_a", "status": "approved"}
        for kind, id in (("creative", "cr_1"), ("creative", "cr_2"), ("media buy", "mb_9"))
    ]
    post(server, *FANOUT, *made)
    person.opens(f"{server.url}/operations")
    row = person.page.get_by_role("link", name=re.compile("op_5678"))
    expect(row).to_contain_text("2 creatives, 1 media buy")
    row.click()
    table = person.page.get_by_role("region", name="objects").get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(table.get_by_role("row").nth(3)).to_contain_text("media buymb_9agent_a")


def cut(page: Page) -> None:
    page.route("**/events/stream**", lambda route: refused(route))


def refused(route: Route) -> None:
    route.abort()


def test_where_the_stream_breaks_the_page_asks_by_number_and_shows_each_event_once(server: World, person: Person) -> None:
    person.expected = "ERR_FAILED"
    session = post(server, *FANOUT)
    cut(person.page)
    person.opens(f"{server.url}/events")
    expect(person.page.get_by_role("status", name="stream")).to_contain_text("asking every 5 s")
    post(server, status("agent_a", "working"), session=session)
    events = person.page.get_by_role("list", name="events, newest first").get_by_role("listitem")
    expect(events).to_have_count(4)
    person.page.unroute("**/events/stream**")
    expect(person.page.get_by_role("status", name="stream")).to_have_text("streaming")
    post(server, status("agent_a", "completed"), session=session)
    expect(events).to_have_count(5)


def test_a_session_is_emptied_only_after_a_question(server: World, person: Person) -> None:
    post(server, *FANOUT)
    person.opens(f"{server.url}/events")
    events = person.page.get_by_role("list", name="events, newest first").get_by_role("listitem")
    expect(events).to_have_count(3)
    person.page.get_by_role("button", name="clear session").click()
    dialog = person.page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 events, 1 operation and 3 tasks go")
    dialog.get_by_role("button", name="Keep it").click()
    expect(events).to_have_count(3)
    person.page.get_by_role("button", name="clear session").click()
    dialog.get_by_role("button", name="Clear it").click()
    expect(events).to_have_count(0)
    person.sees("The session was cleared")


def test_agents_are_asked_now_and_the_report_is_read(server: World, person: Person) -> None:
    post(server, *FANOUT)
    person.opens(f"{server.url}/operations")
    person.button("Reconcile now").click()
    expect(person.page.get_by_role("status").filter(has_text="Asked about")).to_contain_text("corrected")


def test_an_agent_that_nobody_named_is_not_asked_and_the_page_says_what_to_do(server: World, person: Person) -> None:
    post(server, *FANOUT, {**FANOUT[0], "eventType": "protocol_response", "payload": {"task_id": "t1", "status": "submitted"}})
    person.opens(f"{server.url}/operations")
    person.button("Reconcile now").click()
    report = person.page.get_by_role("status").filter(has_text="Asked about 0 open tasks")
    expect(report).to_contain_text("agent_a: nobody named the address of this agent — name it with --agent agent_a=URL")


def test_what_names_no_operation_stands_in_a_bucket_of_its_own(server: World, person: Person) -> None:
    post(server, *FANOUT, webhook("lost", "completed", "agent_z", op=None))
    person.opens(f"{server.url}/operations")
    person.page.get_by_role("link", name=re.compile("Unattributed: 1 event")).click()
    events = person.page.get_by_role("list", name="events, newest first").get_by_role("listitem")
    expect(events).to_have_count(1)
    expect(events.first).to_contain_text("agent_z")


def test_hostile_events_stay_text(server: World, person: Person) -> None:
    named = {"operationId": MARKUP, "agentId": TURNED, "taskType": MARKUP, "payload": {MARKUP: MARKUP}, "status": MARKUP}
    post(server, {"eventType": "protocol_request", **named}, {"eventType": MARKUP, **named})
    operation = server.served.questions.operations()["items"][0]["id"]
    for path in ("/operations", f"/operation/{operation}", "/events"):
        person.opens(server.url + path)
        expect(person.page.get_by_text("⟦RLO⟧").first).to_be_visible()
        assert person.page.evaluate("window.hacked") is None
        assert person.page.locator("iframe, main script, main img").count() == 0
        assert person.page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_the_pages_of_the_event_log_have_keys_and_places_in_the_rail(server: World, person: Person) -> None:
    post(server, *FANOUT)
    person.opens(server.url)
    person.presses("g", "o")
    expect(person.page.get_by_role("heading", name="Operations")).to_be_visible()
    person.presses("g", "e")
    expect(person.page.get_by_role("heading", name="Events")).to_be_visible()
    expect(person.page.get_by_role("navigation", name="pages").get_by_role("link", name="Events")).to_have_attribute("aria-current", "page")


def test_an_operation_of_two_sessions_is_opened_as_the_one_whose_event_was_read(server: World, person: Person) -> None:
    post(server, *FANOUT)
    post(server, FANOUT[0])  # another program, the same name
    person.opens(f"{server.url}/events")
    events = person.page.get_by_role("list", name="events, newest first").get_by_role("listitem")
    expect(events).to_have_count(1)
    events.first.locator("summary").click()
    events.first.get_by_role("link", name="its operation").click()
    person.sees("1 agent: 1 pending, 1 event")


def test_a_conversation_of_many_prompts_shows_the_newest_and_loads_no_more(server: World, person: Person) -> None:
    events = [{"eventType": "protocol_request", "operationId": f"op_{at}", "agentId": "agent_x", "taskType": "get_products"} for at in range(70)]
    post(server, *events)
    server.settle()
    conversation = server.served.questions.conversations()["items"][0]["id"]
    asked: set[str] = set()
    person.page.on("request", lambda request: asked.add(request.url) if "/events" in request.url else None)
    person.opens(f"{server.url}/conversation/{conversation}")
    told = person.page.locator(".told")
    expect(told).to_have_count(60)
    expect(told.first).to_contain_text("asked")  # its request, though nobody gave it an id
    assert len([url for url in asked if "/tasks/" in url]) == 60
    person.page.get_by_role("button", name="Show 10 earlier prompts").click()
    expect(told).to_have_count(70)
    expect(person.page.get_by_text("Its prompt was not seen")).to_have_count(0)
