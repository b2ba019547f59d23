"""A virtual environment with the real AdCP client: made once, then found again."""

from pathlib import Path

from tests.peers.a2a import environments

REQUIREMENTS = ("adcp==9.2.0", "uvicorn>=0.38")
HERE = Path(__file__).parent


def python() -> Path:
    """Raises Unavailable."""
    return environments.environment("adcp", REQUIREMENTS)


def package() -> Path:
    """The files of the package, some of which are test vectors for everybody."""
    [found] = python().parents[1].glob("lib/python*/site-packages/adcp")
    return found
