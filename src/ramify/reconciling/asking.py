"""One agent, asked about its open tasks: the layer that does the work, by whichever names it knows.

An answer that is missing, cut or broken is an error and no answer; only an agent that says so does not know a task.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ramify.protocols.adcp import forms
from ramify.protocols.adcp.wire import table, text
from ramify.reconciling.a2a_agent import A2aAgent
from ramify.reconciling.deciding import Answered, Known
from ramify.reconciling.mcp_agent import McpAgent
from ramify.reconciling.wire import INVALID_PARAMS, TASK_NOT_FOUND, AgentError

GET, LIST = ("get_task_status", "tasks_get"), ("list_tasks", "tasks_list")
NOT_KNOWN = re.compile(r"not[ _-]?found|unknown task|no such task|does not exist", re.IGNORECASE)
PAGE = 50
MOST_PAGES = 100


def read(data: object, wanted: str) -> Answered | None:
    """What an answer says about the task that was asked for; None: something else."""
    found = forms.inner(data)
    candidates = [found, *forms.brought(table(found.get("task")).get("artifacts") or found.get("artifacts"))]
    for one in candidates:
        words = forms.task_words(one)
        for word in words:
            if word.id == wanted and word.status:
                # Once the work has an id of its own, the state of the transport's task is not that of the work.
                meant = next((work for work in words if work.of == "work" and work.id == word.carries), word)
                stamp = text(one.get("updated_at")) or text(one.get("lastUpdatedAt")) or text(table(one.get("status")).get("timestamp"))
                return Answered(wanted, meant.status, meant.native, stamp, word.carries)
    return None


def says_unknown(data: object) -> bool:
    """An error in the answer itself, that means exactly this."""
    found = table(data)
    content = found.get("content")
    spoken = [text(table(one).get("text")) for one in content] if isinstance(content, list) and found.get("isError") else []
    return any(NOT_KNOWN.search(word) for word in (*spoken, *errors_in(forms.inner(data))))


def errors_in(data: dict[str, Any]) -> Iterator[str]:
    listed = data.get("errors")
    for one in (data.get("adcp_error"), data.get("error"), *(listed if isinstance(listed, list) else ())):
        yield text(one)
        yield f"{table(one).get('code', '')} {table(one).get('message', '')}"
    for brought in forms.brought(table(data.get("task")).get("artifacts") or data.get("artifacts")):
        yield from errors_in(brought)


def concluded(data: dict[str, Any], wanted: str) -> Answered:
    said = read(data, wanted)
    if said is not None:
        return said
    if says_unknown(data):
        return Answered(wanted)
    raise AgentError(0, f"its answer about {wanted!r} names no status")


# -- MCP ---------------------------------------------------------------------------------------------------------------


async def ask_mcp(agent: McpAgent, tasks: Sequence[Known]) -> list[Answered]:
    async with agent:
        work = [task for task in tasks if task.of == "work"]
        tools = await agent.tools() if work else set()
        found = [await transport_task(agent, task.native) for task in tasks if task.of != "work"]
        return [*found, *(await work_tasks(agent, tools, [task.native for task in work]) if work else ())]


async def transport_task(agent: McpAgent, native: str) -> Answered:
    try:
        return concluded(await agent.task(native), native)
    except AgentError as problem:
        if problem.code == INVALID_PARAMS:
            return Answered(native)
        raise


async def work_tasks(agent: McpAgent, tools: set[str], wanted: list[str]) -> list[Answered]:
    get = next((name for name in GET if name in tools), None)
    listing = next((name for name in LIST if name in tools), None)
    found: dict[str, Answered] = {}
    if listing is not None and (len(wanted) > 1 or get is None):
        found = await listed(agent, listing, wanted)
    for native in wanted:
        if native not in found and get is not None:
            found[native] = concluded(await agent.call(get, {"task_id": native}), native)
    if get is None and listing is None:
        raise AgentError(0, f"it has neither {GET[0]} nor {LIST[0]}")
    return [found.get(native, Answered(native)) for native in wanted]


async def listed(agent: McpAgent, tool: str, wanted: list[str]) -> dict[str, Answered]:
    """Every page, or nothing: half a list tells nothing of what is not on it."""
    found: dict[str, Answered] = {}
    cursor, passed = "", set[str]()
    for _ in range(MOST_PAGES):
        pages = {"max_results": PAGE} | ({"cursor": cursor} if cursor else {})
        answer = await agent.call(tool, {"filters": {"task_ids": wanted}, "pagination": pages})
        data = forms.inner(answer)
        if answer.get("isError") or not isinstance(data.get("tasks"), list):
            raise AgentError(0, f"{tool} gave no list")
        for one in data["tasks"]:
            for native in wanted:
                if (said := read(one, native)) is not None:
                    found[native] = said
        pagination = table(data.get("pagination"))
        cursor = text(pagination.get("cursor")) or text(pagination.get("next_cursor"))
        if not pagination.get("has_more"):
            return found
        if not cursor or cursor in passed:
            raise AgentError(0, f"{tool} says that there is more, and not where")
        passed.add(cursor)
    raise AgentError(0, f"{tool} has more than {MOST_PAGES} pages")


# -- A2A ---------------------------------------------------------------------------------------------------------------


async def ask_a2a(agent: A2aAgent, tasks: Sequence[Known]) -> list[Answered]:
    await agent.find()
    own = [task.native for task in tasks if task.of != "work"]
    found: dict[str, Answered] = {}
    if len(own) > PAGE:
        everything = await agent.tasks()
        found = {native: said for native in own for one in everything if (said := read(one, native)) is not None}
    for native in own:
        if native not in found:
            found[native] = await a2a_task(agent, native)
    for task in tasks:
        if task.of == "work":
            found[task.native] = await skill(agent, task.native)
    return list(found.values())


async def a2a_task(agent: A2aAgent, native: str) -> Answered:
    try:
        return concluded(await agent.task(native), native)
    except AgentError as problem:
        if problem.code == TASK_NOT_FOUND:
            return Answered(native)
        raise


async def skill(agent: A2aAgent, native: str) -> Answered:
    try:
        return concluded(await agent.skill(GET[0], {"task_id": native}), native)
    except AgentError as first:
        if first.code == 0 and "names no status" not in str(first):
            raise
        try:
            return concluded(await agent.skill(GET[1], {"task_id": native}), native)
        except AgentError:
            raise first from None
