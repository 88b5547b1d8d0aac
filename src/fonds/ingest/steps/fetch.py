"""fetch: fetch many links concurrently. Each host has a rate limit, and its robots.txt is
obeyed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from fonds.fetching.fetcher import Fetcher
from fonds.fetching.outcomes import NOT_MODIFIED, RETRY_S, classify_status
from fonds.fetching.redirect_chain import (
    FetchOutcome,
    FetchRequest,
    FetchResponse,
    Refusal,
    allow_any_url,
)
from fonds.ingest.steps.keep_host_files import return_fetched
from fonds.ingest.steps.spool import FetchedLink, RobotsResponse, Spool
from fonds.ingest.steps.tdmrep_requests import FetchedPage, TdmrepRequests
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition
from fonds.model.entry import Link
from fonds.model.errors import PermanentError
from fonds.model.exchange import Exchange, Headers
from fonds.model.file import UnindexedFile
from fonds.model.rows import FetchedPageRow
from fonds.model.step import Output, Result
from fonds.urls.request_url import parse_request_url

EMITS = (Output(Capture), Output(UnindexedFile))
ACCEPT = "text/html,application/xhtml+xml,application/pdf,application/xml;q=0.9,*/*;q=0.8"
SAVE_BATCH = 64
"""Maximum number of pages that are written to the spool together."""


@dataclass(frozen=True, slots=True)
class FetchRules:
    """Limits of fetching.

    - `body_max_bytes`: maximum size of a body.
    - `redirects_max`: maximum number of redirects of one link.
    - `active_max`: maximum number of links in progress at once.
    - `retry_s`: approximate delay in seconds after a temporary fault.
    """

    body_max_bytes: int = 10_000_000
    redirects_max: int = 10
    active_max: int = 1000
    retry_s: float = RETRY_S


class FetchStep:
    """Step that fetches links concurrently. Implements ConcurrentStep.

    - `rules`: limits of fetching.
    - `fetcher`: sends the requests in a thread of its own.
    - `spool`: stores fetched pages until they are archived.
    - `refusal`: returns why a redirect to a URL is refused, for links from sources and lists.
    - `named_link_refusal`: returns why a redirect is refused, for links that a user named.
    - `keep_robots`: stores the robots.txt that allowed each fetch, and records it in the exchange
      (the requests and responses of the link).
    - `tdmrep`: holds each page until the tdmrep.json of its host was requested; None requests no
      tdmrep.json.
    """

    def __init__(
        self,
        rules: FetchRules,
        fetcher: Fetcher,
        spool: Spool,
        refusal: Refusal = allow_any_url,
        named_link_refusal: Refusal = allow_any_url,
        keep_robots: Callable[[Sequence[FetchedLink]], Sequence[FetchedLink]] = return_fetched,
        tdmrep: TdmrepRequests | None = None,
    ) -> None:
        self._rules = rules
        self._refusal = refusal
        self._named_link_refusal = named_link_refusal
        self._fetcher = fetcher.retain(self._count_unsaved)
        self._spool = spool
        self._save_robots = keep_robots
        self._tdmrep = tdmrep
        self._keys = count()
        self._links: dict[str, tuple[int, Link]] = {}
        self._previous_rows: dict[str, FetchedPageRow] = {}
        self._new_links: list[tuple[int, Link]] = []
        self._outcomes: list[tuple[str, FetchOutcome]] = []
        self._outcome_arrived = threading.Condition()
        self._fetched_pages: list[tuple[int, FetchedLink]] = []
        self._unchanged_pages: list[tuple[int, FetchedLink]] = []
        self._finished_items: list[tuple[int, Result | Exception]] = []

    @property
    def free_slots(self) -> int:
        """Number of links that can be begun now, in addition to those in progress."""
        pending_lists = (
            self._links,
            self._new_links,
            self._fetched_pages,
            self._unchanged_pages,
            self._finished_items,
        )
        held_count = len(self._tdmrep) if self._tdmrep is not None else 0
        return self._rules.active_max - sum(map(len, pending_lists)) - held_count

    def begin(self, items: Sequence[tuple[int, Link]]) -> None:
        """Accept links to fetch, each with a number that identifies it. `collect_finished` submits
        the links to the fetcher.
        """
        self._new_links += items

    def collect_finished(self, wait_s: float) -> Sequence[tuple[int, Result | Exception]]:
        """Return the result of each finished link with the number of the link.

        Submits new links first. Then waits at most `wait_s` seconds if no link has finished. An
        exception in place of a result is the error of that link.
        """
        self._start_new()
        with self._outcome_arrived:
            if not (
                self._outcomes
                or self._finished_items
                or self._fetched_pages
                or self._unchanged_pages
            ):
                self._outcome_arrived.wait(wait_s)
            outcomes, self._outcomes = self._outcomes, []
        for key, end in outcomes:
            if self._tdmrep is not None and self._tdmrep.note_response(key, end):
                continue
            previous = self._previous_rows.pop(key, None)
            if (link := self._links.pop(key, None)) is not None:
                self._handle_outcome(*link, end, previous)
        self._save_fetched()
        if self._tdmrep is not None:
            self._finished_items += self._tdmrep.collect_finished()
        finished_items, self._finished_items = self._finished_items, []
        return finished_items

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop the links with these numbers. Their results are not returned, and their requests may
        be cancelled.
        """
        unwanted_numbers = set(numbers)
        keys = [key for key, (number, _) in self._links.items() if number in unwanted_numbers]
        for key in keys:
            del self._links[key]
            self._previous_rows.pop(key, None)
        self._new_links = [item for item in self._new_links if item[0] not in unwanted_numbers]
        self._fetched_pages = [
            item for item in self._fetched_pages if item[0] not in unwanted_numbers
        ]
        self._unchanged_pages = [
            item for item in self._unchanged_pages if item[0] not in unwanted_numbers
        ]
        if self._tdmrep is not None:
            self._tdmrep.forget(unwanted_numbers)
        self._fetcher.forget(keys)

    def close(self) -> None:
        """End the use of the fetcher by this step. The last user of a fetcher stops it and cancels
        its requests.
        """
        self._fetcher.close(self._count_unsaved)

    def _count_unsaved(self) -> int:
        """Return the number of responses that are not stored in the spool yet. The fetcher's thread
        calls it.

        If the process ends, these responses are lost.
        """
        return len(self._outcomes) + len(self._fetched_pages) + len(self._unchanged_pages)

    def _start_new(self) -> None:
        """Submit the new links to the fetcher. If the spool has a row of a link, its stored capture
        is used instead.
        """
        if not self._new_links:
            return
        links = [link for _, link in self._new_links]
        captures, previous_rows = (
            self._spool.find_kept(links),
            self._spool.find_previous([link.url for link in links]),
        )
        self._continue(
            [
                (*new_item, captures[new_item[1].id])
                for new_item in self._new_links
                if new_item[1].id in captures
            ]
        )
        requests = []
        for number, link in self._new_links:
            if link.id in captures:
                continue
            key = f"{link.id} {next(self._keys)}"
            try:
                requests.append(self._build_request(key, link, previous_rows))
            except PermanentError as error:
                self._finished_items.append((number, error))
                continue
            self._links[key] = (number, link)
            if (previous_row := previous_rows.get(link.url)) is not None:
                self._previous_rows[key] = previous_row
        self._new_links = []
        self._fetcher.submit_all(
            (new_item, partial(self._receive_outcome, new_item.key)) for new_item in requests
        )

    def _build_request(
        self, key: str, link: Link, previous_rows: Mapping[str, FetchedPageRow]
    ) -> FetchRequest:
        previous = previous_rows.get(link.url)
        return FetchRequest(
            key,
            parse_request_url(link.url),
            self._rules.body_max_bytes,
            self._rules.redirects_max,
            ACCEPT,
            _build_conditional_headers(previous),
            previous.final_url if previous is not None else "",
            link.tls,
            refusal=self._choose_refusal(link),
        )

    def _choose_refusal(self, link: Link) -> Refusal:
        return self._named_link_refusal if link.allows_any_site else self._refusal

    def _continue(self, pages: Sequence[tuple[int, Link, Capture]]) -> None:
        """Return fetched pages in the spool as results of this step, once the tdmrep.json of their
        hosts was requested.

        If no tdmrep.json is requested (`tdmrep` is None), the pages are results at once.
        """
        if self._tdmrep is None:
            self._finished_items += [
                (number, Result(items=(capture,))) for number, _, capture in pages
            ]
            return
        fetched_pages = [
            FetchedPage(number, capture, link.tls, self._choose_refusal(link))
            for number, link, capture in pages
        ]
        self._finished_items += self._tdmrep.add(fetched_pages, self._receive_outcome)

    def _receive_outcome(self, key: str, end: FetchOutcome) -> None:
        """Keep the outcome of the request `key` until the next `collect_finished`. The fetcher's
        thread calls it.
        """
        with self._outcome_arrived:
            self._outcomes.append((key, end))
            self._outcome_arrived.notify()

    def _handle_outcome(
        self, number: int, link: Link, end: FetchOutcome, previous: FetchedPageRow | None
    ) -> None:
        if isinstance(end, Exception):
            self._finished_items.append((number, end))
        elif isinstance(end, Disposition):
            self._finished_items.append((number, Result(end)))
        else:
            self._handle_response(number, link, end, previous)

    def _handle_response(
        self, number: int, link: Link, end: FetchResponse, previous: FetchedPageRow | None
    ) -> None:
        exchange = Exchange(end.hops, str(link.tls))
        robots_response = RobotsResponse(end.url, end.robots) if end.url and end.robots else None
        if end.hops[-1].status == NOT_MODIFIED and previous is not None:
            self._unchanged_pages.append(
                (number, FetchedLink(link, exchange, b"", previous, robots_response))
            )
            return
        disposition = classify_status(
            link.id, end.hops[-1].status, end.after_s, self._rules.retry_s
        )
        if disposition is not DONE:
            self._finished_items.append((number, Result(disposition)))
            return
        self._fetched_pages.append(
            (number, FetchedLink(link, exchange, end.body, host=robots_response))
        )

    def _save_fetched(self) -> None:
        """Write the next batch of at most 64 fetched pages to the spool. All other pages are
        written in later calls.
        """
        while self._unchanged_pages:
            self._handle_unchanged(*self._unchanged_pages[0])
            self._unchanged_pages.pop(0)
        batch, remaining = self._fetched_pages[:SAVE_BATCH], self._fetched_pages[SAVE_BATCH:]
        if batch:
            captures = self._spool.save(
                self._save_robots([fetched_link for _, fetched_link in batch])
            )
            pairs = zip(batch, captures, strict=True)
            self._continue(
                [(number, fetched_link.link, capture) for (number, fetched_link), capture in pairs]
            )
            self._fetched_pages = remaining
            self._fetcher.wake()

    def _handle_unchanged(self, number: int, unchanged_link: FetchedLink) -> None:
        """Use the body of the previous fetch for a page that the server reports as unchanged.

        If that body is no longer stored, the link ends with the status 304.
        """
        body = (
            self._spool.load_body(unchanged_link.previous)
            if unchanged_link.previous is not None
            else None
        )
        if body is None:
            self._finished_items.append(
                (number, Result(classify_status(unchanged_link.link.id, NOT_MODIFIED)))
            )
        else:
            self._fetched_pages.append((number, replace(unchanged_link, body=body)))


def _build_conditional_headers(previous: FetchedPageRow | None) -> Headers:
    """Return the headers for a conditional request: If-None-Match and If-Modified-Since.

    They have the ETag and Last-Modified date of the previous fetch. With them a server can answer
    that the page is unchanged. Returns no headers without a previous fetch.
    """
    if previous is None:
        return ()
    headers = {"If-None-Match": previous.etag, "If-Modified-Since": previous.last_modified}
    return tuple((name, value) for name, value in headers.items() if value)
