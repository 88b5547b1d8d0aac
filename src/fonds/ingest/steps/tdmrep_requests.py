"""Requests for the tdmrep.json of hosts: one to each host that gave a page, once in 24 hours.

A page goes on when its host has answered. It lies in the spool by then, so that nothing is fetched again when
a process is killed: its link comes back, and the host is asked then. A row for all processes says when a host
was asked.

Source: TDM Reservation Protocol, "TDM file on the origin server".
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from fonds.fetching.fetcher import Fetcher
from fonds.fetching.redirect_chain import FetchOutcome, FetchRequest, FetchResponse, Refusal
from fonds.fetching.robots import MAX_BYTES, REDIRECTS_MAX
from fonds.ingest.steps.keep_host_files import HostFile, KeptHostFile
from fonds.model.capture import Capture
from fonds.model.disposition import Disposition, Reason, Verdict, defer
from fonds.model.entry import TlsCheck
from fonds.model.errors import PermanentError, TransientError
from fonds.model.file import TDMREP, UnindexedFile
from fonds.model.rows import TdmrepAnswerRow
from fonds.model.step import Result
from fonds.ports import Records
from fonds.rights.host_files import TDMREP_PATH
from fonds.urls.request_url import parse_request_url, parse_web_url

ACCEPT = "application/json,*/*;q=0.1"
REQUEST_EVERY = timedelta(hours=24)
WAIT_MAX = timedelta(minutes=10)
"""How long a page waits at most for a host that may not be asked yet."""
CACHE_SIZE = 10_000
ANSWER_MAX_CHARS = 100

logger = logging.getLogger(__name__)

FinishedItem = tuple[int, Result | Exception]


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page in the spool: its capture, and the number and the rules of its link."""

    number: int
    capture: Capture
    tls: TlsCheck
    refusal: Refusal


