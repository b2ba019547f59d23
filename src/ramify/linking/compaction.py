"""Compaction: the words with which a client goes on after a summary, and the summary inside them."""

import re

from ramify.model.event import Part
from ramify.model.tags import contents, tag_pattern, without, without_and_space_before

CONTINUED = "This session is being continued from a previous conversation that ran out of context."
HEADS = ("The conversation is summarized below:", "The summary below covers the earlier portion of the conversation.")
TAILS = (
    "Please continue the conversation from where we left it off",
    "If you need specific details from before compaction",
    "Continue the conversation from where it left off",
)
REMINDER = tag_pattern("system-reminder", re.IGNORECASE)
MARK = re.compile(r"^[^\S\n]*Summary:", re.MULTILINE)
TAGS = re.compile(r"</?(?:analysis|summary)>", re.IGNORECASE)
SUMMARY = tag_pattern("summary", re.IGNORECASE)
ANALYSIS = tag_pattern("analysis", re.IGNORECASE)


def squash(text: str) -> str:
    return " ".join(text.split()).lower().rstrip(". ")


def continued_summary(parts: tuple[Part, ...]) -> str | None:
    """The summary that this request goes on from, squashed; None where it goes on from none.

    The words must begin a block of the first user message: quoted elsewhere they mean nothing.
    """
    if parts and parts[0].compaction:
        return squash(parts[0].compaction[0])
    first = next((part for part in parts if part.role == "user"), None)
    if first is None:
        return None
    for text in first.texts:
        if text.normal.startswith(CONTINUED):
            return squash(body_of(text.raw))
    return None


def body_of(raw: str) -> str:
    text = without_and_space_before(REMINDER, raw, "\n").replace("\r\n", "\n").strip()[len(CONTINUED) :].strip()
    for head in HEADS:
        text = text.removeprefix(head)
    if mark := MARK.search(text):
        text = text[mark.end() :]
    ends = [text.find(tail) for tail in TAILS if tail in text]
    return text[: min(ends)] if ends else text


def offered_summaries(part: Part) -> tuple[str, ...]:
    """Every form in which the continuation may quote this answer, squashed."""
    found: dict[str, None] = {}
    for content in part.compaction:
        found[squash(content)] = None
    for text in part.texts:
        for inner in contents(SUMMARY, text.raw):
            found[squash(TAGS.sub("", inner))] = None
        found[squash(TAGS.sub("", without(ANALYSIS, text.raw)))] = None
        found[squash(TAGS.sub("", text.raw))] = None
    return tuple(summary for summary in found if summary)
