"""The wheel, built twice from one commit: `python -m supply.wheel FOLDER` fails unless both are the same bytes."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).parents[1]


def moment() -> str:
    """Of the commit, which stands in for the times of files; the least that a zip can tell where there is no git."""
    asked = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=TOP, capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "315532800"


def build(source: Path, folder: Path) -> Path:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or moment()}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copied(to: Path) -> Path:
    """The same sources elsewhere, with other times: neither may show."""
    shutil.copytree(TOP / "src", to / "src", ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copyfile(TOP / name, to / name)
    return to


def built_twice(folder: Path) -> tuple[Path, Path]:
    with tempfile.TemporaryDirectory() as elsewhere:
        again = build(copied(Path(elsewhere)), folder / "again")
    return build(TOP, folder), again


def main(folder: Path) -> int:
    first, second = built_twice(folder)
    same = digest(first) == digest(second)
    shutil.rmtree(folder / "again")
    print(f"{digest(first)}  {first}" if same else f"{first.name} came out differently in another folder", file=sys.stdout if same else sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
