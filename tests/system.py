"""The system packages that the tests use, installed where that may be done: `python -m tests.system`.

Without them their tests skip, each with one line that says why.
"""

import os
import shutil
import subprocess
import sys
from glob import glob

NEEDED = {
    "chromium": lambda: shutil.which("chromium"),
    "chromium-headless-shell": lambda: shutil.which("chromium-headless-shell"),
    "mosquitto": lambda: shutil.which("mosquitto") or glob("/usr/sbin/mosquitto"),
    "pgbouncer": lambda: shutil.which("pgbouncer") or glob("/usr/sbin/pgbouncer"),
    "postgresql": lambda: glob("/usr/lib/postgresql/*/bin/postgres") or shutil.which("postgres"),
}
SECONDS = 900
INSTALL = ("install", "-q", "-y", "--no-install-recommends")


def main() -> int:
    missing = [package for package, there in NEEDED.items() if not there()]
    if not missing:
        return 0
    if os.getuid() != 0 or not shutil.which("apt-get"):
        print(f"not installed, and not to be installed from here: {', '.join(missing)}; their tests skip", file=sys.stderr)
        return 0
    apt("update", "-q")
    if not apt(*INSTALL, *missing):
        for package in missing:  # one that this system does not know keeps no other one away
            if not apt(*INSTALL, package):
                print(f"{package} could not be installed; tests that need it skip", file=sys.stderr)
    return 0


def apt(*command: str) -> bool:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(["apt-get", *command], check=False, env=quiet, stdout=sys.stderr, timeout=SECONDS).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
