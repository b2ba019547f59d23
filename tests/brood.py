"""Processes that come without loading again what they are made of: each is forked from this one, which has loaded it.

    python brood.py SOCKET MODULE …

For each connection: JSON (what to run, arguments, environment) with the descriptors of input, output and errors. Answered are
`pid NUMBER` and, at the end, `status NUMBER`; the connection ends with the process. All end with this one, which ends with its own input.
"""

import atexit
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
from typing import Any

LARGEST = 1 << 20


def serve(place: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    os.setpgid(0, 0)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{place}.new")
        listening.listen(64)
        os.rename(f"{place}.new", place)  # whoever finds it may connect
        while True:
            ready, _, _ = select.select([listening, 0], [], [])
            if 0 in ready:
                os.killpg(0, signal.SIGKILL)
            with listening.accept()[0] as asked:
                words, descriptors, _, _ = socket.recv_fds(asked, LARGEST, 3)
                child = os.fork()
                if not child:
                    listening.close()
                    live(json.loads(words), descriptors, asked)
                for one in descriptors:
                    os.close(one)
                asked.sendall(b"pid %d\n" % child)


def live(wish: dict[str, Any], descriptors: list[int], asked: socket.socket) -> None:
    """As if it had been started by itself."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, one in enumerate(descriptors):
            os.dup2(one, number)
            os.close(one)
        sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        os.environ.clear()
        os.environ.update(wish["environment"])
        os.chdir(wish["folder"])
        status = run(wish["run"], wish["arguments"])
    finally:
        asked.sendall(b"status %d\n" % status)
        os._exit(status)


def run(what: str, arguments: list[str]) -> int:
    """A script by its path, else a module; with everything that happens when an interpreter ends."""
    sys.argv = [what, *arguments]
    try:
        if what.endswith(".py"):
            runpy.run_path(what, run_name="__main__")
        else:
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
    return 1


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)  # only what is under its __main__ does anything
    serve(sys.argv[1])
