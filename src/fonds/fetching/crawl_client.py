"""HTTP client for web servers that are crawled: pages, robots.txt, tdmrep.json and feeds.

Requests run concurrently in one thread, over reused connections. Each request and response is
recorded in full. A connection is made only to checked IP addresses, even if the host name resolves
to others in the meantime. The address is checked again before anything is sent. Redirects are not
followed by this client. It uses libcurl, because libcurl speaks HTTP/2 and reports each part of
request and response. Requests to services use `fetching/service_client.py`. Source: libcurl's multi
interface; RFC 9110, RFC 9112, RFC 9113.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass

import pycurl

from fonds.fetching.addresses import is_public
from fonds.fetching.crawl_request import (
    CrawlRequest,
    CrawlResponse,
    RequestFailure,
    RequestLimits,
    Transfer,
)

_EVENTS = {
    pycurl.POLL_IN: selectors.EVENT_READ,
    pycurl.POLL_OUT: selectors.EVENT_WRITE,
    pycurl.POLL_INOUT: selectors.EVENT_READ | selectors.EVENT_WRITE,
}
_IDLE_HANDLES_MAX = 256


@dataclass(slots=True)
class _CurlTimer:
    due_s: float | None = None


class CrawlClient:
    """Client for concurrent HTTP requests, on libcurl.

    - `limits`: limits of each request.
    - `is_allowed`: function that returns whether an IP address may be requested.
    - `ca_file`: file with trusted CA certificates; None for those of the package certifi.

    All methods must be called in one thread. Only `wake` may be called from any thread.
    """

    def __init__(
        self,
        limits: RequestLimits,
        is_allowed: Callable[[str], bool] = is_public,
        ca_file: str | None = None,
    ) -> None:
        import certifi

        self._limits = limits
        self._is_allowed = is_allowed
        self._ca_file = ca_file or certifi.where()
        self._multi = pycurl.CurlMulti()
        self._selector = selectors.DefaultSelector()
        self._timer = _CurlTimer()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        for end in (self._wake_receiver, self._wake_sender):
            end.setblocking(False)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, limits.connections_max)
        self._free: list[Transfer] = []
        self._active: dict[pycurl.Curl, tuple[Hashable, Transfer]] = {}
        self._secured: dict[tuple[str, int], str] = {}
        self._is_woken = False

    @property
    def count(self) -> int:
        """Number of active requests of this client."""
        return len(self._active)

    def begin(self, key: Hashable, ask: CrawlRequest) -> None:
        """Start a request. `collect_finished` later returns its result together with `key`."""
        if self._free:
            transfer = self._free.pop()
        else:
            transfer = Transfer(ask, self._limits, self._is_allowed, self._ca_file)
        handle = transfer.begin(ask)
        self._active[handle] = (key, transfer)
        self._multi.add_handle(handle)

    def collect_finished(
        self, wait_s: float
    ) -> list[tuple[Hashable, CrawlResponse | RequestFailure]]:
        """Return the keys and results (response or failure) of finished requests.

        If none has finished, wait up to `wait_s` seconds for the first, or until `wake` is called.
        Return [] if none finishes.
        """
        ends_at_s = time.monotonic() + wait_s
        while True:
            self._run_once(max(0.0, ends_at_s - time.monotonic()))
            finished_requests = self._collect()
            if finished_requests or self._is_woken or time.monotonic() >= ends_at_s:
                return finished_requests

    def wake(self) -> None:
        """Interrupt the wait in `collect_finished`.

        Another thread may have closed the client just before; in that case nothing happens.
        """
        with suppress(OSError):
            self._wake_sender.send(b"\0")

    def close(self) -> None:
        """Cancel active requests and close all connections."""
        for handle, (_, transfer) in self._active.items():
            self._multi.remove_handle(handle)
            handle.close()
            transfer.finish()
        self._active.clear()
        for idle_transfer in self._free:
            idle_transfer.handle.close()
        self._multi.close()
        self._selector.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    def _run_once(self, wait_s: float) -> None:
        """Wait once, up to `wait_s` seconds, for data on sockets or for libcurl's timer. Then let
        libcurl process them.
        """
        self._is_woken = False
        timer_s = self._timer.due_s
        if timer_s is not None:
            wait_s = min(wait_s, max(0.0, timer_s - time.monotonic()))
        for key, events in self._selector.select(wait_s):
            if key.fileobj is self._wake_receiver:
                self._is_woken = True
                with suppress(BlockingIOError):
                    self._wake_receiver.recv(4096)
                continue
            mask = pycurl.CSELECT_IN if events & selectors.EVENT_READ else 0
            mask |= pycurl.CSELECT_OUT if events & selectors.EVENT_WRITE else 0
            self._multi.socket_action(key.fd, mask)
        timer_s = self._timer.due_s
        if timer_s is not None and timer_s <= time.monotonic():
            self._timer.due_s = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)

    def _watch_socket(self, event: int, descriptor: int, multi: object, data: object) -> None:
        """Start or stop watching a socket for data. libcurl calls this function."""
        is_watched = descriptor in self._selector.get_map()
        if event == pycurl.POLL_REMOVE:
            if is_watched:
                self._selector.unregister(descriptor)
        elif is_watched:
            self._selector.modify(descriptor, _EVENTS[event])
        else:
            self._selector.register(descriptor, _EVENTS[event])

    def _set_timer(self, wait_ms: int) -> None:
        self._timer.due_s = None if wait_ms < 0 else time.monotonic() + wait_ms / 1000.0

    def _collect(self) -> list[tuple[Hashable, CrawlResponse | RequestFailure]]:
        finished_requests: list[tuple[Hashable, CrawlResponse | RequestFailure]] = []
        remaining = 1
        while remaining:
            remaining, succeeded_handles, failed_handles = self._multi.info_read()
            finished_requests += [self._finish(handle, 0, "") for handle in succeeded_handles]
            finished_requests += [
                self._finish(handle, code, message) for handle, code, message in failed_handles
            ]
        return finished_requests

    def _finish(
        self, handle: pycurl.Curl, code: int, message: str
    ) -> tuple[Hashable, CrawlResponse | RequestFailure]:
        key, transfer = self._active.pop(handle)
        if code == 0 or transfer.is_start:
            end: CrawlResponse | RequestFailure = transfer.build_response(self._secured)
        else:
            end = transfer.build_failure(code, message)
        self._multi.remove_handle(handle)
        transfer.finish()
        if len(self._free) < _IDLE_HANDLES_MAX:
            self._free.append(transfer)
        else:
            handle.close()
        return key, end
