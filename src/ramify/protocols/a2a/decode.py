"""What passed on one connection, frame by frame, as events. The reader is pure; its state can be saved between two
frames and restored.

An exchange begins with a request; everything that follows on its connection belongs to it. A request counts when its
answer comes: one that was refused makes no task and moves none.
"""

from typing import Any

import msgspec

from ramify.model.a2a_event import (
    INTERRUPTED,
    TERMINAL,
    AgentShown,
    ChunkCame,
    Event,
    MessageAdded,
    MessageReplied,
    Sign,
    StatusSaid,
    StreamBroke,
    TaskMade,
    TaskShown,
)
from ramify.model.event import Unreadable
from ramify.protocols.a2a.exchange import Exchange, Known, State
from ramify.protocols.a2a.frame import Frame
from ramify.protocols.a2a.methods import SENDS, asked_of
from ramify.protocols.a2a.stream import Sent, Stream
from ramify.protocols.a2a.wire import (
    Shape,
    encoded,
    is_old_rest,
    items,
    parent_of,
    produced_of,
    recognise,
    shape,
    span_of,
    spoken_of,
    status_of,
    text,
)
from ramify.protocols.wire.characters import NOT_JSON, read_json

OWN = "x-ramify-follow"  # marks requests that Ramify makes to see how things stand
Found = list[Event | Unreadable]
# A place as one number: the frame, the place in its slice, and what stands inside one event.
SEQ, WITHIN, WIDEST = 36, 12, (1 << 24) - 1


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode


