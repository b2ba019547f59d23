"""Who wrote a text: the wire's role says little, the words with which a block begins say most.

A mark counts only at the start of a block; inside shell output or a report it is somebody's words.
"""

import re

from msgspec import Struct

from ramify.model.event import Hint, Part, Text


class Author(Struct, frozen=True):
    author: str  # human, agent, tool, harness, system, unknown
    kind: str = ""
    reason: str = ""
    who: str = ""  # which agent: "caller", the one that gave the work, or "named" in the words; empty: the one that works


SUMMARY_ASKED = Author("harness", "command", "the client's request for a summary")
HUMAN = Author("human", "", "what remains on the main line")
DURING_TURN = Author("human", "", "a person's message during the turn")
# In this order; the first that fits decides.
USER_MARKS: tuple[tuple[str, Author], ...] = (
    (
        "This session is being continued from",
        Author("harness", "compact-summary", "the client's words after a compaction"),
    ),
    ("[SYSTEM NOTIFICATION", Author("harness", "notification", "a notice of the client")),
    ("<task-notification>", Author("harness", "notification", "a notice of the client")),
    (
        "The coordinator sent a message while you were working:",
        Author("agent", "", "the caller's message to a running agent", "caller"),
    ),
    (
        "The user sent a new message while you were working:",
        DURING_TURN,
    ),
    ("<agent-message", Author("agent", "", "another agent's message", "named")),
    ("Base directory for this skill:", Author("harness", "skill", "what the client loaded for a skill")),
    ("[Workflow harness", Author("harness", "command", "a workflow's prompt")),
    ("<fork-boilerplate>", Author("agent", "", "the directive of a forked agent", "caller")),
    ("Another Claude session sent a message:", Author("agent", "", "another agent's message", "named")),
    ("Stop hook feedback:", Author("harness", "hook", "a hook's feedback")),
    ("Your task is to create a detailed summary of the conversatio", SUMMARY_ASKED),
    (
        "Caveat: The messages below were generated",
        Author("harness", "caveat", "the client's caveat about local commands"),
    ),
    ("<local-command-caveat>", Author("harness", "caveat", "the client's caveat about local commands")),
    ("<local-command-stdout>", Author("harness", "command-output", "output of a local command")),
    ("<local-command-stderr>", Author("harness", "command-output", "output of a local command")),
    ("<bash-stdout>", Author("harness", "command-output", "output of a shell command that a person ran")),
    ("<bash-stderr>", Author("harness", "command-output", "output of a shell command that a person ran")),
    ("<bash-input>", Author("harness", "command", "a shell command: typed by a person, worded by the client")),
    ("<command-name>", Author("harness", "command", "a slash command: typed by a person, worded by the client")),
    ("<command-message>", Author("harness", "command", "a slash command: typed by a person, worded by the client")),
    ("[Request interrupted by user", Author("harness", "interruption", "the client's mark of an interruption")),
    ("CRITICAL: Respond with TEXT ONLY", SUMMARY_ASKED),
)
NAMING = tuple(mark for mark, author in USER_MARKS if author.who == "named")
# Only where nothing else is said: a person may begin so.
WHOLE_MARKS = {
    "Tool loaded.": Author("harness", "reminder", "the client's word after a search for tools"),
    "Continue from where you left off.": Author("harness", "command", "the client's word when a session goes on"),
}
REMINDER = Author("harness", "reminder", "a reminder of the client")
HOOK_CONTEXT = Author("harness", "hook", "a hook's context")


def judge_text(role: str, text: Text) -> Author:
    """On the main line; a sub-agent's first text is its caller's (`judge_part` knows)."""
    start = text.raw.lstrip()
    if role == "assistant":
        return Author("agent", "", "the model's own words")
    if (
        start.startswith("<system-reminder>")
        and "[SYSTEM NOTIFICATION" in start[:400]
        and "<task-notification>" in start
    ):
        return Author("harness", "notification", "a notice of the client")
    if not text.normal:
        return REMINDER
    if whole := WHOLE_MARKS.get(text.normal):
        return whole
    for mark, author in USER_MARKS:
        if text.normal.startswith(mark):
            return author
    if role == "system":
        return _system_text(text.normal)
    return HUMAN


def _system_text(normal: str) -> Author:
    if re.match(r"\S+ hook (additional context|success|stopped)", normal) or "hook additional context:" in normal[:200]:
        return HOOK_CONTEXT
    return REMINDER


