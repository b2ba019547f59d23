"""The scripted model: which scene a request belongs to, which of its turns is due, and what is said there."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ramify.demo.wire import Json, Reply, say, text, tool

Line = Reply | Callable[[Json], Reply]
"""What the model says; a function where it names something that only the request knows."""

Turn = tuple[Line, ...]
"""One point of a scene, attempt by attempt; the last one is repeated."""

Scenes = Mapping[str, tuple[Turn, ...]]
"""From the prompt that begins a scene, whoever wrote it, to what the model says turn by turn."""

COMPACTION = ("CRITICAL: Respond with TEXT ONLY", "Your task is to create a detailed summary of the conversation")
REPEATED = "The following skills were invoked EARLIER"
"""After a compaction the client repeats what commands had said: nobody says it again."""


@dataclass(frozen=True)
class Cue:
    """Where in the script a request stands. `scene` is the prompt that began it, or the name of a helper."""

    scene: str
    turn: int
    helper: str | None = None


@dataclass
class Script:
    """A scene begins with the last known prompt in the request; answers since then count its turns.

    So agents that run at once never disturb each other, and a session that goes on finds its place again.
    """

    scenes: Scenes
    summaries: tuple[str, ...] = ("Summary: nothing of note.",)
    asked: Counter[Cue] = field(default_factory=Counter)
    number: int = 0

    def __call__(self, body: Json) -> tuple[Cue, Reply]:
        cue = self.cue(body)
        self.asked[cue] += 1
        self.number += 1
        line = self.reply(cue)
        reply = line(body) if callable(line) else line
        return cue, reply if reply.usage != Reply().usage else replace(reply, usage=figures(self.number))

    def cue(self, body: Json) -> Cue:
        helper = helper_of(body)
        if helper:
            return Cue(helper, 0, helper)
        messages = body.get("messages", [])
        for index in range(len(messages) - 1, -1, -1):
            if messages[index]["role"] != "assistant":
                for words in reversed(list(texts(messages[index]))):
                    found = [scene for scene in self.scenes if scene in words]
                    if found and not words.startswith(REPEATED):
                        scene = max(found, key=len)
                        after = messages[index + 1 :]
                        return Cue(scene, sum(one["role"] == "assistant" for one in after))
        return Cue("", 0)

    def reply(self, cue: Cue) -> Line:
        count = self.asked[cue] - 1
        if cue.helper == "compaction":
            return say(self.summaries[min(count, len(self.summaries) - 1)])
        if cue.helper == "title":
            return say('{"title": "A short title"}')
        if cue.helper:
            return say("Nothing.")
        turns = self.scenes.get(cue.scene, ())
        if cue.turn >= len(turns):
            return say("Nothing to add.")
        return turns[cue.turn][min(count, len(turns[cue.turn]) - 1)]


def figures(number: int) -> dict[str, int]:
    """Different for every answer, so that a figure counted twice or left out shows in the sum."""
    return {
        "input_tokens": 2 + number,
        "output_tokens": 40 + 3 * number,
        "cache_read_input_tokens": 10_000 + 100 * number,
        "cache_creation_input_tokens": 5 * number,
    }


def texts(message: Json) -> Iterator[str]:
    if isinstance(message["content"], str):
        yield message["content"]
        return
    for block in message["content"]:
        if block["type"] == "text":
            yield block["text"]


def helper_of(body: Json) -> str | None:
    """The client's own calls, told by what it writes there."""
    system = body.get("system") or ""
    system = system if isinstance(system, str) else "\n".join(block["text"] for block in system)
    users = [message for message in body.get("messages", []) if message["role"] == "user"]
    last = "\n".join(texts(users[-1])) if users else ""
    ends = list(texts(users[-1]))[-1:] if users else []
    if any(end.lstrip().startswith(COMPACTION) for end in ends):
        return "compaction"
    if last.strip() == "Warmup":
        return "warmup"
    if "Extract any file paths" in system:
        return "path-extraction"
    if not body.get("tools") and ("title" in system.lower() or "isNewTopic" in system):
        return "title"
    return None


def once(*blocks: Json) -> Turn:
    return (Reply(content=blocks),)


def said(words: str) -> Turn:
    return (say(words),)


def agent(prompt: str, kind: str = "general-purpose", *, later: bool = False, **more: object) -> Json:
    call = {"description": "Some work", "prompt": prompt, "subagent_type": kind, "run_in_background": later}
    return tool("Agent", call | more)


def task(prompt: str, kind: str = "general-purpose", **more: object) -> Json:
    """As clients up to 2.1.30 knew it."""
    return tool("Task", {"description": "Some work", "prompt": prompt, "subagent_type": kind} | more)


def shell(command: str, **more: object) -> Json:
    return tool("Bash", {"command": command, "description": "A look"} | more)


__all__ = ["Cue", "Reply", "Scenes", "Script", "Turn", "agent", "once", "said", "say", "shell", "task", "text", "tool"]
