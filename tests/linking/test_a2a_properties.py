"""Random traffic of A2A, with everything that goes wrong in it: any order, doubles, cuts and batches give the same rows."""

import base64
import random
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from ramify.model.observation import Record
from tests.a2a_verdicts import frames, in_random_batches, rows, tell, told
from tests.linking.a2a_builder import Connection, Wire, artifact, message, records, task
from tests.story import row_differences

STATES = ["WORKING", "WORKING", "WORKING", "INPUT_REQUIRED", "COMPLETED", "FAILED", "RESTING", "DREAMING"]
SPANS = ["00-" + letter * 32 + "-" + letter * 16 + "-01" for letter in "ab"]


class Traffic:
    """A few tasks of a few agents, and anything that can be said about them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.wire = chance, Wire()
        self.names = [f"t{number}" for number in range(chance.randint(2, 5))]
        self.lines: list[tuple[Connection, str]] = []
        self.count = 0

    def run(self) -> list[dict[str, Any]]:
        acts = [self.begin, self.say, self.say, self.say, self.grow, self.grow, self.subscribe, self.read, self.push, self.stop, self.reply, self.go_on]
        self.begin()
        for _ in range(self.chance.randint(5, 25)):
            if self.chance.random() < 0.2:
                self.wire.now -= 1_000  # two at the same time
            self.chance.choice(acts)()
        return self.wire.frames

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def agent(self) -> str:
        return self.chance.choice("aab")

    def refs(self) -> list[str]:
        return self.chance.sample([*self.names, "ghost"], self.chance.choice((0, 0, 1, 1, 2)))

    def spoken(self, role: str = "agent", **more: Any) -> dict[str, Any]:
        if self.chance.random() < 0.3:
            more["metadata"] = {"referencedWorkflow": {"workflowName": self.new("work")}}
        elif self.chance.random() < (0.2 if role == "user" else 0.1):
            more["metadata"] = {"parentTaskId": self.chance.choice(self.names)}
        repeated = self.chance.random() < 0.2
        return message("hm", f"again-{role}" if repeated else self.new("m"), role, self.refs(), **more)

    def stamp(self) -> str:
        """Sometimes an older one."""
        self.wire.now -= (back := self.chance.choice((0, 0, 0, 50_000)))
        text = self.wire.stamp()
        self.wire.now += back
        return text

    # -- acts ----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        name, agent = self.chance.choice(self.names), self.agent()
        headers = {"traceparent": self.chance.choice(SPANS)} if self.chance.random() < 0.3 else {}
        said = self.spoken("user", contextId="ctx")
        line = self.wire.connect(agent).send(said, headers=headers).open()
        line.task(name, self.chance.choice(("ctx", "other")), history=[said])
        self.lines.append((line, name))

    def line(self) -> tuple[Connection, str]:
        if not self.lines:
            self.begin()
        return self.chance.choice(self.lines)

    def say(self) -> None:
        line, name = self.line()
        said = self.spoken() if self.chance.random() < 0.7 else None
        line.status(name, self.chance.choice(STATES), said, time=self.stamp())

    def grow(self) -> None:
        line, name = self.line()
        made = artifact(self.chance.choice(("r", "s")), *(self.chance.choice("xyz") for _ in range(self.chance.randint(0, 2))))
        line.chunk(name, made, append=self.chance.random() < 0.6, last=self.chance.random() < 0.2)

    def shown(self, name: str) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self.chance.random() < 0.5:
            more["artifacts"] = [artifact("r", *(self.chance.choice("xyz") for _ in range(self.chance.randint(0, 4))))]
        if self.chance.random() < 0.5:
            more["history"] = [self.spoken("user"), self.spoken()]
        time = self.stamp() if self.chance.random() < 0.7 else ""
        return task(name, "ctx", self.chance.choice(STATES), self.spoken(), time, **more)

    def subscribe(self) -> None:
        name = self.chance.choice(self.names)
        line = self.wire.connect(self.agent()).ask("SubscribeToTask", {"id": name}).open()
        if self.chance.random() < 0.6:
            line.event({"task": self.shown(name)})
        self.lines.append((line, name))

    def read(self) -> None:
        line = self.wire.connect(self.agent()).ask("GetTask", {"id": "x"})
        if self.chance.random() < 0.2:
            line.refuse(-32001)
        elif self.chance.random() < 0.3:
            line.answer({"tasks": [self.shown(name) for name in self.names]})
        else:
            line.answer(self.shown(self.chance.choice(self.names)))

    def push(self) -> None:
        name = self.chance.choice(self.names)
        made = {"taskId": name, "artifact": artifact("r", self.chance.choice("xyz")), "append": self.chance.random() < 0.6}
        self.wire.connect(self.agent()).push({"artifactUpdate": made} if self.chance.random() < 0.6 else self.shown(name))

    def stop(self) -> None:
        line, name = self.line()
        self.lines.remove((line, name))
        self.chance.choice((line.end, line.cut, line.fail, lambda: line.cut("client")))()

    def reply(self) -> None:
        self.wire.connect(self.agent()).send(self.spoken("user"), "SendMessage").answer({"message": self.spoken()})

    def go_on(self) -> None:
        name = self.chance.choice(self.names)
        line = self.wire.connect(self.agent()).send(self.spoken("user", taskId=name)).open()
        line.status(name, "WORKING", time=self.stamp())
        self.lines.append((line, name))


def recut(frames: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Streams in other slices: whole events, several at once, and halves."""
    numbers: dict[str, int] = {}
    found: list[dict[str, Any]] = []
    for frame in frames:
        raw = frame.get("raw", "").encode()
        place = chance.randint(0, len(raw))
        pieces = [raw[:place], raw[place:]] if frame["kind"] == "sse" and chance.random() < 0.4 else [raw]
        for piece in pieces:
            number = numbers[frame["connection"]] = numbers.get(frame["connection"], -1) + 1
            coded = {"raw_b64": base64.b64encode(piece).decode()} if frame["kind"] == "sse" else {}
            found.append({**{name: value for name, value in frame.items() if name != "raw"}, **coded, "seq": number})
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_any_order_doubles_and_batches_give_the_same_rows(seed: int) -> None:
    chance = random.Random(seed)
    seen = records(Traffic(chance).run())
    truth = rows(told(seen, 1000))
    for _ in range(2):
        mixed = chance.sample([*seen, *seen[::3]], len(seen) + len(seen[::3]))
        assert row_differences(truth, rows(in_random_batches(mixed, chance))) == []
    assert row_differences(truth, rows(told(seen, 1))) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_missing_makes_no_difference_to_the_rest(seed: int) -> None:
    """Frames that never came, in any order; when they come after all, everything is as if they had never been missing."""
    chance = random.Random(seed)
    seen = records(recut(Traffic(chance).run(), chance))
    there = [one for one in seen if chance.random() < 0.8]
    store = in_random_batches(chance.sample(there, len(there)), chance)
    assert row_differences(rows(told(there, 1000)), rows(store)) == []
    tell(store, chance.sample(seen, len(seen)), 7)
    assert row_differences(rows(told(seen, 1)), rows(store)) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_where_slices_are_cut_makes_no_difference(seed: int) -> None:
    chance = random.Random(seed)
    frames = Traffic(chance).run()
    keep = ("title", "prompt", "prompt_author", "parent", "status", "native_status", "flags", "closed", "opened", "conversation")
    one, two = rows(told(records(frames))), rows(told(records(recut(frames, chance))))
    assert one.keys() == two.keys()
    for place, row in one.items():
        if place.startswith("tasks/"):
            assert {name: row[name] for name in keep} == {name: two[place][name] for name in keep}, place
        if place.startswith("artifacts/"):
            assert (row["parts"], row["partial"]) == (two[place]["parts"], two[place]["partial"]), place


