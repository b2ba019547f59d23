"""A server that answers `POST /api/events` as the real one promises to, and can be told to fail."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.ports import free_port


class Taken:
    """What was posted: by session, in order, each event id once."""

    def __init__(self) -> None:
        self.url = ""
        self.by_session: dict[str, list[dict[str, Any]]] = {}
        self.posts: list[tuple[str | None, int]] = []
        self.headers: list[dict[str, str]] = []
        self.script: list[int | str] = []  # what becomes of the next posts: a status, "cut", or "store and cut"
        self.most_bytes = 32 * 2**20

    def events(self) -> list[dict[str, Any]]:
        return [event for events in self.by_session.values() for event in events]

    def store(self, session: str, events: list[Any]) -> dict[str, Any]:
        kept = self.by_session.setdefault(session, [])
        results = [self._one(kept, event) for event in events]
        counts = {name: sum(row["status"] == name for row in results) for name in ("stored", "duplicate", "rejected")}
        return {"stored": counts["stored"], "duplicates": counts["duplicate"], "conflicts": 0, "rejected": counts["rejected"], "results": results}

    def _one(self, kept: list[dict[str, Any]], event: Any) -> dict[str, Any]:
        if not event.get("agentId"):
            return {"status": "rejected", "reason": "agentId is missing"}
        if any(event["eventId"] == known["eventId"] for known in kept):
            return {"status": "duplicate"}
        kept.append(event)
        return {"status": "stored", "seq": len(kept)}


def answers(taken: Taken) -> type[BaseHTTPRequestHandler]:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            given = self.headers["X-Ramify-Session"]
            act = taken.script.pop(0) if taken.script else 413 if len(body) > taken.most_bytes else 200
            events = json.loads(body)["events"]
            taken.posts.append((given, len(events)))
            taken.headers.append(dict(self.headers))
            session = given if given in taken.by_session else f"given-{len(taken.by_session)}"
            if act in (200, "store and cut"):
                told = taken.store(session, events)
            if isinstance(act, str):
                self.close_connection = True
                return
            status = act if act != 200 or told["stored"] or told["duplicates"] else 400
            answer = json.dumps({"success": status == 200, "data": told if act == 200 else {}}).encode()
            self.send_response(status)
            if given != session:
                self.send_header("Set-Cookie", f"ramify_session={session}; HttpOnly; SameSite=Lax; Path=/")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words: Any) -> None:
            pass

    return Answers


@contextmanager
def listening(taken: Taken, port: int | None = None) -> Iterator[Taken]:
    port = port or free_port()
    taken.url = f"http://127.0.0.1:{port}"
    server = ThreadingHTTPServer(("127.0.0.1", port), answers(taken))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield taken
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
