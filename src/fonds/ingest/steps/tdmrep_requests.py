"""Request the tdmrep.json of hosts that returned a page, at most once per host in 24 hours.

A page waits in the spool until its host has responded. Then it is sent to the next step. If the
process is killed, the link of the page is delivered again: the page is not fetched again, but the
tdmrep.json is requested then. A row that all processes share stores the time of the last request
to each host.

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
"""Maximum time that a page waits for a host whose rate limit does not allow a request yet."""
CACHE_SIZE = 10_000
ANSWER_MAX_CHARS = 100

logger = logging.getLogger(__name__)

FinishedItem = tuple[int, Result | Exception]


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """Page in the spool, which may wait for the tdmrep.json of its host.

    - `number`: number that identifies its link in the concurrent step.
    - `capture`: capture of the page.
    - `tls`: how strictly TLS certificates are checked, for the page and for the tdmrep.json.
    - `refusal`: returns why a redirect is refused, for the page and for the tdmrep.json.
    """

    number: int
    capture: Capture
    tls: TlsCheck
    refusal: Refusal


@dataclass(slots=True)
class TdmrepRequests:
    """Requests the tdmrep.json of hosts, and holds fetched pages until their host has responded.
    For use in one thread.

    - `fetcher`: sends the requests.
    - `save_file`: stores a tdmrep.json as a capture and records that it applies to its host.
    - `clock`: returns the current time (aware UTC).
    """

    fetcher: Fetcher
    records: Records
    save_file: Callable[[HostFile], KeptHostFile]
    clock: Callable[[], datetime]
    _requested_at: OrderedDict[str, datetime] = field(default_factory=OrderedDict)
    """Time of the last request, by origin (scheme, host and port)."""
    _waiting_pages: dict[str, list[FetchedPage]] = field(default_factory=dict)
    _requested: dict[str, str] = field(default_factory=dict)
    """Origin of each request in progress, by request key."""
    _answers: list[tuple[str, FetchOutcome]] = field(default_factory=list)
    _finished_items: list[FinishedItem] = field(default_factory=list)

    def __len__(self) -> int:
        """Number of pages that this object holds: they wait for a response, or their results are
        not collected yet.
        """
        return len(self._finished_items) + sum(map(len, self._waiting_pages.values()))

    def add(
        self, pages: Sequence[FetchedPage], on_outcome: Callable[[str, FetchOutcome], None]
    ) -> list[FinishedItem]:
        """Add pages that may have to wait. Return the results of pages whose host needs no request
        now.

        All other pages wait until `collect_finished` returns their results. `on_outcome` is called
        with key and outcome of each request, in the fetcher's thread. Raises StoreUnavailableError
        if the records are unavailable; no page is added then.
        """
        now = self.clock()
        origins = {id(page): _choose_origin(page.capture, now) for page in pages}
        self._load_known({page_origin for page_origin in origins.values() if page_origin}, now)
        finished_items: list[FinishedItem] = []
        for page in pages:
            origin = origins[id(page)]
            if not origin or self._is_known(origin, now):
                finished_items.append((page.number, _build_result(page)))
                continue
            pages_of_origin = self._waiting_pages.setdefault(origin, [])
            pages_of_origin.append(page)
            if len(pages_of_origin) == 1:
                self._request(origin, page, on_outcome)
        return finished_items

    def note_response(self, key: str, end: FetchOutcome) -> bool:
        """Keep the outcome of the request `key` for `collect_finished`. Return False if this object
        sent no such request.
        """
        origin = self._requested.pop(key, None)
        if origin is not None:
            self._answers.append((origin, end))
        return origin is not None

    def collect_finished(self) -> list[FinishedItem]:
        """Record the responses that have arrived, and return the results of the pages that waited
        for them.

        Raises StoreUnavailableError if a store is unavailable. Responses that are not recorded by
        then are recorded in the next call.
        """
        while self._answers:
            origin, end = self._answers[0]
            self._finished_items += self._finish_origin(origin, end)
            del self._answers[0]
            self._waiting_pages.pop(origin, None)
        finished_items, self._finished_items = self._finished_items, []
        return finished_items

    def forget(self, numbers: Iterable[int]) -> None:
        """Remove the waiting pages that belong to the links with these numbers."""
        unwanted_numbers = set(numbers)
        for origin, pages in self._waiting_pages.items():
            self._waiting_pages[origin] = [
                page for page in pages if page.number not in unwanted_numbers
            ]

    def _load_known(self, origins: Iterable[str], now: datetime) -> None:
        """Load from the records when any process last requested the tdmrep.json of each of these
        origins.

        Origins whose last request is known in memory are not looked up.
        """
        unknown_origins = [origin for origin in origins if not self._is_known(origin, now)]
        for row in (
            self.records.get(TdmrepAnswerRow, sorted(unknown_origins)) if unknown_origins else ()
        ):
            self._remember(row.origin, row.requested_at)

    def _is_known(self, origin: str, now: datetime) -> bool:
        requested_at = self._requested_at.get(origin)
        return requested_at is not None and abs(now - requested_at) < REQUEST_EVERY

    def _remember(self, origin: str, requested_at: datetime) -> None:
        self._requested_at[origin] = requested_at
        self._requested_at.move_to_end(origin)
        while len(self._requested_at) > CACHE_SIZE:
            self._requested_at.popitem(last=False)

    def _request(
        self, origin: str, page: FetchedPage, on_outcome: Callable[[str, FetchOutcome], None]
    ) -> None:
        url = f"{origin}{TDMREP_PATH}"
        key = f"{url} {id(self)}"
        if key in self._requested:
            return
        self._requested[key] = origin
        request = FetchRequest(
            key,
            parse_request_url(url),
            MAX_BYTES,
            REDIRECTS_MAX,
            ACCEPT,
            tls=page.tls,
            is_urgent=True,
            refusal=page.refusal,
        )
        self.fetcher.submit(request, partial(on_outcome, key))

    def _finish_origin(self, origin: str, end: FetchOutcome) -> list[FinishedItem]:
        pages = self._waiting_pages.get(origin, [])
        if isinstance(end, TransientError):
            return [(page.number, end) for page in pages]
        if isinstance(end, Disposition) and end.verdict is Verdict.DEFERRED:
            return [(page.number, self._build_deferred(page, end)) for page in pages]
        changed_file = self._save_response(origin, end)
        results = [(page.number, _build_result(page)) for page in pages]
        if results and changed_file:
            number, first_result = results[0]
            items = (*first_result.items, *map(UnindexedFile, changed_file))
            results[0] = (number, replace(first_result, items=items))
        return list(results)

    def _build_deferred(self, page: FetchedPage, end: Disposition) -> Result:
        """Return a result that retries a page when the tdmrep.json of its host may be requested.

        If that would be more than 10 minutes after the fetch of the page, returns the result that
        sends the page to the next step.
        """
        waiting_time = self.clock() - page.capture.captured_at
        if waiting_time + timedelta(seconds=end.after_s) > WAIT_MAX:
            return _build_result(page)
        return Result(defer(Reason.NOT_YET, end.detail, end.after_s))

    def _save_response(self, origin: str, end: FetchOutcome) -> Sequence[str]:
        """Store the tdmrep.json in the response of an origin, and record when and how the origin
        responded.

        Returns the SHA-1s of files for whose captures other rights now apply.
        """
        requested_at, stored_file = self.clock(), KeptHostFile()
        if isinstance(end, FetchResponse):
            requested_at, answer = end.hops[-1].began_at, str(end.hops[-1].status)
            if 200 <= end.hops[-1].status < 300 and end.body:
                stored_file = self.save_file(HostFile(TDMREP, end.hops, end.body))
        elif isinstance(end, Disposition):
            answer = str(end.reason)
        else:
            answer = str(end.reason) if isinstance(end, PermanentError) else "error"
        shown_answer = end if isinstance(end, Exception) else answer
        logger.info(
            "%s%s: %s",
            origin,
            TDMREP_PATH,
            f"stored as {stored_file.capture_id}" if stored_file.capture_id else shown_answer,
        )
        answer = answer[:ANSWER_MAX_CHARS]
        self.records.put([TdmrepAnswerRow(origin, requested_at, answer, stored_file.capture_id)])
        self._remember(origin, requested_at)
        return stored_file.changed


def _choose_origin(capture: Capture, now: datetime) -> str:
    """Return the origin whose tdmrep.json applies to a capture.

    Return '' if it is not requested: for a fetch over 24 hours ago, a URL that is not http(s), and
    a tdmrep.json itself.
    """
    if abs(now - capture.captured_at) >= REQUEST_EVERY:
        return ""
    address = parse_web_url(capture.url)
    return "" if address is None or address.target == TDMREP_PATH else address.origin


def _build_result(page: FetchedPage) -> Result:
    return Result(items=(page.capture,))
