"""The entry of the writer's process: `python -m ramify.writing [DESCRIPTOR]`; without one, from standard input."""

import logging
import socket
import sys

from ramify.log_lines import FORMAT, Harmless
from ramify.wiring import make_writer
from ramify.writer import serve_writer, store_all


def main() -> int:
    handler = logging.StreamHandler(sys.stderr)  # until it has settings
    handler.setFormatter(Harmless(FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    if len(sys.argv) == 1:
        return 1 if store_all(sys.stdin.buffer, make_writer) else 0
    serve_writer(socket.socket(fileno=int(sys.argv[1])), make_writer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
