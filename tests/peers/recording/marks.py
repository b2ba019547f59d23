"""Words in a conversation that no person typed there, or that a person typed where a harness speaks.

Each is known by how it begins. The table is a fact sheet of the client, written down from its runs.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """`key`: what of the text is the same in every source."""

    begins: re.Pattern[str]
    key: re.Pattern[str]
    author: tuple[str, ...]
    kind: tuple[str, ...] | None

    def found(self, text: str) -> str | None:
        if not self.begins.match(text):
            return None
        match = self.key.search(text)
        return match[match.lastindex or 0] if match else None


def mark(begins: str, key: str, author: str, kind: str = "") -> Mark:
    return Mark(re.compile(begins), re.compile(key, re.S), tuple(author.split()), tuple(kind.split()) or None)


NOTICE = r"<task-notification>\n<task-id>\w+</task-id>(?:\n<tool-use-id>\w+</tool-use-id>)?"
MARKS = (
    mark(r"(<system-reminder>\s*)?(\[SYSTEM NOTIFICATION|<task-notification>)", NOTICE, "harness", "notification"),
    mark(
        r"This session is being continued",
        r"This session is being continued from a previous conversation",
        "harness",
        "compact-summary",
    ),
    mark(r"\[Request interrupted by user", r"\[Request interrupted by user[^\]]*\]", "harness", "interruption"),
    mark(r"Stop hook feedback:", r"Stop hook feedback:", "harness", "hook"),
    mark(
        r"\w+(:\w+)? hook (additional context|success):",
        r"hook (?:additional context|success): [^\n]+",
        "harness",
        "hook reminder",
    ),
    mark(
        r"<local-command-caveat>|Caveat: The messages below",
        r"(?:<local-command-caveat>|Caveat: )[\w ]{10}",
        "harness",
        "caveat",
    ),
    mark(r"<local-command-stdout>", r"<local-command-stdout>[^\n<\x1b]{0,12}", "harness", "command-output"),
    mark(r"<command-(name|message)>", r"<command-name>[^<]+</command-name>", "human harness", "command"),
    mark(r"Base directory for this skill", r"Base directory for this skill", "harness", "skill command"),
    mark(r"Another Claude session sent a message", r"<agent-message from=\"\w+\">\n([^\n]+)", "agent"),
    mark(r"The coordinator sent a message", r"while you were working:\n([^\n]+)", "agent"),
    mark(r"Tool loaded\.$", r"Tool loaded\.", "harness"),
    mark(r"Continue from where you left off\.$", r"Continue from where you left off\.", "harness"),
)


def classify(text: str, role: str) -> tuple[Mark, str] | None:
    """The client joins texts of the role `system` with blank lines; elsewhere a mark begins its block."""
    parts = [text, *text.split("\n\n")[1:]] if role == "system" else [text]
    for part in parts:
        for one in MARKS:
            key = one.found(part)
            if key:
                return one, key
    return None
