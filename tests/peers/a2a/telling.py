"""What the sample clients share: what they are asked to do, and how they tell what they got. Standard library only."""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable


def tell(number: int, **what: object) -> None:
    print(json.dumps({"number": number, "at": time.time(), **what}), flush=True)


def read_arguments(verbs: tuple[str, ...]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("verb", choices=verbs)
    parser.add_argument("texts", nargs="*", default=["plan"], help="sent one after the other")
    parser.add_argument("--binding", default="JSONRPC")
    parser.add_argument("--task", default="")
    parser.add_argument("--context", default="")
    parser.add_argument("--refers", action="append", default=[])
    parser.add_argument("--push", default="")
    parser.add_argument("--token", default="")
    parser.add_argument("--immediately", action="store_true")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--times", type=int, default=1)
    return parser.parse_args()


async def repeat(run: Callable[[int, argparse.Namespace], Awaitable[None]], given: argparse.Namespace) -> None:
    for text in given.texts:
        given.text = text
        await asyncio.gather(*(run(number, given) for number in range(given.times)))
