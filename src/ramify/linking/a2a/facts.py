"""What is known of one task of A2A. Facts are put together without an order: each is the first, the last or the greatest
of what was seen, by the order in which it was received, so that it does not matter when Ramify hears of it.

Status, by the protocol's own rules: a terminal state always counts and is final, the first one received; a status that
says an older time than one received before does not count; one that says no time does.
"""

from typing import TypeVar

from msgspec import Struct

from ramify.model.a2a_event import (
    ACTIVE,
    INTERRUPTED,
    TERMINAL,
    UNKNOWN,
    ChunkCame,
    MessageAdded,
    MessageReplied,
    Sign,
    Status,
    StatusSaid,
    StreamBroke,
    TaskMade,
    TaskShown,
    plain_word,
)

Mark = tuple[int, str]
TaskEvent = TaskMade | MessageAdded | MessageReplied | TaskShown | StatusSaid | ChunkCame | StreamBroke
NEVER: Mark = (0, "")
FROM_REQUEST, FROM_HISTORY, FROM_ANSWER = range(3)


class Told(Struct, frozen=True, array_like=True, order=True):
    """A status as it was received. Later ones are greater."""

    at: int
    ref: str
    state: str
    word: str
    time: int


class Made(Struct, frozen=True, array_like=True, order=True):
    """The request that made the task."""

    at: int
    ref: str
    observation: str
    message: str


class Prompt(Struct, frozen=True, array_like=True):
    """The first user's message: of the request that made the task, else as the longest history has it, else any."""

    source: int
    at: int
    place: int
    ref: str
    message: str
    text: str
    length: int = 0  # of the history: what was asked for may be only its end

    def order(self) -> tuple[int, int, int, int, str]:
        return self.source, -self.length, self.at, self.place, self.ref


class Broke(Struct, frozen=True, array_like=True, order=True):
    at: int
    ref: str
    time: int


class Noted(Struct, frozen=True, array_like=True, order=True):
    """A value with where it was seen."""

    at: int
    ref: str
    value: str


class Facts(Struct):
    id: str
    project: str
    agent: str
    native: str = ""  # the task's own id
    message: str = ""  # of a task that was never one: the message that was answered by a message
    first: Mark = NEVER
    observation: str = ""  # where it was seen first
    active: int = 0
    context: Noted | None = None
    made: Made | None = None
    prompt: Prompt | None = None
    ended: Told | None = None
    timed: Told | None = None  # with the latest time
    newest: Told | None = None  # likewise, as it was received first
    untimed: Told | None = None  # the last without a time
    words: dict[str, Noted] = {}  # for each state, the word that first told it
    asked: Noted | None = None  # the own fields of the newest message that waits for somebody
    metadata: Noted | None = None
    broke: Broke | None = None
    heard: Mark = NEVER  # the last word of a stream
    snapped: Mark = NEVER  # the last snapshot
    moved: int = 0  # the latest time of a status that came as an update and ended nothing
    late: bool = False
    attributed: str = ""  # for which parent and prompt the authors of its messages were judged

    # -- what follows --------------------------------------------------------------------------------------------------

    @property
    def shown(self) -> bool:
        return self.first != NEVER

    def status(self) -> tuple[str, str]:
        """Our word, and the one that first told it."""
        if self.message:
            return "completed", ""
        last = self.ended or max((told for told in (self.timed, self.untimed) if told is not None), default=None)
        if last is None:
            return UNKNOWN, ""
        first = self.words.get(_meaning(last.state, last.word))
        return last.state, first.value if first is not None else last.word

    def closed(self) -> int:
        if self.message:
            return self.active
        if self.ended is None:
            return 0
        return self.ended.time // 1000 or self.ended.at

    def flags(self) -> tuple[str, ...]:
        found = ["stalled"] if self.is_stalled() else []
        if self.late or (self.ended is not None and 0 < self.ended.time < self.moved):
            found.append("late")
        return tuple(found)

    def is_stalled(self) -> bool:
        """A stream broke, and all that was heard since is what was known: a status with a time that is no newer."""
        broke = self.broke
        if broke is None or self.message or self.status()[0] not in ACTIVE:
            return False
        if (broke.at, broke.ref) < self.heard:
            return False
        news = self.newest
        return news is None or news.time <= broke.time or (news.at, news.ref) < (broke.at, broke.ref)

    def was_over(self, sign: Mark) -> bool:
        return self.ended is not None and (self.ended.at, self.ended.ref) < sign