class Reader:
    """Of one connection. Frames are fed in the order of their numbers; some may be missing."""

    def __init__(self, connection: str, saved: bytes = b"") -> None:
        self.connection = connection
        self.state = _decode(saved) if saved else State()

    def save(self) -> bytes:
        return _encode(self.state)

    def feed(self, frame: Frame, observation: str) -> Found:
        """Never raises: what cannot be read is said to be so, and the rest goes on."""
        found: Found = []
        state = self.state
        state.clock = max(state.clock, frame.at)
        sign = Sign(state.clock, f"{self.connection}#{frame.seq:08x}.{0:08x}", observation, place=frame.seq << SEQ)
        if frame.seq != state.following:
            self._miss(sign)
        state.following = frame.seq + 1
        try:
            self._take(frame, sign, found)
        except RecursionError:
            found.append(Unreadable(observation, frame.at, "is nested too deeply to be read"))
        return found

    def _miss(self, sign: Sign) -> None:
        """Frames are missing, a request perhaps among them: nobody knows whose answer this is."""
        self.state.stream.tear()
        self.state.exchange = Exchange(sign)

    # -- frames --------------------------------------------------------------------------------------------------------

    def _take(self, frame: Frame, sign: Sign, found: Found) -> None:
        match frame.kind:
            case "request":
                self.state.exchange = self._asked(frame, sign)
                self.state.stream = Stream()
                if self.state.exchange.pushed:
                    self._hear(frame.body, sign, found)
            case "response":
                self._answered(frame, sign, found)
            case "sse":
                self._slice(frame, sign, found)
            case "end":
                self._ended(sign, found)
            case "abort" if frame.by == "agent":
                self._broke(sign, found)
            case _:
                pass

    def _exchange(self, sign: Sign) -> Exchange:
        if self.state.exchange is None:
            self.state.exchange = Exchange(sign)
        return self.state.exchange

    def _asked(self, frame: Frame, sign: Sign) -> Exchange:
        own = OWN in frame.headers
        sign = msgspec.structs.replace(sign, own=own)
        if frame.direction == "out":
            return Exchange(sign, pushed=True)
        asked = asked_of(frame.path, frame.body, text(frame.headers.get("a2a-version")))
        message = spoken_of(asked.message, asked.old) if asked.method in SENDS else None
        return Exchange(
            sign,
            asked.method,
            asked.task,
            text(shape(asked.message).get("contextId")),
            message,
            (message.parent if message else "") or parent_of(asked.metadata),
            span_of(frame.headers.get("traceparent")) or (message.span if message else ""),
            own=own,
            old=asked.old,
        )

    def _answered(self, frame: Frame, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        if exchange.pushed:
            return
        if exchange.answered:
            exchange = self.state.exchange = Exchange(sign)  # the request before this answer was not seen
        exchange.answered = True
        kind = text(frame.headers.get("content-type")).lower()
        if kind.startswith("text/event-stream"):
            exchange.streams = True
            if isinstance(frame.body, bytes):
                self._pass(frame.body, sign, found)
            if frame.aborted:
                self._broke(sign, found)
        elif frame.status < 400 and not frame.aborted and frame.body is not None:
            self._hear(frame.body, sign, found)

    def _slice(self, frame: Frame, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        exchange.streams = exchange.answered = True
        self._pass(frame.raw, sign, found)

    def _pass(self, raw: bytes, sign: Sign, found: Found) -> None:
        stream = self.state.stream
        for sent in stream.feed(raw):
            self._event(sent, sign, found)
            stream.torn = False

    def _event(self, sent: Sent, sign: Sign, found: Found) -> None:
        value = read_json(sent.data)
        place = msgspec.structs.replace(
            sign,
            ref=f"{sign.ref[:-8]}{sent.place:08x}",
            stream=self._exchange(sign).sign.ref,
            place=sign.place + (min(sent.place, WIDEST) << WITHIN),
        )
        if sent.kind == "error":
            self._broke(place, found)
        elif value is not NOT_JSON:
            self._hear(value, place, found)
        elif not self.state.stream.torn:  # behind a gap it is the rest of an event
            found.append(Unreadable(sign.observation, sign.at, "holds an event that is no JSON"))

    # -- ends ----------------------------------------------------------------------------------------------------------

    def _ended(self, sign: Sign, found: Found) -> None:
        """Streams of 1.0 carry no mark of their end: a clean one without a state to rest in is a broken one."""
        for task, known in self._exchange(sign).tasks.items():
            if known.state not in TERMINAL and known.state not in INTERRUPTED:
                found.append(StreamBroke(sign, task, known.time))
        self._exchange(sign).tasks.clear()

    def _broke(self, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        if exchange.streams:
            found += [StreamBroke(sign, task, known.time) for task, known in exchange.tasks.items()]
            exchange.tasks.clear()

    # -- what was said -------------------------------------------------------------------------------------------------

    def _hear(self, value: Any, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        kind, body = recognise(value)
        exchange.old = exchange.old or ("jsonrpc" not in shape(value) and is_old_rest(value))
        sign = msgspec.structs.replace(sign, pushed=exchange.pushed, own=exchange.own)
        match kind:
            case "error":
                self._broke(sign, found)
            case "task":
                self._shown(body, sign, found)
            case "tasks":
                for number, one in enumerate(body):
                    place = sign.place + (min(number, WIDEST) << WITHIN)
                    self._shown(shape(one), msgspec.structs.replace(sign, ref=f"{sign.ref}.{number:06x}", place=place), found)
            case "message":
                self._replied(body, sign, found)
            case "statusUpdate":
                self._moved(body, sign, found)
            case "artifactUpdate":
                self._grew(body, sign, found)
            case _ if exchange.method == "card" or (text(body.get("name")) and ("supportedInterfaces" in body or "preferredTransport" in body)):
                self._card(body, sign, found)

    def _shown(self, body: Shape, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        task, context = text(body.get("id")), text(body.get("contextId")) or text(body.get("sessionId"))
        if not task:
            return
        status = status_of(body.get("status"), exchange.old)
        self._about(task, context, found)
        history = (spoken_of(one, exchange.old) for one in items(body.get("history")))
        artifacts = (produced_of(one, exchange.old) for one in items(body.get("artifacts")))
        metadata = shape(body.get("metadata"))
        found.append(
            TaskShown(
                sign,
                task,
                context,
                status,
                tuple(one for one in history if one is not None),
                tuple(one for one in artifacts if one is not None),
                encoded(metadata),
                parent_of(metadata),
                span_of(metadata.get("traceparent")),
                exchange.streams and not exchange.said,
            )
        )
        exchange.said += 1
        if exchange.streams:
            self._know(task, status.state if status else "", status.time if status else 0)

    def _moved(self, body: Shape, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        task, context = text(body.get("taskId")), text(body.get("contextId"))
        status = status_of(body.get("status"), exchange.old)
        if not task or status is None:
            return
        self._about(task, context, found)
        late = exchange.streams and self._is_over(task) and status.state not in TERMINAL
        found.append(StatusSaid(sign, task, context, status, late, parent_of(body.get("metadata"))))
        exchange.said += 1
        if exchange.streams:
            self._know(task, status.state, status.time)

    def _grew(self, body: Shape, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        task, context = text(body.get("taskId")), text(body.get("contextId"))
        artifact = produced_of(body.get("artifact"), exchange.old)
        if not task or artifact is None:
            return
        self._about(task, context, found)
        late = exchange.streams and self._is_over(task)
        append, last = body.get("append") is True, body.get("lastChunk") is True
        known = exchange.tasks.get(task)
        found.append(ChunkCame(sign, task, context, artifact, append, last, late, known.time if known is not None else 0))
        exchange.said += 1
        if exchange.streams:
            self._know(task, "", 0)

    def _replied(self, body: Shape, sign: Sign, found: Found) -> None:
        exchange = self._exchange(sign)
        reply = spoken_of(body, exchange.old, "agent")
        if reply is None or exchange.method not in (*SENDS, "subscribe", ""):
            return
        exchange.said += 1
        context = text(body.get("contextId")) or exchange.context
        named = text(body.get("taskId"))
        task = exchange.task or exchange.made or (named if exchange.pushed or named in exchange.tasks else "")
        if task:
            self._about(task, context, found)
            found.append(MessageAdded(sign, task, context, reply))
            return
        asked, message = exchange.sign if exchange.message else sign, exchange.message
        found.append(MessageReplied(asked, context, message, reply, sign, exchange.parent, exchange.span))

    def _card(self, body: Shape, sign: Sign, found: Found) -> None:
        interfaces = items(body.get("supportedInterfaces"))
        url = text(body.get("url")) or (text(shape(interfaces[0]).get("url")) if interfaces else "")
        if text(body.get("name")):
            found.append(AgentShown(sign, text(body["name"]), url, encoded(body)))

    # -- of which task -------------------------------------------------------------------------------------------------

    def _about(self, task: str, context: str, found: Found) -> None:
        """The first answer says what became of the request's own message."""
        exchange = self.state.exchange
        if exchange is None or exchange.message is None:
            return
        message, exchange.message = exchange.message, None
        if exchange.task:
            found.append(MessageAdded(exchange.sign, exchange.task, context or exchange.context, message))
        else:
            exchange.made = task
            found.append(TaskMade(exchange.sign, task, context or exchange.context, message, exchange.parent, exchange.span))

    def _is_over(self, task: str) -> bool:
        known = self.state.exchange.tasks.get(task) if self.state.exchange else None
        return known is not None and known.state in TERMINAL

    def _know(self, task: str, state: str, time: int) -> None:
        exchange = self.state.exchange
        if exchange is None:
            return
        known = exchange.tasks.setdefault(task, Known())
        known.time = max(known.time, time)
        if state and known.state not in TERMINAL:
            known.state = state
