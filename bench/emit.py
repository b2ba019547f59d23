"""What telling an event costs the program that tells it: `python -m bench.emit`."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from ramify.emit import Emitter, Memory

PARAMS = {"brief": "Autumn teas for people who read on trains. " * 5, "budget": 5000, "formats": [{"id": f"display_{n}"} for n in range(5)]}
EVENT = {
    "eventType": "protocol_request", "operationId": "op_1", "agentId": "seller", "taskType": "get_products",
    "protocol": "mcp", "method": "get_products", "payload": {"params": PARAMS},
}
IMPORT = "import time; began = time.perf_counter(); import ramify.emit; print(time.perf_counter() - began)"


def cost(emit: Callable[[], Any], count: int, rounds: int = 7) -> float:
    """Microseconds a call, the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count):
            emit()
        best = min(best, time.perf_counter() - began)
    return best / count * 1e6


def import_time() -> float:
    """Milliseconds, the best of seven new interpreters."""
    runs = [subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout for _ in range(7)]
    return min(map(float, runs)) * 1e3


def main() -> None:
    silent, kept, called = Emitter(), Emitter(), Emitter()
    kept.subscribe(Memory())
    called.subscribe(lambda event: None)
    rows = (
        ("emit, no subscriber", cost(lambda: silent.emit(EVENT), 100_000), "µs"),
        ("request(…), no subscriber", cost(lambda: silent.request("seller", "get_products", params=PARAMS), 100_000), "µs"),
        ("emit, kept in memory", cost(lambda: kept.emit(EVENT), 5_000), "µs"),
        ("emit, one function in its own thread", cost(lambda: called.emit(EVENT), 1_000), "µs"),
        ("import ramify.emit", import_time(), "ms"),
    )
    for name, figure, unit in rows:
        print(f"{name:40}{figure:8.2f} {unit}")
    called.close()


if __name__ == "__main__":
    main()
