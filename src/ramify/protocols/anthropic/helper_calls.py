"""Helper calls of a client (titles, probes, token counts, summaries): labelled, never dropped."""

import re

import msgspec

from ramify.model.event import Part
from ramify.protocols.anthropic.wire import Envelope

BILLING = re.compile(r"^x-anthropic-billing-header:[^\n]*\n?")

# (label, how some block of the system prompt begins); only requests without tools are tested.
SYSTEM_STARTS = (
    ("title", "Please write a 5-10 word title"),
    ("title", "Summarize this coding conversation in under 50 characters"),
    ("title", "You are naming a coding session"),
    ("topic", "Analyze if this message indicates a new conversation topic"),
    ("bash-prefix", "Your task is to process Bash commands that an AI coding agent wants to run"),
    ("path-extraction", "Extract any file paths that this command reads or modifies"),
    ("other", "You are an expert at analyzing git history"),
    ("other", "Analyze this message and come up with a single positive"),
)
WORK = ("main", "subagent", "workflow")  # as the client's hint header calls it
WARMUP_AGENTS = ("You are a file search specialist", "You are a software architect and planning specialist")
SUMMARISER = "You are a helpful AI assistant tasked with summarizing conversations"
SUMMARY_ASKS = (
    "Your task is to create a detailed summary of the conversatio",
    "CRITICAL: Respond with TEXT ONLY",
)


def label(path: str, hint: str, envelope: Envelope, parts: tuple[Part, ...]) -> str:
    """The empty string means real work. A hint header of the client decides alone which of the two it is."""
    if "/count_tokens" in path:
        return "count_tokens"
    tools = has_tools(envelope)
    system = [] if tools else system_texts(envelope)  # a call with tools is no helper, whatever its prompt
    if hint == "compaction" or (hint != "auxiliary" and asks_for_summary(envelope, system, parts)):
        return "compaction"
    if hint in WORK:
        return ""
    found = "" if tools else by_words(envelope, system, parts)
    return found or ("other" if hint == "auxiliary" else "")


def by_words(envelope: Envelope, system: list[str], parts: tuple[Part, ...]) -> str:
    said = [text.normal for part in parts if part.role == "user" for text in part.texts if text.normal]
    if len(parts) == 1 and len(said) == 1 and said[0].lower() == "quota" and envelope.max_tokens == 1:
        return "quota"
    if said and said[0] == "Warmup" and any(text.startswith(WARMUP_AGENTS) for text in system):
        return "warmup"
    for name, start in SYSTEM_STARTS:
        if any(text.startswith(start) for text in system):
            return name
    return ""


def asks_for_summary(envelope: Envelope, system: list[str], parts: tuple[Part, ...]) -> bool:
    """By the API's own field, by the summariser's prompt, or by the words that end the list.

    The words count only where something was there to sum up: a person may open with a wish for a summary. The
    current client leaves the last answer out, so that a first turn and the wish may be all there is.
    """
    if isinstance(envelope.compaction, dict) and envelope.compaction.get("type") == "summarize":
        return True
    users = [part for part in parts if part.role == "user"]
    if not users:
        return False
    answered = any(part.role == "assistant" for part in parts)
    said = [text.normal for text in users[-1].texts if text.normal]
    asked = any(words.startswith(SUMMARY_ASKS) for words in (said if answered else said[1:]))
    asked = asked or (len(users) > 1 and bool(said) and said[0].startswith(SUMMARY_ASKS))
    return asked or (answered and any(text.startswith(SUMMARISER) for text in system) and not has_tools(envelope))


def has_tools(envelope: Envelope) -> bool:
    return bytes(envelope.tools).strip() not in (b"null", b"[]", b"[ ]")


def system_texts(envelope: Envelope) -> list[str]:
    """Only the beginnings matter here; long prompts are not searched."""
    try:
        system = msgspec.json.decode(envelope.system)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    blocks = [system] if isinstance(system, str) else system if isinstance(system, list) else []
    texts = [
        block if isinstance(block, str) else block.get("text") for block in blocks if isinstance(block, str | dict)
    ]
    return [BILLING.sub("", text).strip()[:400] for text in texts if isinstance(text, str)]
