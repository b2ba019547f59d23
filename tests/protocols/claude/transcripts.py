"""Lines of transcripts as each version of the client writes them, and the cases' own, as records."""

import json
from typing import Any

from ramify.model.event import Event
from ramify.model.moment import micros
from ramify.model.observation import Record
from ramify.protocols.claude.transcript import decode_transcript
from tests.protocols.claude.lines import AGENT, AT, CASES, SESSION

PROJECT = "-home-dev-project"
MAIN = f"{PROJECT}/{SESSION}.jsonl"
AGENT_FILE = f"{PROJECT}/{SESSION}/subagents/agent-{AGENT}.jsonl"
SIDECAR = f"{PROJECT}/{SESSION}/subagents/agent-{AGENT}.meta.json"
RUN = "wf_0a1b2c3d-4e5"
WORKFLOW = f"{PROJECT}/{SESSION}/subagents/workflows/{RUN}"
Line = dict[str, Any]


def record(line: Line | bytes, file: str = MAIN, number: int = 7) -> Record:
    body = line if isinstance(line, bytes) else json.dumps(line).encode()
    return Record(f"obs_{number}", "default", AT + number, "transcript", "claude", f"{file}:{number}", body)


def decode(line: Line | bytes, file: str = MAIN, number: int = 7) -> tuple[Event, ...]:
    return decode_transcript(record(line, file, number))


def user(content: Any, **more: Any) -> Line:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": "u-2", "parentUuid": "u-1", "sessionId": SESSION, "message": message, **more}


def prompted(words: str, **more: Any) -> Line:
    """The first line of an agent's file."""
    return user(words, parentUuid=None, isSidechain=True, agentId=AGENT, **more)


def returned(note: Any, text: str = "Done.", **more: Any) -> Line:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": text}
    return user([block], toolUseResult=note, **more)


def assistant(*blocks: Line, **more: Any) -> Line:
    message = {
        "id": "msg_1",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": list(blocks) or [{"type": "text", "text": "Well."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7},
    }
    message.update(more.pop("message", {}))
    ids = {"uuid": "u-2", "parentUuid": "u-1", "sessionId": SESSION, "requestId": "req_1"}
    return {"type": "assistant", **ids, "message": message, **more}


def attachment(fields: Line, **more: Any) -> Line:
    ids = {"uuid": "u-2", "parentUuid": "u-1", "sessionId": SESSION}
    return {"type": "attachment", **ids, "attachment": fields, **more}


def records_of(case: str) -> list[Record]:
    """As an import would give them: the path from the project's folder on, and each line's own time."""
    root = CASES / case / "transcripts" / "projects"
    found: list[Record] = []
    for path in sorted(root.rglob("*.json*")):
        name, at = path.relative_to(root).as_posix(), 0
        for number, body in enumerate(path.read_bytes().splitlines(), 1):
            at = time_of(body) or at
            place = f"{name}:{number}"
            found.append(Record(f"obs_{place}", "default", at, "transcript", "claude", place, body))
    return found


def time_of(body: bytes) -> int:
    stamp = json.loads(body).get("timestamp")
    return micros(stamp) if stamp else 0
