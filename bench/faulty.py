"""An upstream that is only bytes: it answers as a wish says, with all its faults."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from bench.wishes import Answered, answer, wished

CUT_AFTER_SECONDS = 0.05
"""What was sent before a cut is out by then."""


async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        while await one(reader, writer):
            pass
    writer.close()


async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection goes on."""
    head = await reader.readuntil(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
    given = answer(wished(await reader.readexactly(size)))
    if given.sent == 0:
        return False
    writer.write(b"HTTP/1.1 %d X\r\nContent-Type: %s\r\n" % (given.status, given.type.encode()))
    if given.type == "application/json":
        writer.write(b"Content-Length: %d\r\n\r\n" % len(b"".join(given.pieces)))
        await say(writer, given, b"%b")
    else:
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        await say(writer, given, b"%x\r\n%b\r\n")
    if given.sent is not None:
        await asyncio.sleep(CUT_AFTER_SECONDS)
        return False
    if given.type != "application/json":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def say(writer: asyncio.StreamWriter, given: Answered, form: bytes) -> None:
    for piece in given.pieces[: given.sent]:
        writer.write(form % ((len(piece), piece) if form.startswith(b"%x") else (piece,)))
        await writer.drain()
        if given.pause:
            await asyncio.sleep(given.pause)


@asynccontextmanager
async def faulty() -> AsyncIterator[str]:
    """Gives its address."""
    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=1024)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
