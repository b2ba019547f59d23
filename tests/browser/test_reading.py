"""A person finds a run, reads it, unfolds it, opens a sub-task and comes back."""

import json
import re

import pytest
from playwright.sync_api import Route, expect

from ramify.query import outline
from tests.browser.person import Person
from tests.browser.world import World
from tests.linking.world_builder import Story, result, text, use

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGPQqbLHgxhGpbEhACYwWXXNeTRrAAAAAElFTkSuQmCC"


def test_json_is_a_tree_a_change_is_a_diff_and_a_picture_is_shown(server: World, person: Person) -> None:
    story = Story()
    line = story.line(session="s").ask("a", "Make the sign green", [
        use("toolu_1", "Edit", file_path="sign.css", old_string="a {\n  color: red;\n}", new_string="a {\n  color: green;\n}"),
        use("toolu_2", "Screenshot", url="shop.local"),
    ])  # fmt: skip
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    sizes = {"page": {"width": 1440, "id": 12345678901234567890}, "parts": [{"name": f"part {at}"} for at in range(30)]}
    line.ask("b", [result("toolu_1", "changed"), result("toolu_2", [text(json.dumps(sizes)), picture])], "```json\n{\"colour\": \"green\"}\n```")
    server.see([one for seen in story.seen for one in seen])
    person.opens(f"{server.url}/task/{server.task('Make the sign')}")
    person.page.get_by_role("button", name="Edit").click()
    change = person.page.get_by_role("figure")
    expect(change).to_contain_text("sign.css")
    expect(change).to_contain_text("+1 −1")
    expect(change.locator(".old")).to_have_text("-  color: red;\n")
    expect(change.locator(".new")).to_have_text("+  color: green;\n")
    person.page.get_by_role("button", name="Screenshot").click()
    tree = person.page.get_by_role("group", name="result")
    expect(tree).to_contain_text("width: 1440")
    expect(tree).to_contain_text("12345678901234567890")
    expect(tree.get_by_text("part 7")).to_have_count(0)
    tree.get_by_role("button", name="parts").click()
    tree.get_by_role("button", name="1 field").nth(7).click()
    expect(tree.get_by_text("part 7")).to_be_visible()
    assert person.page.get_by_role("img", name="picture that was captured").evaluate("img => img.naturalWidth") == 10
    expect(person.page.get_by_role("article", name="the agent said").get_by_role("group", name="JSON")).to_contain_text('colour: "green"')
    change.locator("..").get_by_role("button", name="as text").click()
    expect(person.page.get_by_label("input").first).to_contain_text('"old_string": "a {')


def test_a_run_is_found_by_its_words_and_unfolded(told: World, person: Person) -> None:
    person.opens(told.url)
    person.page.get_by_label("filter runs").fill("tea shop")
    person.sees("1 shown, 1 hidden")
    person.page.get_by_role("link", name=re.compile("tea shop's site")).click()
    person.tab("Tree").click()
    expect(person.page.get_by_role("treeitem")).to_have_count(6)
    expect(person.row("Measure the pages")).to_contain_text("1/1")
    expect(person.row("Weigh the pictures")).to_have_attribute("aria-level", "3")
    person.row("Measure the pages").get_by_role("button", name="fold").click()
    expect(person.row("Weigh the pictures")).to_have_count(0)
    expect(person.page.get_by_role("treeitem")).to_have_count(5)


def test_runs_are_filtered_by_terms_and_a_wrong_one_is_explained(told: World, person: Person) -> None:
    person.opens(told.url)
    person.expected = "400"  # a browser says so of every refused filter
    field = person.page.get_by_label("filter runs")
    field.fill("has:subtasks -status:failed calls>1")
    person.sees("1 shown, 1 hidden")
    field.fill("has:subtsks")
    person.sees("did you mean subtasks?")
    field.fill("agent:nobody")
    person.sees("Nothing fits.")


def test_resting_on_a_task_shows_its_prompt_and_who_asked(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}?tab=tree")
    person.row("Read the checkout").hover()
    tip = person.page.get_by_role("tooltip")
    expect(tip).to_contain_text("look for work that is done twice")
    expect(tip).to_contain_text("agent")
    person.presses("Escape")
    expect(tip).to_have_count(0)


