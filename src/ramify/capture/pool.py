"""Connections to one upstream, kept open between exchanges.

aiohttp's `ClientSession` is not used: it writes heads of its own (order, Host, Expect, automatic fields),
repeats idempotent requests unasked, and costs about as much as all the rest of the proxy. Its parser and its
flow control are used as they are.
"""

import asyncio
import ssl
import time
from collections import deque
from urllib.parse import urlsplit

from aiohttp.client_proto import ResponseHandler

CONNECT_SECONDS = 30.0
IDLE_SECONDS = 15.0
"""Shorter than a server's own patience: a request seldom meets a connection that is just being closed."""
READ_BUFFER = 2**18
LONGEST_FIELD = 2**16
MOST_FIELDS = 1024


class Pool:
    """The most recently used connection is handed out first; the others grow old and are let go."""

    def __init__(self, upstream: str, idle_seconds: float = IDLE_SECONDS) -> None:
        """Raises ValueError for what is no http or https address."""
        parts = urlsplit(upstream)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"{upstream!r} is no upstream: give an address such as https://api.anthropic.com"
            )
        self.upstream = upstream
        self.base_path = parts.path.rstrip("/")
        self.host = parts.netloc.rpartition("@")[2].encode()
        self._hostname = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle_seconds = idle_seconds
        self._idle: deque[tuple[float, ResponseHandler]] = deque()

    async def connect(self, method: str) -> ResponseHandler:
        """A connection that is ready for one exchange. Raises OSError when the upstream cannot be reached."""
        connection = self._reuse()
        if connection is None:  # not `or`: a connection is a queue of answers, and an empty one is false
            connection = await self._open()
        connection.set_response_params(
            skip_payload=method == "HEAD",
            read_until_eof=True,
            auto_decompress=False,
            read_bufsize=READ_BUFFER,
            max_line_size=LONGEST_FIELD,
            max_field_size=LONGEST_FIELD,
            max_headers=MOST_FIELDS,
        )
        return connection

    def release(self, connection: ResponseHandler) -> None:
        """After a whole answer to a whole request; what cannot serve another exchange is closed."""
        if connection.should_close or not connection.is_connected():
            connection.close()
            return
        self._idle.append((time.monotonic(), connection))
        self._let_go(time.monotonic() - self._idle_seconds)

    def close(self) -> None:
        self._let_go(float("inf"))

    def _let_go(self, older_than: float) -> None:
        while self._idle and self._idle[0][0] < older_than:
            self._idle.popleft()[1].close()

    def _reuse(self) -> ResponseHandler | None:
        self._let_go(time.monotonic() - self._idle_seconds)
        while self._idle:
            connection = self._idle.pop()[1]
            if connection.is_connected() and not connection.should_close:
                return connection
            connection.close()
        return None

    async def _open(self) -> ResponseHandler:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await loop.create_connection(
                lambda: ResponseHandler(loop), self._hostname, self._port, ssl=self._tls
            )
        return connection
