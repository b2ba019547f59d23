"""What every test with real A2A peers needs: both versions of the SDK."""

import os

import pytest

from tests.peers.a2a.environments import VERSIONS, Unavailable, python_of


@pytest.fixture(autouse=True, scope="session")
def client() -> None:
    """Takes the place of the one of the folder above: the Claude client is not needed here."""
    try:
        for version in VERSIONS:
            python_of(version)
    except Unavailable as problem:
        if os.environ.get("CI") == "true":
            pytest.fail(f"the A2A SDK cannot be installed: {problem}")
        pytest.skip(f"the A2A SDK cannot be installed: {problem}")