def test_people_stand_on_the_right_and_what_an_agent_wrote_on_the_left(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}")
    human = person.page.get_by_role("article", name="human said")
    expect(human).to_contain_text("Our tea shop's site is slow")
    reading = person.page.get_by_label("transcript").last.bounding_box()
    box = human.bounding_box()
    assert reading
    assert box
    assert box["x"] > reading["x"] + 100
    card = person.page.get_by_role("article", name="sub-task Measure the pages")
    expect(card).to_contain_text("written by the agent")
    person.opens(f"{told.url}/task/{told.task('Measure the pages')}")
    prompt = person.page.get_by_role("article", name="prompt written by an agent")
    expect(prompt).to_contain_text("Measure how long each page takes")
    expect(prompt).to_contain_text("user on the wire")
    expect(person.page.get_by_role("article", name="human said")).to_have_count(0)
    left = prompt.bounding_box()
    assert left
    assert left["x"] < box["x"]


def test_nested_work_is_read_in_place_and_the_address_remembers_it(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}")
    card = person.page.get_by_role("article", name="sub-task Measure the pages")
    card.get_by_role("button", name="read here").click()
    expect(card.get_by_role("article", name="sub-task Weigh the pictures")).to_be_visible()
    person.page.reload()
    expect(person.page.get_by_role("article", name="sub-task Weigh the pictures")).to_be_visible()


def test_a_sub_task_opens_in_a_tab_and_the_way_back_is_kept(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}")
    person.page.get_by_role("article", name="sub-task Measure the pages").get_by_role("link", name="open").click()
    tabs = person.page.get_by_role("navigation", name="open tasks")
    expect(tabs.get_by_role("link")).to_have_count(2)
    expect(tabs.get_by_role("link", name="Measure the pages")).to_have_attribute("aria-current", "page")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Measure the pages")
    person.page.get_by_role("link", name="return to parent").click()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("tea shop's site")
    person.page.go_back()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Measure the pages")
    person.presses("u")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("tea shop's site")


def test_closing_the_parent_offers_to_close_its_children(told: World, person: Person) -> None:
    for title in ("Our tea", "Measure the pages", "Weigh the pictures"):
        person.opens(f"{told.url}/task/{told.task(title)}")
        expect(person.page.get_by_role("navigation", name="open tasks").get_by_role("link", name=re.compile(title))).to_be_visible()
    tabs = person.page.get_by_role("navigation", name="open tasks")
    tabs.get_by_role("button", name=re.compile("close Our tea")).click()
    person.sees("Close its 2 child tabs too?")
    person.button("Close all").click()
    expect(tabs).to_have_count(0)
    expect(person.page.get_by_role("heading", name="Runs")).to_be_visible()


