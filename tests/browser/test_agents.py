"""A person reads what agents said to agents, used and produced, over protocols whose tasks keep their own rows."""

import base64
import re

from playwright.sync_api import Locator, expect

from tests.browser.agents import Agents, announce, made, show_a2a, show_log, show_mesh, texts
from tests.browser.person import Person
from tests.browser.test_hostile import ESCAPES, LONG, MARKUP, TURNED
from tests.browser.test_reading import PNG
from tests.browser.world import World
from tests.linking.a2a_builder import begin, message


def top(place: Locator) -> float:
    box = place.bounding_box()
    assert box
    return box["y"]


def test_agents_are_read_in_the_order_of_time_with_a_child_where_it_was_announced(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_a2a(server, 'v1-input-required')}")
    page = person.page
    expect(page.get_by_role("article", name="human said")).to_contain_text("plan depth=2 ask=1")
    started = page.get_by_role("article", name="the agent said").filter(has_text="Portfolio plan: started")
    announced = page.get_by_role("article", name="the agent said").filter(has_text="Dispatching Lending strategy")
    card = page.get_by_role("article", name="sub-task Lending strategy")
    ended = page.get_by_role("article", name="the agent said").filter(has_text="Portfolio plan: done")
    assert top(started) < top(announced) < top(card) < top(ended)
    card.get_by_role("button", name="read here").click()
    expect(card.get_by_role("article", name="prompt written by an agent")).to_contain_text("user in A2A")
    expect(card.get_by_role("article", name="sub-task Rate lookup")).to_be_visible()
    answer = card.get_by_role("article", name="somebody said")
    expect(answer).to_contain_text("amount: 12.5")
    expect(card.get_by_role("article", name="the agent said").filter(has_text="which amount?")).to_be_visible()


def test_only_what_a_person_wrote_is_left_of_agents_that_talk(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_a2a(server, 'v1-input-required')}")
    person.page.get_by_label("only what a person wrote").check()
    expect(person.page.get_by_role("article")).to_have_count(1)
    expect(person.page.get_by_role("article", name="human said")).to_be_visible()


def test_a_mesh_shows_thoughts_tools_and_peers_at_the_calls_that_asked_them(server: World, person: Person) -> None:
    person.opens(f"{server.url}/task/{show_mesh(server, 'thinking')}")
    page = person.page
    expect(page.get_by_role("article", name="reasoning").first).to_contain_text("I should delegate")
    card = page.get_by_role("article", name=re.compile("sub-task .*Temperature in Kyoto"))
    expect(card).to_contain_text("peer_WeatherAgent")
    expect(page.get_by_text("Delegating now.")).to_have_count(1)
    assert top(page.get_by_text("Delegating now.")) < top(card)
    expect(page.get_by_role("article", name="the agent said").filter(has_text="Kyoto: 21.5 C.")).to_contain_text("said 2 times")
    card.get_by_role("button", name="read here").click()
    card.get_by_role("button", name="get_temperature").click()
    expect(card.get_by_role("group", name="result")).to_contain_text("temperature_c: 21.5")
    card.get_by_role("button", name="details").click()
    expect(page.get_by_role("complementary", name="details").get_by_role("heading", level=2)).to_have_text("get_temperature")


def test_a_task_of_the_event_log_shows_request_beside_answer_and_what_came_later(server: World, person: Person) -> None:
    show_log(server, "async_fanout")
    task = next(one["id"] for one in server.served.questions.tasks(limit=0)["items"] if one["agent"] == "mcp_alpha")
    person.opens(f"{server.url}/task/{task}")
    call = person.page.get_by_role("article", name="call sync_creatives")
    expect(call).to_contain_text("request")
    expect(call.get_by_role("group", name="answer")).to_contain_text('status: "submitted"')
    pushed = person.page.get_by_role("group").filter(has_text="webhook").last
    expect(pushed).to_contain_text("completed")
    pushed.locator("summary").click()
    expect(pushed.get_by_role("group", name="payload").first).to_be_visible()


