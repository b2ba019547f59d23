"""Every figure in one run: what the proxy adds, how fast it is stored, what it takes, how it grows."""

import os
import subprocess
import sys

from bench import a2a, emit, ingest, latency, mesh_questions, otlp, page, questions, scale, writers


def main() -> None:
    serve = [sys.executable, "-m", "ramify", "serve", "--store", "sqlite:{folder}/bench.db"]
    print("What the proxy adds, as `ramify serve` with everything on:\n", flush=True)
    latency.main([*serve, "--port", "{port}", "--anthropic-upstream", "{upstream}"])
    print("\nWhat it adds to a frame of an A2A agent's stream:\n", flush=True)
    a2a.main()
    print("\nHow fast it is linked and stored:\n", flush=True)
    ingest.main()
    print("\nHow fast spans are taken, ten thousand of one trace:\n", flush=True)
    otlp.main()
    print("\nWhat telling an event costs a program:\n", flush=True)
    emit.main()
    print("\nHow fast questions are answered:\n", flush=True)
    questions.main()
    print("\nHow fast an agent mesh is asked:\n", flush=True)
    mesh_questions.main()
    print("\nThe same traffic on every engine:\n", flush=True)
    scale.main(["--most", os.environ.get("MOST", "100000")])
    print("\nWhat several writers on one store cost:\n", flush=True)
    writers.main(["--requests", "800"])
    print("\nHow the page bears a tree of thirty thousand tasks, in Chromium:\n", flush=True)
    page.main()
    print("\nHow fast five years of transcripts are imported:\n", flush=True)
    # A process of its own: a child's highest memory is never less than its parent's was.
    subprocess.run([sys.executable, "-m", "bench.transcripts"], check=True)


if __name__ == "__main__":
    main()
