"""Virtual environments with the real SDKs, one for each version: made once, then found again."""

import os
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = {
    "1": ("a2a-sdk[http-server]==1.3.0", "uvicorn>=0.38"),
    "03": ("a2a-sdk[http-server]==0.3.26", "uvicorn>=0.38"),
}
VERSIONS = tuple(REQUIREMENTS)
HERE = Path(__file__).parent
TOP = HERE.parents[2]
SECONDS = 300.0


class Unavailable(Exception):
    """An environment could not be made; the words say why."""


def folder() -> Path:
    """Beside the packages of the environment that runs the tests, so that it goes when that goes."""
    own = Path(sys.prefix) if sys.prefix != sys.base_prefix else TOP / ".venv"
    return own / "peers"


def python_of(version: str) -> Path:
    """Raises Unavailable."""
    return environment(f"a2a-{version}", REQUIREMENTS[version])


def environment(name: str, requirements: tuple[str, ...]) -> Path:
    """Its Python. Raises Unavailable. Two runs of the tests may want the same one at the same time."""
    place = folder() / name
    stamp, wanted = place / "installed", "\n".join(requirements)
    python = place / "bin" / "python"
    if not (stamp.exists() and stamp.read_text() == wanted):
        place.parent.mkdir(parents=True, exist_ok=True)
        with (place.parent / f"{name}.lock").open("w") as lock:
            take(lock.fileno())
            if not (stamp.exists() and stamp.read_text() == wanted):
                make(place, requirements)
                stamp.write_text(wanted)
    return python


def take(lock: int) -> None:
    import fcntl

    fcntl.flock(lock, fcntl.LOCK_EX)


def make(place: Path, requirements: tuple[str, ...]) -> None:
    """By uv, in seconds; where only pip is told how packages are reached, by pip, in a minute."""
    python, uv = str(place / "bin" / "python"), [sys.executable, "-m", "uv", "--quiet"]
    try:
        run([*uv, "venv", "--clear", "--seed", "--python", sys.executable, str(place)])
        run([*uv, "pip", "install", "--python", python, *requirements])
    except Unavailable:
        run([sys.executable, "-m", "venv", "--clear", str(place)])
        run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements])


def run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env={**os.environ, "PYTHONPATH": ""})
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Unavailable(str(problem)) from problem
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no reason given"]
        raise Unavailable(f"{' '.join(command[1:4])}: {last[0]}")
