"""Who wrote a text: the wire's role says little, the words with which a block begins say most.

A mark counts only at the start of a block; inside shell output or a report it is somebody's words.
"""

from msgspec import Struct

from ramify.model.event import Part, Text


class Author(Struct, frozen=True):
    author: str  # human, agent, tool, harness, system, unknown
    kind: str = ""
    reason: str = ""


HUMAN = Author("human", "", "what remains on the main line")
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
        Author("agent", "", "the caller's message to a running agent"),
    ),
    ("<agent-message", Author("agent", "", "another agent's message")),
    ("[Workflow harness", Author("harness", "command", "a workflow's prompt")),
    ("<fork-boilerplate>", Author("agent", "", "the directive of a forked agent")),
    ("Stop hook feedback:", Author("harness", "hook", "a hook's feedback")),
    ("<local-command-caveat>", Author("harness", "caveat", "the client's caveat about local commands")),
    ("<local-command-stdout>", Author("harness", "command-output", "output of a local command")),
    ("<command-name>", Author("harness", "command", "a slash command: typed by a person, worded by the client")),
    ("<command-message>", Author("harness", "command", "a slash command: typed by a person, worded by the client")),
    ("[Request interrupted by user", Author("harness", "interruption", "the client's mark of an interruption")),
    ("CRITICAL: Respond with TEXT ONLY", Author("harness", "command", "the client's request for a summary")),
)
REMINDER = Author("harness", "reminder", "a reminder of the client")
DURING_TURN = Author("human", "", "a person's message during the turn")
HOOK_CONTEXT = Author("harness", "hook", "a hook's context")
AGENT_PROMPT = Author("agent", "", "the prompt that the calling agent wrote")


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
    for mark, author in USER_MARKS:
        if text.normal.startswith(mark):
            return author
    if role == "system":
        return _system_text(text.normal)
    return HUMAN


def _system_text(normal: str) -> Author:
    if normal.startswith("The user sent a new message while you were working:"):
        return DURING_TURN
    if "hook additional context:" in normal[:200]:
        return HOOK_CONTEXT
    return REMINDER


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


def prompt_of(parts: tuple[Part, ...], message: int, block: int) -> str | None:
    """What a person asked in the new part of a request; None where nobody did.

    A slash command that becomes a prompt counts; a local one (its output stands beside it) does not.
    """
    humans: list[str] = []
    commands: list[str] = []
    local = False
    for index in range(message, len(parts)):
        part = parts[index]
        if part.role != "user":
            continue
        for text, author in judge_part(part, block if index == message else 0):
            if author is HUMAN:
                humans.append(text.normal)
            elif author.kind == "command" and not text.normal.startswith("CRITICAL"):
                commands.append(text.normal)
            elif author.kind in ("command-output", "caveat"):
                local = True
    if humans:
        return "\n\n".join(humans)
    return "\n\n".join(commands) if commands and not local else None
