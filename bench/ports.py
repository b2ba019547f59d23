"""A port for a server that is about to start."""

import secrets
import socket

FIRST, COUNT = 12_000, 20_000  # below those that the system gives to outgoing connections


def free_port() -> int:
    """Between now and its use nobody takes it by chance."""
    while True:
        port = FIRST + secrets.randbelow(COUNT)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
