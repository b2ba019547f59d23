"""What was captured is hostile: markup, scripts, escapes, turned directions and endless lines stay text."""

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from ramify.model.observation import Observation
from tests.browser.person import Person
from tests.browser.world import World
from tests.story import observe

MARKUP = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script><iframe src='https://evil.example'></iframe>"
ESCAPES = "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07 \x07"
TURNED = "abc\u202egnp.exe\u2066x"
LONG = "x" * 1_000_000
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"}}


def exchange(number: int, messages: list[Any], answer: list[Any]) -> tuple[Observation, ...]:
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages}
    said = {
        "id": f"msg_h{number}", "type": "message", "role": "assistant", "model": MARKUP, "content": answer,
        "stop_reason": "tool_use" if number == 1 else "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    line = {
        "id": f"h{number}", "started": f"2026-05-01T10:00:0{number}Z", "ended": f"2026-05-01T10:00:0{number}.5Z",
        "request": {"method": "POST", "path": "/v1/messages", "headers": {"x-claude-code-session-id": "hostile"}, "body": body},
        "response": {"status": 200, "headers": {"content-type": "application/json"}, "body": said},
    }  # fmt: skip
    return tuple(observe(json.loads(json.dumps(line))))


def hostile() -> list[Observation]:
    prompt = {"role": "user", "content": [{"type": "text", "text": f"{MARKUP}\n{ESCAPES}\n{TURNED}\n{LONG}"}, PICTURE]}
    asked = [
        {"type": "thinking", "thinking": MARKUP, "signature": "s"},
        {"type": "text", "text": f"[click](javascript:window.hacked=1) {MARKUP}"},
        {"type": "tool_use", "id": "toolu_h1", "name": MARKUP, "input": {"command": MARKUP, MARKUP: LONG}},
    ]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_h1", "content": f"{MARKUP}\n" * 2000 + LONG}]}
    first = exchange(1, [prompt], asked)
    return [*first, *exchange(2, [prompt, {"role": "assistant", "content": asked}, result], [{"type": "text", "text": TURNED}])]


@pytest.mark.parametrize("tab", ["transcript", "tree", "timeline", "graph", "calls", "cache"])
@pytest.mark.parametrize("width", [1440, 390])
def test_hostile_content_stays_text(server: World, browser: Browser, tab: str, width: int) -> None:
    server.see(hostile())
    root = server.served.questions.tasks(roots=True)["items"][0]["id"]
    with Person.at(browser, width, 844) as person:
        for path in (f"/task/{root}?tab={tab}", f"/task/{root}?tab={tab}&sel=tool:toolu_h1", f"/task/{root}?tab={tab}&sel=task:{root}&pane=raw"):
            person.opens(server.url + path)
            expect(person.page.get_by_role("tab", selected=True).first).to_be_visible()
            expect(person.page.get_by_role("status", name="loading")).to_have_count(0)
            person.page.wait_for_timeout(100)
            assert person.page.evaluate("window.hacked") is None
            assert person.page.locator("iframe, main script, main img, a[href^='javascript']").count() == 0
            assert person.page.evaluate("document.documentElement.scrollWidth") <= width


DEEP: Any = "the end"
for _ in range(200):
    DEEP = {MARKUP: [DEEP]}
DIFF = f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{MARKUP}\n+{TURNED}"
PARTS: list[Any] = [
    {"type": "text", "text": json.dumps({MARKUP: MARKUP, "turned": TURNED, "many": list(range(5000)), "deep": DEEP, "__proto__": {"x": 1}})},
    {"type": "text", "text": DIFF},
    PICTURE,
    {"type": "image", "source": {"type": "url", "url": "https://evil.example/x.png"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": 'x" onerror="window.hacked=1'}},
]


def test_hostile_trees_diffs_and_pictures_stay_text(server: World, person: Person) -> None:
    asked = [{"type": "tool_use", "id": "toolu_h1", "name": "Edit", "input": {"file_path": MARKUP, "old_string": MARKUP, "new_string": TURNED}}]
    prompt = {"role": "user", "content": f"```json\n{json.dumps({'x': MARKUP})}\n```\n```diff\n-{MARKUP}\n```"}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_h1", "content": PARTS}]}
    server.see(exchange(1, [prompt], asked))
    server.see(exchange(2, [prompt, {"role": "assistant", "content": asked}, result], [{"type": "text", "text": "done"}]))
    root = server.served.questions.tasks(roots=True)["items"][0]["id"]
    person.opens(f"{server.url}/task/{root}?sel=tool:toolu_h1")
    details = person.page.get_by_role("complementary", name="details")
    expect(details.get_by_text("5,000 items")).to_be_visible()
    details.get_by_role("button", name="5,000 items").click()
    details.get_by_role("button", name="more items").click()
    expect(details).to_contain_text("abc⟦RLO⟧gnp.exe")
    assert person.page.evaluate("document.querySelectorAll('*').length") < 4000
    assert person.page.evaluate("window.hacked") is None
    assert person.page.locator("iframe, main script, main img, a[href^='javascript']").count() == 0


def test_what_deceives_the_eye_is_made_visible_and_long_text_is_clipped(server: World, person: Person) -> None:
    server.see(hostile())
    root = server.served.questions.tasks(roots=True)["items"][0]["id"]
    person.opens(f"{server.url}/task/{root}")
    said = person.page.get_by_role("article", name="human said")
    expect(said).to_contain_text("abc⟦RLO⟧gnp.exe⟦LRI⟧x")
    expect(said).to_contain_text("red ␛]8;;")
    expect(said).to_contain_text("more characters")
    assert person.page.evaluate("document.body.innerText.length") < 50_000
    person.opens(f"{server.url}/")
    expect(person.page.get_by_role("link", name="window.hacked")).to_be_visible()
    person.opens(f"{server.url}/search?q=hacked")
    expect(person.page.get_by_role("listitem").first).to_be_visible()
    assert person.page.evaluate("window.hacked") is None
