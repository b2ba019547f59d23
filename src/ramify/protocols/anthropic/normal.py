"""The normal form of a message: what must not matter is gone, what must matter is hashed.

Clients send the same message in many shapes: marks for the cache move, reminders come and go, a string becomes a
list. Two messages are the same when their atoms are.
"""

import re
from typing import Any

import msgspec

from ramify.model.event import Atom, Notice, Part, Result, Text, Use
from ramify.model.ids import digest
from ramify.model.nested import rebuilt
from ramify.model.tags import contents, tag_pattern, without_and_space_before

REMINDER = tag_pattern("system-reminder", re.IGNORECASE)
CLEARED = "[Old tool result content cleared]"
RECEIPTS = ("Async agent launched", "Fork started")
AGENT_LINE = re.compile(r"^agentId: ?([A-Za-z0-9_-]+)", re.MULTILINE)
NOTIFICATION = tag_pattern("task-notification")
HARNESS_STARTS = ("<system-reminder>", "<task-notification>", "[SYSTEM NOTIFICATION")
RESULT_FIELDS = frozenset({"tool_use_id", "content", "is_error", "cache_control"})
# Kept by some clients and dropped by others on the way back; never a difference in meaning.
VOLATILE = frozenset({"cache_control", "citations", "caller", "toolset_name"})
HEAD = 80
LONGEST_REPORT = 32_000  # a tool's result longer than this is not compared with what a child said last


