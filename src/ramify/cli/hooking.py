"""Hooks of the Claude client: the command that they run, and the settings that make them run it."""

import argparse
import json
import shlex
import shutil
import sys
import time

from ramify.cli.contract import application
from ramify.cli.parser import Parser, add_settings
from ramify.cli.session import Part, Session

EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest",
    "Notification", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "PreCompact", "SessionEnd",
)  # fmt: skip
SECONDS = 10  # for the client: how long it may take until it is given up


def hook_options(parser: Parser) -> None:
    parser.add_argument("--wait", action="store_true", help="in the foreground, with its problems told: to try it out")
    parser.add_argument("--at", type=moment, metavar="N", help="when it happened, in microseconds since 1970 (default: now)")
    add_settings(parser, "store", "address", "recording")


def hooks_options(parser: Parser) -> None:
    parser.add_argument("--http", action="store_true", help="posted to the server by the client itself; only newer clients can")
    add_settings(parser, "address", "recording")


def moment(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a number, not {text!r}")
    return int(text)


def hook(session: Session) -> int:
    at = session.arguments.at
    body = sys.stdin.buffer.read()
    application().report_hook(session.settings, body, time.time_ns() // 1000 if at is None else at)
    return 0


def hooks(session: Session) -> int:
    settings = session.settings
    one = {"type": "command", "command": command(), "timeout": SECONDS}
    if session.arguments.http:
        one = {"type": "http", "url": f"{settings.server or settings.address}/api/hooks/claude", "timeout": SECONDS}
        if settings.token:
            one["headers"] = {"Authorization": "Bearer $RAMIFY_TOKEN"}
            one["allowedEnvVars"] = ["RAMIFY_TOKEN"]
    print(json.dumps({"hooks": {event: [{"hooks": [one]}] for event in EVENTS}}, indent=2))
    session.output.say("add this to ~/.claude/settings.json, or to .claude/settings.json of one project")
    return 0


def command() -> str:
    """Status 2 is a veto to the client, and a version of Ramify that has no such command ends with just that."""
    words = ["ramify"] if shutil.which("ramify") else [sys.executable, "-m", "ramify"]
    return f"{shlex.join([*words, 'hook'])} || true"


FAMILY = {"hook": Part(hook_options, hook), "hooks": Part(hooks_options, hooks)}
