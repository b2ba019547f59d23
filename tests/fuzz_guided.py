"""Bytes that lead further into a reader are kept and changed again: `python -m tests.fuzz_guided FOLDER [--seconds 60] [TARGET…]`.

Atheris watches which branches each input takes. It is in an environment of its own (FOLDER, see `make fuzz`), whose packages come after ours.
Each target has a process and the same share of time. A failure is an exception past the reader, what a bug of ours kept from being
linked, ten seconds for one input, or more than 2 GiB. The input that failed is kept, and printed with the line that gives it once more.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LONGEST = 16_384
FLAGS = ("-timeout=10", "-rss_limit_mb=2048", f"-max_len={LONGEST}", "-print_final_stats=1", "-verbosity=1")
RUNS = re.compile(r"^stat::number_of_executed_units:\s+(\d+)", re.MULTILINE)
MOST = re.compile(r"^stat::peak_rss_mb:\s+(\d+)", re.MULTILINE)
NEW = re.compile(r"^stat::new_units_added:\s+(\d+)", re.MULTILINE)
NAMES = re.compile(r'^    "([\w-]+)": \(', re.MULTILINE)


def names() -> list[str]:
    """Not imported: what is imported before Atheris is not watched."""
    return NAMES.findall(Path(__file__).with_name("guided.py").read_text())


def found(text: str, what: re.Pattern[str]) -> int:
    match = what.search(text)
    return int(match[1]) if match else 0


def run(folder: Path, name: str, seconds: int) -> tuple[str, bool]:
    kept = Path(tempfile.mkdtemp(prefix=f"ramify-fuzz-{name}-"))
    command = [sys.executable, "-m", "tests.fuzz_guided", str(folder), "--within", name]
    flags = [*FLAGS, f"-max_total_time={seconds}", f"-artifact_prefix={kept}/", str(kept)]
    told = subprocess.run([*command, *flags], capture_output=True, text=True, errors="replace", timeout=seconds + 300)
    text = told.stdout + told.stderr
    line = f"{name:26}{found(text, RUNS):10,} inputs {found(text, NEW):7,} kept {found(text, MOST):6} MiB"
    if not told.returncode:
        return f"{line}  ok", True
    bad = sorted(path for path in kept.iterdir() if path.name.startswith(("crash-", "timeout-", "oom-")))
    again = "".join(f"\n  again: {' '.join(command)} {path}" for path in bad)
    return f"{text[-4000:]}\n{line}  FAILED{again}", False


def within(folder: Path, name: str, flags: list[str]) -> None:
    """In the process of one target: Atheris first, so that all of ours is watched."""
    sys.path += [str(path) for path in folder.glob("lib/python*/site-packages")]
    import atheris

    with atheris.instrument_imports(include=["ramify"]):
        from tests.guided import TARGETS, changed
    import logging
    from random import Random

    logging.disable(logging.CRITICAL)
    read, seeds = TARGETS[name]
    kept = Path(flags[-1])
    if kept.is_dir():
        for number, seed in enumerate(one for one in seeds() if len(one) <= LONGEST):
            (kept / f"seed-{number}").write_bytes(seed)

    def mutate(raw: bytes, longest: int, number: int) -> bytes:
        """Half of the time as JSON, where it is some."""
        found = changed(raw, Random(number)) if number % 2 else None
        return found if found is not None and len(found) <= longest else atheris.Mutate(raw, longest)

    atheris.Setup([sys.argv[0], *flags], read, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the environment in which Atheris is")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(names()))
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--within", help=argparse.SUPPRESS)
    asked, flags = parser.parse_known_intermixed_args()
    if asked.within:
        within(asked.folder, asked.within, [*flags, *asked.targets])
        return 0
    if not any(asked.folder.glob("lib/python*/site-packages/atheris")):
        print(f"there is no Atheris in {asked.folder}: it can be had on Linux alone", file=sys.stderr)
        return int(bool(os.environ.get("CI")))
    good = True
    for name in asked.targets or names():
        line, held = run(asked.folder, name, asked.seconds)
        print(line, flush=True)
        good = good and held
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