def normal_text(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<" in text and "<system-reminder>" in text.lower():
        text = without_and_space_before(REMINDER, text)
    return text.strip()


def fingerprint(text: str) -> bytes:
    """Of a prompt or an opening, so that offers and claims can meet."""
    return digest("prompt", normal_text(text))


def canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def without_marks(value: Any) -> Any:
    """The same value without `cache_control`, at any depth."""
    return rebuilt(value, _unmarked)


def _unmarked(table: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in table.items() if key != "cache_control"}


def blocks_of(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else [content]


def bare(value: Any) -> bytes:
    """In canonical form, without marks for the cache; most have none."""
    raw = canonical(value)
    return canonical(without_marks(value)) if b'"cache_control"' in raw else raw


def read_content(content: Any) -> tuple[list[Any], bool]:
    """A tool result's content with a fingerprint for each text, and whether all of them were in normal form already.

    Empty texts are gone. Results are the bulk of what is read: each text is put into its normal form and hashed once.
    """
    kept: list[Any] = []
    plain = True
    for block in blocks_of("" if content is None else content):
        text = block.get("text") if isinstance(block, dict) else None
        normal = normal_text(text) if isinstance(text, str) else ""
        plain = plain and (not isinstance(block, dict) or (normal != "" and normal == text))
        if isinstance(text, str) and block.get("type") == "text":
            if normal:
                kept.append(["text", digest("prompt", normal)])
        else:
            kept.append(without_marks(block))
    return kept, plain


def result_text(content: Any) -> str:
    return "\n".join(
        block["text"]
        for block in blocks_of("" if content is None else content)
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def strings_in(value: Any, found: list[str], depth: int = 0) -> None:
    if isinstance(value, str):
        found.append(value)
    elif depth < 8 and isinstance(value, dict):
        for item in value.values():
            strings_in(item, found, depth + 1)
    elif depth < 8 and isinstance(value, list):
        for item in value:
            strings_in(item, found, depth + 1)


PATHS = ("file_path", "notebook_path")  # as the file tools of coding agents call it


def read_use(block: dict[str, Any], index: int, raw: bytes | None = None) -> Use:
    """`raw` is its input in canonical form, where that is known already."""
    given = block.get("input")
    raw = bare(given) if raw is None else raw
    fields = given if isinstance(given, dict) else {}
    prompt = fields.get("prompt")
    strings: list[str] = []
    strings_in(given, strings)
    return Use(
        id=str(block.get("id", "")),
        name=str(block.get("name", "")),
        block=index,
        prompt=fingerprint(prompt) if isinstance(prompt, str) else None,
        strings=tuple(fingerprint(text) for text in strings[:16] if 0 < len(text) <= 100_000),
        title=str(fields.get("description") or ""),
        agent_type=str(fields.get("subagent_type") or ""),
        text=prompt if isinstance(prompt, str) else "",
        path=next((path for name in PATHS if isinstance(path := fields.get(name), str)), "")[:1000],
        sign=digest(str(block.get("name", "")), raw if "input" in block else str(block.get("id", "")))[:8],
    )


def strict_of(block: Any, atom: bytes | None, plain: bool) -> bytes:
    """A block as it was sent, marks for the cache apart. Where it was in normal form already, its atom says it all."""
    return atom if atom is not None and plain else digest(bare(block))


STOPPED = "[Request interrupted by user for tool use]"


def read_result(block: dict[str, Any], index: int) -> tuple[Result, Atom, bool]:
    """Also, whether its texts are in normal form as they stand."""
    tool = str(block.get("tool_use_id", ""))
    text = result_text(block.get("content"))
    error = block.get("is_error") is True
    cleared = text.strip() == CLEARED
    kept, plain = read_content(block.get("content"))
    atom = None if cleared else digest("user", "result", tool, canonical(kept), int(error))
    named = AGENT_LINE.findall(text) if "agentId:" in text else []
    result = Result(
        id=tool,
        block=index,
        atom=atom,
        text=report_of(text, kept) if 0 < len(text) <= LONGEST_REPORT and not cleared else None,
        error=error,
        receipt=text.startswith(RECEIPTS),
        fork=text.startswith("Fork started"),
        agent=named[-1] if named else "",
        canceled=error and text.rstrip().endswith(STOPPED),
    )
    return result, Atom(atom, index, "result", tool), plain


def read_served(block: dict[str, Any], index: int) -> Result:
    """What came back from a tool that ran at the model's side; its content says by its type that it is an error."""
    content = block.get("content")
    kind = content.get("type") if isinstance(content, dict) else None
    error = block.get("is_error") is True or str(kind or "").endswith("_error")
    return Result(str(block.get("tool_use_id", "")), index, None, None, error)


def report_of(text: str, kept: list[Any]) -> bytes:
    """Most results are one text, whose fingerprint is known by now."""
    match kept:
        case [["text", bytes(known)]]:
            return known
        case _:
            return fingerprint(text)


def notices_in(text: str) -> list[Notice]:
    """Only where the harness speaks: a mark inside a shell's output or a report is somebody's words."""
    if not text.lstrip().startswith(HARNESS_STARTS):
        return []
    return [
        Notice(tag(body, "task-id"), tag(body, "tool-use-id"), tag(body, "status"))
        for body in contents(NOTIFICATION, text)
    ]


def tag(body: str, name: str) -> str:
    inner, closed, _ = body.partition(f"<{name}>")[2].partition(f"</{name}>")
    return inner.strip() if closed else ""


class _Reading:
    """Collects one message's parts, block by block."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.atoms: list[Atom] = []
        self.texts: list[Text] = []
        self.uses: list[Use] = []
        self.results: list[Result] = []
        self.notices: list[Notice] = []
        self.compaction: list[str] = []
        self.served: list[Result] = []
        self.strict: list[bytes] = []
        self.plain_result = False  # the last one

    def block(self, block: Any, index: int) -> None:
        before = len(self.atoms)
        self.read(block, index)
        atom = self.atoms[-1].digest if len(self.atoms) > before else None
        self.strict.append(strict_of(block, atom, atom is not None and self.is_plain(block)))

    def is_plain(self, block: Any) -> bool:
        match block:
            case {"type": "text", "text": str(text), **rest}:
                return not (rest.keys() - {"cache_control"}) and text == self.texts[-1].normal
            case {"type": "tool_result", **rest}:
                return self.plain_result and not (rest.keys() - RESULT_FIELDS)
            case _:
                return False

    def read(self, block: Any, index: int) -> None:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            self.text(block["text"], index)
        elif kind in ("thinking", "redacted_thinking"):
            pass
        elif kind == "tool_use":
            given = bare(block.get("input"))
            use = read_use(block, index, given)
            self.uses.append(use)
            self.atoms.append(Atom(digest(self.role, "use", use.id, use.name, given), index, "use", use.id))
        elif kind == "tool_result":
            result, atom, self.plain_result = read_result(block, index)
            self.results.append(result)
            self.atoms.append(atom)
        else:
            self.other(block, index)

    def text(self, text: str, index: int) -> None:
        normal = normal_text(text)
        self.texts.append(Text(index, text, normal))
        self.notices.extend(notices_in(text))
        if normal:
            head = normal[:HEAD] if self.role == "assistant" else ""
            self.atoms.append(Atom(digest(self.role, "text", normal), index, "text", "", head))

    def other(self, block: Any, index: int) -> None:
        """Unknown blocks are compared whole: never dropped, never reduced to their type."""
        if isinstance(block, dict):
            if block.get("type") == "compaction" and isinstance(block.get("content"), str):
                self.compaction.append(block["content"])
            if str(block.get("type", "")).endswith("tool_use"):
                self.uses.append(read_use(block, index))
            if str(block.get("type", "")).endswith("_tool_result"):
                self.served.append(read_served(block, index))
            block = {key: value for key, value in block.items() if key not in VOLATILE}
        payload = bare(block)
        self.atoms.append(Atom(digest(self.role, "other", payload), index, "other"))


def read_part(message: Any) -> Part:
    """A message of role `system` inside the list has no atoms: it comes and goes between two turns."""
    if not isinstance(message, dict):
        payload = canonical(message)
        return Part("unknown", digest(payload), (Atom(digest("unknown", payload), 0, "other"),))
    role = str(message.get("role", "unknown"))
    content = blocks_of(message.get("content"))
    reading = _Reading(role)
    for index, block in enumerate(content):
        reading.block(block, index)
    return Part(
        role,
        digest(role, *reading.strict),
        () if role == "system" else tuple(reading.atoms),
        tuple(reading.texts),
        tuple(reading.uses),
        tuple(reading.results),
        tuple(reading.notices),
        tuple(reading.compaction),
        tuple(reading.served),
    )
