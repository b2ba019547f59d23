"""The page with a very large tree, in a real browser: the skeleton from the server, first rows, scrolling, live changes."""

import gzip
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace
from playwright.sync_api import Page, sync_playwright

from bench.big import CONVERSATION, root, write_tree
from bench.ports import free_port
from ramify.model.entity import Task
from ramify.model.ids import short
from ramify.model.link import Link
from ramify.storage.base import Ask
from tests.browser.conftest import FLAGS, chromium, lacking
from tests.browser.world import World, world

SIZE = 30_000
TIMES = 7
CHANGES = 50

# What a reader would feel: how long each frame took while rows are scrolled through.
SCROLL = """
async () => {
  const box = document.querySelector('[role=tree]');
  const frames = [];
  let last = performance.now();
  for (let step = 0; step < 180; step += 1) {
    box.scrollTop += step % 60 === 0 ? box.scrollHeight / 4 : 140;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  return { frames, nodes: document.querySelectorAll('*').length };
}
"""


@contextmanager
def serving(store: str) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "ramify", "serve", "--store", store, "--port", str(port)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stderr is not None
        assert "listens on" in child.stderr.readline()
        yield f"http://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait(20)


def asked(url: str, packed: bool) -> tuple[float, bytes]:
    request = urllib.request.Request(url, headers={"accept-encoding": "gzip" if packed else "identity"})
    began = time.perf_counter()
    with urllib.request.urlopen(request) as response:
        body = response.read()
    return time.perf_counter() - began, body


def measure_server(url: str) -> str:
    address = f"{url}/api/tasks/{root()}/tree?shape=skeleton"
    plain = [asked(address, False) for _ in range(TIMES)]
    packed = [asked(address, True) for _ in range(TIMES)]
    rows = json.loads(plain[0][1])["n"]
    assert rows == SIZE
    assert json.loads(gzip.decompress(packed[0][1]))["n"] == SIZE
    seconds = [time for time, _ in plain]
    return (
        f"skeleton of {rows:,} tasks: {statistics.median(seconds) * 1000:.0f} ms (fastest {min(seconds) * 1000:.0f}), "
        f"{len(plain[0][1]) / 1e6:.2f} MB; packed {statistics.median(time for time, _ in packed) * 1000:.0f} ms, "
        f"{len(packed[0][1]) / 1e6:.2f} MB"
    )


# By the page's own clock, which begins when the address is opened; whoever looks from outside looks only now and then.
DRAWN = """
() => new Promise((resolve) => {
  const look = () => document.querySelector('[role=treeitem]') ? requestAnimationFrame(() => resolve(performance.now())) : null;
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  look();
})
"""


def first_rows(page: Page, url: str) -> float:
    page.goto("about:blank")
    page.wait_for_timeout(1500)
    page.goto(f"{url}/task/{root()}?tab=tree", wait_until="commit")
    return float(page.evaluate(DRAWN)) / 1000


def measure_page(page: Page, url: str) -> Iterator[str]:
    times = [first_rows(page, url) for _ in range(TIMES)]
    yield f"first rows on the screen, from an empty page: {statistics.median(times) * 1000:.0f} ms (fastest {min(times) * 1000:.0f})"
    page.wait_for_timeout(1500)
    found = page.evaluate(SCROLL)
    frames = sorted(found["frames"])
    late = frames[int(len(frames) * 0.95)]
    yield f"scrolling: a frame takes {statistics.median(frames):.1f} ms, 95 of 100 at most {late:.1f} ms, {found['nodes']:,} nodes drawn"
    fold = page.evaluate(TURN)
    yield f"all of it folded and unfolded: {fold['fold']:.0f} ms and {fold['unfold']:.0f} ms"


TURN = """
async () => {
  const turn = async (name) => {
    const button = [...document.querySelectorAll('.depths button')].find((one) => one.textContent === name);
    const began = performance.now();
    button.click();
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - began;
  };
  return { fold: await turn('1'), unfold: await turn('all') };
}
"""


COUNT = """
() => {
  window.counted = [];
  let last = performance.now();
  const next = (now) => { window.counted.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}
"""


def measure_live(page: Page, server: World) -> Iterator[str]:
    """Changes as the writer publishes them: fifty, ten times a second; then five thousand at once."""
    tasks = [task for task in server.served.store.page("tasks", Ask("opened", limit=SIZE)) if isinstance(task, Task)]
    page.goto(f"{server.url}/conversation/{CONVERSATION}?tab=tree")
    page.get_by_role("treeitem").first.wait_for()
    rng = random.Random(3)
    page.evaluate(COUNT)
    for _ in range(30):
        publish(server, [moved(task, rng) for task in rng.sample(tasks, CHANGES)])
        page.wait_for_timeout(100)
    yield f"{CHANGES} changes, ten times a second: {told(page)}"
    page.evaluate("window.counted.length = 0")
    publish(server, [moved(task, rng) for task in rng.sample(tasks, 5000)])
    page.wait_for_timeout(2500)
    yield f"5,000 changes at once: {told(page)}"


def told(page: Page) -> str:
    frames = sorted(page.evaluate("window.counted"))
    return f"a frame takes {statistics.median(frames):.1f} ms, 95 of 100 at most {frames[int(len(frames) * 0.95)]:.1f} ms, the longest {frames[-1]:.0f} ms"


def moved(task: Task, rng: random.Random) -> Task:
    """At work again, or done; half of them with a new sub-task of their own."""
    if rng.random() < 0.5:
        return replace(task, last_stop=rng.choice(["tool_use", "end_turn"]), tool_calls=task.tool_calls + 1)
    id = short("task", "new", rng.random().hex())
    return replace(task, id=id, line=id, parent=task.id, kind="sub", link=Link("spawned", task.id, "agent-id-header", 1.0), opened=task.opened + 1)


def publish(server: World, tasks: list[Task]) -> None:
    server.loop.call_soon_threadsafe(server.served._hub.publish, next(numbers), {("tasks", task.id): task for task in tasks})


numbers = itertools.count(1_000_000)


def main() -> None:
    if why := lacking():
        print(f"left out: {why}")
        return
    with tempfile.TemporaryDirectory() as folder:
        store = write_tree(Path(folder) / "big.db", SIZE)
        with serving(store) as url, sync_playwright() as playwright:
            print(measure_server(url), flush=True)
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for line in measure_page(page, url):
                print(line, flush=True)
            browser.close()
        with sync_playwright() as playwright, world(store=store) as server:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for line in measure_live(page, server):
                print(line, flush=True)
            page.close()
            browser.close()


if __name__ == "__main__":
    main()
