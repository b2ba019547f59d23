"""Every client library that `ramify.instrument` knows, once: one file each."""

from ramify.capture.instruments import claude_agent_sdk
from ramify.capture.instruments.patches import Install

INSTRUMENTS: tuple[tuple[str, Install], ...] = (("claude_agent_sdk", claude_agent_sdk.install),)
"""The package, and what to do once it is there."""
