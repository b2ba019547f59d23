"""Content codings undone: a copy to read, while the bytes go on as they came. A bomb is cut at a limit."""

import zlib

import brotli
import zstandard

LARGEST_DECODED = 256 * 1024 * 1024
MOST_CODINGS = 4  # one inside the other; nobody uses more than two
MOST_MEMBERS = 10_000
FED = 16 * 1024  # at a time: what is left of it after the end of a member is copied


def encodings_of(header: str) -> list[str]:
    """As a content-encoding header lists them, in the order in which they were applied."""
    return [word for part in header.split(",") if (word := part.strip().lower()) and word != "identity"]


def decode(raw: bytes, encodings: list[str]) -> bytes | None:
    """None when it cannot be read. Of a body that was cut, what had come."""
    if len(encodings) > MOST_CODINGS:
        return None
    try:
        for encoding in reversed(encodings):
            raw = decode_one(raw, encoding)
    except (zlib.error, zstandard.ZstdError, brotli.error, ValueError):
        return None
    return raw


def decode_one(raw: bytes, encoding: str) -> bytes:
    match encoding:
        case "gzip" | "x-gzip":
            return decode_gzip(raw)
        case "deflate":
            # RFC 9110 says zlib format; some servers send the bare stream. The first byte tells.
            wbits = 15 if raw[:1] and raw[0] & 0x0F == 8 else -15
            return zlib.decompressobj(wbits=wbits).decompress(raw, LARGEST_DECODED)
        case "br":
            made = brotli.Decompressor().process(raw, output_buffer_limit=LARGEST_DECODED)
            return bytes(made[:LARGEST_DECODED])  # it ends with the block in which the limit was reached
        case "zstd":
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            return reader.read(LARGEST_DECODED)
        case _:
            raise ValueError(encoding)


def decode_gzip(raw: bytes) -> bytes:
    """RFC 1952 allows several members one after the other; together they are the body."""
    pieces: list[bytes] = []
    room, position, members = LARGEST_DECODED, 0, 0
    view, member = memoryview(raw), zlib.decompressobj(wbits=31)
    while position < len(raw) and room > 0 and members < MOST_MEMBERS:
        fed = view[position : position + FED]
        pieces.append(member.decompress(fed, room))
        room -= len(pieces[-1])
        position += len(fed) - len(member.unused_data)
        if member.eof:
            member, members = zlib.decompressobj(wbits=31), members + 1
    return b"".join(pieces)
