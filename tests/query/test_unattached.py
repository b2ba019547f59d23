"""An orphan is shown, not dropped: also one whose parent was never seen, or stands under it."""

import json

from ramify.ingest import Ingest
from ramify.model.observation import Request
from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite


def asked(number: int, agent: str, parent: str) -> Request:
    headers = (
        ("x-claude-code-session-id", "s"),
        ("x-claude-code-agent-id", agent),
        ("x-claude-code-parent-agent-id", parent),
    )
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"work {number}"}]}).encode()
    at = 1_790_000_000_000_000 + number
    return Request(f"o{number}", "default", at, "test", f"o{number}", "POST", "/v1/messages", headers, body)


def unattached(*seen: Request) -> list[str]:
    store = open_sqlite("memory:")
    Ingest(store).step(seen)
    loose = Questions(store).tree("s")["unattached"]
    columns = Questions(store).skeleton("s")["unattached"]
    assert [id for id, depth in zip(columns["id"], columns["depth"], strict=True) if not depth] == [task["id"] for task in loose]
    return [task["agent"] for task in loose]


def test_an_agent_whose_parent_was_never_seen_is_shown() -> None:
    assert unattached(asked(1, "a1", "nobody")) == ["a1"]


def test_agents_that_name_each_other_are_shown_once() -> None:
    assert unattached(asked(1, "a1", "a2"), asked(2, "a2", "a1")) == ["a1"]
