"""Many requests at once, each to addresses that were judged, in one thread; connections are kept and reused.

A connection is made to the judged addresses alone, whatever a name resolves to meanwhile, and its address is
judged again before anything is sent on it. Nothing here follows a redirect.

Source: libcurl's multi interface; RFC 9110, RFC 9112, RFC 9113.
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
from fonds.fetching.request import (
    HttpRequest,
    HttpResponse,
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


class Transfers:
    """`is_allowed` judges IP addresses; `ca_file` holds the certificates of the authorities that are known.

    One thread begins and collects; `wake` may be called from any.
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
        """How many requests are under way."""
        return len(self._active)

    def begin(self, key: Hashable, ask: HttpRequest) -> None:
        """Send a request; `ended` tells its end under this key."""
        if self._free:
            underway = self._free.pop()
        else:
            underway = Transfer(ask, self._limits, self._is_allowed, self._ca_file)
        handle = underway.begin(ask)
        self._active[handle] = (key, underway)
        self._multi.add_handle(handle)

    def collect_finished(
        self, wait_s: float
    ) -> list[tuple[Hashable, HttpResponse | RequestFailure]]:
        """What has ended, waiting at most `wait_s` seconds for the first."""
        ends_at_s = time.monotonic() + wait_s
        while True:
            self._run_once(max(0.0, ends_at_s - time.monotonic()))
            found = self._collect()
            if found or self._is_woken or time.monotonic() >= ends_at_s:
                return found

    def wake(self) -> None:
        """Let whoever waits in `ended` return."""
        with suppress(BlockingIOError):
            self._wake_sender.send(b"\0")

    def close(self) -> None:
        """Give up what is under way, and close all connections."""
        for handle, (_, underway) in self._active.items():
            self._multi.remove_handle(handle)
            handle.close()
            underway.finish()
        self._active.clear()
        for one in self._free:
            one.handle.close()
        self._multi.close()
        self._selector.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    def _run_once(self, wait_s: float) -> None:
        """Wait for sockets and time, and let libcurl do what is to be done."""
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
        """Look after a socket, or no more: libcurl says which."""
        known = descriptor in self._selector.get_map()
        if event == pycurl.POLL_REMOVE:
            if known:
                self._selector.unregister(descriptor)
        elif known:
            self._selector.modify(descriptor, _EVENTS[event])
        else:
            self._selector.register(descriptor, _EVENTS[event])

    def _set_timer(self, wait_ms: int) -> None:
        self._timer.due_s = None if wait_ms < 0 else time.monotonic() + wait_ms / 1000.0

    def _collect(self) -> list[tuple[Hashable, HttpResponse | RequestFailure]]:
        found: list[tuple[Hashable, HttpResponse | RequestFailure]] = []
        left = 1
        while left:
            left, good, bad = self._multi.info_read()
            found += [self._finish(handle, 0, "") for handle in good]
            found += [self._finish(handle, code, told) for handle, code, told in bad]
        return found

    def _finish(
        self, handle: pycurl.Curl, code: int, message: str
    ) -> tuple[Hashable, HttpResponse | RequestFailure]:
        key, underway = self._active.pop(handle)
        if code == 0 or underway.is_start:
            end: HttpResponse | RequestFailure = underway.build_response(self._secured)
        else:
            end = underway.build_failure(code, message)
        self._multi.remove_handle(handle)
        underway.finish()
        if len(self._free) < _IDLE_HANDLES_MAX:
            self._free.append(underway)
        else:
            handle.close()
        return key, end
