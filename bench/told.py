"""What must be in a store after everything: what was acknowledged, once, as it was; and nothing that deriving it again would move."""

import re
from collections import Counter, defaultdict

from bench.harm import Clients, Reporters
from bench.soaked import holds
from bench.wishes import Wish, answer, wished
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.model.entity import Call
from ramify.model.observation import Record, Request, Response
from ramify.model.prices import PRICES, PRICES_VERSION
from ramify.rebuild import rebuild
from ramify.storage.base import Store
from ramify.wiring import pricer

KILL_SECONDS = 3.0
"""A server that is killed takes with it what it saw in its last moments: what ended earlier must be there."""
EVENT, SPAN = re.compile(rb"soakevent-\d+"), re.compile(rb'"spanId":\s*"([0-9a-f]{16})"')


class Found:
    """What the log holds, by the numbers of wishes."""

    def __init__(self, store: Store) -> None:
        self.requests: Counter[int] = Counter()
        self.wishes: dict[str, Wish] = {}
        self.answers: dict[int, list[Response]] = defaultdict(list)
        self.events: Counter[str] = Counter()
        self.spans: Counter[str] = Counter()
        self.frames: Counter[int] = Counter()
        self.count = 0
        for _, seen in store.observations():
            self.count += 1
            match seen:
                case Request() if "soak-" in repr(seen.body):
                    wish = self.wishes[seen.id] = wished(seen.body)
                    self.requests[wish.number] += 1
                case Response() if seen.request in self.wishes:
                    self.answers[self.wishes[seen.request].number].append(seen)
                case Record():
                    self._report(seen)
                case _:
                    pass

    def _report(self, seen: Record) -> None:
        self.events.update(id.decode() for id in set(EVENT.findall(seen.body)))
        self.spans.update(id.decode() for id in SPAN.findall(seen.body))
        if b"soak-" in seen.body and b"SendStreamingMessage" in seen.body:
            self.frames[wished(seen.body).number] += 1


def check_told(store: Store, clients: Clients, reporters: Reporters, shown: dict[str, str]) -> list[str]:
    found = Found(store)
    twice = [number for number, count in (found.requests + found.frames).items() if count > 1]
    holds(not twice, f"{len(twice)} requests are stored twice: {twice[:3]}")
    missing = check_finished(found, clients)
    wrong = check_bytes(found)
    check_acknowledged(found, reporters)
    check_shown(store, shown)
    report = rebuild(store, Rules(), Prices(pricer(PRICES), PRICES_VERSION), True, lambda done, total: None)
    holds(not report["moved"], f"deriving again would move {len(report['moved'])} rows: {report['moved'][:2]}")
    holds(store.count_unreadable() == 0 or all("cut" in reason or "ended" in reason for _, _, reason in store.unreadable(1000)), f"unreadable: {store.unreadable(3)}")
    return [
        f"stored: {found.count} observations, {len(found.requests) + len(found.frames)} of {len(clients.finished)} whole exchanges and those that were cut; none twice",
        f"whole exchanges that a kill took with it, all of the last {KILL_SECONDS:.0f} s before it: {missing}",
        f"answers compared with what the upstream sent: {sum(map(len, found.answers.values()))}, differing: {wrong}",
        f"acknowledged and there: {len(reporters.events)} events, {len(reporters.spans)} spans; shown by the live feed and there: {len(shown)} calls",
        f"deriving everything again moves 0 of {report['same']} rows",
    ]


def check_finished(found: Found, clients: Clients) -> int:
    """What a client has got whole is in the log, unless the server was killed in that moment."""
    missing = [number for number in clients.finished if not found.requests[number] and not found.frames[number]]
    late = [number for number in missing if clients.down.before(clients.finished[number]) > KILL_SECONDS]
    holds(not late, f"{len(late)} whole exchanges are not stored: {[(number, clients.finished[number]) for number in late[:3]]}")
    return len(missing)


def check_bytes(found: Found) -> int:
    """An answer that is stored as whole is what the upstream sent, byte for byte."""
    wrong = []
    for id, wish in found.wishes.items():
        told = answer(wish)
        whole = [response for response in found.answers[wish.number] if response.outcome == "complete"]
        other = [response for response in whole if (response.status, response.body) != (told.status, told.body)]
        wrong += [f"{id} {wish.mark}: {response.status} {response.body[:80]!r}" for response in other]
        holds(len(found.answers[wish.number]) <= 1, f"{wish.mark} has {len(found.answers[wish.number])} answers")
    holds(not wrong, f"{len(wrong)} answers are not what was sent: {wrong[:2]}")
    return len(wrong)


def check_acknowledged(found: Found, reporters: Reporters) -> None:
    lost = reporters.events - found.events.keys(), reporters.spans - found.spans.keys()
    holds(not lost[0], f"{len(lost[0])} acknowledged events are gone: {sorted(lost[0])[:3]}")
    holds(not lost[1], f"{len(lost[1])} acknowledged spans are gone: {sorted(lost[1])[:3]}")
    again = [id for id in reporters.events if found.events[id] > 1]
    holds(not again, f"{len(again)} events are stored twice: {again[:3]}")


def check_shown(store: Store, shown: dict[str, str]) -> None:
    for id, status in shown.items():
        row = store.load("calls", id)
        holds(isinstance(row, Call), f"{id} was shown as {status} and is gone")
        assert isinstance(row, Call)
        holds(status == "running" or row.status == status, f"{id} was shown as {status} and is {row.status}")


