"""A small HTTP server that answers what it was told to: what a client of the API can be tested against."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, str, bytes]


def answer(document: Any, status: int = 200) -> Reply:
    return status, "application/json", json.dumps(document).encode()


def feed(*events: tuple[int, Any]) -> Reply:
    lines = [
        ": hello\n\n",
        *(f"id: {seq}\nevent: change\ndata: {json.dumps(body)}\n\n" for seq, body in events),
    ]
    return 200, "text/event-stream", "".join(lines).encode()


class Script:
    """`reply` gets path and headers; every request is kept."""

    def __init__(self, reply: Callable[[str, dict[str, str]], Reply]) -> None:
        self.reply = reply
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.port = 0


@contextmanager
def scripted(reply: Callable[[str, dict[str, str]], Reply]) -> Iterator[Script]:
    script = Script(reply)

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.asked.append((self.path, headers))
            status, kind, body = script.reply(self.path, headers)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    script.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
