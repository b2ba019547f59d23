"""httpx, and httpx2: what a call of an agent was on the wire. Streams are never read, and other requests left alone."""

from types import ModuleType
from typing import Any

from ramify.capture.instruments.patches import Function, Patches
from ramify.emit import Call, Emitter
from ramify.emit.call import current_call
from ramify.emit.place import place_of


def install(patches: Patches, module: ModuleType, emitter: Emitter) -> None:
    patches.wrap(getattr(module, "Client", None), "send", sending)
    patches.wrap(getattr(module, "AsyncClient", None), "send", async_sending)


def sending(original: Function) -> Function:
    def send(client: Any, request: Any, *given: Any, **named: Any) -> Any:
        call = current_call()
        if call is None:
            return original(client, request, *given, **named)
        note_request(call, request)
        response = original(client, request, *given, **named)
        call.notes["http_status"] = getattr(response, "status_code", None)
        return response

    return send


def async_sending(original: Function) -> Function:
    async def send(client: Any, request: Any, *given: Any, **named: Any) -> Any:
        call = current_call()
        if call is None:
            return await original(client, request, *given, **named)
        note_request(call, request)
        response = await original(client, request, *given, **named)
        call.notes["http_status"] = getattr(response, "status_code", None)
        return response

    return send


def note_request(call: Call, request: Any) -> None:
    """Not as the agent's address: it may be that of a login, and who reconciles would send its token there."""
    url = place_of(str(getattr(request, "url", "")))
    headers = getattr(request, "headers", None)
    if url is not None:
        call.notes["http_url"] = url
    if headers is not None and "traceparent" not in headers:
        headers["traceparent"] = call.traceparent()
