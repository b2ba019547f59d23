"""A client on version 0.3 of the SDK. Prints each event as one line of JSON, with the time at which it was there.

    python client_03.py URL VERB [TEXT …] [--binding HTTP+JSON] [--task ID] [--context ID] [--refers ID] [--times N]
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.types import (
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskQueryParams,
    TextPart,
)
from pydantic import BaseModel
from telling import read_arguments, repeat, tell

VERBS = ("stream", "send", "subscribe", "get", "cancel", "card")


def message(given: argparse.Namespace) -> Message:
    return Message(
        role=Role.user,
        parts=[Part(root=TextPart(text=given.text))],
        message_id=str(uuid4()),
        task_id=given.task or None,
        context_id=given.context or None,
        reference_task_ids=given.refers or None,
    )


async def ask(client: Client, given: argparse.Namespace) -> AsyncIterator[BaseModel]:
    match given.verb:
        case "stream" | "send":
            push = PushNotificationConfig(url=given.push, token=given.token) if given.push else None
            wanted = MessageSendConfiguration(blocking=not given.immediately, push_notification_config=push)
            async for event in client.send_message(message(given), configuration=wanted):
                yield shown(event)
        case "subscribe":
            async for event in client.resubscribe(TaskIdParams(id=given.task)):
                yield shown(event)
        case "get":
            yield await client.get_task(TaskQueryParams(id=given.task))
        case "cancel":
            yield await client.cancel_task(TaskIdParams(id=given.task))
        case "card":
            yield await client.get_card()


def shown(event: object) -> BaseModel:
    """An event as it came: the client also gives the task as it has put it together."""
    found = (event[1] or event[0]) if isinstance(event, tuple) else event
    assert isinstance(found, BaseModel)
    return found


async def run(number: int, given: argparse.Namespace) -> None:
    headers = dict(line.split("=", 1) for line in given.header)
    async with httpx.AsyncClient(timeout=None, headers=headers) as http:
        config = ClientConfig(
            streaming=given.verb != "send",
            httpx_client=http,
            supported_transports=[given.binding],
            use_client_preference=True,
        )
        try:
            client = await ClientFactory.connect(given.url, config)
            async for event in ask(client, given):
                tell(number, event=event.model_dump(mode="json", by_alias=True, exclude_none=True))
            tell(number, end=True)
        except Exception as error:  # what a user of the SDK would see
            tell(number, error=type(error).__name__, text=str(error))


if __name__ == "__main__":
    asyncio.run(repeat(run, read_arguments(VERBS)))
