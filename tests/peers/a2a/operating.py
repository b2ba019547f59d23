"""A sample client whose calls are one operation, told to a server: `python operating.py SOURCE PACKAGES SERVER SESSION OPERATION
client_1.py URL …`. Ramify and what it needs are found behind the environment's own packages: the SDK has its own.
"""

import json
import runpy
import sys
from pathlib import Path

source, packages, server, session, operation, client, *arguments = sys.argv[1:]
sys.path[:0] = [str(Path(__file__).parent)]
sys.path += [source, packages]

import ramify  # noqa: E402

emitter = ramify.Emitter()
emitter.subscribe(ramify.ServerSink(server, session=session))
ramify.instrument(emitter=emitter)
sys.argv = [client, *arguments]
with ramify.operation(id=operation):
    runpy.run_path(str(Path(__file__).parent / client), run_name="__main__")
assert emitter.flush(30), emitter.stats()
print(json.dumps({"stats": emitter.stats()}))
