"""The chain: a hash for every prefix of a message list, so that a parent is one look-up away.

A request repeats its history; the chain of the request before it is taken over as far as both agree.
"""

import hashlib
from collections.abc import Callable

from msgspec import Struct

from ramify.model.event import Atom, Part

START = b"\x00" * 16


class Chain(Struct):
    """`hashes[i]` stands for the first i atoms; `places[i]` says where atom i is: message and block."""

    parts: tuple[Part, ...]
    hashes: list[bytes]
    atoms: list[Atom]
    roles: list[str]
    places: list[tuple[int, int]]
    ends: list[int]  # number of atoms at the end of each message
    seen: dict[str | bytes, int]
    unresolved: set[str]

    @property
    def end(self) -> bytes:
        return self.hashes[-1]


def step(before: bytes, atom: bytes) -> bytes:
    return hashlib.blake2b(before + atom, digest_size=16).digest()


def extend(start: bytes, atoms: list[bytes]) -> bytes:
    for atom in atoms:
        start = step(start, atom)
    return start


def build(parts: tuple[Part, ...], resolve: Callable[[str], bytes | None], known: Chain | None = None) -> Chain:
    chain, begin = _taken_over(parts, known)
    for index in range(begin, len(parts)):
        _add(chain, index, parts[index], resolve)
    return chain


def _taken_over(parts: tuple[Part, ...], known: Chain | None) -> tuple[Chain, int]:
    if known is None or known.unresolved:
        return Chain(parts, [START], [], [], [], [], {}, set()), 0
    common = 0
    for mine, theirs in zip(parts, known.parts, strict=False):
        if mine is not theirs:
            break
        common += 1
    count = known.ends[common - 1] if common else 0
    seen = {key: where for key, where in known.seen.items() if where < common}
    return (
        Chain(
            parts,
            known.hashes[: count + 1],
            known.atoms[:count],
            known.roles[:count],
            known.places[:count],
            known.ends[:common],
            seen,
            set(),
        ),
        common,
    )


def _add(chain: Chain, index: int, part: Part, resolve: Callable[[str], bytes | None]) -> None:
    """Some clients send a tool call and its result twice: the second is skipped, with the text repeated beside it."""
    doubled = any(atom.tool and atom.kind + atom.tool in chain.seen for atom in part.atoms)
    for atom in part.atoms:
        key: str | bytes | None = atom.kind + atom.tool if atom.tool else atom.digest
        if doubled and key in chain.seen:
            continue
        if key is not None:
            chain.seen.setdefault(key, index)
        digest = atom.digest
        if digest is None:
            digest = resolve(atom.tool)
            if digest is None:
                chain.unresolved.add(atom.tool)
                digest = b"cleared:" + atom.tool.encode()
        chain.hashes.append(step(chain.hashes[-1], digest))
        chain.atoms.append(atom)
        chain.roles.append(part.role)
        chain.places.append((index, atom.block))
    chain.ends.append(len(chain.atoms))
