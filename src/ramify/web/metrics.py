"""Figures for a monitoring system, in the text form of Prometheus; and whether the process lives and is ready for traffic."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from ramify.model.mistake import NotYours
from ramify.storage.base import StoreDown
from ramify.web.live import READERS
from ramify.web.served import IDENTITY, RAMIFY, Served

TYPE = "text/plain; version=0.0.4; charset=utf-8"
FIGURES = (
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
    lines += figure("ramify_ingest_lag_seconds", "gauge", "age of the oldest observation that is not safe yet", lag(state))
    lines += figure("ramify_live_readers", "gauge", "readers of the live feed", len(request.app[READERS]))
    lines += [line for name, words, value in of_process() for line in figure(name, "gauge", words, value)]
    lines += [line for name, words, value in of_room(health) for line in figure(name, "gauge", words, value)]
    lines += figure("ramify_up_seconds", "gauge", "since the server started", health["uptime_s"])
    if (sending := health.get("otlp")) is not None:
        lines += [line for name, kind, field, words in SENDING for line in figure(name, kind, words, sending[field])]
    took, seq = await asked(ramify)
    lines += figure("ramify_store_up", "gauge", "whether the store answers", int(seq is not None))
    lines += figure("ramify_store_seconds", "gauge", "how long the store took to say how far its log goes", took)
    if seq is not None:
        lines += figure("ramify_log_sequence", "counter", "how far the log goes", seq)
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
        yield "ramify_disk_free_bytes", "what is left on the disk of the store", health["disk_free"]
    deriving = health["deriving"]
    yield "ramify_derived_ratio", "how much of an older store has been derived again; 1: all", deriving["done"] / max(1, deriving["total"]) if deriving else 1


def lag(state: dict[str, Any]) -> float:
    return float(state.get("lag_ms") or 0) / 1000


async def asked(ramify: Served) -> tuple[float, int | None]:
    began = time.monotonic()
    try:
        seq: int | None = await asyncio.to_thread(ramify.questions.seq)
    except StoreDown:
        seq = None
    return round(time.monotonic() - began, 6), seq


async def alive(request: web.Request) -> web.Response:
    """The process answers: that is all that is asked of it."""
    return web.json_response({"alive": True})


async def ready(request: web.Request) -> web.Response:
    """Traffic may come. A store that is away is no reason to turn it away: what comes waits in the spool."""
    ramify = request.app[RAMIFY]
    state = ramify.health()["capture"]
    _, seq = await asked(ramify)
    fit = not state["lost"] or seq is not None
    answer = {"ready": fit, "store": seq is not None}
    if request[IDENTITY].projects is None:
        answer |= {"waiting": state["waiting"], "spooled": state["spooled"]}
    return web.json_response(answer, status=200 if fit else 503)