# The client glues what it has to say between turns into one text of role `system`; each of these begins a new piece.
SYSTEM_PIECES = re.compile(
    r"(?:(?<=\n\n)|^)(?=The user sent a new message while you were working:|The coordinator sent a message while you were "
    r"working:|<agent-message|[A-Za-z]+ hook (?:additional context|success|stopped))"
)


def system_pieces(text: str) -> list[str]:
    return [piece for piece in SYSTEM_PIECES.split(text) if piece.strip()]


def judge_part(part: Part, first_block: int = 0) -> list[tuple[Text, Author]]:
    """Each text of a message with its author; the block behind a command's text is the command's body."""
    judged: list[tuple[Text, Author]] = []
    behind_command = False
    for text in part.texts:
        if text.block < first_block:
            continue
        author = judge_text(part.role, text)
        if author is HUMAN and behind_command:
            author = Author("harness", "command", "the body of a slash command")
        behind_command = author.kind == "command" and text.normal.startswith(("<command-message>", "<command-name>"))
        judged.append((text, author))
    return judged


UNASKED = "Continue from where you left off."  # nobody typed a command
BEGIN_COMMAND = ("<command-name>", "<command-message>", "<bash-input>")


def prompt_of(parts: tuple[Part, ...], message: int, block: int, sums_up: bool = False) -> str | None:
    """What a person asked in the new part of a request; None where nobody did.

    A slash command that becomes a prompt counts; a local one (a caveat stands before it, or its output behind) does not.
    `sums_up`: the request is the client's own for a summary; elsewhere the same wish is a person's.
    """
    humans: list[str] = []
    commands = _Commands()
    for index in range(message, len(parts)):
        part = parts[index]
        if part.role != "user":
            continue
        for text, author in judge_part(part, block if index == message else 0):
            if author is HUMAN or (author is SUMMARY_ASKED and not sums_up):
                humans.append(text.normal)
            elif author is not SUMMARY_ASKED:
                commands.take(text.normal, author.kind)
    return "\n\n".join(humans or commands.asked()) or None


class _Commands:
    """Each with its body; those that the client carried out itself are no prompts."""

    def __init__(self) -> None:
        self._found: list[list[str]] = []
        self._local: list[bool] = []
        self._warned = False

    def take(self, words: str, kind: str) -> None:
        if kind == "caveat":
            self._warned = True
        elif kind == "command-output" and self._local:
            self._local[-1] = True
        elif kind == "command" and words.startswith(BEGIN_COMMAND):
            self._begin(words, self._warned or words.startswith("<bash-input>"))
        elif kind == "command" and words != UNASKED:
            if self._found:
                self._found[-1].append(words)
            else:
                self._begin(words, False)

    def _begin(self, words: str, local: bool) -> None:
        self._found.append([words])
        self._local.append(local)
        self._warned = False

    def asked(self) -> list[str]:
        return [words for command, local in zip(self._found, self._local, strict=True) if not local for words in command]


# -- reported messages: the source's own flags first, then the words ----------------------------------------------------

CALLER = Author("agent", "", "the prompt that the calling agent wrote", "caller")
MODEL = Author("agent", "", "the model's own words")
TOOL = Author("tool", "", "a tool's result")
BEHIND_COMMAND = Author("harness", "command", "the body of a slash command")
BY_CLIENT = Author("harness", "reminder", "the client marks it as its own")


def judge_reported(part: Part, hint: Hint, in_agent: bool = False, behind_command: bool = False) -> list[tuple[Text, Author]]:
    """Each text of a reported message with its author."""
    if part.role == "assistant" and not hint.author:
        return [(text, MODEL) for text in part.texts]
    if hint.author:
        return [(text, flagged(hint, text.normal)) for text in part.texts]
    judged: list[tuple[Text, Author]] = []
    for text, author in judge_part(part):
        if author is HUMAN and hint.meta:
            author = BEHIND_COMMAND if behind_command else BY_CLIENT
        elif author is HUMAN and in_agent:
            author = CALLER
        judged.append((text, author))
    return judged


def flagged(hint: Hint, words: str) -> Author:
    named = hint.agent or words.startswith(NAMING)
    who = ("named" if named else "caller") if hint.author == "agent" else ""
    return Author(hint.author, hint.kind, hint.reason, who)


def prompt_in(part: Part, hint: Hint) -> str | None:
    """The words with which somebody began a turn on the main line; None where nobody did."""
    judged = judge_reported(part, hint)
    people = [text.normal for text, author in judged if author.author == "human"]
    if people:
        return "\n\n".join(words for words in people if words)
    commands = [text.normal for text, author in judged if author.kind == "command"]
    return "\n\n".join(commands) if commands and hint.begins_turn else None
