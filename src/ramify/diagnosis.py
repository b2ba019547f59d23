"""`ramify doctor`: what is checked, what was found, and what to do about it."""

import os
import shlex
import socket
from collections.abc import Iterator
from contextlib import suppress
from glob import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ramify.capture.redact import VERSION
from ramify.forgetting import UNSWEPT
from ramify.model.mistake import UserMistake
from ramify.redaction import RULES
from ramify.room import LITTLE, free_beside, is_nearly, part, size
from ramify.settings import Settings
from ramify.spool import glance
from ramify.spools import spool_folder, spool_folders
from ramify.standing import BEHIND, behind, described, trouble
from ramify.storage.base import Store, StoreDown
from ramify.storage.private import others_read
from ramify.storage.sealing import INDEX_VARIABLE, VARIABLE
from ramify.upgrading import OLDER, deriving_notice, is_outdated, share_done
from ramify.wiring import open_store

Check = dict[str, Any]
EXPORTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
GRPC_PORT = 4317


def found(check: str, status: str, message: str, hint: str = "") -> Check:
    return {"check": check, "status": status, "message": message, "hint": hint or None}


def examine(settings: Settings) -> list[Check]:
    """Also of a store that cannot be opened: then it is the more worth knowing what waits in the spool."""
    try:
        store = open_store(settings.store)
    except UserMistake as problem:
        return [found("store", "fail", problem.message, problem.hint), *around(settings)]
    try:
        return list(checks(store, settings))
    finally:
        store.close()


def checks(store: Store, settings: Settings) -> Iterator[Check]:
    """A store that goes away meanwhile ends what is asked of it, and nothing else."""
    with suppress(StoreDown):
        yield from inside(store, settings)
    yield from around(settings, store)


def inside(store: Store, settings: Settings) -> Iterator[Check]:
    yield _store(store)
    yield from _engine(store)
    yield from _rows(store)
    yield from _size(store, settings)
    yield from _private(store, settings)
    yield _encryption(store)
    yield _redaction(store)
    yield from _left(store)
    yield _unreadable(store)


def around(settings: Settings, store: Store | None = None) -> Iterator[Check]:
    """What can be told without the store."""
    yield from _space(settings)
    yield from _spool(settings, store)
    yield _server(settings)
    yield _upstream(settings)
    yield _client(settings)
    yield from _exporter(settings)
    yield from _broker()


def _store(store: Store) -> Check:
    try:
        state = store.check()
        held = f"{store.count('calls')} calls, log at {store.seq()}" if state == "ok" else ""
    except StoreDown as problem:
        hint = "restore it from a copy; the spool beside it is kept" if store.path else "is the server up? What is captured meanwhile waits in the spool"
        return found("store", "fail", f"{store.url}: {problem}", hint)
    if state != "ok":
        hint = "copy the file away, then: ramify rebuild" if store.path else "that is for whoever runs the server"
        return found("store", "fail", f"{store.url} is damaged: {state}", hint)
    return found("store", "ok", f"{store.url} opens, {held}")


def _engine(store: Store) -> Iterator[Check]:
    """Nothing of a store that is away: that was said."""
    try:
        about, taken, missing = store.about(), store.size()["bytes"], behind(store)
    except StoreDown:
        return
    said, wrong = described(about, taken), trouble(about)
    yield found("engine", "warn", f"{wrong[0]}: {said}", wrong[1]) if wrong else found("engine", "ok", said)
    if missing and not store.search.fed:
        yield found("search", "ok", f"search knows the log but for {missing} of {store.seq()} observations, and stays so: the store is encrypted")
    elif missing > BEHIND:
        yield found("search", "warn", f"{missing} observations of {store.seq()} cannot be searched yet", "a server that runs goes on; without one: ramify serve")
    else:
        yield found("search", "ok", f"search knows the log but for {missing} of {store.seq()} observations" if missing else "search knows the whole log")


