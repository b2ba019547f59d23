"""A sample agent that calls `ramify.instrument()` first: `python instrumented.py SOURCE PACKAGES agent_1.py PORT …`.

Ramify and what it needs are found behind the environment's own packages: the SDK has its own.
"""

import runpy
import sys
from pathlib import Path

source, packages, agent, *arguments = sys.argv[1:]
sys.path[:0] = [str(Path(__file__).parent)]
sys.path += [source, packages]

import ramify  # noqa: E402

ramify.instrument()
assert not [name for name in sys.modules if name == "a2a" or name.startswith("a2a.")], "ramify imports no SDK"
sys.argv = [agent, *arguments]
runpy.run_path(str(Path(__file__).parent / agent), run_name="__main__")