# -- putting together --------------------------------------------------------------------------------------------------


def merge(facts: Facts, event: TaskEvent) -> None:
    sign = event.sign
    _see(facts, sign)
    if isinstance(event, StreamBroke):
        facts.broke = _last(facts.broke, Broke(sign.at, sign.ref, event.time))
        return
    if event.context:
        facts.context = _first(facts.context, Noted(sign.at, sign.ref, event.context))
    match event:
        case TaskMade():
            facts.made = _first(facts.made, Made(sign.at, sign.ref, sign.observation, event.message.id))
            _prompt(facts, Prompt(FROM_REQUEST, sign.at, sign.place, sign.ref, event.message.id, event.message.text))
        case MessageReplied():
            _see(facts, event.replied)
            if event.message is not None:
                facts.made = _first(facts.made, Made(sign.at, sign.ref, sign.observation, event.message.id))
                _prompt(facts, Prompt(FROM_REQUEST, sign.at, sign.place, sign.ref, event.message.id, event.message.text))
        case TaskShown():
            _snapshot(facts, event)
        case StatusSaid():
            _live(facts, sign)
            _state(facts, sign, event.status)
            facts.late |= event.late
            if event.status.state not in TERMINAL:
                facts.moved = max(facts.moved, event.status.time)
        case ChunkCame():
            _live(facts, sign)
            facts.late |= event.late
        case MessageAdded():
            _live(facts, sign)
            if event.message.role == "user":
                _prompt(facts, Prompt(FROM_ANSWER, sign.at, sign.place, sign.ref, event.message.id, event.message.text))


def _snapshot(facts: Facts, event: TaskShown) -> None:
    sign = event.sign
    if sign.stream:
        _live(facts, sign)
    if event.artifacts:
        facts.snapped = max(facts.snapped, (sign.at, sign.ref))
    if event.status is not None:
        _state(facts, sign, event.status)
    if event.metadata:
        facts.metadata = _last(facts.metadata, Noted(sign.at, sign.ref, event.metadata.decode()))
    asked = next(((place, one) for place, one in enumerate(event.history) if one.role == "user"), None)
    if asked is not None:
        place, one = asked
        _prompt(facts, Prompt(FROM_HISTORY, sign.at, sign.place + place, sign.ref, one.id, one.text, len(event.history)))


def _state(facts: Facts, sign: Sign, status: Status) -> None:
    told = Told(sign.at, sign.ref, status.state, status.word, status.time)
    word = Noted(sign.at, sign.ref, status.word)
    meaning = _meaning(status.state, status.word)
    facts.words[meaning] = min(facts.words.get(meaning, word), word)
    if status.state in TERMINAL:
        facts.ended = _first(facts.ended, told)
    if status.time:
        facts.timed = told if facts.timed is None else max(facts.timed, told, key=_by_time)
        facts.newest = told if facts.newest is None else min(facts.newest, told, key=_by_news)
    else:
        facts.untimed = _last(facts.untimed, told)
    said = status.message
    if said is not None and status.state in INTERRUPTED:
        facts.asked = _last(facts.asked, Noted(sign.at, sign.ref, said.metadata.decode()))


def _meaning(state: str, word: str) -> str:
    """States that nobody knows are told apart by their words."""
    return f"{UNKNOWN} {plain_word(word)}" if state == UNKNOWN else state


def _by_time(told: Told) -> tuple[int, Told]:
    return told.time, told


def _by_news(told: Told) -> tuple[int, Told]:
    return -told.time, told


def _see(facts: Facts, sign: Sign) -> None:
    mark = (sign.at, sign.ref)
    if facts.first == NEVER or mark < facts.first:
        facts.first, facts.observation = mark, sign.observation
    facts.active = max(facts.active, sign.at)


def _live(facts: Facts, sign: Sign) -> None:
    facts.heard = max(facts.heard, (sign.at, sign.ref))


def _prompt(facts: Facts, prompt: Prompt) -> None:
    if facts.prompt is None or prompt.order() < facts.prompt.order():
        facts.prompt = prompt


Sortable = TypeVar("Sortable", Made, Told, Noted, Broke)


def _first(known: Sortable | None, new: Sortable) -> Sortable:
    return new if known is None or new < known else known


def _last(known: Sortable | None, new: Sortable) -> Sortable:
    return new if known is None or new > known else known
