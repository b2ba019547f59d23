"""A client on version 1.x of the SDK. Prints each event as one line of JSON, with the time at which it was there.

    python client_1.py URL VERB [TEXT …] [--binding HTTP+JSON] [--task ID] [--context ID] [--refers ID] [--times N]
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.helpers import new_message, new_text_part
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message as Proto
from telling import read_arguments, repeat, tell

VERBS = ("stream", "send", "subscribe", "get", "cancel", "list", "card")


def request(given: argparse.Namespace) -> SendMessageRequest:
    message = new_message([new_text_part(given.text)], role=Role.ROLE_USER)
    message.message_id = str(uuid4())
    message.task_id, message.context_id = given.task, given.context
    message.reference_task_ids.extend(given.refers)
    asked = SendMessageRequest(message=message)
    if given.push:
        asked.configuration.task_push_notification_config.CopyFrom(
            TaskPushNotificationConfig(url=given.push, token=given.token)
        )
    asked.configuration.return_immediately = given.immediately
    return asked


async def ask(client: Client, given: argparse.Namespace) -> AsyncIterator[Proto]:
    match given.verb:
        case "stream" | "send":
            async for event in client.send_message(request(given)):
                yield event
        case "subscribe":
            async for event in client.subscribe(SubscribeToTaskRequest(id=given.task)):
                yield event
        case "get":
            yield await client.get_task(GetTaskRequest(id=given.task))
        case "cancel":
            yield await client.cancel_task(CancelTaskRequest(id=given.task))
        case "list":
            yield await client.list_tasks(ListTasksRequest(context_id=given.context))
        case "card":
            yield await client.get_extended_agent_card(GetExtendedAgentCardRequest())


async def run(number: int, given: argparse.Namespace) -> None:
    headers = dict(line.split("=", 1) for line in given.header)
    async with httpx.AsyncClient(timeout=None, headers=headers) as http:
        config = ClientConfig(
            streaming=given.verb != "send",
            httpx_client=http,
            supported_protocol_bindings=[given.binding],
            use_client_preference=True,
        )
        try:
            client = await ClientFactory(config).create_from_url(given.url)
            async for event in ask(client, given):
                tell(number, event=MessageToDict(event))
            tell(number, end=True)
        except Exception as error:  # what a user of the SDK would see
            tell(number, error=type(error).__name__, text=str(error))


if __name__ == "__main__":
    asyncio.run(repeat(run, read_arguments(VERBS)))
