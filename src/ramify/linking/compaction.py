"""Compaction: the words with which a client goes on after a summary, and the summary inside them."""

import re

from ramify.model.event import Part

CONTINUED = "This session is being continued from a previous conversation that ran out of context."
HEADS = ("The conversation is summarized below:", "The summary below covers the earlier portion of the conversation.")
TAILS = (
    "Please continue the conversation from where we left it off",
    "If you need specific details from before compaction",
    "Continue the conversation from where it left off",
)
REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>", re.IGNORECASE | re.DOTALL)
MARK = re.compile(r"^\s*Summary:", re.MULTILINE)
TAGS = re.compile(r"</?(?:analysis|summary)>", re.IGNORECASE)
INNER = re.compile(r"<summary>(.*?)</summary>", re.IGNORECASE | re.DOTALL)
ANALYSIS = re.compile(r"<analysis>.*?</analysis>", re.IGNORECASE | re.DOTALL)


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
    text = REMINDER.sub("\n", raw).replace("\r\n", "\n").strip()[len(CONTINUED) :].strip()
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
        for inner in INNER.findall(text.raw):
            found[squash(TAGS.sub("", inner))] = None
        found[squash(TAGS.sub("", ANALYSIS.sub("", text.raw)))] = None
        found[squash(TAGS.sub("", text.raw))] = None
    return tuple(summary for summary in found if summary)
