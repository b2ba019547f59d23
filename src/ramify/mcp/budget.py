"""An answer that fits into the reader's head: long texts are shortened, long lists end early, and what is missing is named."""

from collections.abc import Callable
from typing import Any

import msgspec

Answer = dict[str, Any]
USUAL = 16_000  # bytes: about four thousand tokens
SMALLEST, LARGEST = 2_000, 200_000
LENGTHS = (4_000, 1_000, 300, 120, 60)  # of texts, tried in turn
CURSOR = 200  # bytes kept free for where the next page begins
FEWEST = 3  # items of a list that is shortened inside an answer


def text_of(answer: Any) -> str:
    return msgspec.json.encode(answer).decode()


def fits(answer: Any, budget: int) -> bool:
    return len(msgspec.json.encode(answer)) <= budget


def fitted(answer: Answer, budget: int, where: str) -> Answer:
    """The answer, or a shorter form that says how much of it is missing, and `where` all of it is."""
    if fits(answer, budget):
        return answer
    for longest in LENGTHS:
        cut = Cut(longest, None)
        shorter = {**cut.shorten(answer), "left_out": cut.told(where)}
        if fits(shorter, budget):
            return shorter
    most = 64
    while most > FEWEST:
        most //= 2
        cut = Cut(LENGTHS[-1], most)
        shorter = {**cut.shorten(answer), "left_out": cut.told(where)}
        if fits(shorter, budget):
            return shorter
    kept = {name: value for name, value in answer.items() if isinstance(value, int | float | bool | None) or (isinstance(value, str) and len(value) < 100)}
    return {**kept, "left_out": f"everything but these fields: there is no room for more in {budget} bytes. {where}"}


class Cut:
    """One try, and what it costs."""

    def __init__(self, longest: int, most: int | None) -> None:
        self.longest = longest
        self.most = most
        self.characters = 0
        self.items = 0

    def shorten(self, value: Any) -> Any:
        match value:
            case str() if len(value) > self.longest:
                self.characters += len(value) - self.longest
                return f"{value[: self.longest]}… [{len(value) - self.longest} more characters]"
            case dict():
                return {name: self.shorten(one) for name, one in value.items()}
            case list() if self.most is not None and len(value) > self.most:
                self.items += len(value) - self.most
                return [*map(self.shorten, value[: self.most]), f"… [{len(value) - self.most} more]"]
            case list():
                return [self.shorten(one) for one in value]
        return value

    def told(self, where: str) -> str:
        lost = [f"{self.characters:,} characters of long texts"] if self.characters else []
        lost += [f"{self.items:,} items of long lists"] if self.items else []
        return f"{' and '.join(lost)}. {where}"


def paged(ask: Callable[[int], Answer], limit: int, budget: int, where: str, items: str = "items") -> Answer:
    """A page that fits. Fewer items, nearly whole, are better than many that are cut to nothing: `next` leads to the others."""
    answer = ask(limit)
    while True:
        if fits(answer, budget):
            return answer
        shorter = shortened(answer, where)
        if fits(shorter, budget):
            return shorter
        few = fitting(shorter, items, budget)
        if few == 0:
            return fitted(ask(1), budget, where)
        answer = ask(few)


def shortened(answer: Answer, where: str) -> Answer:
    cut = Cut(LENGTHS[1], None)
    shorter: Answer = cut.shorten(answer)
    return {**shorter, "left_out": cut.told(where)} if cut.characters else shorter


def fitting(answer: Answer, items: str, budget: int) -> int:
    """How many of its items have room, beside the rest of it and a cursor."""
    room = budget - len(msgspec.json.encode({**answer, items: []})) - CURSOR
    few = 0
    for one in answer[items]:
        room -= len(msgspec.json.encode(one)) + 1
        if room < 0:
            break
        few += 1
    return min(few, len(answer[items]) - 1)
