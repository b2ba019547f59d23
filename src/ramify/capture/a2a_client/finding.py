"""Which agent has a task. An id carries no address, and one that is not known at one place is normal."""

import asyncio
from collections.abc import Iterable

from msgspec import Struct

from ramify.capture.a2a_client.heard import Heard
from ramify.capture.a2a_client.peer import Gone, NoCard, Peer


class Found(Struct, frozen=True):
    peer: Peer
    heard: Heard


async def find(id: str, first: Peer | None, others: Iterable[Peer]) -> Found | None:
    """On the first agent, else on exactly one of the others. Several that know the id: nobody can tell which is meant."""
    if first is not None and (here := await look(first, id)):
        return here
    hits = await asyncio.gather(*(look(peer, id) for peer in others if peer is not first))
    found = [hit for hit in hits if hit is not None]
    return found[0] if len(found) == 1 else None


async def look(peer: Peer, id: str) -> Found | None:
    """None where it is not known, and where nobody answers."""
    try:
        heard = await peer.show(id)
    except (Gone, NoCard):
        return None
    return Found(peer, heard) if heard.kind == "task" and heard.task == id else None
