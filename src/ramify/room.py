"""How much room is left, said before it is gone: below a limit of the store, in the spool, on the disk."""

import shutil
from pathlib import Path

from msgspec import Struct

NEARLY = 0.8  # of a limit
LITTLE = 500 * 2**20  # bytes of a disk


class Room(Struct, frozen=True):
    """Bytes. A limit of None or 0 is none; `free` None: there is no disk that we know of; `whose` it is: of a store elsewhere only the spool
    takes room here."""

    store: int
    store_limit: int | None
    spool: int
    spool_limit: int
    free: int | None = None
    whose: str = "store"


def free_beside(path: str) -> int | None:
    try:
        return shutil.disk_usage(Path(path).parent).free if path else None
    except OSError:
        return None


def is_nearly(used: int, limit: int | None) -> bool:
    return bool(limit) and used >= NEARLY * (limit or 0)


def notices(room: Room) -> list[str]:
    found = []
    if is_nearly(room.store, room.store_limit):
        found.append(f"the store has {part(room.store, room.store_limit)}: forget what is old (ramify prune, or retention), or raise store_limit")
    if is_nearly(room.spool, room.spool_limit):
        found.append(f"the spool has {part(room.spool, room.spool_limit)}: what comes beyond it will be dropped; the store is away or too slow")
    if room.free is not None and room.free < LITTLE:
        found.append(f"{size(room.free)} are left on the disk of the {room.whose}: free some; when it is full, observations wait in memory")
    return found


def part(used: int, limit: int | None) -> str:
    return f"{used / max(1, limit or 1):.0%} of its {size(limit or 0)}"


def size(count: int) -> str:
    if count < 2**20:
        return f"{count / 2**10:.0f} KiB"
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