def _rows(store: Store) -> Iterator[Check]:
    if is_outdated(store):
        share = share_done(store) if store.path else 0.0
        yield found("rows", "warn", deriving_notice(share) if share else OLDER, "a server that runs does so; without one: ramify rebuild")


def _space(settings: Settings) -> Iterator[Check]:
    """The spool stands beside a file; of a store elsewhere it is all that takes room here."""
    free, near = None, settings.store.startswith("sqlite:")
    with suppress(UserMistake):  # an address that cannot be read has none
        free = free_beside(str(spool_folder(settings) or ""))
    if free is None:
        return
    text = f"{size(free)} free beside the {'store' if near else 'spool'}"
    if free < LITTLE:
        when = "when the disk is full" if near else "when the disk is full and the store away"
        yield found("space", "warn", text, f"free some space: {when}, observations wait in memory")
    else:
        yield found("space", "ok", text)


def _size(store: Store, settings: Settings) -> Iterator[Check]:
    if not settings.store_limit:
        return
    taken = store.size()["bytes"]
    text = f"the store has {part(taken, settings.store_limit)}"
    if is_nearly(taken, settings.store_limit):
        hint = "ramify prune --older-than 30d, or set retention; or raise store_limit"
        yield found("size", "warn", text, hint)
    else:
        yield found("size", "ok", text)


def _spool(settings: Settings, store: Store | None) -> Iterator[Check]:
    """Those of servers on other ports as well."""
    folders = known_folders(settings, store)
    if not folders:
        return
    try:
        waiting, lost = map(sum, zip(*map(glance, folders), strict=True))
        taken = max(sum(path.stat().st_size for path in folder.glob("*.segment")) for folder in folders)
    except OSError as problem:
        yield found("spool", "fail", f"{problem.filename or folders[0]} cannot be used: {problem.strerror}", "check its permissions")
        return
    if lost:
        yield found("losses", "warn", f"{lost} observations were lost for want of room", "raise --spool-limit, free space")
    if is_nearly(taken, settings.spool_limit):
        yield found("spool", "warn", f"the spool has {part(taken, settings.spool_limit)}", "find out why the store is away, or raise --spool-limit")
    if waiting:
        yield found("spool", "warn", f"{waiting} observations wait in the spool", "ramify serve stores them when the store is back")
    else:
        yield found("spool", "ok", "nothing waits in the spool")


def known_folders(settings: Settings, store: Store | None) -> list[Path]:
    """While the store is away, those that its address names; an address that cannot be read has none."""
    try:
        return spool_folders(settings, store)
    except StoreDown:
        return spool_folders(settings)
    except UserMistake:
        return []


def _private(store: Store, settings: Settings) -> Iterator[Check]:
    """Whoever started with an older version has files that everybody on the machine may read."""
    beside = Path(store.path).parent.glob(f"{escape(Path(store.path).name)}*") if store.path else ()
    open_to_others = sorted(path for path in {*beside, *spool_folders(settings, store)} if others_read(path))
    if open_to_others:
        named = " ".join(shlex.quote(str(path)) for path in open_to_others)
        yield found("privacy", "warn", f"others on this machine can read {open_to_others[0].name} and what is beside it", f"chmod -R go-rwx {named}")
    elif store.path:
        yield found("privacy", "ok", "nobody else on this machine can read the store")


def _encryption(store: Store) -> Check:
    if store.sealer is None:
        return found("encryption", "ok", "bodies are not encrypted by Ramify", f"to encrypt what comes from now on, set {VARIABLE}_FILE")
    if store.search.fed:
        return found("encryption", "ok", f"bodies are encrypted; their words are in the search index in clear ({INDEX_VARIABLE})")
    return found("encryption", "ok", "bodies are encrypted; what comes is not in the search index, which would hold words in clear", f"to search all the same: {INDEX_VARIABLE}=yes")


