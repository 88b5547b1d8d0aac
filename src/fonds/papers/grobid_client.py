"""HTTP client of the web service of GROBID, which extracts bibliographies from PDFs as TEI.

Source: GROBID, "Use GROBID as a service", `/api/processFulltextDocument`: 200 with TEI, 204 without
content, 503 when all engines are busy, 500 when it failed on the document. The parameters are those
that sandcrawler uses.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fonds.fetching.addresses import allow_any_address
from fonds.fetching.service_client import (
    Form,
    ServiceClient,
    ServiceResponse,
    SlowServiceError,
    UnreachableServiceError,
    follow_none,
)
from fonds.model.errors import ConfigurationError, LimitError, PermanentError, PostponedError
from fonds.model.paper import GrobidResponse, GrobidStatus

PARAMETERS = (
    ("consolidateHeader", "0"),
    ("consolidateCitations", "0"),
    ("includeRawCitations", "1"),
    ("includeRawAffiliations", "1"),
    ("segmentSentences", "1"),
    *(("teiCoordinates", one) for one in ("ref", "figure", "persName", "formula", "biblStruct")),
)
PATH = "/api/processFulltextDocument"
ERROR_MAX_BYTES = 10_000
PDF_MAX_BYTES = 256 * 2**20
_DOCUMENT_ERROR_CODES = frozenset({400, 408, 413, 415, 422, 500})
"""HTTP status codes of errors that the PDF causes; all other errors concern the GROBID server."""
_SECONDS = re.compile(r"\d{1,6}")


@dataclass(slots=True)
class ServerPressure:
    """Back-off for a busy or unreachable server, shared by all threads of a process.

    The pause starts at `first_s` seconds and doubles up to `max_s`, until the server accepts a
    request. `clock` returns monotonic seconds.
    """

    first_s: float = 5.0
    max_s: float = 300.0
    clock: Callable[[], float] = time.monotonic
    _pause_s: float = 0.0
    _away_until_s: float = 0.0
    _away_reason: str = ""
    _active_count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def take_turn(self, at_once: int) -> Iterator[None]:
        """Occupy one of `at_once` slots for concurrent requests while the context is open.

        Raises PostponedError during the back-off, or if all slots are in use.
        """
        with self._lock:
            remaining_s = self._away_until_s - self.clock()
            if remaining_s > 0:
                raise PostponedError(self._away_reason, remaining_s)
            if self._active_count >= at_once:
                raise PostponedError(f"GROBID is already processing {at_once} PDFs", self.first_s)
            self._active_count += 1
        try:
            yield
        finally:
            with self._lock:
                self._active_count -= 1

    def mark_away(self, message: str, requested_wait_s: float = 0.0) -> PostponedError:
        """Start or extend the back-off. Return the error for the caller to raise.

        `message` says why the server is away. `requested_wait_s` is the number of seconds that the
        server asks to wait.
        """
        with self._lock:
            now = self.clock()
            if now >= self._away_until_s:
                # Of several requests that fail at the same time, only the first lengthens the
                # pause.
                self._pause_s = min(self.max_s, max(self.first_s, 2 * self._pause_s))
                self._away_until_s = now + max(self._pause_s, min(requested_wait_s, self.max_s))
            self._away_reason = message
            return PostponedError(message, self._away_until_s - now)

    def mark_available(self) -> None:
        """End the back-off, because the server has accepted a request."""
        with self._lock:
            self._pause_s = 0.0
            self._away_until_s = 0.0


@dataclass(frozen=True, slots=True)
class GrobidClient:
    """Client of the GROBID server at `url`.

    - `concurrency_max`: maximum number of concurrent requests.
    - `timeout_s`: maximum seconds of each request.
    - `tei_max_bytes`: maximum size of a response; a longer response is discarded.
    - `pressure`: back-off shared by all threads.
    """

    url: str
    concurrency_max: int
    timeout_s: float
    tei_max_bytes: int
    pressure: ServerPressure = field(default_factory=ServerPressure)

    def __call__(self, pdf: bytes) -> GrobidResponse:
        """Send a PDF to the GROBID server and return the response.

        Raises PostponedError if the server is unreachable or busy, TransientError if the connection
        breaks while the server processes the PDF, and ConfigurationError if no valid URL is
        configured.
        """
        if not self.url:
            raise ConfigurationError("no GROBID server is configured. Set grobid.url")
        if len(pdf) > PDF_MAX_BYTES:
            status, message = (
                GrobidStatus.BLOB_TOO_LARGE,
                f"the PDF has {len(pdf)} bytes; the limit is {PDF_MAX_BYTES}",
            )
            return GrobidResponse(status, status.status_code, error_msg=message)
        with self.pressure.take_turn(self.concurrency_max):
            return self._request(pdf)

    def _request(self, pdf: bytes) -> GrobidResponse:
        client = ServiceClient(is_allowed=allow_any_address, read_s=self.timeout_s)
        form: Form = [*PARAMETERS, ("input", ("input.pdf", pdf, "application/pdf"))]
        try:
            with client.open(
                self.url.rstrip("/") + PATH,
                {"Accept": "application/xml"},
                total_s=self.timeout_s,
                follows=follow_none,
                form=form,
            ) as response:
                return self._read_response(response)
        except UnreachableServiceError as error:
            raise self.pressure.mark_away(f"cannot reach GROBID: {error}") from error
        except SlowServiceError:
            status = GrobidStatus.TIMEOUT
            message = f"no complete response within {self.timeout_s:g} seconds"
            return GrobidResponse(status, status.status_code, error_msg=message)
        except PermanentError as error:
            raise ConfigurationError(f"Cannot use grobid.url: {error}") from error

    def _read_response(self, response: ServiceResponse) -> GrobidResponse:
        code = response.status
        if code == 204:
            self.pressure.mark_available()
            return GrobidResponse(GrobidStatus.NO_CONTENT, code, error_msg="no content")
        if code == 200:
            return self._read_tei(response)
        message = response.read(ERROR_MAX_BYTES).decode("utf-8", "replace").strip()
        if code not in _DOCUMENT_ERROR_CODES:
            retry_after = _SECONDS.fullmatch(response.headers.get("retry-after") or "")
            raise self.pressure.mark_away(
                f"GROBID responded with {code}: {message[:200]}",
                float(retry_after[0]) if retry_after else 0.0,
            )
        self.pressure.mark_available()
        return GrobidResponse(GrobidStatus.ERROR, code, error_msg=message or f"status {code}")

    def _read_tei(self, response: ServiceResponse) -> GrobidResponse:
        code = response.status
        try:
            tei = response.read_all(self.tei_max_bytes)
        except LimitError:
            self.pressure.mark_available()
            message = f"the TEI is longer than {self.tei_max_bytes} bytes"
            return GrobidResponse(GrobidStatus.TEI_TOO_LARGE, code, error_msg=message)
        self.pressure.mark_available()
        if not tei:
            return GrobidResponse(GrobidStatus.NO_CONTENT, code, error_msg="no content")
        return GrobidResponse(GrobidStatus.SUCCESS, code, tei)
