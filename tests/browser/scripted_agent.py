"""An A2A agent that does what a test says: it asks, takes answers, lets itself be canceled. Real HTTP, no SDK."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Shape = dict[str, Any]


class ScriptedAgent:
    """One task, `job`; `state` is where it stands, `question` what it says with that, `heard` every message that it was sent."""

    def __init__(self) -> None:
        self.state = "INPUT_REQUIRED"
        self.question: Shape = {"messageId": "q1", "role": "ROLE_AGENT", "parts": [{"text": "Which amount?"}]}
        self.heard: list[Shape] = []
        self.url = ""
        self.away = False

    def card(self) -> Shape:
        return {
            "name": "planner", "description": "plans", "version": "1", "capabilities": {"streaming": False}, "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "supportedInterfaces": [{"url": f"{self.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        }  # fmt: skip

    def task(self) -> Shape:
        status: Shape = {"state": f"TASK_STATE_{self.state}"}
        if self.state in ("INPUT_REQUIRED", "AUTH_REQUIRED"):
            status["message"] = {**self.question, "taskId": "job", "contextId": "ctx"}
        return {"id": "job", "contextId": "ctx", "status": status}

    def answer(self, method: str, params: Shape) -> Shape:
        if method == "SendMessage":
            self.heard.append(params["message"])
            if "taskId" in params["message"]:
                self.state = "WORKING"
            return {"task": self.task()}
        if method == "CancelTask":
            self.state = "CANCELED"
        return self.task()


@contextmanager
def scripted_agent() -> Iterator[ScriptedAgent]:
    agent = ScriptedAgent()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(agent.card())

        def do_POST(self) -> None:
            if agent.away:
                self.send_error(503)
                return
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.reply({"jsonrpc": "2.0", "id": asked["id"], "result": agent.answer(asked["method"], asked["params"])})

        def reply(self, value: Shape) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    agent.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
