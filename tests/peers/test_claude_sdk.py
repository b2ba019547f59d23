"""The real Agent SDK, recorded from inside: it cannot tell, neither can the API, and every message is kept once."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from ramify.demo.upstream import Received, serving
from ramify.demo.wire import Json, Reply
from ramify.model.observation import Record
from tests.capture.world import until
from tests.cli.test_hook import hook
from tests.cli.test_main import SOURCE
from tests.peers import claude_sdk, stories
from tests.peers.claude_cli import Metered, Script, Story, run_story
from tests.peers.claude_sdk import SdkRun, run_program
from tests.peers.served import Answer, serve
from tests.peers.test_claude_cli import bare
from tests.peers.test_claude_trees import EXPECTED, FIGURES, shape
from tests.peers.told import walk
from tests.test_recording import stored

pytestmark = pytest.mark.peer

PROGRAMS = {"record": claude_sdk.RECORDED, "instrument": claude_sdk.INSTRUMENTED, "both": claude_sdk.BOTH}


async def told(
    program: str, story: Story, folder: Path, *prompts: str
) -> tuple[SdkRun, list[Received], list[Record]]:
    port = str(free_port())
    async with serving(Script(story)) as upstream:
        run = await run_program(program, prompts or [story.prompt], upstream.url, folder / "world", RAMIFY_PORT=port)
    assert (run.exit, run.errors) == (0, "")
    path = folder / "world" / "data" / "ramify" / "ramify.db"
    kept = stored(path) if path.exists() else []
    (folder / "world").rename(folder / f"world-{port}")  # the next one must have the same name
    return run, upstream.requests, kept


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[SdkRun, list[Received], Path]:
    """The story without us. The client writes its folder into its requests, so whatever is compared is told there, too."""
    folder = tmp_path_factory.mktemp("told")
    run, asked, nothing = asyncio.run(told(claude_sdk.PLAIN, stories.BACKGROUND, folder))
    assert nothing == []
    return run, asked, folder


@pytest.mark.parametrize("way", PROGRAMS)
async def test_a_recorded_program_gets_and_asks_what_it_would_have(
    plain: tuple[SdkRun, list[Received], Path], way: str
) -> None:
    before, asked_before, folder = plain
    run, asked, kept = await told(PROGRAMS[way], stories.BACKGROUND, folder)
    assert Counter(name for name, _ in run.messages) == Counter(name for name, _ in before.messages)
    assert sorted(map(bare, asked)) == sorted(map(bare, asked_before))
    prompt, *messages = kept
    assert json.loads(prompt.body)["message"]["content"] == stories.BACKGROUND.prompt
    assert len(messages) == len(run.messages)
    assert len({uuid_of(seen) for seen in messages}) == len(messages)


def uuid_of(seen: Record) -> str:
    body = json.loads(seen.body)
    uuid: str = body.get("uuid") or body["data"]["uuid"]
    return uuid


async def test_an_instrumented_program_keeps_what_the_classes_drop(tmp_path: Path) -> None:
    _, _, kept = await told(claude_sdk.INSTRUMENTED, stories.ONE, tmp_path)
    bodies = [json.loads(seen.body) for seen in kept]
    assert {seen.format for seen in kept} == {"stream-json"}
    assert len({body["session_id"] for body in bodies}) == 1
    inside = [body for body in bodies if body.get("parent_tool_use_id")]
    assert inside
    assert all(body["agent_id"] for body in inside)
    (result,) = (body for body in bodies if body.get("type") == "result")
    assert result["model_usage_since_last_result"]


async def test_every_prompt_of_a_conversation_is_kept_before_what_it_led_to(tmp_path: Path) -> None:
    replies = {"First.": (stories.said("One."), stories.said("Two."))}
    _, _, kept = await told(claude_sdk.TALK, Story("talk", "First.", replies), tmp_path, "First.", "Second.")
    said = [text_of(json.loads(seen.body)) for seen in sorted(kept, key=lambda seen: seen.at)]
    assert [words for words in said if words] == ["First.", "One.", "Second.", "Two."]
    assert len({json.loads(seen.body)["session_id"] for seen in kept}) == 1


def text_of(body: Json) -> str:
    content: Any = body.get("message", {}).get("content", "")
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


async def test_prompts_that_the_client_replays_are_kept_once(tmp_path: Path) -> None:
    replaying = claude_sdk.INSTRUMENTED.replace("max_turns=20", 'max_turns=20, extra_args={"replay-user-messages": None}')
    _, _, kept = await told(replaying, stories.ONE, tmp_path)
    prompts = [json.loads(seen.body) for seen in kept if text_of(json.loads(seen.body)) == stories.ONE.prompt]
    assert [bool(prompt.get("uuid")) for prompt in prompts] == [True]


async def test_what_goes_wrong_goes_wrong_as_it_would_have(tmp_path: Path) -> None:
    refused = Story("refused", "Fail.", {"Fail.": ((Reply(status=400),),)})
    failing = claude_sdk.HEAD + """