def test_a_tool_call_shows_what_it_was_given_beside_what_it_gave_back(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Look at the tests')}")
    person.page.get_by_role("button", name="details").first.click()
    details = person.page.get_by_role("complementary", name="details")
    given, gave = details.get_by_label("input"), details.get_by_label("result")
    expect(given).to_contain_text('pattern: "product"')
    expect(gave).to_contain_text("tests/pages/test_product.py")
    left, right = given.bounding_box(), gave.bounding_box()
    assert left
    assert right
    assert left["x"] < right["x"]


def test_one_goes_on_to_the_next_thing_that_was_done(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Look at the tests')}")
    person.page.get_by_role("button", name="details").first.click()
    details = person.page.get_by_role("complementary", name="details")
    expect(details.get_by_role("heading", level=2)).to_have_text("Grep")
    person.button("next").click()
    expect(details.get_by_role("heading", level=2)).to_have_text("Bash")
    person.presses("k")
    expect(details.get_by_role("heading", level=2)).to_have_text("Grep")


def test_the_bytes_of_the_wire_are_three_clicks_away(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Weigh the pictures')}?tab=calls")
    person.page.get_by_role("button", name=re.compile(r"\d\d:\d\d:\d\d")).last.click()
    person.tab("raw").click()
    details = person.page.get_by_role("complementary", name="details")
    expect(details.get_by_label("request")).to_contain_text('"max_tokens": 32000')
    expect(details.get_by_label("response")).to_contain_text("event: message_start")
    expect(details.get_by_label("request")).not_to_contain_text("sk-ant-demo")
    with person.page.expect_download() as saving:
        details.get_by_role("button", name="download").first.click()
    assert b'"max_tokens": 32000' in saving.value.path().read_bytes()


def test_the_same_task_is_selected_in_every_view(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}?tab=tree")
    person.row("Look at the tests").click()
    for view in ("Timeline", "Graph", "Tree"):
        person.tab(view).click()
        expect(person.page.get_by_role("treeitem", selected=True)).to_contain_text("Look at the tests")


def test_words_are_searched_everywhere_and_a_hit_leads_to_its_place(told: World, person: Person) -> None:
    person.opens(told.url)
    person.presses("Control+k")
    person.page.get_by_label("search everything").last.fill("prices twice")
    person.presses("Enter")
    person.sees("hit")
    hit = person.page.get_by_role("listitem").filter(has_text="checkout asks for").get_by_role("link")
    hit.click()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("tea shop's site")
    expect(person.page.get_by_role("complementary", name="details")).to_contain_text("claude-opus")


def test_what_a_filter_means_comes_without_moving_what_could_be_pressed(told: World, person: Person) -> None:
    held: list[Route] = []
    person.page.route("**/api/filter*", lambda route: held.append(route))
    person.opens(f"{told.url}/search?q=prices%20twice")
    person.sees("hit")
    hit = person.page.get_by_role("listitem").filter(has_text="checkout asks for")
    before = hit.bounding_box()
    person.page.wait_for_timeout(300)
    for route in held:
        route.continue_()
    expect(person.page.get_by_label("what the filter means").get_by_role("listitem").first).to_be_visible()
    assert held
    assert hit.bounding_box() == before


def test_an_id_of_any_kind_opens_at_once(told: World, person: Person) -> None:
    tool = told.served.questions.tools(told.task("Look at the tests"))["items"][0]["call_id"]
    person.opens(told.url)
    person.presses("Control+k")
    person.page.get_by_label("search everything").last.fill(tool)
    person.presses("Enter")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Look at the tests")
    expect(person.page.get_by_role("complementary", name="details")).to_contain_text("Grep")


def test_an_unknown_id_is_answered_with_a_way_on(told: World, person: Person) -> None:
    person.expected = "404"
    person.opens(f"{told.url}/task/task_nothing")
    person.sees("Nothing has this id")
    person.page.get_by_role("link", name="all runs").click()
    expect(person.page.get_by_role("heading", name="Runs")).to_be_visible()


def test_the_critical_path_names_what_the_end_waited_for(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}?tab=timeline")
    expect(person.page.get_by_role("treeitem")).to_have_count(6)
    person.presses("c")
    told_in_words = person.page.get_by_role("status").filter(has_text="The end waited for")
    expect(told_in_words).to_contain_text("Our tea shop's site")
    expect(person.row("tea shop's site").locator(".critical").first).to_be_visible()
    expect(person.page).to_have_url(re.compile("critical=1"))
    told_in_words.get_by_role("button").first.click()
    expect(person.page.get_by_role("treeitem", selected=True)).to_have_count(1)
    person.presses("c")
    expect(told_in_words).to_have_count(0)


def test_lanes_show_who_gave_work_to_whom_and_when_it_came_back(told: World, person: Person) -> None:
    conversation = told.served.questions.task(told.task("Our tea"))["conversation"]
    person.opens(f"{told.url}/conversation/{conversation}?tab=timeline")
    person.button("lanes").click()
    lanes = person.page.get_by_role("tree", name="lanes of this run").get_by_role("treeitem")
    expect(lanes).to_have_count(6)
    expect(lanes.first).to_contain_text("2 prompts")
    expect(person.row("Weigh the pictures")).to_contain_text("asked by Measure the pages")
    expect(person.page.locator(".arrows .given")).to_have_count(5)
    expect(person.page.locator(".arrows .returned")).to_have_count(5)
    first = person.row("Measure the pages").locator(".bar").first.bounding_box()
    arrow = person.page.locator(".arrows .given line").first.bounding_box()
    assert first
    assert arrow
    assert abs(arrow["x"] - first["x"]) < 3  # it points at where the bar begins
    person.presses("j", "j")
    expect(person.page.get_by_role("treeitem", selected=True)).to_have_count(1)
    person.page.reload()
    expect(lanes).to_have_count(6)
    person.presses("Enter")
    expect(person.page.get_by_role("heading", level=1)).not_to_contain_text("Conversation")


def test_titles_that_came_cut_are_whole_where_somebody_looks(told: World, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "TITLES", 60)  # as if there were very many
    person.opens(f"{told.url}/task/{told.task('Our tea')}?tab=tree")
    expect(person.row("Weigh the pictures")).to_be_visible()
    expect(person.page.get_by_role("treeitem").first).to_contain_text("Our tea shop's site is slow on phones. Find out why, and fix what is easy.")