@settings(max_examples=40, deadline=None)
@example(349218)
@given(st.integers(0, 2**32))
def test_frames_that_were_damaged_on_the_way_harm_nothing_else(seed: int) -> None:
    """Bytes turned over at random: numbers, names, ids and bodies that are not what they were, doubles among them."""
    chance = random.Random(seed)
    seen = [damaged(one, chance) if chance.random() < 0.3 else one for one in records(frames("v1-refine"))]
    mixed = chance.sample(seen, len(seen))
    assert row_differences(rows(told(seen, 1000)), rows(in_random_batches(mixed, chance))) == []


def damaged(seen: Record, chance: random.Random) -> Record:
    raw = bytearray(seen.body)
    for _ in range(chance.randint(1, 4)):
        raw[chance.randrange(len(raw))] = chance.choice(b'0123456789abc"{}[],: \\n\xff')
    return structs.replace(seen, body=bytes(raw))


def test_traffic_has_links_mentions_and_artifacts_in_it() -> None:
    """Random traffic that shows nothing would prove nothing."""
    found = [row for seed in range(20) for place, row in rows(told(records(Traffic(random.Random(seed)).run()))).items() if place.startswith("tasks/")]
    assert sum(row["parent"] != "" for row in found) > 20
    assert sum(bool(row["refers"]) for row in found) > 20
    assert sum(row["named"] for row in found) > 5
    assert {flag for row in found for flag in row["flags"]} >= {"stalled", "late"}
