"""Every path of the API, by its own description, against a real server with a filled store: `python -m tests.fuzz_api SCHEMATHESIS [--examples N]`.

No answer may be a server's error, have a status or a type that is not described, or break the schema. Feeds that never end are
left to their own tests. The status is that of Schemathesis.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.flatness import of_process
from bench.latency import process
from bench.ports import free_port

CASES = Path(__file__).parent / "cases"
FILLED = (
    ("anthropic/subtask-three-parallel/exchanges.jsonl", "auto"), ("anthropic/retry-after-529/exchanges.jsonl", "auto"), ("claude/nested", "auto"),
    ("a2a/v1-refine/frames.jsonl", "auto"), ("sam/simple/messages.jsonl", "auto"), ("events/kinds/records.jsonl", "adcp"),
)  # fmt: skip
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
ENDLESS = "(live|stream|demo)$"


def fill(store: str) -> None:
    for path, format in FILLED:
        command = [sys.executable, "-m", "ramify", "import", "--store", store, "--format", format, str(CASES / path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="Schemathesis, which has an environment of its own")
    parser.add_argument("--examples", type=int, default=100, help="for each operation")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ramify-fuzz-") as folder:
        store, port = f"sqlite:{folder}/fuzz.db", free_port()
        fill(store)
        serve = [sys.executable, "-m", "ramify", "serve", "--store", store, "--port", str(port), "--anthropic-upstream", "http://127.0.0.1:9"]
        command = [
            str(Path(asked.program).absolute()), "run", f"http://127.0.0.1:{port}/api/openapi.json", "--checks", CHECKS, "--max-examples", str(asked.examples),
            "--exclude-path-regex", ENDLESS, "--request-timeout", "30", "--phases", "examples,coverage,fuzzing,stateful", "--seed", str(asked.seed),
            "--continue-on-failure",
        ]  # fmt: skip
        with process([*serve, "--log-file", f"{folder}/log"], port) as pid:
            status = subprocess.run(command, check=False, cwd=folder).returncode
            memory, files, threads = of_process(pid)
            print(f"the server afterwards: {memory:.0f} MiB, {files:.0f} open files, {threads:.0f} threads")
        print((Path(folder) / "log").read_text()[-2000:])
    return status


if __name__ == "__main__":
    sys.exit(main())