def test_what_agents_send_stays_text(server: World, person: Person) -> None:
    agents = Agents(server)
    line = begin(agents, "planner", "root", f"{MARKUP}\n{TURNED}\n{ESCAPES}")
    announce(line, "root", "child", title=MARKUP)
    line.status("root", "WORKING", {**message("", "odd"), "parts": [
        {"text": f"[x](javascript:window.hacked=1) {MARKUP} {LONG}"}, {"data": {MARKUP: MARKUP}},
        {"url": "https://evil.example/x.png", "mediaType": "image/png", "filename": MARKUP},
        {"raw": base64.b64encode(b"<svg onload='window.hacked=1'/>").decode(), "mediaType": "image/svg+xml", "filename": "../../x.svg"},
        {"raw": 'x" onerror="window.hacked=1', "mediaType": "image/png"},
    ]})  # fmt: skip
    line.chunk("root", made(MARKUP, {"data": {"component": MARKUP, "html": MARKUP}}, name=MARKUP))
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    expect(person.page.get_by_role("article", name=re.compile("artifact"))).to_be_visible()
    expect(person.page.get_by_role("article", name="human said")).to_contain_text("abc⟦RLO⟧gnp.exe")
    assert person.page.evaluate("window.hacked") is None
    assert person.page.locator("iframe, main script, main img, main a[href^='javascript'], main a[href*='evil']").count() == 0
    assert person.page.evaluate("document.documentElement.scrollWidth") <= 1440
    with person.page.expect_download() as saving:
        person.page.get_by_role("button", name="download").click()
    assert saving.value.suggested_filename == "_.._x.svg"


def test_pictures_and_files_of_an_artifact_are_there_to_see_and_to_save(server: World, person: Person) -> None:
    agents = Agents(server)
    line = begin(agents, "painter", "root", "Paint it")
    line.chunk("root", made("sketch", *texts("A square, "), name="Sketch"))
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    sketch = person.page.get_by_role("article", name="artifact Sketch")
    expect(sketch).to_contain_text("A square,")
    line.chunk("root", made("sketch", {"text": "in green."}, {"raw": PNG, "mediaType": "image/png", "filename": "green.png"}), append=True, last=True)
    agents.seen()
    expect(sketch).to_contain_text("A square, in green.")
    assert sketch.get_by_role("img", name="picture green.png").evaluate("img => img.naturalWidth") == 10
    expect(sketch).to_contain_text("image/png")
    with person.page.expect_download() as saving:
        sketch.get_by_role("button", name="download").click()
    assert saving.value.path().read_bytes() == base64.b64decode(PNG)


def test_what_a_run_produced_is_gathered_task_by_task_and_grows(server: World, person: Person) -> None:
    agents = Agents(server)
    line = begin(agents, "planner", "root", "Plan the week")
    announce(line, "root", "child", title="Weather report")
    child = begin(agents, "planner", "child", "How is the weather?")
    schema = {"type": "object", "title": "Trip", "properties": {"day": {"type": "string", "enum": ["Monday", "Tuesday"]}}}
    line.chunk("root", made("form", {"data": {"component": "trip-form"}, "metadata": {"schema": schema}}))
    child.chunk("child", made("forecast", *texts("Sun")))
    agents.seen()
    person.opens(f"{server.url}/task/{agents.id('root')}")
    person.presses("7")
    form = person.page.get_by_role("article", name="artifact form")
    expect(form).to_contain_text("component trip-form, shown as data")
    expect(form.get_by_role("form", name="Trip").get_by_label("day")).to_be_disabled()
    forecast = person.page.get_by_role("region", name="artifacts of Weather report").get_by_role("article", name="artifact forecast")
    expect(forecast).to_have_text(re.compile("Sun$"))
    child.chunk("child", made("forecast", *texts(" and wind")), append=True)
    agents.connect("planner").ask("SubscribeToTask", {"id": "child"}).open().chunk("child", made("tail", *texts("the end")), append=True)
    agents.seen()
    expect(forecast).to_have_text(re.compile("Sun and wind$"))
    expect(person.page.get_by_role("article", name="artifact tail")).to_contain_text("partial: its beginning was not seen")
    person.page.reload()
    expect(forecast).to_have_text(re.compile("Sun and wind$"))
