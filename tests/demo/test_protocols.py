"""The demonstration tells its story by every way in, and each gives the tree it should."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from ramify.demo import catalogue, scenario
from ramify.demo.agents import at_work
from ramify.demo.upstream import serving
from ramify.query.service import Questions
from ramify.served import open_served
from ramify.server import listening
from ramify.settings import load
from ramify.showing import SEED, act
from ramify.wiring import now


async def test_all_of_it_is_there_in_the_end(tmp_path: Path) -> None:
    settings = replace(load({"store": f"sqlite:{tmp_path}/demo.db"}, {}), port=0)
    actors = catalogue.agents(0.0, SEED)
    async with serving(scenario.script(0.0)) as model, at_work(actors) as agents:
        ramify = open_served(replace(settings, anthropic_upstream=model.url, a2a=agents))
        async with listening(ramify, now) as address, asyncio.timeout(60):
            for actor in actors:
                actor.reach = {name: f"{address}/a2a/{name}/" for name in agents}
            await act(ramify, address, now, 0.0)
            await asyncio.to_thread(ramify.pipeline.flush)
        check(ramify.questions)
        ramify.close()


def check(ask: Questions) -> None:
    roots = {task["prompt"] or task["title"]: task for task in ask.tasks(roots=True, limit=0)["items"]}
    planned = ask.tree(roots[catalogue.CATALOGUE]["id"])
    assert {(child["title"], child["status"], child["agent"]) for child in planned["children"]} == {
        ("Catalogue texts", "completed", "writer"),
        ("Printing quote", "completed", "printer"),
    }
    texts = next(child for child in planned["children"] if child["agent"] == "writer")
    assert len(ask.task(texts["id"])["artifacts"][0]["parts"]) == 6
    stock = ask.tree(roots["Which of the spring teas are running low?"]["id"])
    assert [(child["agent"], child["status"]) for child in stock["children"]] == [("StockAgent", "completed")]
    assert stock["tree_usage"]["input"] == 812 + 640 + 1020
    synced = [task for task in ask.tasks(limit=0)["items"] if task["operation"]]
    assert sorted(task["status"] for task in synced) == ["completed"] * 5 + ["failed"]
    assert ask.conversation(scenario.SESSION)["tasks"] == 7
