"""The chain: a hash for every prefix of a message list, so that a parent is one look-up away.

A request repeats its history; the chain of the request before it is taken over as far as both agree.
"""

import hashlib
import operator
from collections.abc import Callable

from msgspec import Struct

from ramify.model.event import Atom, Part

PLACE = 3  # bytes
RESULT = "result"  # the kind of atom that a client may clear


class Chain(Struct):
    """`hashes[i]` stands for the first i atoms; `places[i]` says where atom i is: message and block."""

    parts: tuple[Part, ...]
    hashes: list[bytes]
    atoms: list[Atom]
    roles: list[str]
    places: list[tuple[int, int]]
    ends: list[int]  # number of atoms at the end of each message
    seen: dict[str | bytes, int]
    cleared: dict[str, bytes | None]  # the atom that stands for each result that the client cleared, if known

    @property
    def end(self) -> bytes:
        return self.hashes[-1]


def step(before: bytes, atom: bytes) -> bytes:
    """Begins as the one before: all that follows one opening stands together wherever hashes are sorted."""
    return before[:PLACE] + hashlib.blake2b(before + atom, digest_size=16).digest()[PLACE:]


def opening_step(before: bytes, atom: bytes) -> bytes:
    """Before the first answer: the words of an opening say where everything after it stands."""
    return hashlib.blake2b(before + atom, digest_size=16).digest()


def extend(start: bytes, atoms: list[bytes]) -> bytes:
    for atom in atoms:
        start = step(start, atom)
    return start


def build(
    parts: tuple[Part, ...], start: bytes, resolve: Callable[[str], bytes | None], known: Chain | None = None
) -> Chain:
    if known is not None and any(resolve(native) != atom for native, atom in known.cleared.items()):
        known = None
    chain, begin = _taken_over(parts, start, known)
    for index in range(begin, len(parts)):
        _add(chain, index, parts[index], resolve)
    return chain


def _taken_over(parts: tuple[Part, ...], start: bytes, known: Chain | None) -> tuple[Chain, int]:
    if known is None:
        return Chain(parts, [start], [], [], [], [], {}, {}), 0
    common = _common(parts, known.parts)
    count = known.ends[common - 1] if common else 0
    whole = common == len(known.parts)
    seen = known.seen.copy() if whole else {key: at for key, at in known.seen.items() if at < common}
    cleared = {native: atom for native, atom in known.cleared.items() if RESULT + native in seen}
    return (
        Chain(
            parts,
            known.hashes[: count + 1],
            known.atoms[:count],
            known.roles[:count],
            known.places[:count],
            known.ends[:common],
            seen,
            cleared,
        ),
        common,
    )


def _common(parts: tuple[Part, ...], known: tuple[Part, ...]) -> int:
    """Parts that were read once are the same objects; usually all of the shorter list is."""
    length = min(len(parts), len(known))
    if all(map(operator.is_, parts[:length], known)):
        return length
    return next(at for at in range(length) if parts[at] is not known[at])


def _add(chain: Chain, index: int, part: Part, resolve: Callable[[str], bytes | None]) -> None:
    """Some clients send a tool call and its result twice: the second is skipped, with the text repeated beside it."""
    opening = part.role != "assistant" and "assistant" not in chain.roles
    doubled = any(atom.tool and atom.kind + atom.tool in chain.seen for atom in part.atoms)
    for atom in part.atoms:
        key: str | bytes | None = atom.kind + atom.tool if atom.tool else atom.digest
        if doubled and key in chain.seen:
            continue
        if key is not None:
            chain.seen.setdefault(key, index)
        digest = atom.digest
        if digest is None:
            chain.cleared[atom.tool] = resolve(atom.tool)
            digest = chain.cleared[atom.tool] or b"cleared:" + atom.tool.encode()
        before = chain.hashes[-1]
        chain.hashes.append(opening_step(before, digest) if opening else step(before, digest))
        chain.atoms.append(atom)
        chain.roles.append(part.role)
        chain.places.append((index, atom.block))
    chain.ends.append(len(chain.atoms))
