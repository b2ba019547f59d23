"""A run saved into one file: opened from disk, with no server and no network, it is read like the page it came from."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ramify.app import Ramify
from ramify.exporting.wish import LEFT_OUT, Wish
from tests.browser.test_hostile import MARKUP, hostile
from tests.browser.world import World
from tests.exporting.world import quiet
from tests.exporting.world import told as case

TABS = ["Transcript", "Tree", "Timeline", "Graph", "Calls", "Artifacts", "Tools", "Reasoning"]


def saved(ramify: Ramify, id: str, folder: Path, wish: Wish | None = None) -> Path:
    file = folder / "run.html"
    file.write_bytes(b"".join(ramify.exports.offer(id, wish or Wish("html"), quiet).pieces))
    return file


def held(file: Path) -> list[str]:
    """Every result of a tool that the file holds."""
    run = json.loads(file.read_text().partition('id="run">')[2].partition("</script>")[0])
    blocks = [block for messages in run["messages"].values() for message in messages for block in message["blocks"]]
    results = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return [str(one) for one in [*results, *(tool["result"] for tools in run["tools"].values() for tool in tools)] if one is not None]


@contextmanager
def opened(browser: Browser, file: Path) -> Iterator[Page]:
    """Nothing but the file itself may be asked for, and the console stays silent."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    try:
        yield page
        assert said == []
        assert {url.partition("#")[0] for url in asked} == {file.as_uri()}
    finally:
        context.close()


def tab(page: Page, name: str) -> None:
    page.get_by_role("tablist", name="ways to see this run").get_by_role("tab", name=name).click()
    expect(page.get_by_role("status", name="loading")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_run_is_read_from_disk(told: World, browser: Browser, tmp_path: Path) -> None:
    run = told.served.questions.conversations()["items"][0]
    file = saved(told.served, run["id"], tmp_path)
    with opened(browser, file) as page:
        expect(page.get_by_text("a saved run")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_contain_text(run["title"][:30])
        for name in TABS:
            tab(page, name)
        tab(page, "Tree")
        assert page.get_by_role("treeitem").count() > 2
        page.reload()
        expect(page.get_by_role("tab", name="Tree", exact=True)).to_have_attribute("aria-selected", "true")
        tab(page, "Transcript")
        page.get_by_role("link", name="open").or_(page.get_by_role("button", name="open")).first.click()
        expect(page.get_by_role("navigation", name="breadcrumb")).to_contain_text("the whole run")
        page.get_by_role("link", name="the whole run").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(run["title"][:30])


@pytest.mark.parametrize("name", ["sam/parallel", "a2a/v1-input-required", "events/async_fanout", "claude/nested", "anthropic/compact-2.0"])
def test_every_protocol_opens_without_a_complaint(browser: Browser, tmp_path: Path, name: str) -> None:
    ramify = case(name)
    ids = [ramify.questions.conversations()["items"][0]["id"], *(one["id"] for one in ramify.questions.operations(limit=1)["items"])]
    ids += [task["id"] for task in ramify.questions.tasks(limit=0)["items"] if task["depth"]][:1]
    for id in ids:
        with opened(browser, saved(ramify, id, tmp_path)) as page:
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            for one in TABS:
                tab(page, one)


def test_what_was_captured_stays_text(server: World, browser: Browser, tmp_path: Path) -> None:
    server.see(hostile())
    root = server.served.questions.tasks(roots=True)["items"][0]["id"]
    file = saved(server.served, root, tmp_path, Wish("html", bodies=True))
    assert MARKUP not in file.read_text()
    with opened(browser, file) as page:
        for name in TABS:
            tab(page, name)
        for place in (f"#/task/{root}?sel=tool:toolu_h1", f"#/task/{root}?sel=task:{root}&pane=raw"):
            page.goto(file.as_uri() + place)
            page.wait_for_timeout(100)
            assert page.evaluate("window.hacked") is None
            assert page.locator("iframe, main script, main img, a[href^='javascript']").count() == 0


def test_what_was_left_out_is_not_there(told: World, browser: Browser, tmp_path: Path) -> None:
    root = told.served.questions.tasks(roots=True)["items"][0]["id"]
    whole = held(saved(told.served, root, tmp_path))
    assert whole
    assert LEFT_OUT not in whole
    file = saved(told.served, root, tmp_path, Wish("html", results=False))
    assert set(held(file)) == {LEFT_OUT}
    with opened(browser, file) as page:
        expect(page.get_by_text("without what tools gave back")).to_be_visible()
        call = told.served.questions.calls_of(root)["items"][0]["id"]
        page.goto(f"{file.as_uri()}#/task/{root}?sel=call:{call}&pane=raw")
        expect(page.get_by_text("as it was on the wire is not in this file").first).to_be_visible()
