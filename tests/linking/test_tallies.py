"""The sums of each day are what the rows add up to, whatever came when; and nothing is in them twice."""

import random

import pytest

from ramify.ingest import Ingest, Prices
from ramify.linking.tallies import Side, Sum
from ramify.linking.world import World
from ramify.model.entity import Call, Conversation, Task
from ramify.model.observation import Observation
from ramify.model.prices import PRICES, price
from ramify.model.share import COUNTED, share_of
from ramify.model.tally import DAY, Tally, day_of, middle_of, quantile, step_of
from ramify.model.usage import NOTHING
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.linking.world_builder import SECOND
from tests.mesh_story import Mesh, model_answered, model_asked, returned, started
from tests.story import CASES, anthropic_cases, claude_cases, exchanges, reports

HOLDS = {"exchanges": "exchanges.jsonl", "transcripts": "transcripts", "stream-json": "stream.jsonl"}
PRICED = Prices(lambda model, at, tokens: price(model, at, tokens, PRICES))


def everything() -> list[Observation]:
    """The wire and the reports of all cases, each in its own order."""
    wire = [seen for case in anthropic_cases() for story in exchanges("anthropic", case) for seen in story]
    told = [
        seen for case in claude_cases() for source in ("exchanges", "transcripts", "stream-json")
        if (CASES / "claude" / case / HOLDS[source]).exists() for story in reports(CASES / "claude" / case, source) for seen in story
    ]  # fmt: skip
    mesh = Mesh()
    mesh.ask("t1", "Chef")
    mesh.say("t1", model_asked(model="m/x"))
    mesh.say("t1", model_answered(("c1", "stir", {})))
    mesh.say("t1", started("c1", "stir"), returned("c1", "stir", "done"))
    mesh.end("t1")
    return [*wire, *told, *mesh.observations()]


def stored(seen: list[Observation], seed: int) -> Sqlite:
    source = random.Random(seed)
    if seed:
        source.shuffle(seen)
    store = open_sqlite("memory:")
    ingest = Ingest(store, prices=PRICED)
    at = 0
    while at < len(seen):
        size = source.choice((1, 3, 20, 200))
        ingest.step(seen[at : at + size])
        if source.random() < 0.3:
            ingest.world.forget()  # as after another process has written
        at += size
    return store


def tallies(store: Sqlite) -> dict[str, Tally]:
    return {row.id: row for row in store.docs("tallies") if isinstance(row, Tally)}


def added_up(store: Sqlite) -> dict[tuple[object, ...], Sum]:
    """From nothing but the rows as they are."""
    ingest = Ingest(store)
    side = Side(World(ingest.reader, ingest.world.rules), now=True)
    sums: dict[tuple[object, ...], Sum] = {}
    for table in sorted(COUNTED):
        for row in store.docs(table):
            if (share := share_of(row)) is not None:
                for key, usage, status, lasted in side.of(share):
                    sums.setdefault(key, Sum()).add(1, usage, status, lasted)
    return sums


@pytest.mark.parametrize("seed", range(4))
def test_they_are_what_the_rows_add_up_to(seed: int) -> None:
    store = stored(everything(), seed)
    wanted = added_up(store)
    found = {(row.project, row.at, row.kind, row.agent, row.name): row for row in tallies(store).values()}
    assert set(found) == set(wanted)
    for key, row in found.items():
        told = wanted[key]
        assert (row.count, row.usage, row.milliseconds) == (told.count, told.usage, told.milliseconds), key
        assert (dict(row.outcomes), dict(row.times)) == (told.outcomes, told.times), key


def test_no_token_is_lost_and_none_counted_twice() -> None:
    store = stored(everything(), 1)
    rows = tallies(store).values()
    whole = sum((row.usage for row in rows if row.kind in ("calls", "extra")), NOTHING)
    assert whole == sum((row.usage for row in store.docs("conversations") if isinstance(row, Conversation)), NOTHING)
    tools = sum((row.usage for row in rows if row.kind == "tools"), NOTHING)
    asking = [row for row in store.docs("calls") if isinstance(row, Call) and row.conversation and row.uses]
    assert (tools.input, tools.output) == (sum(row.usage.input for row in asking), sum(row.usage.output for row in asking))
    assert sum(row.count for row in rows if row.kind == "tasks") == len([row for row in store.docs("tasks") if isinstance(row, Task)])


def test_a_day_is_utc_and_a_task_counts_where_it_was_opened() -> None:
    assert day_of(DAY - 1) == 0
    assert day_of(DAY + 5 * SECOND) == DAY


@pytest.mark.parametrize("milliseconds", [1, 2, 3, 7, 9, 100, 999, 1_000, 61_500, 3_600_000, 900_000_000])
def test_a_time_is_known_to_six_per_cent(milliseconds: int) -> None:
    assert abs(middle_of(step_of(milliseconds)) - milliseconds) <= milliseconds * 0.0625


def test_steps_never_go_back() -> None:
    steps = [step_of(milliseconds) for milliseconds in range(20_000)]
    assert steps == sorted(steps)


def test_half_of_the_times_lie_below_the_middle() -> None:
    times = {step_of(10): 49, step_of(1_000): 51}
    assert quantile(times.items(), 0.5) == pytest.approx(1_000, rel=0.07)
    assert quantile(times.items(), 0.49) == pytest.approx(10, rel=0.07)
    assert quantile((), 0.5) is None
