"""Where the page lies once it is built. Apart from what serves it, so that whoever only wants its files loads no server."""

from pathlib import Path

STATIC = Path(__file__).parent / "static"
