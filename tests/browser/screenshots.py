"""Every page as a picture, light and dark, wide and narrow: `python -m tests.browser.screenshots [FOLDER]`."""

import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, expect, sync_playwright

from ramify.demo.scenario import script
from tests.browser.agents import Agents, announce, show_a2a, show_log, show_mesh
from tests.browser.conftest import FLAGS, chromium, lacking
from tests.browser.person import Person
from tests.browser.world import World, world
from tests.linking.a2a_builder import begin, message
from tests.story import exchanges

PACE = 0.5
CASES = ("subtask-three-parallel", "subtask-task", "fork-three-ways", "compact-2.0", "aborted-stream", "twins")
PAGES = {
    "runs": "/",
    "conversations": "/conversations",
    "conversation": "/conversation/{conversation}",
    "transcript": "/task/{root}?toggled={sub}",
    "sub-task": "/task/{sub}",
    "tree": "/task/{root}?tab=tree&sel=task:{sub}",
    "timeline": "/conversation/{conversation}?tab=timeline",
    "critical": "/task/{root}?tab=timeline&critical=1",
    "lanes": "/conversation/{conversation}?tab=timeline&lanes=1",
    "graph": "/conversation/{conversation}?tab=graph&sel=task:{sub}",
    "calls": "/task/{root}?tab=calls",
    "cache": "/task/{root}?tab=cache",
    "tool": "/task/{tests}?sel=tool:{tool}",
    "change": "/task/{root}?sel=tool:{change}",
    "why": "/task/{root}?tab=tree&sel=task:{sub}&pane=why",
    "raw": "/task/{sub}?tab=calls&sel=task:{sub}&pane=raw",
    "all-calls": "/calls",
    "search": "/search?q=pictures",
    "compare": "/compare?a={root}&b={note}",
    "findings": "/findings",
    "statistics": "/statistics?since=all",
    "health": "/health",
    "unknown": "/task/task_nothing",
    "agents": "/task/{agents}?toggled={child}",
    "agents-tree": "/task/{agents}?tab=tree&sel=task:{child}",
    "asking": "/task/{asking}",
    "unresolved": "/task/{unresolved}",
    "artifacts": "/task/{agents}?tab=artifacts",
    "mesh": "/task/{mesh}",
    "tools": "/task/{mesh}?tab=tools",
    "reasoning": "/task/{mesh}?tab=reasoning",
    "flow": "/task/{mesh}?tab=flow",
    "logged": "/task/{logged}",
    "operations": "/operations",
    "operation": "/operation/op_sync_e5fe9a5b?toggled=mcp_alpha",
    "events": "/events",
}
LOOKS: tuple[tuple[int, int, Literal["light", "dark"]], ...] = (
    (1440, 900, "light"), (1440, 900, "dark"), (390, 844, "light"), (390, 844, "dark"),
)  # fmt: skip


def places(server: World) -> dict[str, str]:
    root, tests = server.task("Our tea"), server.task("Look at the tests")
    return {
        "root": root,
        "sub": server.task("Measure the pages"),
        "note": server.task("Thank you!"),
        "tests": tests,
        "tool": server.served.questions.tools(tests)["items"][0]["call_id"],
        "change": next(tool["call_id"] for tool in server.served.questions.tools(root)["items"] if tool["name"] == "Edit"),
        "conversation": server.served.questions.task(root)["conversation"],
    }


def show_agents(server: World) -> dict[str, str]:
    """Agents that talk to agents, one that asks, and operations."""
    told = show_a2a(server, "v1-input-required")
    mesh = show_mesh(server, "thinking")
    for case in ("async_fanout", "edges"):
        show_log(server, case)
    agents = Agents(server)
    line = begin(agents, "lender", "asking", "Lend some of my savings")
    announce(line, "asking", "elsewhere", title="Rate lookup")
    schema = {
        "type": "object", "title": "Loan", "required": ["amount"],
        "properties": {
            "amount": {"type": "number", "description": "in thousands"}, "asset": {"type": "string", "enum": ["USDC", "ETH"]},
            "at once": {"type": "boolean"},
        },
    }  # fmt: skip
    line.status("asking", "INPUT_REQUIRED", message("Which amount?", "q", metadata={"schema": schema}))
    agents.seen()
    tasks = server.served.questions.tasks(limit=0)["items"]
    return {
        "agents": told,
        "child": next(task["id"] for task in tasks if task["title"] == "Lending strategy"),
        "mesh": mesh,
        "asking": agents.id("asking"),
        "unresolved": agents.id("elsewhere"),
        "logged": next(task["id"] for task in tasks if task["agent"] == "mcp_alpha"),
    }


def take(browser: Browser, url: str, name: str, folder: Path) -> None:
    for width, height, scheme in LOOKS:
        with Person.at(browser, width, height, scheme) as person:
            person.expected = "404"
            person.opens(url)
            expect(person.page.get_by_role("status", name="loading")).to_have_count(0)
            person.page.wait_for_timeout(400)
            person.page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
            person.page.goto("about:blank")
            print(f"{name}-{width}-{scheme}", flush=True)


def main(folder: Path) -> None:
    if why := lacking():
        raise SystemExit(why)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, world(script(PACE)) as server:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        take(browser, server.url, "start", folder)
        server.start(PACE)
        take(browser, f"{server.url}/latest", "live", folder)
        server.playing.pop().result(120)
        for case in CASES:
            server.see(seen for story in exchanges("anthropic", case) for seen in story)
        named = places(server) | show_agents(server)
        for name, path in PAGES.items():
            take(browser, server.url + path.format(**named), name, folder)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))
