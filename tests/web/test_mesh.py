"""The runs of a mesh over HTTP: the same answers as in Python."""

from typing import Any

import pytest

from ramify.query.service import Questions
from tests import mesh_verdicts, story
from tests.test_mesh_cases import CASES, lines, observed, told
from tests.web.served import Client, Small, serving


class Over(Questions):
    """Answers that were fetched beforehand, in place of the store's own."""

    def __init__(self, fetched: dict[str, Any]) -> None:
        self._fetched = fetched

    def tasks(self, **asked: Any) -> Any:
        return self._fetched["tasks"]

    def conversations(self, **asked: Any) -> Any:
        return self._fetched["conversations"]

    def task(self, id: str) -> Any:
        return self._fetched[id]

    def tools(self, id: str, *, tree: bool = False, **asked: Any) -> Any:
        return self._fetched[f"{id}/tools{'?tree' if tree else ''}"]

    def reasoning(self, id: str, **asked: Any) -> Any:
        return self._fetched[f"{id}/reasoning"]

    def subtasks(self, id: str, **asked: Any) -> Any:
        return self._fetched[f"{id}/subtasks"]


async def get(client: Client, path: str) -> Any:
    async with client.get(f"/api/{path}") as response:
        assert response.status == 200, await response.text()
        return await response.json()


@pytest.mark.parametrize("case", CASES)
async def test_a_run_is_what_it_was(case: str) -> None:
    small = Small()
    _, small.questions = told(observed(lines(case)))
    async with serving(small) as client:
        found = {"tasks": await get(client, "tasks?limit=1000"), "conversations": await get(client, "conversations")}
        for task in found["tasks"]["items"]:
            id = task["id"]
            native = mesh_verdicts.native_id(task)
            found[id] = await get(client, f"tasks/{native}")
            found[f"{id}/tools"] = await get(client, f"tasks/{native}/tools?limit=1000")
            found[f"{id}/tools?tree"] = await get(client, f"tasks/{native}/tools?tree=true&limit=1000")
            found[f"{id}/reasoning"] = await get(client, f"tasks/{native}/reasoning?limit=1000")
            found[f"{id}/subtasks"] = await get(client, f"tasks/{native}/subtasks?tree=true&limit=1000")
            assert (await get(client, f"tasks/{native}/why"))["id"] == id
            assert (await get(client, f"tasks/{native}/messages"))["items"] or not task["prompt"]
        for call in story.expected("sam", case)["tool_calls"]:
            tool = await get(client, f"tools/{call['call_id']}")
            assert (tool["name"], tool["args"]) == (call["name"], call["args"])
    assert mesh_verdicts.differences(Over(found), story.expected("sam", case)) == []
