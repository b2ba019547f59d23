"""The tea shop's spring catalogue, by agents that ask agents: texts in pieces, a quote that waits for a person's word."""

import asyncio
from typing import Any

import aiohttp

from ramify.demo.agents import Agent, Step, answer, listen

CATALOGUE = "Plan the spring catalogue: six teas, a price for 2,000 copies."
TEXTS = "Write a text of two lines for each of the six spring teas."
QUOTE = "Ask for a price: 2,000 copies, sixteen pages."
NAMES = ("planner", "writer", "printer")
PATIENCE = 8.0  # seconds at pace 1
PAPER = {"type": "object", "required": ["paper"], "properties": {"paper": {"type": "string", "title": "Paper", "enum": ["matte", "glossy"]}}}


def text(id: str, words: str, append: bool = False, last: bool = False) -> dict[str, Any]:
    return {"artifact": {"artifactId": id, "name": id, "parts": [{"text": words}]}, "append": append, "lastChunk": last}


def data(id: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"artifact": {"artifactId": id, "name": id, "parts": [{"data": value}]}, "lastChunk": True}


PLANS: dict[str, dict[str, tuple[Step, ...]]] = {
    "planner": {
        CATALOGUE: (
            Step(say="Two parts, side by side: the texts and the price."),
            Step(hand=("writer", TEXTS, "Catalogue texts")),
            Step(hand=("printer", QUOTE, "Printing quote")),
            Step(after=9, artifact=data("plan", {"pages": 16, "teas": 6, "copies": 2000})),
            Step(end="The catalogue is planned."),
        )
    },
    "writer": {
        TEXTS: (
            Step(say="Reading the list of teas."),
            *(
                Step(after=0.8, artifact=text("texts", f"{tea}: picked in {month}, best at {heat} °C.\n", number > 0, number == 5))
                for number, (tea, month, heat) in enumerate(
                    (("Darjeeling", "March", 90), ("Sencha", "April", 75), ("Keemun", "May", 95), ("Gyokuro", "May", 60), ("Assam", "March", 95), ("White peony", "April", 80))
                )
            ),
            Step(end="Six texts are written."),
        )
    },
    "printer": {
        QUOTE: (
            Step(say="Two kinds of paper are in stock."),
            Step(ask={"text": "Which paper shall it be?", "schema": PAPER}),
            Step(artifact=data("quote", {"copies": 2000, "pages": 16, "euros": 1940})),
            Step(end="1,940 euros, ready in a week."),
        )
    },
}


def agents(pace: float, seed: str) -> list[Agent]:
    return [Agent(name, PLANS[name], pace, seed) for name in NAMES]


async def play(base: str, pace: float) -> None:
    """Through whoever watches at `base`. If nobody has chosen the paper for a while, matte it is."""
    asking = asyncio.create_task(listen(f"{base}/a2a/planner/", CATALOGUE, "catalogue-1"))
    await asyncio.sleep(PATIENCE * pace)
    while not await chosen(base, "matte"):  # noqa: ASYNC110 - asked over the wire, as anybody would
        await asyncio.sleep(0.3)
    await asking


async def chosen(base: str, paper: str) -> bool:
    """Answers the printer where it waits; whether it has come to its end."""
    async with aiohttp.ClientSession() as http, http.get(f"{base}/api/tasks", params={"limit": "100"}) as response:
        quotes = [task for task in (await response.json())["items"] if task["agent"] == "printer"]
    for task in quotes:
        refs = {ref["kind"]: ref["value"] for ref in task["refs"]}
        if task["status"] == "input-required":
            await answer(f"{base}/a2a/printer/", refs["task"], refs["context"], {"paper": paper}, f"paper-{refs['task'][:8]}")
    return any(task["status"] == "completed" for task in quotes)
