"""`ramify run` with the real client, as a person types it; and the questions that person asks next."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from bench.ports import free_port
from ramify.demo.upstream import serving
from ramify.demo.wire import Reply
from tests.cli.test_main import ramify
from tests.peers import stories
from tests.peers.claude_cli import SESSION, Script, Story, arguments
from tests.peers.claude_cli import environment as own_world

pytestmark = pytest.mark.peer

SAME_WORDS = ("--output-format", "text")


def command(story: Story) -> list[str]:
    """What a person reads, not what a program does."""
    words = arguments(story)
    at = words.index("--output-format")
    return [*words[:at], *SAME_WORDS, *words[at + 3 :]]


async def captured(story: Story, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    for name in ("home", "config", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    async with serving(Script(story)) as upstream:
        words = ["run", "--port", str(free_port()), *options, "--", *command(story)]
        world = own_world(upstream.url, folder)
        return await asyncio.to_thread(ramify, folder, *words, **world)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one captured run: three sub-agents."""
    folder = tmp_path_factory.mktemp("home")
    told = asyncio.run(captured(stories.THREE, folder))
    assert told.returncode == 0, told.stderr
    (folder / "told.json").write_text(json.dumps([told.stdout, told.stderr]))
    return folder


def asked(home: Path, *words: str) -> str:
    told = ramify(home, *words)
    assert (told.returncode, told.stderr) == (0, ""), told.stderr
    return told.stdout


def test_the_programs_output_is_untouched_and_the_tree_is_beside_it(home: Path) -> None:
    output, errors = json.loads((home / "told.json").read_text())
    assert output == "All three are done.\n"
    lines = errors.splitlines()
    drawn = [line for line in lines if "─ ✓" in line]
    assert [line.split()[0] for line in drawn] == ["├─", "├─", "└─"]
    assert any("Ask three agents." in line for line in lines)
    assert "4 tasks · 8 model calls" in errors
    assert lines[-1].startswith("see more: ramify messages task_")


async def test_the_programs_exit_status_is_the_commands(tmp_path: Path) -> None:
    refused = Story("refused", "Fail.", {"Fail.": ((Reply(status=400),),)})
    told = await captured(refused, tmp_path)
    assert told.returncode == 1
    assert "✗" in told.stderr


def test_the_session_answers_every_question(home: Path) -> None:
    session = str(SESSION)
    assert asked(home, "tree", session).count("─ ✓ general-purpose") == 3
    assert "Part b done." in asked(home, "messages", session)
    assert asked(home, "why", session).count("agent-id-in-result") == 3
    assert "echo c" in asked(home, "tools", session)
    assert "echo c" in asked(home, "search", "echo")
    assert any("Part b done." in line for line in asked(home, "search", "Part b done").splitlines()[1:])
    assert "8 calls" in asked(home, "stats")


def test_an_agent_is_found_by_its_own_id(home: Path) -> None:
    tasks = json.loads(asked(home, "tasks", "--json"))["items"]
    agent = next(task["agent"] for task in tasks if task["agent"])
    assert agent in asked(home, "show", agent)
    assert "agent-id-in-result" in asked(home, "why", agent)
