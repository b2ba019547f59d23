"""What a recording may show of the vendor's texts: their beginnings. And what it may show of this machine: nothing.

The same text always becomes the same text, so that what was equal on the wire and in a file stays equal.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

WIDTH = 96  # the longest beginning by which the client's own texts are known has 83 letters
LONG = 120
FIRST = 2
EXPLAINED = 16
LISTS = {
    *("tools", "slash_commands", "skills", "capabilities", "names", "digests", "addedNames", "addedLines"),
    *("systemPrompt", "betas", "plugins", "readdedNames", "terminal_slash_commands", "commands", "agents"),
    *("skillFrontmatter", "systemTools", "systemPromptSections", "deferredBuiltinTools", "gridRows", "categories"),
}
COPIES = {
    "api-request-shape": ("shape",),
    "api-request": ("params", "tail", "cacheControl"),
    "agent_listing_delta": ("addedLines",),
    "deferred_tools_delta": ("addedLines",),
    "skill_listing": ("content", "digests"),
    "prompt_snapshot": ("tools", "systemPrompt", "toolSchemas", "userContext", "systemContext"),
}
"""Lines of a transcript that repeat what requests hold: that they are there is enough."""

WHOLE = {"sse", "user_id", "script", "signature"}
"""Ours, or no prose: answers of the scripted model, ids, the script of a workflow."""

MARKED = re.compile(
    r"<task-notification>|\[Subagent hand-back\]|<command-name>|<local-command|This session is being continued"
    r"|Another Claude session|\[Workflow harness|<fork-boilerplate>|The user sent a new|The coordinator sent"
    r"|Async agent launched|Base directory for this skill|Stop hook feedback|<session>|hook additional context"
    r"|Workflow launched|Command running in background|<agent-message"
)
"""Texts that carry ids or somebody's words between the vendor's: their frame stays."""

FRAME = re.compile(r"\s*(</?[a-z]|agentId:|output_file:|The report follows|Summary:|ARGUMENTS:|Task ID:|Run ID:)")


class Cut:
    """`ours`: the words of the script, which are kept wherever they stand."""

    def __init__(self, ours: Iterable[str], scrub: Callable[[str], str]) -> None:
        self._ours = sorted({line for words in ours for line in words.splitlines() if line.strip()})
        self._scrub = scrub

    def __call__(self, value: object, key: str = "") -> object:
        match value:
            case str():
                return self._scrub(value) if key in WHOLE else self.text(self._scrub(value))
            case list() if key in LISTS and all(isinstance(one, str) for one in value):
                return self._names(value)
            case list() if key == "tools":
                return [self._tool(one) for one in value]
            case list():
                return [self(one, key) for one in value]
            case dict() if value.get("type") in COPIES:
                return {name: self(one, name) for name, one in value.items() if name not in COPIES[value["type"]]}
            case dict():
                return {self._scrub(name): self(one, name) for name, one in value.items()}
        return value

    def text(self, text: str) -> str:
        if len(text) <= LONG:
            return text
        lines = text.split("\n")
        keep = self._framed if MARKED.search(text[:2000]) else self._vendor
        kept: list[str] = []
        cut: list[str] = []
        for index, line in enumerate([*lines, None]):
            if line is not None and not keep(index, line, lines):
                cut.append(line)
                continue
            if cut:
                kept.append(f"[{len(cut)} lines cut, {sum(map(len, cut))} characters]")
                cut = []
            if line is not None:
                kept.append(self._line(line))
        return "\n".join(kept)

    def _framed(self, index: int, line: str, lines: list[str]) -> bool:
        """Paragraphs stay apart, each with its beginning: a reader may go by them."""
        begins = line == "" or index == 0 or lines[index - 1] == ""
        return begins or index < 2 or bool(FRAME.match(line) or MARKED.search(line)) or self._said(line)

    def _vendor(self, index: int, line: str, lines: list[str]) -> bool:
        """The first line that says something, and the end of a reminder."""
        first = next((number for number, one in enumerate(lines) if one.strip() not in ("", "<system-reminder>")), 0)
        if index <= first or line.strip() == "</system-reminder>" or self._said(line):
            return True
        return line == "" and (index == len(lines) - 1 or self._said(lines[index + 1]) or self._said(lines[index - 1]))

    def _line(self, line: str) -> str:
        if (
            len(line) <= WIDTH + 22
            or (len(line) < 200 and line.startswith("<"))
            or (len(line) < 500 and self._said(line))
        ):
            return line
        tail = " The report follows:" if line.endswith(" The report follows:") else ""
        return f"{line[:WIDTH]}[... {len(line) - WIDTH - len(tail)} characters cut]{tail}"

    def _said(self, line: str) -> bool:
        return any(words in line for words in self._ours)

    def _names(self, names: list[str]) -> list[str]:
        if len(names) <= FIRST + 2:
            return [self.text(self._scrub(name)) for name in names]
        return [*self._names(names[:FIRST]), f"[{len(names) - FIRST} more cut]"]

    def _tool(self, tool: object) -> object:
        """What a tool is called; not how it is explained, nor what it takes."""
        if not isinstance(tool, dict) or "name" not in tool:
            return self(tool)
        short = {name: tool[name] for name in ("type", "name", "cache_control", "defer_loading") if name in tool}
        words = str(tool.get("description", ""))
        if len(words) > EXPLAINED:
            words = f"{words[:EXPLAINED]}[... {len(words) - EXPLAINED} characters cut]"
        return short | ({"description": words} if words else {})


def scrubber(folder: Path, url: str) -> Callable[[str], str]:
    """Folders, port, device and kernel of the recording machine become made-up ones."""
    names: Mapping[str, str] = {
        f"{folder}/work": "/home/dev/project",
        f"{folder}/config": "/home/dev/.claude",
        f"{folder}/home": "/home/dev",
        f"{folder}": "/home/dev/recording",
        dashed(f"{folder}/work"): "-home-dev-project",
        url.removeprefix("http://"): "127.0.0.1:8080",
    }
    patterns = (
        (re.compile(r"/tmp/claude-\d+/"), "/tmp/claude-1000/"),
        (re.compile(r"/tmp/cc-socks/\d+"), "/tmp/cc-socks/4242"),
        (re.compile(r"Linux \d[\w.-]+"), "Linux 6.8.0-generic"),
        (re.compile(r"(device_id\\*\":\\*\"|user_)[0-9a-f]{64}"), r"\g<1>" + "7e57" * 16),
        (re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"), "(mail)"),
    )

    def scrub(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        for pattern, new in patterns:
            text = pattern.sub(new, text)
        return text

    return scrub


def dashed(path: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "-", path)
