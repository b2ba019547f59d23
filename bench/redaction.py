"""How fast secrets are looked for where there are none: `python -m bench.redaction`."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from ramify.capture.redact import redact_json, redact_sse, redact_text

CASES = Path(__file__).parent.parent / "tests" / "cases" / "anthropic"
MESSAGE = 20_000
PROSE = (
    "The nightly job reads the ledger, sorts the invoices by month and writes one report each. When a month "
    "is missing, it asks the archive (see the notes of May 2026), waits and tries again: three times.\n"
)


def speed(redact: Callable[[bytes], bytes], messages: list[bytes]) -> float:
    """Megabytes a second, the best of seven rounds."""
    best = float("inf")
    for _ in range(7):
        began = time.perf_counter()
        for message in messages:
            redact(message)
        best = min(best, time.perf_counter() - began)
    return sum(map(len, messages)) / best / 1e6


def cut(text: str) -> list[bytes]:
    raw = json.dumps(text).encode()
    return [raw[at : at + MESSAGE] for at in range(0, len(raw), MESSAGE)]


def main() -> None:
    code = "".join(path.read_text() for path in sorted(Path(json.__file__).parent.parent.glob("a*.py")))
    exchanges = [
        line for path in sorted(CASES.glob("*/exchanges.jsonl")) for line in path.read_bytes().splitlines()
    ]
    answers = [json.loads(line)["response"] for line in exchanges]
    streams = [answer["sse"].encode() * 20 for answer in answers if answer and "sse" in answer]
    rows = (
        ("prose, patterns", redact_text, cut(PROSE * 5000)),
        ("prose, patterns and names", redact_json, cut(PROSE * 5000)),
        ("code, patterns", redact_text, cut(code)),
        ("code, patterns and names", redact_json, cut(code)),
        ("small JSON exchanges", redact_json, exchanges),
        ("event streams", redact_sse, streams),
    )
    for name, redact, messages in rows:
        print(f"{name:28}{speed(redact, messages):8.0f} MB/s")


if __name__ == "__main__":
    main()
