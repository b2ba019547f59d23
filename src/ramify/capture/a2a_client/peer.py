"""One agent, asked over HTTP by ourselves: its card first, then questions and streams, each recorded as it passes.

Only the agent's own address is asked: neither a card nor a redirection leads anywhere else.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout

from ramify.capture.a2a.secrets import scheme_names
from ramify.capture.a2a_client.heard import Heard, hear
from ramify.capture.a2a_client.offer import Offer, best_offer, card_places
from ramify.capture.a2a_client.question import Question, Said, ask, say
from ramify.capture.a2a_client.tape import MARK, Place, Tape, new_name
from ramify.protocols.a2a.stream import Stream
from ramify.protocols.a2a.wire import shape, text
from ramify.protocols.wire.characters import NOT_JSON, read_json

ANSWER = ClientTimeout(total=60, sock_connect=10)
STREAM = ClientTimeout(total=None, sock_connect=10, sock_read=120)
"""Agents say that they are still there every fifteen seconds; one that is silent for so long has gone without a word."""
LARGEST_ANSWER = 64 * 2**20
EVENT_STREAM = "text/event-stream"
LEFT = (ClientError, OSError, TimeoutError)


class Gone(Exception):
    """The agent does not answer, or has stopped in the middle of it."""

    hint = "start the agent, or check its address; --task ID goes on with a task that was begun"


class NoCard(Exception):
    """What answers there shows no card, or none that we can use."""

    hint = "give the address of the agent itself, or of its card; a browser should show the card there"


class Peer:
    """`name` is empty until the card gives one, unless somebody has named the agent."""

    def __init__(self, url: str, http: ClientSession, place: Place, name: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.url = url.rstrip("/")
        self.name = name
        self._http = http
        self._place = place
        self._headers = dict(headers or {})
        self._secret_names = frozenset(header.lower() for header in self._headers)
        self.offer: Offer | None = None  # known in advance, where somebody knows it better than the card
        self._prints: dict[str, bytes] = {}  # what each task showed last

    def clock(self) -> int:
        return self._place.clock()

    async def meet(self) -> Offer:
        """How it wants to be asked. Its card is read once."""
        if self.offer is None:
            self.offer = await self._read_card()
        return self.offer

    async def _read_card(self) -> Offer:
        seen: list[str] = []
        for place in card_places(self.url):
            question = Question("card", "GET", place)
            async with self._sent(question, {}, ANSWER) as response:
                body = await limited(response)
                card = shape(read_json(body)) if response.status == 200 else {}
            seen.append(f"{place} ({response.status})")
            if not text(card.get("name")):
                continue
            self._know(card)
            self._keep(question, response, body)
            offer = best_offer(card, place)
            if offer is None:
                raise NoCard(f"the card at {place} names no JSON-RPC or HTTP+JSON address on its own host")
            return offer
        raise NoCard(f"there is no agent card at {', '.join(seen)}")

    def _know(self, card: dict[str, Any]) -> None:
        self.name = self.name or text(card.get("name"))
        self._secret_names |= frozenset(scheme_names(card))

    def _keep(self, question: Question, response: ClientResponse, body: bytes) -> None:
        """A card is told of when it has said whose it is."""
        tape = self._tape()
        tape.request("GET", path_of(question), {**self._headers, MARK: "1"}, b"")
        tape.response(response.status, response.headers, body)

    # -- questions: all raise Gone, and NoCard when it is the first -----------------------------------------------------

    async def show(self, task: str) -> Heard:
        """Recorded where it shows something else than the look before: a task may be looked at for days."""
        question = ask(await self.meet(), new_name(), "get", task)
        tape = self._tape()
        tape.hold()
        try:
            heard = await self._ask(question, tape)
        except Gone:
            tape.let_go()
            raise
        if heard.kind != "task" or self._prints.get(task) != heard.print:
            tape.let_go()
        self._prints[task] = heard.print
        return heard

    async def cancel(self, task: str) -> Heard:
        return await self._ask(ask(await self.meet(), new_name(), "cancel", task), self._tape())

    async def list_tasks(self, **parameters: Any) -> Heard:
        return await self._ask(ask(await self.meet(), new_name(), "list", **parameters), self._tape())

    async def tell(self, said: Said) -> Heard:
        """Does not wait for what comes of it."""
        return await self._ask(say(await self.meet(), new_name(), "send", said), self._tape())

    async def watch(self, task: str) -> AsyncGenerator[Heard, None]:
        async with aclosing(self._stream(ask(await self.meet(), new_name(), "subscribe", task))) as stream:
            async for heard in stream:
                yield heard

    async def discuss(self, said: Said) -> AsyncGenerator[Heard, None]:
        """What comes of it, as it comes."""
        async with aclosing(self._stream(say(await self.meet(), new_name(), "stream", said))) as stream:
            async for heard in stream:
                yield heard

    # -- exchanges ----------------------------------------------------------------------------------------------------

    async def _ask(self, question: Question, tape: Tape) -> Heard:
        self._tell_request(question, tape)
        try:
            async with self._sent(question, self._marks(question), ANSWER) as response:
                body = await limited(response)
        except Gone as problem:
            tape.abort("agent", str(problem))
            raise
        tape.response(response.status, response.headers, body)
        return heard(body, question, response.status)

    async def _stream(self, question: Question) -> AsyncGenerator[Heard, None]:
        """Raises Gone when it is cut; ends when the agent ends it. An agent may give one answer instead of a stream."""
        tape = self._tape()
        self._tell_request(question, tape)
        over = False
        try:
            async with self._sent(question, self._marks(question), STREAM) as response:
                if not response.headers.get("content-type", "").lower().startswith(EVENT_STREAM):
                    body = await limited(response)
                    tape.response(response.status, response.headers, body)
                    over = True
                    yield heard(body, question, response.status)
                    return
                tape.response(response.status, response.headers, b"")
                events = Stream()
                async for piece in response.content.iter_any():
                    tape.piece(piece)
                    for sent in events.feed(piece):
                        yield heard(sent.data, question, 200, sent.kind)
            over = True
            tape.end()
        except Gone as problem:
            over = True
            tape.abort("agent", str(problem))
            raise
        except LEFT as problem:
            over = True
            tape.abort("agent", reason(problem))
            raise Gone(f"{self.name} stopped in the middle of a stream") from problem
        finally:
            if not over:
                tape.abort("client", "detached")

    def _tape(self) -> Tape:
        return Tape(self._place, self.name, new_name(), self._secret_names)

    def _tell_request(self, question: Question, tape: Tape) -> None:
        tape.request(question.method, path_of(question), {**self._headers, **self._marks(question)}, question.body)

    def _marks(self, question: Question) -> dict[str, str]:
        marks = {"a2a-version": question.version} if question.version else {}
        if question.body:
            marks["content-type"] = "application/json"
        if question.is_look:
            marks[MARK] = "1"
        return marks

    @asynccontextmanager
    async def _sent(self, question: Question, marks: dict[str, str], patience: ClientTimeout) -> AsyncIterator[ClientResponse]:
        accept = "text/event-stream, application/json" if patience is STREAM else "application/json"
        try:
            response = await self._http.request(
                question.method, question.url, data=question.body or None, params=question.query or None,
                headers={**self._headers, "accept": accept, **marks}, timeout=patience, allow_redirects=False,
            )  # fmt: skip
        except LEFT as problem:
            raise Gone(f"nobody answers at {question.url}: {reason(problem)}") from problem
        async with response:
            yield response


def reason(problem: Exception) -> str:
    """In the system's own words where it has some: the library's are long."""
    return str(getattr(problem, "strerror", None) or problem or type(problem).__name__)


async def limited(response: ClientResponse) -> bytes:
    body = bytearray()
    try:
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > LARGEST_ANSWER:
                raise Gone(f"{response.url} answers with more than {LARGEST_ANSWER} bytes")
    except LEFT as problem:
        raise Gone(f"{response.url} stopped in the middle of an answer: {reason(problem)}") from problem
    return bytes(body)


def heard(body: bytes, question: Question, status: int, event: str = "") -> Heard:
    value = read_json(body)
    if value is NOT_JSON:
        return Heard("error", code=status, reason=f"HTTP status {status}") if status >= 300 else Heard("")
    if event == "error" and not shape(value).get("error"):
        value = {"error": value}
    return hear(value, "/v1/" in question.url and question.version == "0.3", status)


def path_of(question: Question) -> str:
    parts = urlsplit(question.url)
    query = "&".join(f"{name}={value}" for name, value in question.query.items())
    return (parts.path or "/") + (f"?{query}" if query else "")
