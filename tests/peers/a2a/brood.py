"""Agents and clients of one SDK, each a process of its own that comes without loading the SDK again: it is forked from here.

    python brood.py SOCKET SCRIPT …

For each connection: a line of JSON (script, arguments, environment, whether it is quiet) with the descriptor of its output; the answer is its number,
and the connection ends when the process ends. All of them end with this one, which ends with its own input.
"""

import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import traceback

LARGEST = 1 << 20


def serve(place: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    os.setpgid(0, 0)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(64)
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:
                os.killpg(0, signal.SIGKILL)
            with listening.accept()[0] as asked:
                words, (output,), _, _ = socket.recv_fds(asked, LARGEST, 1)
                child = os.fork()
                if not child:
                    live(json.loads(words), output)
                os.close(output)
                asked.sendall(b"%d\n" % child)


def live(wish: dict[str, object], output: int) -> None:
    """As if it had been started by itself; the connection stays open behind it, and ends with it."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        if wish["quiet"]:
            os.dup2(output, 2)
        os.environ.clear()
        os.environ.update(wish["environment"])  # type: ignore[call-overload]
        sys.argv = [str(wish["script"]), *wish["arguments"]]  # type: ignore[misc]
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    for script in sys.argv[2:]:
        importlib.import_module(script)  # only what is under its __main__ does anything
    serve(sys.argv[1])
