"""Random small worlds: a few clients, and every odd turn that real ones are known to take.

A world takes only some kinds of turns (each world others), so that rare ones meet each other often enough.
"""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from msgspec import structs

from ramify.model import ids
from ramify.model.ids import observation_id
from ramify.model.observation import Correction, Response
from tests.linking.world_builder import (
    BEGIN,
    LOST,
    NOTHING,
    SECOND,
    Block,
    Line,
    Story,
    agent,
    notification,
    reminder,
    report,
    result,
    text,
    use,
)

WORDS = ("hello", "look", "count", "go on")
ANSWERS = ("fine", "done", "look")
AGENTS = ("a1", "a2", "a3")
SCOPES: tuple[dict[str, str], ...] = (
    {}, {}, {"session": "s"}, {"session": "s"}, {"session": "t"}, {"user": "ann"}, {"user": "bob"}, {"project": "other"}
)
SESSION, AGENT, PARENT = "X-Claude-Code-Session-Id", "x-claude-code-agent-id", "x-claude-code-parent-agent-id"
CLEARED = "[Old tool result content cleared]"
LAUNCHED = "Async agent launched successfully."
FORKED = "Fork started — working on the directive."
DIRECTIVE = "<fork-boilerplate>\nYou are a forked worker.\n</fork-boilerplate>\nYour directive: look"
SUMMARIES = ("All is well.", "They counted " + "and counted " * 12)
CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
)


