"""The entry of the writer's process: `python -m ramify.writing [DESCRIPTOR]`; without one, from standard input."""

import logging
import socket
import sys

from ramify.log_lines import FORMAT, Harmless
from ramify.model.mistake import UserMistake
from ramify.storage.base import StoreDown
from ramify.wiring import make_writer
from ramify.writer import serve_writer, store_all


def main() -> int:
    handler = logging.StreamHandler(sys.stderr)  # until it has settings
    handler.setFormatter(Harmless(FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    if len(sys.argv) == 1:
        return 1 if store_all(sys.stdin.buffer, make_writer) else 0
    try:
        serve_writer(socket.socket(fileno=int(sys.argv[1])), make_writer)
    except (UserMistake, StoreDown) as problem:  # whoever started us tries again
        logging.getLogger("ramify").warning("the writer cannot begin problem=%r", str(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
