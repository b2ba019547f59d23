"""A session to look at: a tea shop's website is slow, and a few agents find out why.

Two prompts of a person; three agents side by side, one of which asks a fourth and one of which meets an
overloaded API; a fifth in the background, whose report comes as a notification.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import aiohttp

from ramify.demo.client import Client, Line
from ramify.demo.upstream import Script, prompt, turn
from ramify.demo.wire import Json, Reply, say, text, thinking, tool

SESSION = "7ea5e550-0000-4000-8000-000000000001"

SLOW = "Our tea shop's site is slow on phones. Find out why, and fix what is easy."
NOTE = "Thank you! Write a short note for the team about it."
MEASURE = "Measure how long each page takes on a slow phone and name the slowest."
PICTURES = "List the pictures above 500 kB and say which pages show them."
CHECKOUT = "Read the checkout code and look for work that is done twice."
COVERAGE = "Find out which tests cover the product pages."
TESTS = "Run the whole test suite and report what fails."


def agent(description: str, words: str, *, background: bool = False) -> Json:
    call = {"description": description, "prompt": words, "subagent_type": "general-purpose"}
    return tool("Agent", call | {"run_in_background": background})


def steps(*contents: tuple[Json, ...]) -> tuple[Reply, ...]:
    return tuple(Reply(content=content) for content in contents)


PLAN: Mapping[str, tuple[Reply, ...]] = {
    SLOW: steps(
        (
            thinking("Three questions that do not depend on each other: pages, code, tests."),
            text("I will look at this from three sides at the same time."),
            agent("Measure the pages", MEASURE),
            agent("Read the checkout", CHECKOUT),
            agent("Look at the tests", COVERAGE),
        ),
        (
            text("The product page shows pictures at full size, and checkout asks for prices twice."),
            tool("Edit", {"path": "pages/product.html", "old": "tea.jpg", "new": "tea-small.webp"}),
            tool("Edit", {"path": "shop/checkout.py", "old": "prices = load()\n", "new": ""}),
        ),
        (
            text("Both are changed. The tests can run while I write this up."),
            agent("Run the tests", TESTS, background=True),
        ),
        (
            text(
                "Two causes, both fixed: pictures of 2 MB on the product page, and prices that checkout "
                "loaded twice. The tests are running; I will tell you when they are through."
            ),
        ),
        (text("The tests are through: 214 passed. The product page now takes 1.1 s instead of 6.4 s."),),
        (
            thinking("Short, for people who were not there: what was slow, what changed, what it gained."),
            tool(
                "Write", {"path": "notes/speed.md", "content": "# Faster on phones\n\n6.4 s became 1.1 s.\n"}
            ),
        ),
        (text("The note is in notes/speed.md."),),
    ),
    MEASURE: steps(
        (tool("Bash", {"command": "lighthouse --slow-phone shop.local", "description": "Measure"}),),
        (text("The product page stands out."), agent("Weigh the pictures", PICTURES)),
        (text("Slowest: product, 6.4 s. Its three pictures weigh 6.1 MB together; the rest is small."),),
    ),
    PICTURES: steps(
        (tool("Bash", {"command": "find static -size +500k", "description": "Large files"}),),
        (tool("Grep", {"pattern": "tea.jpg|pot.jpg|cup.jpg", "path": "pages"}),),
        (text("tea.jpg, pot.jpg and cup.jpg, about 2 MB each, all on pages/product.html."),),
    ),
    CHECKOUT: steps(
        (
            thinking("Look for the same call in the view and in the template's context."),
            tool("Read", {"path": "shop/checkout.py"}),
        ),
        (text("Prices are loaded in `total()` and again in `show()`: one of them can go."),),
    ),
    COVERAGE: steps(
        (
            tool("Grep", {"pattern": "product", "path": "tests"}),
            tool("Bash", {"command": "pytest --collect-only -q tests/pages", "description": "Count"}),
        ),
        (text("Eleven tests cover the product pages; none looks at sizes."),),
    ),
    TESTS: steps(
        (tool("Bash", {"command": "pytest -q", "description": "All tests"}),),
        (text("214 passed, none failed, in 38 s."),),
    ),
}

RESULTS: Mapping[str, tuple[str, float]] = {
    "lighthouse": ("home 1.3 s\nproduct 6.4 s\ncheckout 3.0 s", 1.5),
    "find static": ("static/tea.jpg\nstatic/pot.jpg\nstatic/cup.jpg", 0.4),
    "tea.jpg|pot.jpg": ("pages/product.html:14\npages/product.html:22\npages/product.html:31", 0.3),
    "shop/checkout.py": ("def total(cart):\n    prices = load()\n    ...", 0.3),
    '"product"': ("tests/pages/test_product.py", 0.3),
    "collect-only": ("11 tests collected", 0.8),
    "pytest -q": ("214 passed in 38.02s", 4.0),
}


def script(pace: float = 0.0) -> Script:
    """A fresh one for each run of the scenario: it remembers whom it has already turned away."""
    asked: Counter[tuple[str, int]] = Counter()

    def answer(body: Json) -> Reply:
        key = (prompt(body), turn(body))
        asked[key] += 1
        if key == (CHECKOUT, 0) and asked[key] == 1:
            return Reply(status=529)
        replies = PLAN.get(key[0], ())
        reply = replies[key[1]] if key[1] < len(replies) else say("There is nothing to add.")
        return replace(reply, usage=usage(body, reply), pace=0.04 * pace)

    return answer


def usage(body: Json, reply: Reply) -> dict[str, int]:
    """About four characters a token; all but the newest message comes from the cache."""
    before, newest = body["messages"][:-1], body["messages"][-1]
    return {
        "input_tokens": 3,
        "cache_read_input_tokens": tokens(body.get("system")) + tokens(before) if before else 0,
        "cache_creation_input_tokens": tokens(newest),
        "output_tokens": tokens(reply.content),
    }


def tokens(content: object) -> int:
    return max(1, len(json.dumps(content)) // 4)


def toolbox(name: str, arguments: Json) -> tuple[str, float]:
    said = json.dumps(arguments)
    known = (result for words, result in RESULTS.items() if words in said)
    return next(known, (f"{name}: done.", 0.2)) if name not in ("Edit", "Write") else ("Done.", 0.2)


async def play(base_url: str, pace: float, session: str = SESSION) -> str:
    """Acts it out and returns the last words; `pace` 1.0 takes about twenty seconds, 0.0 no time."""
    async with aiohttp.ClientSession() as http:
        client = Client(http, base_url, session, toolbox, pace)
        main = Line(client)
        await main.work(SLOW)
        await main.work(await client.notes.get())
        return await main.work(NOTE)
