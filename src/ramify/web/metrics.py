"""How the server is: for people, as figures for a monitoring system in the text form of Prometheus, and whether it lives and is ready
for traffic. Said also while the store is away or hangs: nothing here waits for it longer than a second."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from ramify.model.mistake import NotYours
from ramify.web.answering import document
from ramify.web.live import READERS
from ramify.web.route import read_parameters
from ramify.web.served import IDENTITY, RAMIFY, seen

AWAY = "the store does not answer, so what is seen waits in the spool, and nothing can be shown"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
FIGURES = (
    ("ramify_exchanges_captured_total", "counter", "exchanges", "exchanges with models whose request was seen, since the start"),
    ("ramify_observations_captured_total", "counter", "captured", "observations of every kind that were seen, lost ones among them"),
    ("ramify_observations_stored_total", "counter", "stored", "observations stored since the start"),
    ("ramify_observations_lost_total", "counter", "lost", "observations given up for want of room"),
    ("ramify_observations_unlinked_total", "counter", "unlinked", "observations stored that a bug kept from being linked"),
    ("ramify_queue_observations", "gauge", "waiting", "observations that wait in memory"),
    ("ramify_queue_bytes", "gauge", "waiting_bytes", "their size"),
    ("ramify_spool_observations", "gauge", "spooled", "observations that wait on disk, because the store was away"),
    ("ramify_spool_bytes", "gauge", "spooled_bytes", "their size"),
)
SENDING = (
    ("ramify_otlp_spans_sent_total", "counter", "sent", "spans that the OTLP endpoint has taken"),
    ("ramify_otlp_spans_dropped_total", "counter", "dropped", "spans that it refused, or that were too many to wait"),
    ("ramify_otlp_waiting", "gauge", "waiting", "what has ended and is not sent yet"),
)


async def metrics(request: web.Request) -> web.Response:
    if request[IDENTITY].projects is not None:
        raise NotYours("These figures are about all projects, and the token is for some", "Give the monitoring system a token for all of them")
    ramify = request.app[RAMIFY]
    health = ramify.health()
    state = health["capture"]
    lines = [line for name, kind, field, words in FIGURES for line in figure(name, kind, words, state.get(field, 0))]
    lines += figure("ramify_ingest_lag_seconds", "gauge", "age of the oldest observation that is not stored, on disk or in memory", lag(state))
    lines += commits(state)
    lines += figure("ramify_live_readers", "gauge", "readers of the live feed", len(request.app[READERS]))
    lines += [line for name, words, value in of_process() for line in figure(name, "gauge", words, value)]
    lines += [line for name, words, value in of_room(health) for line in figure(name, "gauge", words, value)]
    lines += figure("ramify_up_seconds", "gauge", "since the server started", health["uptime_s"])
    if (sending := health.get("otlp")) is not None:
        lines += [line for name, kind, field, words in SENDING for line in figure(name, kind, words, sending[field])]
    beat = await ramify.beat()
    lines += figure("ramify_store_up", "gauge", "whether the store answers within a second", int(beat.seq is not None))
    lines += figure("ramify_store_seconds", "gauge", "how long the store took to say how far its log goes", round(beat.seconds, 6))
    if beat.seq is not None:
        lines += figure("ramify_log_sequence", "counter", "how far the log goes", beat.seq)
    return web.Response(text="\n".join([*lines, ""]), headers={"content-type": TYPE, "cache-control": "no-store"})


def figure(name: str, kind: str, words: str, value: Any) -> list[str]:
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}", f"{name} {value}"]


def of_process() -> Iterator[tuple[str, str, int]]:
    """What must stay flat for months. Files are counted where the system tells them."""
    yield "ramify_tasks", "tasks of the event loop", len(asyncio.all_tasks())
    yield "ramify_threads", "threads of the process that clients talk to", threading.active_count()
    with contextlib.suppress(OSError):
        yield "ramify_open_files", "its open files and connections", len(os.listdir("/proc/self/fd"))
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        yield "ramify_memory_bytes", "its resident memory", pages * os.sysconf("SC_PAGE_SIZE")


def of_room(health: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """With their limits, so that an alarm can be set at a share of them."""
    yield "ramify_store_bytes", "size of the store", health["store_bytes"]
    yield "ramify_store_limit_bytes", "how large it may become; 0: no limit", health["store_limit"] or 0
    yield "ramify_spool_limit_bytes", "how much may wait on disk", health["spool_limit"]
    if health["disk_free"] is not None:
        yield "ramify_disk_free_bytes", "what is left on the disk of the store, or of the spool of a store elsewhere", health["disk_free"]
    deriving = health["deriving"]
    yield "ramify_derived_ratio", "how much of an older store has been derived again; 1: all", deriving["done"] / max(1, deriving["total"]) if deriving else 1


def commits(state: dict[str, Any]) -> list[str]:
    name, words = "ramify_commit_seconds", "how long the writer took to link a batch and the store to take it"
    values = (f"{name}_sum {state.get('commit_seconds', 0)}", f"{name}_count {state.get('commits', 0)}")
    return [f"# HELP {name} {words}", f"# TYPE {name} summary", *values]


def lag(state: dict[str, Any]) -> float:
    return float(state.get("lag_ms") or 0) / 1000


async def health(request: web.Request) -> web.Response:
    """Also while the store is away or hangs: then above all somebody wants to know. The log goes as far as was heard of last."""
    read_parameters(request.query.items(), ())
    found, beat = seen(request).health(), await request.app[RAMIFY].beat()
    if beat.seq is not None:
        found = {**found, "seq": beat.seq}
    else:  # why is not for those who see some projects only: it may name machines
        why = f"{AWAY}: {beat.problem}" if request[IDENTITY].projects is None else AWAY
        found = {**found, "status": "degraded", "notices": [*found.get("notices", []), why]}
    return document(found, "gzip" in request.headers.get("accept-encoding", ""))


async def alive(request: web.Request) -> web.Response:
    """The process answers: that is all that is asked of it."""
    return web.json_response({"alive": True})


async def ready(request: web.Request) -> web.Response:
    """Traffic may come. A store that is away is no reason to turn it away: what comes waits in the spool. But where it has not
    answered even once, the server may be one that was given a wrong address."""
    ramify = request.app[RAMIFY]
    state, beat = ramify.health()["capture"], await ramify.beat()
    fit = beat.seq is not None or beat.ever
    answer: dict[str, Any] = {"ready": fit, "store": beat.seq is not None}
    if request[IDENTITY].projects is None:
        answer |= {"problem": beat.problem or None, "waiting": state["waiting"], "spooled": state["spooled"]}
    return web.json_response(answer, status=200 if fit else 503)