ramify.instrument()
async def main():
    try:
        async for message in query(prompt=sys.argv[1], options=options):
            show(message)
    except Exception as problem:
        print(json.dumps(["raised", type(problem).__name__]))
asyncio.run(main())
"""
    async def outcome(program: str, name: str) -> list[tuple[str, str]]:
        run, _, _ = await told(program, refused, tmp_path / name)
        return [(kind, words if kind == "raised" else "") for kind, words in run.messages]

    for name in ("plain", "recorded"):
        (tmp_path / name).mkdir()
    assert await outcome(failing.replace("ramify.instrument()", ""), "plain") == await outcome(failing, "recorded")


async def test_leaving_early_ends_the_client_and_keeps_what_came(tmp_path: Path) -> None:
    leaving = claude_sdk.HEAD + """
import os
from contextlib import aclosing
from pathlib import Path
ramify.instrument()
async def main():
    async with aclosing(query(prompt=sys.argv[1], options=options)) as messages:
        async for message in messages:
            show(message)
            break
    while Path(f"/proc/self/task/{os.getpid()}/children").read_text():
        await asyncio.sleep(0.1)  # the SDK leaves its client ending; a loop that is gone by then complains of it
    await asyncio.sleep(0.5)
asyncio.run(main())
"""
    run, _, kept = await told(leaving, stories.ONE, tmp_path)
    assert len(run.messages) == 1
    assert [json.loads(seen.body)["type"] for seen in kept][:2] == ["user", "system"]


async def test_taking_it_back_leaves_the_sdk_as_it_was(tmp_path: Path) -> None:
    back = claude_sdk.INSTRUMENTED.replace(
        "ramify.instrument()",
        "from claude_agent_sdk._internal.query import Query\n"
        "before = Query.receive_messages\n"
        "with ramify.instrument():\n"
        "    assert Query.receive_messages is not before\n"
        "    once = Query.receive_messages\n"
        "    ramify.instrument()\n"
        "    assert Query.receive_messages is once\n"
        "assert Query.receive_messages is before",
    )
    _, _, kept = await told(back, stories.ONE, tmp_path)
    assert kept == []


async def test_a_version_without_these_places_is_recorded_by_its_public_functions(tmp_path: Path) -> None:
    other = claude_sdk.INSTRUMENTED.replace(
        "ramify.instrument()",
        "from claude_agent_sdk._internal.transport import subprocess_cli\n"
        "hidden = vars(subprocess_cli).pop('SubprocessCLITransport')\n"
        "ramify.instrument()\n"
        "subprocess_cli.SubprocessCLITransport = hidden\n"
        "from claude_agent_sdk import query",
    )
    run, _, kept = await told(other, stories.ONE, tmp_path)
    assert [seen.format for seen in kept] == ["stream-json"] + ["sdk"] * len(run.messages)
    assert json.loads(kept[0].body)["message"]["content"] == stories.ONE.prompt


@pytest.mark.parametrize("options", [[], ["--http"]], ids=["command", "http"])
async def test_hooks_of_the_real_client_arrive_and_change_nothing(options: list[str], tmp_path: Path) -> None:
    async with serving(Script(stories.ONE)) as upstream, serve(upstream.url, tmp_path) as server:
        printed = hook(tmp_path, "hooks", *options, "--server", server.url)
        world = tmp_path / "world"
        (world / "config").mkdir(parents=True)
        (world / "config" / "settings.json").write_bytes(printed.stdout)
        run = await run_story(stories.ONE, upstream.url, world, variables={"RAMIFY_SERVER": server.url, "PYTHONPATH": SOURCE})
        assert (run.exit, run.text) == (0, "There are three.")
        await until(lambda: events(tmp_path) >= TOLD, 20)  # each is reported by a process that nobody waits for
    assert all(seen.format == "claude-hook" for seen in stored(tmp_path / "ramify.db"))
    assert {name: events(tmp_path)[name] for name in TOLD} == TOLD


TOLD = Counter(UserPromptSubmit=1, PreToolUse=2, PostToolUse=2, SubagentStart=1, SubagentStop=1, Stop=1)


def events(folder: Path) -> Counter[str]:
    return Counter(json.loads(seen.body)["hook_event_name"] for seen in stored(folder / "ramify.db"))


@dataclass
class Seen:
    """One story as the server shows it, and what the script said of it."""

    trees: list[Answer]
    calls: list[Answer]
    messages: list[Answer]
    script: Metered


async def seen_by_all(program: str, story: Story, folder: Path, *prompts: str) -> Seen:
    """The proxy, the recorder and the follower of transcripts: all at once, all live."""
    script, world = Metered(Script(story)), folder / "world"
    async with (
        serving(script) as upstream,
        serve(upstream.url, folder, RAMIFY_WATCH=str(world / "config")) as server,
    ):
        run = await run_program(program, prompts or [story.prompt], server.url, world, RAMIFY_SERVER=server.url)
        assert (run.exit, run.errors) == (0, "")
        await until(lambda: {"stream-json", "claude"} <= {seen.format for seen in stored(folder / "ramify.db")}, 10)
        await server.settled(len(upstream.requests))
        conversations = await server.all("conversations")
        trees = [await server.ask(f"conversations/{one['id']}/tree") for one in conversations]
        roots = [root["id"] for tree in trees for root in tree["roots"]]
        messages = [one for root in roots for one in await server.all(f"tasks/{root}/messages?tree=true")]
        return Seen(trees, await server.all("calls"), messages, script)


@pytest.mark.parametrize("story", [stories.THREE, stories.NESTED, stories.BACKGROUND], ids=lambda story: story.name)
@pytest.mark.parametrize("way", ["record", "instrument"])
async def test_all_sources_at_once_make_one_tree_and_count_nothing_twice(story: Story, way: str, tmp_path: Path) -> None:
    seen = await seen_by_all(PROGRAMS[way], story, tmp_path)
    (tree,) = seen.trees
    (root,) = tree["roots"]
    assert tree["unattached"] == []
    assert shape(root) == EXPECTED[story.name]
    assert {node["status"] for node in walk(root)} == {"completed"}
    assert all(node["link"]["certainty"] == 1.0 for node in walk(root) if node is not root)
    assert len(seen.calls) == len(seen.script.said)
    used, said = root["tree_usage"], seen.script.total()
    assert {ours: used[ours] for ours in FIGURES} == {ours: said[theirs] for ours, theirs in FIGURES.items()}
    humans = [message for message in seen.messages if message["author"] == "human"]
    assert [message["blocks"][0]["text"] for message in humans] == [story.prompt]
    givers = [one for one in seen.messages if one["role"] == "user" and one["author"] == "agent"]
    assert Counter(one["blocks"][0]["text"] for one in givers) == Counter(
        node["prompt"] for node in walk(root) if node is not root
    )


async def test_all_sources_at_once_tell_the_prompts_of_a_conversation_apart(tmp_path: Path) -> None:
    replies = {"Again.": (stories.said("One."), stories.said("Two."))}
    seen = await seen_by_all(claude_sdk.TALK, Story("talk", "Again.", replies), tmp_path, "Again.", "Again.")
    (tree,) = seen.trees
    assert [(root["prompt"], root["status"], root["usage"]["calls"]) for root in tree["roots"]] == [
        ("Again.", "completed", 1),
        ("Again.", "completed", 1),
    ]
