"""Connections with deadlines and a limit on their number, around the server library's own protocol.

The library limits neither how long a request may take to arrive nor how many connections stand open. Here
each waits for a request, receives its body or is being sent its answer, and none of these for long. When
there are as many as may be, the one that has waited longest for a request makes room; nothing is logged of
any of it.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SWEEP_EVERY_S = 1.0
CONNECTIONS_MAX = 1_000
DESCRIPTORS_KEPT = 96
"""So many descriptors are left to the stores and to what is being read."""
CONNECTIONS_MIN = 16

_AT_ONCE = struct.pack("ii", 1, 0)
_TOLD = b"Too many are asking at once; try again.\n"
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s" % (len(_TOLD), _TOLD)
)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds a request may take to arrive, its body to follow, and its answer to be taken."""

    head_s: float = 10.0
    body_s: float = 20.0
    send_s: float = 30.0


DEADLINES = Deadlines()


def connections_max(wanted: int = CONNECTIONS_MAX) -> int:
    """As many as wanted, or as this process has descriptors for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if soft == resource.RLIM_INFINITY else soft - DESCRIPTORS_KEPT
    return max(CONNECTIONS_MIN, min(wanted, allowed))


@dataclass(slots=True)
class Connections:
    """All that stand open; made once for a server, whose protocol factory `protocol` is."""

    count_max: int
    deadlines: Deadlines = DEADLINES
    open: dict[int, Connection] = field(default_factory=dict)
    _sweeping: bool = False

    def protocol(self, **given: Any) -> Connection:
        """A protocol for one connection; `given` is what the server library hands its own."""
        loop = given.get("_loop") or asyncio.get_running_loop()
        return Connection(self, H11Protocol(**given), loop)

    def enter(self, one: Connection) -> bool:
        """Whether there is room for one more, if need be that of whoever waits longest for a request."""
        if len(self.open) >= self.count_max and not self._make_room():
            return False
        self.open[id(one)] = one
        if not self._sweeping:
            self._sweeping = True
            one.loop.call_later(SWEEP_EVERY_S, self._sweep, one.loop)
        return True

    def leave(self, one: Connection) -> None:
        """It is closed."""
        self.open.pop(id(one), None)

    def _make_room(self) -> bool:
        waiting = [one for one in self.open.values() if not one.is_answered]
        if not waiting:
            return False
        longest = min(waiting, key=lambda one: one.since)
        self.leave(longest)
        longest.abort()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for one in list(self.open.values()):
            if one.is_late(now, self.deadlines):
                one.abort()
        self._sweeping = bool(self.open)
        if self._sweeping:
            loop.call_later(SWEEP_EVERY_S, self._sweep, loop)


class Connection:
    """One connection: everything goes on to the library's protocol, and the time is noted."""

    def __init__(
        self, among: Connections, inner: H11Protocol, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.loop = loop
        self.since = loop.time()
        self._among = among
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._entered = False
        self._cycle: object = None
        self._was_answered = False
        self._stuck_since: float | None = None

    @property
    def is_answered(self) -> bool:
        """Whether a request has come whole, as far as its head goes, and its answer is not sent yet."""
        cycle = self._inner.cycle
        return cycle is not None and not cycle.response_complete

    def is_late(self, now: float, deadlines: Deadlines) -> bool:
        """Whether what this connection waits for took longer than it may."""
        if self._transport is not None and self._transport.is_closing():
            # Said good-bye, but what was written is not taken.
            self._stuck_since = self._stuck_since or now
        if self._stuck_since is not None:
            return now - self._stuck_since > deadlines.send_s
        if self.is_answered:
            self._was_answered = True
            return self._inner.cycle.more_body and now - self.since > deadlines.body_s
        if self._was_answered:
            self._was_answered, self.since = False, now
        return now - self.since > deadlines.head_s

    def abort(self) -> None:
        """Close it at once; the system keeps nothing for it that was not taken."""
        if self._transport is None:
            return
        inner: socket.socket | None = self._transport.get_extra_info("socket")
        with suppress(OSError):
            if inner is not None:
                inner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self._transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Let it in, or tell it that there is no room."""
        self._transport = transport
        self._entered = self._among.enter(self)
        if self._entered:
            self._inner.connection_made(transport)
        else:
            transport.write(BUSY)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Hand it on; a new request begins a new time."""
        if not self._entered:
            return
        self._inner.data_received(data)
        if self._inner.cycle is not self._cycle:
            self._cycle = self._inner.cycle
            self.since = self.loop.time()
            self._was_answered = True

    def eof_received(self) -> None:
        """Hand it on."""
        if self._entered:
            self._inner.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        """Hand it on, and forget it."""
        self._among.leave(self)
        if self._entered:
            self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        """More is waiting to be taken than should."""
        self._stuck_since = self.loop.time()
        if self._entered:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It was taken."""
        self._stuck_since = None
        if self._entered:
            self._inner.resume_writing()
