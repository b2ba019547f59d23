"""A person reads why a task is linked, corrects it, and takes that back."""

from typing import Any

from playwright.sync_api import expect

from tests.browser.person import Person
from tests.browser.world import World
from tests.linking.world_builder import Story, result, use
from tests.story import exchanges


def test_why_names_the_rule_and_opens_the_evidence(told: World, person: Person) -> None:
    person.opens(f"{told.url}/task/{told.task('Our tea')}?tab=tree")
    person.row("Measure the pages").click()
    person.presses("y")
    why = person.page.get_by_role("tabpanel", name="why linked")
    expect(why).to_contain_text("agent-id-in-result")
    expect(why).to_contain_text("stated, certain")
    why.get_by_role("button", name="obs_").first.click()
    expect(why.locator("mark").first).to_contain_text("toolu_")


def test_a_task_is_moved_by_hand_and_moved_back(server: World, person: Person) -> None:
    server.play()
    target = server.task("Read the checkout")
    person.opens(f"{server.url}/task/{server.task('Our tea')}?tab=tree")
    person.row("Look at the tests").click()
    person.presses("y")
    person.page.get_by_label("belongs under").fill(target)
    person.button("Re-link").click()
    asked = person.page.get_by_role("alertdialog", name="confirm")
    expect(asked).to_contain_text("“Look at the tests”")
    expect(asked).to_contain_text("from “Our tea shop's site")
    expect(asked).to_contain_text("to “Read the checkout”")
    expect(asked).to_contain_text("outlives every rebuild")
    person.button("Move it").click()
    expect(person.row("Look at the tests")).to_have_attribute("aria-level", "3")
    expect(person.row("Look at the tests")).to_contain_text("by hand")
    expect(person.page.get_by_role("tabpanel", name="why linked")).to_contain_text("a person said otherwise")
    person.button("undo").click()
    expect(person.row("Look at the tests")).to_have_attribute("aria-level", "2")
    expect(person.row("Look at the tests")).not_to_contain_text("by hand")


def given(id: str, words: str) -> dict[str, Any]:
    return use(id, "Agent", prompt=words, description=words)


def test_several_are_chosen_moved_together_and_taken_back(server: World, person: Person) -> None:
    story = Story()
    main = story.line(session="s").ask("a", "An earlier prompt", "fine")
    main.ask("b", "Two errands", [given("toolu_1", "First errand"), given("toolu_2", "Second errand")])
    story.line(session="s", agent="a1").ask("c", "First errand", given("toolu_3", "Deep errand"))
    story.line(session="s", agent="a3", parent_agent="a1").ask("d", "Deep errand", "7")
    story.line(session="s", agent="a2").ask("e", "Second errand", "8")
    server.see([one for seen in story.seen for one in seen])
    person.opens(f"{server.url}/conversation/{server.served.questions.conversations()['items'][0]['id']}?tab=tree")
    for title in ("First errand", "Deep errand", "Second errand", "Two errands"):
        person.row(title).click()
        person.presses("x")
    person.sees("4 tasks chosen")
    person.presses("x")
    person.sees("3 tasks chosen")
    person.presses("m")
    dialog = person.page.get_by_role("dialog", name="move tasks")
    dialog.get_by_label("belongs under").fill("earlier")
    dialog.get_by_role("button", name="An earlier prompt").click()
    asked = dialog.get_by_role("alertdialog", name="confirm")
    expect(asked).to_contain_text("2 tasks with what is under them, 3 tasks in all")
    expect(asked).to_contain_text("from “Two errands” to “An earlier prompt”")
    person.button("no").click()
    dialog.get_by_role("button", name="Re-link").click()
    person.button("Move them").click()
    order = ["An earlier prompt", "First errand", "Deep errand", "Second errand", "Two errands"]
    expect(person.page.get_by_role("treeitem")).to_contain_text(order)
    expect(person.row("First errand")).to_contain_text("by hand")
    person.button("undo").click()
    expect(person.page.get_by_role("treeitem")).to_contain_text([order[0], order[4], *order[1:4]])
    expect(person.row("First errand")).not_to_contain_text("by hand")
    expect(person.button("undo")).to_have_count(0)


def test_a_row_is_dragged_onto_another(server: World, person: Person) -> None:
    server.play()
    person.opens(f"{server.url}/task/{server.task('Our tea')}?tab=tree")
    for title in ("Look at the tests", "Run the tests"):
        person.row(title).click()
        person.presses("x")
    person.row("Run the tests").drag_to(person.row("Read the checkout"))
    asked = person.page.get_by_role("alertdialog", name="confirm")
    expect(asked).to_contain_text("2 tasks")
    person.button("Move them").click()
    for title in ("Look at the tests", "Run the tests"):
        expect(person.row(title)).to_have_attribute("aria-level", "3")
    person.page.reload()
    expect(person.row("Run the tests")).to_have_attribute("aria-level", "3")


def test_a_wrong_correction_is_refused_with_a_reason(server: World, person: Person) -> None:
    server.play()
    person.opens(f"{server.url}/task/{server.task('Our tea')}?tab=tree")
    person.row("Measure the pages").click()
    person.presses("y")
    person.page.get_by_label("belongs under").fill(server.task("Weigh the pictures"))
    person.button("Re-link").click()
    expect(person.page.get_by_role("alert")).to_contain_text("cannot be its own ancestor")
    expect(person.button("Move it")).to_have_count(0)
    expect(person.row("Measure the pages")).to_have_attribute("aria-level", "2")


def test_a_client_that_an_agents_shell_started_stands_under_the_task_that_started_it(server: World, person: Person) -> None:
    story = Story()
    trace = {"traceparent": f"00-{'ab' * 16}-{'01' * 8}-01"}
    main = story.line(session="s1", headers=trace).ask("a", "Ask another client", [use("toolu_1", command="claude -p hello")])
    flat = [one for seen in story.seen for one in seen]
    server.see(flat)
    person.opens(f"{server.url}/task/{server.task('Ask another')}?tab=tree")
    expect(person.page.get_by_role("treeitem")).to_have_count(1)
    story.line(session="s2", headers=trace).ask("b", "Say hello", "Hello!")
    main.ask("c", result("toolu_1", "Hello!"), "It said hello.")
    server.see([one for seen in story.seen for one in seen][len(flat) :])
    child = person.row("Say hello")
    expect(child).to_have_attribute("aria-level", "2")
    expect(child).to_contain_text("inferred")
    person.page.reload()
    expect(child).to_have_attribute("aria-level", "2")
    person.tab("Transcript").click()
    expect(person.page.get_by_role("article", name="sub-task Say hello")).to_be_visible()
    person.tab("Tree").click()
    child.dblclick()
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Say hello")
    expect(person.page.get_by_role("navigation", name="breadcrumb")).to_contain_text("Ask another client")


def test_an_inferred_link_looks_inferred(server: World, person: Person) -> None:
    server.see(seen for story in exchanges("anthropic", "subtask-task") for seen in story)
    root = server.served.questions.tasks(roots=True)["items"][0]["id"]
    person.opens(f"{server.url}/task/{root}?tab=tree")
    expect(person.page.get_by_role("treeitem").last).to_contain_text("inferred")
    person.sees("1 link by inference")
    person.tab("Graph").click()
    dashes = person.page.locator("path.edge").last.evaluate("edge => getComputedStyle(edge).strokeDasharray")
    assert dashes != "none"
