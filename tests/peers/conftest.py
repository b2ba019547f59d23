"""What every test with the real client needs: the client itself."""

import os

import pytest

from tests.peers.claude_cli import find_cli

MISSING = "the Claude client is not here: pip install claude-agent-sdk"


@pytest.fixture(autouse=True, scope="session")
def client() -> None:
    if find_cli() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
