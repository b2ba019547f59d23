"""The command as a process: what it prints where, and how it ends."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ramify import __version__
from ramify.cli.commands import COMMANDS, overview
from ramify.cli.main import main
from tests.born import brood, run

SOURCE = str(Path(__file__).parents[2] / "src")


def environment(home: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAMIFY_", "ANTHROPIC_"))}
    return {**kept, "PYTHONPATH": SOURCE, "HOME": str(home), "XDG_DATA_HOME": str(home), **variables}


def started(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """From nothing, as a person does."""
    command = [sys.executable, "-m", "ramify", *words]
    return subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=60)


def ramify(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process of its own that has been loaded before: there are hundreds of them."""
    return run(brood(sys.executable, SOURCE, "ramify.cli.main", "ramify.app"), "ramify", words, environment(home, **variables))


def test_the_version_is_told_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    told = started(tmp_path, "--version")
    assert (told.returncode, told.stdout) == (0, f"ramify {__version__}\n")
    assert time.monotonic() - began < 2  # a loaded machine; alone it takes about 30 ms


def test_the_version_needs_no_third_party_import() -> None:
    words = "import sys; from ramify.cli.main import main; main(['--version']); print({'rich', 'msgspec'} & set(sys.modules))"
    told = subprocess.run(
        [sys.executable, "-S", "-c", words], env={"PYTHONPATH": SOURCE}, capture_output=True, text=True
    )
    assert told.stdout.endswith("set()\n")


def test_help_names_every_command_and_what_to_try_first(tmp_path: Path) -> None:
    told = started(tmp_path, "--help")
    assert (told.returncode, told.stdout) == (0, overview())
    assert all(f"  {command.name} " in told.stdout for command in COMMANDS)
    assert max(map(len, told.stdout.splitlines())) <= 100


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """In this process: each by itself takes as long to start as all of them to tell."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert not ended.value.code
    assert capsys.readouterr().out.startswith(f"usage: ramify {command}")


# One mistake a line, however long.
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["tre"], "ramify: there is no command 'tre' — did you mean tree?"),
        (["xyzzy"], "ramify: there is no command 'xyzzy' — see ramify --help"),
        (["--store"], "ramify has no option '--store' — options come after the command: ramify COMMAND [OPTIONS]"),
        (["tree"], "ramify tree needs ID — see ramify tree --help"),
        (["tree", "x", "--jsn"], "ramify tree has no option '--jsn' — did you mean --json?"),
        (["tasks", "--rot=1"], "ramify tasks has no option '--rot' — did you mean --roots?"),
        (["stats", "extra"], "ramify stats does not expect 'extra' — see ramify stats --help"),
        (["tasks", "--limit", "-1"], "ramify: --limit must be a number, 0 for all, not '-1' — see ramify tasks --help"),
        (["tasks", "--limit", "x"], "ramify: --limit must be a number, 0 for all, not 'x' — see ramify tasks --help"),
        (["tail", "--since", "-5"], "ramify: --since must be a place in the log, a whole number, not '-5' — see ramify tail --help"),
        (["calls", "--kind", "x"], "ramify: --kind must be one of main, subagent, utility, not 'x' — see ramify calls --help"),
        (["serve", "--port", "abc"],
         "ramify: port must be a number from 1 to 65535, not 'abc' — it was set by --port; for example --port 9000"),
        (["tree", "x", "--foo"], "ramify tree has no option '--foo' — see ramify tree --help"),
        (["tasks", "--store", "sqlite:"], "ramify: the store 'sqlite:' names no file — use sqlite:PATH, or memory: for a store that is gone with its program"),
        (["tree", "x", "--depht", "2"], "ramify tree has no option '--depht' — see ramify tree --help"),
        (["import", "/nowhere\x1b[31m"], "ramify: there is no file or folder '/nowhere\\x1b[31m' — check the path"),
        (["run"], "ramify run needs a COMMAND — for example ramify run -- claude"),
        (["run", "--", "no-such-program"], "ramify: there is no program 'no-such-program' — check the name and your PATH"),
        (["tre\x1b[31m\u202e"], "ramify: there is no command 'tre\\x1b[31m\\u202e' — see ramify --help"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_exit_status_two(tmp_path: Path, words: list[str], line: str) -> None:
    told = ramify(tmp_path, *words)
    assert (told.returncode, told.stdout, told.stderr) == (2, "", line + "\n")


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    told = ramify(tmp_path, "tasks", RAMIFY_PORT="high")
    assert told.returncode == 2
    assert "it was set by RAMIFY_PORT" in told.stderr


def test_tail_without_a_server_says_what_to_do(tmp_path: Path) -> None:
    told = ramify(tmp_path, "tail", "--port", "9")
    assert told.returncode == 1
    assert told.stderr == (
        "ramify: no Ramify server answers at http://127.0.0.1:9"
        " — start one with ramify serve, or name another with --host and --port\n"
    )


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    words = f"{sys.executable} -m ramify tree --help | true; echo ${{PIPESTATUS[0]}}"
    told = subprocess.run(["bash", "-c", words], env=environment(tmp_path), capture_output=True, text=True, timeout=60)
    assert (told.stdout, told.stderr) == ("0\n", "")
