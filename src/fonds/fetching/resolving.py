"""The addresses of a host, each judged before anybody connects to one: all of them may be asked, or none."""

from __future__ import annotations

import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from fonds.fetching.special_addresses import is_public
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError, cause_of

Resolve = Callable[[str, int], Sequence[str]]
"""The IP addresses of a host and port. Raises OSError."""

KEPT_S = 300.0
FAILED_KEPT_S = 30.0
COUNT_MAX = 20_000
ADDRESSES_MAX = 8
THREADS = 16


def resolve(host: str, port: int) -> Sequence[str]:
    """As the system resolves it. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def judged_addresses(
    host: str,
    port: int,
    resolve: Resolve = resolve,
    is_allowed: Callable[[str], bool] = is_public,
) -> Sequence[str]:
    """The addresses of a host, at least one and at most 8.

    Raises TransientError when it has none, and PermanentError (PRIVATE_ADDRESS) when not all of them may
    be asked: whoever answers for a name decides anew each time which of them it gives.
    """
    try:
        addresses = resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise TransientError(f"the name {host} cannot be resolved: {cause_of(error)}") from error
    if not addresses:
        raise TransientError(f"the name {host} has no address")
    if not all(is_allowed(address) for address in addresses):
        told = f"{host} is in a private or reserved network; elsewhere.private_addresses=true allows it"
        raise PermanentError(Reason.PRIVATE_ADDRESS, told)
    return addresses[:ADDRESSES_MAX]


class Resolver:
    """Resolves in threads of its own, so that a slow name keeps nobody waiting, and keeps what it learned for
    five minutes. `done` is told from whatever thread it happens in, and must not wait.
    """

    def __init__(
        self, resolve: Resolve = resolve, is_allowed: Callable[[str], bool] = is_public
    ) -> None:
        self._resolve = resolve
        self._is_allowed = is_allowed
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="resolver")
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], tuple[float, Sequence[str] | Exception]] = (
            OrderedDict()
        )

    def ask(self, host: str, port: int, done: Callable[[Sequence[str] | Exception], None]) -> None:
        """Tell `done` the addresses, or what `judged_addresses` raises; at once where they are known."""
        with self._lock:
            known = self._known.get((host, port))
        if known is not None and known[0] > time.monotonic():
            done(known[1])
            return
        self._pool.submit(self._look_up, host, port, done)

    def close(self) -> None:
        """Resolve nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look_up(
        self, host: str, port: int, done: Callable[[Sequence[str] | Exception], None]
    ) -> None:
        found: Sequence[str] | Exception
        try:
            found = judged_addresses(host, port, self._resolve, self._is_allowed)
        except Exception as error:  # noqa: BLE001 (whoever asked is told)
            found = error
        kept_s = FAILED_KEPT_S if isinstance(found, Exception) else KEPT_S
        with self._lock:
            self._known[host, port] = (time.monotonic() + kept_s, found)
            self._known.move_to_end((host, port))
            while len(self._known) > COUNT_MAX:
                self._known.popitem(last=False)
        done(found)
