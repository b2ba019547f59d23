"""A transcript as Markdown. What agents said stands in fences that it cannot close, and nothing of it is markup."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ramify.exporting.wish import LEFT_OUT, Wish, cleaned, without_results
from ramify.model.steering import BUT_BREAKS, picture
from ramify.query.scope import Scope
from ramify.query.service import Questions

Shape = dict[str, Any]
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&:@])")
TICKS = re.compile(r"`{3,}")
LONGEST_TITLE = 120
HARNESS = ("harness", "system")


def write(questions: Questions, scope: Scope, wish: Wish) -> Iterator[bytes]:
    for piece in _pieces(questions, scope, wish):
        yield piece.encode("utf-8", "replace")


def _pieces(questions: Questions, scope: Scope, wish: Wish) -> Iterator[str]:
    numbers = numbered(scope.tasks)
    yield f"# {plain(scope.title) or 'A run without a title'}\n\n{plain(scope.entity)} `{scope.id}`\n\n"
    yield "".join(outline(task, numbers[task["id"]]) for task in scope.tasks)
    for task in scope.tasks:
        yield section(questions, task, numbers, wish)


def numbered(tasks: Sequence[Shape]) -> dict[str, str]:
    """1, 1.1, 1.2, 2 …: by where a task stands among those that the same one gave."""
    found: dict[str, str] = {}
    count: dict[str, int] = {}
    for task in tasks:
        parent = found.get((task["link"] or {}).get("parent") or "", "")
        count[parent] = count.get(parent, 0) + 1
        found[task["id"]] = f"{parent}.{count[parent]}" if parent else str(count[parent])
    return found


def outline(task: Shape, number: str) -> str:
    return f"{'  ' * number.count('.')}- {number} {heading(task)}: {plain(task['status'])}, {spent(task['usage'])}\n"


def heading(task: Shape) -> str:
    agent = task["agent_type"] or task["agent"]
    title = plain(cleaned(task["title"] or "")) or "without a prompt"
    return f"{plain(agent)}: {title}" if agent else title


def spent(usage: Shape) -> str:
    if not usage["calls"]:
        return "no calls"
    tokens = usage["input"] + usage["cache_read"] + usage["cache_write"]
    cost = f", ${usage['cost_usd']:.4f}" if usage["cost_usd"] is not None else ""
    return f"{usage['calls']} calls, {tokens:,} tokens in, {usage['output']:,} out{cost}"


def section(questions: Questions, task: Shape, numbers: dict[str, str], wish: Wish) -> str:
    level = min(2 + numbers[task["id"]].count("."), 6)
    lines = [f"\n{'#' * level} {numbers[task['id']]} {heading(task)}\n"]
    facts = [f"`{task['id']}`", plain(task["status"]), f"opened {task['opened']}", f"closed {task['closed']}" if task["closed"] else "not closed"]
    lines.append(", ".join(facts) + "\n")
    if task["link"]:
        link = task["link"]
        lines.append(f"Given by {numbers.get(link['parent']) or plain(link['parent'])} ({plain(link['rule'])}, certainty {link['certainty']})\n")
    spawned: dict[str, list[str]] = {}
    for tool in _all(questions.tools, task["id"]):
        spawned[tool["call_id"]] = [numbers[id] for id in tool["spawned"] if id in numbers]
    return "\n".join(lines + [text for _, text in sorted(entries(questions, task, spawned, wish), key=lambda one: one[0])]) + "\n"


def words_of(messages: Iterable[Shape], member: str) -> set[str]:
    """What blocks say there. They are as agents wrote them, and may say anything."""
    blocks = (block for message in messages for block in message["blocks"] if isinstance(block, dict))
    return {word for block in blocks if isinstance(word := block.get(member), str)}


def entries(questions: Questions, task: Shape, spawned: dict[str, list[str]], wish: Wish) -> Iterator[tuple[str, str]]:
    """With their times. Tools of protocols that tell of them by themselves stand between the messages."""
    messages = cleaned(_all(questions.messages, task["id"]))
    named = words_of(messages, "id")
    for message in messages if wish.results else without_results(messages):
        yield message["timestamp"] or "", said(message, spawned)
    for tool in cleaned(_all(questions.tools, task["id"])):
        if tool["call_id"] not in named:
            yield tool["timestamp"] or "", used(tool, spawned, wish)
    shown = words_of(messages, "thinking")
    for thought in cleaned(questions.reasoning(task["id"], limit=0, histories=False)["items"]):
        if thought["text"] and thought["text"] not in shown:
            yield thought["timestamp"] or "", f"*{plain(thought['kind'])}* {thought['timestamp'] or ''}\n\n{fence(thought['text'])}"
    for artifact in cleaned(_all(questions.artifacts, task["id"])):
        yield artifact.get("timestamp") or "", f"**produced** {plain(artifact.get('name') or artifact['artifactId'])}\n\n{fence(artifact['parts'])}"


def said(message: Shape, spawned: dict[str, list[str]]) -> str:
    author = " ".join(plain(word) for word in (message["author"], message["author_kind"]) if word)
    head = f"**{author}** {message['timestamp'] or ''}"
    if message["author"] in HARNESS:
        return f"{head}\n\n<details><summary>{author}</summary>\n\n{''.join(block_text(block, spawned) for block in message['blocks'])}\n</details>\n"
    return f"{head}\n\n" + "".join(block_text(block, spawned) for block in message["blocks"])


def block_text(block: Any, spawned: dict[str, list[str]]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return fence(text)
        case {"type": "thinking", "thinking": text}:
            return f"*thinking*\n\n{fence(text or '(withheld)')}"
        case {"type": "tool_use", "name": name}:
            started = spawned.get(str(block.get("id"))) or []
            given = f", which started {', '.join(started)}" if started else ""
            return f"*uses* **{plain(name)}**{given}\n\n{fence(block.get('input'))}"
        case {"type": "tool_result"}:
            content = block.get("content")
            texts = [one["text"] for one in content if isinstance(one, dict) and isinstance(one.get("text"), str)] if isinstance(content, list) else []
            whole = isinstance(content, list) and len(texts) == len(content)
            return f"*result*{' (an error)' if block.get('is_error') else ''}\n\n{fence(chr(10).join(texts) if whole else content)}"
    return fence(block)


def used(tool: Shape, spawned: dict[str, list[str]], wish: Wish) -> str:
    started = spawned.get(tool["call_id"]) or []
    given = f", which started {', '.join(started)}" if started else ""
    result = tool["result"] if wish.results or tool["result"] is None else LEFT_OUT
    shown = f"*result*\n\n{fence(result)}" if result is not None else ""
    return f"*uses* **{plain(tool['name'])}**{given}: {plain(tool['status'])} {tool['timestamp'] or ''}\n\n{fence(tool['args'])}{shown}"


def fence(value: Any) -> str:
    """Longer than any fence inside. What would steer a terminal, or deceive the eye, becomes a picture of itself."""
    given = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    text = BUT_BREAKS.sub(picture, given.replace("\r\n", "\n"))
    ticks = "`" * max([3, *(len(found) + 1 for found in TICKS.findall(text))])
    kind = "text" if isinstance(value, str) else "json"
    return f"{ticks}{kind}\n{text}\n{ticks}\n\n"


def plain(value: Any) -> str:
    """One line that Markdown takes for nothing but words."""
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in str(value or "")).split())
    return MARKUP.sub(r"\\\1", words if len(words) <= LONGEST_TITLE else words[: LONGEST_TITLE - 1] + "…")


def _all(ask: Any, id: str) -> list[Shape]:
    found: list[Shape] = ask(id, limit=0)["items"]
    return found