class Play:
    """Takes random turns on a few lines; the lines know their scope."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.story = Story()
        self.count = 0
        self.lines: list[Line] = []
        self.calls: list[str] = []
        self.tools: list[str] = ["toolu_3"]
        self.offers: list[tuple[Line, Block]] = []
        common: list[Callable[[], None]] = [self.go_on, self.go_on, self.go_on, self.open]
        rare = [
            self.spawn, self.fork, self.again, self.compact, self.help_oneself, self.clear, self.rewrite, self.name_previous,
            self.fork_agent, self.start_session, self.correct, self.leave, self.prefill,
        ]
        self.turns = common + [turn for turn in rare for _ in range(self.pick(0, 0, 1, 2))]
        self.answers = ["ok", "ok", "ok"] + [kind for kind in ("tool", "agent", "two", "workflow", "own", "error", "cut", "lost", "late", "running", "mute") for _ in range(self.pick(0, 1, 1))]
        self.ties = self.pick(10, 10, 3)

    # -- chance ------------------------------------------------------------------------------------------------------

    def pick(self, *options: Any) -> Any:
        return options[self.chance.randrange(len(options))]

    def one_in(self, many: int) -> bool:
        return self.chance.randrange(many) == many - 1

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def tool(self) -> str:
        """Some gateways count their ids from one, so that two calls have the same."""
        if self.one_in(12):
            return str(self.pick(*self.tools))
        self.tools.append(self.name("toolu_"))
        return self.tools[-1]

    def line(self) -> Line:
        return self.lines[self.chance.randrange(len(self.lines))]

    # -- one call ----------------------------------------------------------------------------------------------------

    def call(self, line: Line, **how: Any) -> None:
        name = self.name("c")
        self.calls.append(name)
        how = {"overlap": self.pick(False, True), "took": self.pick(1.0, 1.0, 0.0, 4.0), **how}
        if self.one_in(self.ties):
            how["at"] = max(self.story.now - self.pick(0.25, 1.25, 2.0), 0.0)  # the same tick as the one before, perhaps
        kind = self.pick(*self.answers)
        match kind:
            case "error":
                line.call(name, "", http=529, **how)
            case "cut":
                line.call(name, "a long story", cut="content_block_stop", outcome="aborted", keep=self.pick(True, False), **how)
            case "lost":
                line.call(name, LOST, **how)
            case "running":
                line.call(name, NOTHING, **how)
            case "mute":
                line.call(name, [], **how)
            case _:
                line.call(name, self.answer(line, kind), keep=not self.one_in(12), **how)
        if kind == "late":
            self._first_thought_lost()

    def answer(self, line: Line, kind: str) -> Any:
        match kind:
            case "tool":
                return use(self.tool(), command="ls")
            case "own":
                return self._offered(line, [use(self.tool(), "delegate", job=self.pick(*WORDS))])
            case "workflow":
                return self._offered(line, [use(self.tool(), "Workflow", script="two agents")])
            case "agent" | "two":
                return self._offered(line, [agent(self.tool(), self.pick(*WORDS)) for _ in range(1 if kind == "agent" else 2)])
            case _:
                return self.pick(*ANSWERS)

    def _offered(self, line: Line, used: list[Block]) -> list[Block]:
        self.offers += [(line, block) for block in used]
        return used

    def _first_thought_lost(self) -> None:
        request, answer = self.story.seen[-1]
        assert isinstance(answer, Response)
        lost = structs.replace(answer, id=observation_id("lost", request.id), at=answer.at + SECOND, status=0, headers=(), body=b"", outcome="lost")
        self.story.seen[-1].append(lost)

    # -- turns -------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        if self.lines:
            self.pick(*self.turns)()
        else:
            self.open()

    def open(self) -> None:
        line = self.story.line(**self.pick(*SCOPES))
        self.lines.append(line.say(self.pick(*WORDS)))
        self.call(line)

    def go_on(self) -> None:
        line = self.line()
        last = line.messages[-1] if line.messages else {"role": "assistant", "content": []}
        if last["role"] == "user":
            if self.pick(False, True):
                line.say(self.pick(*WORDS))
            return self.call(line)
        said: list[Any] = [self.outcome(block) for block in last["content"] if block["type"] == "tool_use"]
        if not said or self.one_in(4):
            said.append(self.pick("hello", "look", "next", reminder(), self.notice(), "[Request interrupted by user]"))
        if self.one_in(12):
            line.say(self.notice(), role="system")
        line.say(said)
        return self.call(line)

    def notice(self) -> str:
        return notification(self.pick(*AGENTS), self.pick(*self.tools), self.pick("completed", "failed", "killed"))

    def outcome(self, block: Block) -> Block:
        if block["name"] == "Bash" or self.one_in(8):
            return result(block["id"], self.pick(*ANSWERS), is_error=self.one_in(4))
        if self.one_in(4):
            return result(block["id"], LAUNCHED)
        return report(block["id"], self.pick("", *AGENTS), self.pick(*ANSWERS))

    def spawn(self) -> None:
        if not self.offers:
            return self.go_on()
        caller, block = self.pick(*self.offers)
        line = caller.copy(messages=[])
        if SESSION in caller.headers and self.pick(False, True):
            line.headers = self._agent_of(caller)
        given = block["input"]
        prompt = given.get("prompt") or given.get("job") or f"[Workflow harness] You are step {self.pick(1, 2)}"
        self.lines.append(line.say(reminder(), prompt) if self.pick(True, False) else line.say(prompt))
        return self.call(line)

    def _agent_of(self, caller: Line) -> Block:
        mine, above = self.pick(*AGENTS), caller.headers.get(AGENT)
        headers = {**caller.headers, AGENT: mine}
        headers.pop(PARENT, None)
        return headers | ({PARENT: above} if above and above != mine else {})

    def fork(self) -> None:
        line = self.line()
        other = line.copy(messages=copy.deepcopy(line.messages[: self.chance.randint(0, len(line.messages))]))
        if self.one_in(3):
            other.headers = self.pick({}, {SESSION: "s"}, {SESSION: "u"}, {SESSION: "u"})
        if self.one_in(4):
            other.say(self.notice())
        self.lines.append(other.say(self.pick(*WORDS)))
        self.call(other)

    def again(self) -> None:
        """The same words once more; sometimes the client says something else beside them."""
        line = self.line()
        if not line.messages or line.messages[-1]["role"] != "user":
            return self.go_on()
        if self.one_in(3):
            line = line.copy()
            line.messages[-1]["content"].append(reminder("be quick"))
        return self.call(line)

    def compact(self) -> None:
        line = self.line()
        asking = line.copy()
        asking.say("CRITICAL: Respond with TEXT ONLY")
        words = self.pick(*SUMMARIES)
        name = self.name("c")
        asking.call(name, *([""] if self.one_in(6) else [f"<summary>{words}</summary>"]), **({"http": 529} if self.one_in(6) else {}))
        carried = copy.deepcopy(line.messages[-self.pick(1, 2) :]) if self.one_in(3) else []
        line.messages = []
        line.say(CONTINUED + words)
        line.messages += carried
        line.say(self.pick(*WORDS))
        self.call(line)

    def help_oneself(self) -> None:
        helper = self.line().copy(messages=[], system="You are naming a coding session", tools=None)
        helper.ask(self.name("c"), "name it", "A title")

    def clear(self) -> None:
        """The client replaces an old result by a placeholder."""
        self._change_result(CLEARED)

    def rewrite(self) -> None:
        """The same tool call comes back with another result."""
        self._change_result(self.pick("other", *ANSWERS))

    def _change_result(self, words: str) -> None:
        line = self.line() if self.pick(True, False) else self.line().copy()
        results = [block for message in line.messages for block in message["content"] if block["type"] == "tool_result"]
        if results:
            self.pick(*results)["content"] = words
        line.say(self.pick(*WORDS))
        if line not in self.lines:
            self.lines.append(line)
        self.call(line)

    def name_previous(self) -> None:
        """The caller names the answer that it continues; some send only what is new."""
        line, previous = self.line(), f"msg_{self.pick(*self.calls)}"
        if self.pick(True, False):
            short = line.copy(messages=[]).say(self.pick(*WORDS))
            return self.call(short, body={"thread": {"type": "continue", "previous_message_id": previous}})
        line.say(self.pick(*WORDS))
        return self.call(line, body={"diagnostics": {"previous_message_id": previous}})

    def fork_agent(self) -> None:
        """An agent that inherits the whole history, and the result of the call that started it."""
        offers = [(line, block) for line, block in self.offers if block["name"] == "Agent" and SESSION in line.headers]
        if not offers:
            return self.go_on()
        caller, block = self.pick(*offers)
        line = caller.copy()
        if self.pick(True, False):
            line.headers = self._agent_of(caller)
        self.lines.append(line.say(result(block["id"], FORKED), DIRECTIVE))
        return self.call(line)

    def start_session(self) -> None:
        """A client whose agents have sessions of their own, which name the one that started them."""
        above = self.pick("s", "t", "p", "q")
        headers = {"x-session-id": self.pick("p", "q", "r"), "x-parent-session-id": above}
        line = self.story.line(headers=headers).say(self.pick(*WORDS))
        self.lines.append(line)
        self.call(line)

    def correct(self) -> None:
        """A person's word, about somebody who may not have been seen yet."""
        name = self.name("k")
        call = observation_id("told", self.pick(*self.calls))
        child = self.pick(ids.opened_task_id(ids.call_id(call)), ids.agent_task_id("default", "s", self.pick(*AGENTS)))
        parent = self.pick(
            ids.tool_call_id("default", self.pick("", "s"), self.pick(*self.tools)),
            ids.opened_task_id(ids.call_id(observation_id("told", self.pick(*self.calls)))),
        )
        at = BEGIN + int(self.story.now * SECOND)
        act = self.pick("link", "unlink")
        self.story.seen.append([Correction(observation_id("said", name), "default", at, "person", act, child, parent if act == "link" else "")])

    def leave(self) -> None:
        """The session id goes missing, or comes late."""
        line = self.line().copy()
        line.headers = {} if line.headers else {SESSION: self.pick("s", "u")}
        self.lines.append(line.say(self.pick(*WORDS)))
        self.call(line)

    def prefill(self) -> None:
        """The request begins the answer itself."""
        line = self.line()
        if not line.messages or line.messages[-1]["role"] != "user":
            line.say(self.pick(*WORDS))
        begun = line.copy(messages=[*line.messages, {"role": "assistant", "content": [text("I")]}])
        self.call(begun)
        self.lines.append(begun)


def play(chance: Random, turns: int) -> Story:
    world = Play(chance)
    for _ in range(turns):
        world.turn()
    return world.story