@dataclass(slots=True)
class TdmrepRequests:
    """Pages go in, and out when the answer of their host is known. For one thread.

    `save_file` keeps a file as a capture and notes that it is in force. `clock` gives aware UTC.
    """

    fetcher: Fetcher
    records: Records
    save_file: Callable[[HostFile], KeptHostFile]
    clock: Callable[[], datetime]
    _asked_at: OrderedDict[str, datetime] = field(default_factory=OrderedDict)
    """When hosts whose answer is known were asked, by origin."""
    _waiting: dict[str, list[FetchedPage]] = field(default_factory=dict)
    _requested: dict[str, str] = field(default_factory=dict)
    """Origins, by the keys of the requests."""
    _answers: list[tuple[str, FetchOutcome]] = field(default_factory=list)
    _ended: list[FinishedItem] = field(default_factory=list)

    def __len__(self) -> int:
        """How many pages wait for an answer."""
        return len(self._ended) + sum(map(len, self._waiting.values()))

    def add(
        self, pages: Sequence[FetchedPage], on_outcome: Callable[[str, FetchOutcome], None]
    ) -> list[FinishedItem]:
        """Take pages, and return the ends of those that need not wait. `on_outcome` is called with the
        answers, in the thread that asks the web. Raises StoreUnavailableError before anything is
        taken."""
        now = self.clock()
        origins = {id(page): _choose_origin(page.capture, now) for page in pages}
        self._load_known({one for one in origins.values() if one}, now)
        ended: list[FinishedItem] = []
        for page in pages:
            origin = origins[id(page)]
            if not origin or self._is_known(origin, now):
                ended.append((page.number, _build_result(page)))
                continue
            waiting = self._waiting.setdefault(origin, [])
            waiting.append(page)
            if len(waiting) == 1:
                self._request(origin, page, on_outcome)
        return ended

    def note_response(self, key: str, end: FetchOutcome) -> bool:
        """Note the answer to a request; False for a request that is none of these."""
        origin = self._requested.pop(key, None)
        if origin is not None:
            self._answers.append((origin, end))
        return origin is not None

    def collect_finished(self) -> list[FinishedItem]:
        """The ends of the pages whose hosts have answered. Raises StoreUnavailableError: what was not noted
        is noted the next time."""
        while self._answers:
            origin, end = self._answers[0]
            self._ended += self._finish_origin(origin, end)
            del self._answers[0]
            self._waiting.pop(origin, None)
        ended, self._ended = self._ended, []
        return ended

    def forget(self, numbers: Iterable[int]) -> None:
        """Pages that nobody waits for any more."""
        unwanted = set(numbers)
        for origin, pages in self._waiting.items():
            self._waiting[origin] = [one for one in pages if one.number not in unwanted]

    def _load_known(self, origins: Iterable[str], now: datetime) -> None:
        """Look up what any process asked of these."""
        unknown = [one for one in origins if not self._is_known(one, now)]
        for row in self.records.get(TdmrepAnswerRow, sorted(unknown)) if unknown else ():
            self._remember(row.origin, row.asked_at)

    def _is_known(self, origin: str, now: datetime) -> bool:
        asked_at = self._asked_at.get(origin)
        return asked_at is not None and abs(now - asked_at) < REQUEST_EVERY

    def _remember(self, origin: str, requested_at: datetime) -> None:
        self._asked_at[origin] = requested_at
        self._asked_at.move_to_end(origin)
        while len(self._asked_at) > CACHE_SIZE:
            self._asked_at.popitem(last=False)

    def _request(
        self, origin: str, page: FetchedPage, on_outcome: Callable[[str, FetchOutcome], None]
    ) -> None:
        url = f"{origin}{TDMREP_PATH}"
        key = f"{url} {id(self)}"
        if key in self._requested:
            return
        self._requested[key] = origin
        wanted = FetchRequest(
            key,
            parse_request_url(url),
            MAX_BYTES,
            REDIRECTS_MAX,
            ACCEPT,
            tls=page.tls,
            is_urgent=True,
            refusal=page.refusal,
        )
        self.fetcher.submit(wanted, partial(on_outcome, key))

    def _finish_origin(self, origin: str, end: FetchOutcome) -> list[FinishedItem]:
        pages = self._waiting.get(origin, [])
        if isinstance(end, TransientError):
            return [(page.number, end) for page in pages]
        if isinstance(end, Disposition) and end.verdict is Verdict.DEFERRED:
            return [(page.number, self._build_deferred(page, end)) for page in pages]
        changed = self._save_response(origin, end)
        ends = [(page.number, _build_result(page)) for page in pages]
        if ends and changed:
            number, first = ends[0]
            items = (*first.items, *map(UnindexedFile, changed))
            ends[0] = (number, replace(first, items=items))
        return list(ends)

    def _build_deferred(self, page: FetchedPage, end: Disposition) -> Result:
        """A page comes back when its host may be asked, unless that is long after it was fetched."""
        waited = self.clock() - page.capture.captured_at
        if waited + timedelta(seconds=end.after_s) > WAIT_MAX:
            return _build_result(page)
        return Result(defer(Reason.NOT_YET, end.detail, end.after_s))

    def _save_response(self, origin: str, end: FetchOutcome) -> Sequence[str]:
        """Write down how a host answered; the SHA-1s of files whose captures have other rights now."""
        asked_at, kept = self.clock(), KeptHostFile()
        if isinstance(end, FetchResponse):
            asked_at, answer = end.hops[-1].began_at, str(end.hops[-1].status)
            if 200 <= end.hops[-1].status < 300 and end.body:
                kept = self.save_file(HostFile(TDMREP, end.hops, end.body))
        elif isinstance(end, Disposition):
            answer = str(end.reason)
        else:
            answer = str(end.reason) if isinstance(end, PermanentError) else "error"
        told = end if isinstance(end, Exception) else answer
        logger.info(
            "%s%s: %s",
            origin,
            TDMREP_PATH,
            f"kept as {kept.capture_id}" if kept.capture_id else told,
        )
        answer = answer[:ANSWER_MAX_CHARS]
        self.records.put([TdmrepAnswerRow(origin, asked_at, answer, kept.capture_id)])
        self._remember(origin, asked_at)
        return kept.changed


def _choose_origin(capture: Capture, now: datetime) -> str:
    """Whom to ask for the tdmrep.json of a capture; "" for nobody, as for what was fetched long ago."""
    if abs(now - capture.captured_at) >= REQUEST_EVERY:
        return ""
    address = parse_web_url(capture.url)
    return "" if address is None or address.target == TDMREP_PATH else address.origin


def _build_result(page: FetchedPage) -> Result:
    return Result(items=(page.capture,))
