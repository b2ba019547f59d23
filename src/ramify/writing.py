"""The entry of the writer's process: `python -m ramify.writing DESCRIPTOR`."""

import logging
import socket
import sys

from ramify.wiring import make_writer
from ramify.writer import serve_writer


def main() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    serve_writer(socket.socket(fileno=int(sys.argv[1])), make_writer)


if __name__ == "__main__":
    main()
