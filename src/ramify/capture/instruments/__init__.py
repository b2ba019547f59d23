"""Every client library that `ramify.instrument` knows, once: one file each."""

from collections.abc import Callable
from types import ModuleType

from ramify.capture.instruments import a2a_client, a2a_sdk, adcp_client, claude_agent_sdk, httpx_client, mcp_client
from ramify.capture.instruments.patches import Install, Patches
from ramify.emit import Emitter

INSTRUMENTS: tuple[tuple[str, Install], ...] = (("claude_agent_sdk", claude_agent_sdk.install),)
"""The package, and what to do once it is there."""

Attach = Callable[[Patches, ModuleType, Emitter], None]
EVENT_INSTRUMENTS: tuple[tuple[str, Attach], ...] = (
    ("adcp.client", adcp_client.install),
    ("mcp.client.session", mcp_client.install),
    ("mcp.client.client", mcp_client.install),
    ("a2a.server.request_handlers.default_request_handler", a2a_sdk.install_server),
    ("a2a.server.request_handlers.default_request_handler_v2", a2a_sdk.install_server),
    ("a2a.client.base_client", a2a_sdk.install_client),
    ("a2a.client.legacy", a2a_sdk.install_client),
    ("a2a.client.base_client", a2a_client.install),
    ("a2a.client.legacy", a2a_client.install),
    ("httpx", httpx_client.install),
    ("httpx2", httpx_client.install),
)
"""The module, and what to do when the program itself has imported it. What they see goes to an emitter."""
