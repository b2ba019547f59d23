"""When two deliveries are the same message, and under which id each delivery is kept.

A second delivery tells something new only where it came earlier, or has properties that the first had not. So a
delivery that has a time of its own is an observation of its own; the rules pick what counts among them. What a
broker hands over now is later than whatever it handed over before: there, the first stands for all.
"""

from typing import Any

import msgspec

from ramify.model.ids import digest, observation_id
from ramify.model.nested import storable
from ramify.protocols.sam.wire import Envelope, Json, table_at, text_at, topic_below

HOUR = 3_600_000_000
_canonical = msgspec.json.Encoder(order="deterministic").encode


def message_of(payload: Any) -> Json:
    """The message inside a request, a status or an end."""
    asked = table_at(table_at(payload, "params"), "message")
    return asked or table_at(table_at(table_at(payload, "result"), "status"), "message")


def identity_of(seen: Envelope) -> str:
    """By the ids of task and message together: one message may be passed on under another task's id."""
    message = text_at(message_of(seen.payload), "messageId")
    task = text_at(seen.payload, "id")
    if message and task:
        return digest("message", task, message).hex()
    return digest("content", seen.topic, _canonical(storable(seen.payload))).hex()


def delivery_id(seen: Envelope, project: str, live: bool) -> str:
    if is_card(seen):
        # Repeated every few seconds, half of all that is said: each that says something else once an hour.
        return observation_id("sam", project, identity_of(seen), "card", seen.received // HOUR)
    beside = b"" if seen.properties is None else digest(_canonical(storable(seen.properties)))
    when = "live" if live else f"{seen.received} {seen.zone if seen.guessed else ''}"
    return observation_id("sam", project, identity_of(seen), when, beside)


def is_card(seen: Envelope) -> bool:
    return topic_below(seen.topic)[:1] == ["discovery"]