def _left(store: Store) -> Iterator[Check]:
    if store.fact(UNSWEPT):
        said = "what was forgotten or redacted last may stand on the disk still: that was cut, or goes on just now"
        yield found("forgotten", "warn", said, "ramify prune --max-size 9999GiB takes away what is left of it")


def _redaction(store: Store) -> Check:
    known = int(store.fact(RULES) or 0)
    if known >= VERSION or not store.seq():
        return found("secrets", "ok", f"searched by the rules of this version ({VERSION})")
    said = f"the store was searched by rules {known}, these are {VERSION}" if known else "nobody knows by which rules the store was searched"
    return found("secrets", "warn", said, "see what newer rules find: ramify redact --dry-run")


def _unreadable(store: Store) -> Check:
    count = store.count_unreadable()
    if not count:
        return found("reading", "ok", "everything seen could be read")
    newest = store.unreadable(1)[0]
    return found("reading", "warn", f"{count} observations could not be read; the newest: {newest[2]}", "they are kept; see ramify stats")


def _server(settings: Settings) -> Check:
    try:
        with socket.create_connection((settings.host, settings.port), timeout=0.5):
            return found("server", "ok", f"a server answers at {settings.address}")
    except OSError:
        return found("server", "warn", f"no server at {settings.address}", "start one: ramify serve, or capture one command: ramify run COMMAND")


def _upstream(settings: Settings) -> Check:
    address = urlsplit(settings.anthropic_upstream)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=2):
            return found("upstream", "ok", f"{settings.anthropic_upstream} can be reached")
    except OSError as problem:
        return found(
            "upstream", "warn", f"{settings.anthropic_upstream} cannot be reached: {problem.strerror or problem}",
            "check the network, or give another with --anthropic-upstream",
        )


def _broker() -> Iterator[Check]:
    """Only where a mesh is set up: a queue that is full must never refuse what agents say to each other."""
    address = os.environ.get("SOLACE_BROKER_URL")
    if not address:
        return
    where = address.rpartition("@")[2]
    if find_spec("solace") is None:
        yield found("broker", "warn", f"SOLACE_BROKER_URL is {where}, and its client is not installed", "pip install 'ramify[solace]'")
        return
    yield found(
        "broker", "ok", f"SOLACE_BROKER_URL is {where}: ramify listen solace hears it",
        "of the queue ramify: set reject-msg-to-sender-on-discard to never, limit its spool, and set a TTL",
    )


def _exporter(settings: Settings) -> Iterator[Check]:
    """Only where programs of this shell export traces: over gRPC they would not be heard."""
    named = {name: value for name in EXPORTS if (value := os.environ.get(name))}
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or ""
    if not named and not protocol:
        return
    address = next(iter(named.values()), "")
    if protocol == "grpc" or urlsplit(address).port == GRPC_PORT:
        said = f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol or 'not set'}, {next(iter(named), 'no endpoint')} {address}: gRPC is not spoken here"
        hint = f"export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_ENDPOINT={settings.address}"
        yield found("telemetry", "warn", said.strip(), hint)
    elif address.startswith(settings.address):
        yield found("telemetry", "ok", f"traces are exported here ({address})")
    else:
        said = f"traces are exported to {address}" if address else "OTEL_EXPORTER_OTLP_ENDPOINT is not set"
        yield found("telemetry", "ok", said, f"to see them here: export OTEL_EXPORTER_OTLP_ENDPOINT={settings.address}")


def _client(settings: Settings) -> Check:
    given = os.environ.get("ANTHROPIC_BASE_URL")
    if given and given.rstrip("/") == settings.address:
        return found("client", "ok", f"ANTHROPIC_BASE_URL points here ({given})")
    said = f"ANTHROPIC_BASE_URL is {given}" if given else "ANTHROPIC_BASE_URL is not set in this shell"
    return found("client", "warn", said, f"export ANTHROPIC_BASE_URL={settings.address}, or use: ramify run COMMAND")
