"""A person looks across a whole run: every tool call, every thought, and who did what when."""

import json
import re

from playwright.sync_api import expect

from tests.browser.agents import show_a2a, show_mesh
from tests.browser.person import Person
from tests.browser.test_hostile import hostile
from tests.browser.world import World
from tests.test_mesh_cases import observed


def test_tool_calls_of_every_agent_stand_in_one_table(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_mesh(server, 'parallel')}")
    person.presses("8")
    rows = person.page.get_by_role("grid").get_by_role("row")
    expect(rows).to_have_count(7)
    expect(rows.nth(0)).to_contain_text("peer_WeatherAgent")
    expect(rows.nth(0)).to_contain_text("started 1 task")
    expect(rows.nth(3)).to_contain_text("WeatherAgent")
    person.page.get_by_role("combobox", name="filter tool calls").fill("forecast")
    expect(rows).to_have_count(2)
    person.sees("2 of 7 shown")
    rows.first.click()
    details = person.page.get_by_role("complementary", name="details")
    expect(details.get_by_role("heading", level=2)).to_have_text("get_forecast")
    expect(details.get_by_role("group", name="result")).to_contain_text("3 items")
    person.presses("Escape", "j")
    expect(person.page.get_by_role("row", selected=True)).to_have_count(1)


def test_failed_tools_are_one_click_away(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_mesh(server, 'toolerror')}?tab=tools")
    rows = person.page.get_by_role("grid").get_by_role("row")
    expect(rows.first).to_be_visible()
    every = rows.count()
    person.page.get_by_role("button", name=re.compile("^error")).click()
    expect(rows).not_to_have_count(every)
    expect(person.page).to_have_url(re.compile("status=error"))


def test_what_agents_thought_is_read_across_the_run(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_mesh(server, 'thinking')}")
    person.presses("9")
    thoughts = person.page.get_by_role("article", name="thinking")
    expect(thoughts).to_have_count(4)
    expect(thoughts.nth(1)).to_contain_text("WeatherAgent")
    expect(thoughts.nth(1)).to_contain_text("Need get_temperature for Kyoto")
    person.page.get_by_role("button", name="explanation 1").click()
    expect(person.page.get_by_role("article", name="explanation")).to_contain_text("Delegating now.")
    expect(thoughts).to_have_count(0)


def test_the_flow_has_a_lane_for_each_agent_and_arrows_between_them(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_mesh(server, 'parallel')}")
    person.presses("0")
    grid = person.page.get_by_role("grid", name="flow of 3 lanes")
    asked = grid.get_by_role("row").filter(has_text="a person → OrchestratorAgent")
    expect(asked).to_have_count(1)
    given = grid.get_by_role("row").filter(has_text=re.compile("OrchestratorAgent → WeatherAgent.*subtask"))
    expect(given).to_have_count(2)
    back = grid.get_by_role("row").filter(has_text=re.compile("WeatherAgent → OrchestratorAgent.*end"))
    expect(back).to_have_count(2)
    event, request = given.first.get_by_role("gridcell").last.bounding_box(), asked.get_by_role("gridcell").last.bounding_box()
    assert event
    assert request
    assert event["x"] > request["x"]
    person.page.get_by_label("kind").select_option("tool_call")
    expect(grid.get_by_role("row")).to_have_count(7)
    grid.get_by_role("row").filter(has_text="get_current_time").click()
    expect(person.page.get_by_role("complementary", name="details")).to_contain_text("get_current_time")
    person.page.reload()
    expect(grid.get_by_role("row", selected=True)).to_contain_text("get_current_time")


def test_flow_tools_and_reasoning_work_for_every_client(told: World, person: Person) -> None:
    root = told.task("Our tea")
    person.opens(f"{told.url}/task/{root}?tab=flow")
    expect(person.page.get_by_role("row").filter(has_text="subtask")).not_to_have_count(0)
    person.tab("Tools").click()
    expect(person.page.get_by_role("row").filter(has_text="Grep").first).to_be_visible()
    conversation = told.served.questions.task(root)["conversation"]
    person.opens(f"{told.url}/conversation/{conversation}?tab=flow")
    expect(person.page.get_by_role("row").filter(has_text="request")).not_to_have_count(0)


def test_an_a2a_run_has_a_flow_of_what_was_said_and_made(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_a2a(server, 'v1-input-required')}?tab=flow")
    rows = person.page.get_by_role("row")
    expect(rows.filter(has_text="subtask").first).to_contain_text("Lending strategy")
    expect(rows.filter(has_text="artifact")).not_to_have_count(0)


def test_feedback_stands_at_its_task(server: World, person: Person) -> None:
    root = show_mesh(server, "plain")
    native = next(ref["value"] for ref in server.served.questions.task(root)["refs"] if ref["kind"] == "task")
    payload = {"id": "f1", "task_id": native, "session_id": "s", "feedback_type": "up", "feedback_text": "Just right <b>!</b>"}
    line = {"topic": "demo/mesh/sam/feedback/v1", "payload": {"feedback": payload}, "user_properties": {}, "received_at": "2026-11-15T18:00:00Z"}
    server.see(observed([json.dumps(line).encode()]))
    person.opens(f"{server.url}/task/{root}")
    expect(person.page.get_by_role("list", name="feedback")).to_contain_text("Just right <b>!</b>")


def test_hostile_tools_and_flows_stay_text(server: World, person: Person) -> None:
    server.see(hostile())
    root = server.served.questions.tasks(roots=True)["items"][0]["id"]
    for tab in ("tools", "flow", "reasoning", "artifacts"):
        person.opens(f"{server.url}/task/{root}?tab={tab}")
        expect(person.page.get_by_role("tabpanel").first).to_be_visible()
        expect(person.page.get_by_role("status", name="loading")).to_have_count(0)
        assert person.page.evaluate("window.hacked") is None
        assert person.page.locator("iframe, main script, main img").count() == 0
        assert person.page.evaluate("document.documentElement.scrollWidth") <= 1440
