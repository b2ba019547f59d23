"""A person reads why a task is linked, corrects it, and takes that back."""

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
    person.sees("outlives every rebuild")
    person.button("Move it").click()
    expect(person.row("Look at the tests")).to_have_attribute("aria-level", "3")
    expect(person.row("Look at the tests")).to_contain_text("by hand")
    expect(person.page.get_by_role("tabpanel", name="why linked")).to_contain_text("a person said otherwise")
    person.button("undo").click()
    expect(person.row("Look at the tests")).to_have_attribute("aria-level", "2")


def test_a_wrong_correction_is_refused_with_a_reason(server: World, person: Person) -> None:
    server.play()
    person.expected = "400"
    person.opens(f"{server.url}/task/{server.task('Our tea')}?tab=tree")
    person.row("Measure the pages").click()
    person.presses("y")
    person.page.get_by_label("belongs under").fill(server.task("Weigh the pictures"))
    person.button("Re-link").click()
    person.button("Move it").click()
    expect(person.page.get_by_role("alert")).to_contain_text("cannot be its own ancestor")
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
