"""What a client of the SDK sends inside a task, printed: `python stamps.py SOURCE PACKAGES VERSION`. Runs in either environment."""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

source, packages, version = sys.argv[1:]
sys.path += [source, packages]

import ramify  # noqa: E402

ramify.instrument()

import httpx  # noqa: E402
from a2a.client import ClientConfig, ClientFactory  # noqa: E402

URL = "http://agent.test/"


def respond(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    sent.append({"message": body["params"]["message"], "trace": request.headers.get("traceparent")})
    return httpx.Response(200, json={"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32603, "message": "no"}})


sent: list[dict[str, Any]] = []
http = httpx.AsyncClient(transport=httpx.MockTransport(respond))


def message(**fields: Any) -> Any:
    if version == "03":
        from a2a.types import Message, Part, Role, TextPart

        return Message(role=Role.user, parts=[Part(root=TextPart(text="x"))], message_id="m", **fields)
    from a2a.types.a2a_pb2 import Message, Part, Role, SendMessageRequest

    metadata = fields.pop("metadata", None)
    made = SendMessageRequest(message=Message(role=Role.ROLE_USER, parts=[Part(text="x")], message_id="m", **fields))
    if metadata:
        made.message.metadata.update(metadata)
    return made


def card() -> Any:
    if version == "03":
        from a2a.types import AgentCapabilities, AgentCard

        return AgentCard(
            name="a", description="a", version="1", url=URL, capabilities=AgentCapabilities(streaming=False),
            default_input_modes=[], default_output_modes=[], skills=[],
        )  # fmt: skip
    from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface

    interface = AgentInterface(url=URL, protocol_binding="JSONRPC", protocol_version="1.0")
    return AgentCard(name="a", supported_interfaces=[interface], capabilities=AgentCapabilities(streaming=False))


async def send(request: Any, **named: Any) -> None:
    client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card())
    with suppress(Exception):
        async for _ in client.send_message(request, **named):
            pass


async def send_as_before(request: Any) -> None:
    """The client that programs on 0.3 used before."""
    import warnings

    warnings.simplefilter("ignore")
    from a2a.client import A2AClient
    from a2a.types import MessageSendParams, SendMessageRequest

    with suppress(Exception):
        await A2AClient(http, url=URL).send_message(SendMessageRequest(id="1", params=MessageSendParams(message=request)))


async def main() -> None:
    await send(message())
    with ramify.parent_task("parent"):
        mine = message(metadata={"own": "kept"})
        before = str(mine)
        await send(mine)
        assert str(mine) == before, "the program's own message is as it was"
        await send(message(task_id="going-on"))
        await send(message(metadata={"parentTaskId": "stamped"}))
        if version == "03":
            await send_as_before(message())
    ramify.uninstrument()
    with ramify.parent_task("parent"):
        await send(message())
    print(json.dumps(sent))


asyncio.run(main())
