"""What every test with the real AdCP client needs: the client."""

import os

import pytest

from tests.peers.a2a.environments import Unavailable
from tests.peers.adcp.environment import python


@pytest.fixture(autouse=True, scope="session")
def client() -> None:
    """Takes the place of the one of the folder above: the Claude client is not needed here."""
    try:
        python()
    except Unavailable as problem:
        if os.environ.get("CI") == "true":
            pytest.fail(f"the AdCP client cannot be installed: {problem}")
        pytest.skip(f"the AdCP client cannot be installed: {problem}")
