"""Client of GROBID's web service.

Source: GROBID, "Use GROBID as a service", `/api/processFulltextDocument`: 200 with TEI, 204 without
content, 503 when all engines are busy, 500 when it failed on the document. The parameters are
those that sandcrawler uses.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from typing import Any

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ReadTimeoutError,
)

from fonds.model.errors import ConfigurationError, PostponedError, TransientError
from fonds.model.paper import GrobidResponse, GrobidStatus
from fonds.model.secrets import redact_secrets

PARAMETERS = (
    ("consolidateHeader", "0"),
    ("consolidateCitations", "0"),
    ("includeRawCitations", "1"),
    ("includeRawAffiliations", "1"),
    ("segmentSentences", "1"),
    *(("teiCoordinates", one) for one in ("ref", "figure", "persName", "formula", "biblStruct")),
)
PATH = "/api/processFulltextDocument"
ERROR_MAX_CHARS = 10_000
PDF_MAX_BYTES = 256 * 2**20
_PIECE_BYTES = 256 * 1024
_DOCUMENT_ERROR_CODES = frozenset({400, 408, 413, 415, 422, 500})
"""Status codes that describe the document; all other codes describe the server."""
_SECONDS = re.compile(r"\d{1,6}")


@dataclass
class ServerPressure:
    """Back-off for a busy or unreachable server, shared by all threads of a process.

    The pause doubles until the server accepts a request again. `clock` is monotonic, in seconds.
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
        """Hold one of `at_once` request slots.

        Raises PostponedError while the server is backed off or all slots are in use.
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
        """Start or extend the back-off and return the error to raise.

        `requested_wait_s` is the wait that the server asked for.
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
        """End the back-off."""
        with self._lock:
            self._pause_s = 0.0
            self._away_until_s = 0.0


@dataclass(frozen=True, slots=True)
class GrobidClient:
    """Client for the service at `url`.

    At most `concurrency_max` requests run at the same time, each for up to `timeout_s`. A response
    longer than `tei_max_bytes` is not kept.
    """

    url: str
    concurrency_max: int
    timeout_s: float
    tei_max_bytes: int
    pressure: ServerPressure = field(default_factory=ServerPressure)
    connect_s: float = 10.0
    pool: urllib3.PoolManager = field(default_factory=partial(urllib3.PoolManager, maxsize=100))

    def __call__(self, pdf: bytes) -> GrobidResponse:
        """Send a PDF to the server and return its response.

        Raises PostponedError while the server is unreachable or busy, TransientError when the
        connection breaks during processing, and ConfigurationError without a URL.
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
        deadline = time.monotonic() + self.timeout_s
        try:
            response = self._post(pdf)
            try:
                body = self._read_body(response, deadline)
            finally:
                response.close()
        except (ConnectTimeoutError, NewConnectionError) as error:
            raise self.pressure.mark_away(
                f"cannot reach GROBID: {_describe_error(error)}"
            ) from error
        except ReadTimeoutError:
            return self._build_timeout()
        except (HTTPError, HTTPException, OSError) as error:
            raise TransientError(
                f"lost the connection to GROBID: {_describe_error(error)}"
            ) from error
        return self._build_timeout() if body is None else self._build_response(response, body)

    def _post(self, pdf: bytes) -> urllib3.BaseHTTPResponse:
        fields: list[Any] = [*PARAMETERS, ("input", ("input.pdf", pdf, "application/pdf"))]
        return self.pool.request(
            "POST",
            self.url.rstrip("/") + PATH,
            fields=fields,
            headers={"Accept": "application/xml", "Accept-Encoding": "identity"},
            timeout=urllib3.Timeout(connect=self.connect_s, read=self.timeout_s),
            retries=False,
            redirect=False,
            preload_content=False,
        )

    def _read_body(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes | None:
        """Read up to one byte more than `tei_max_bytes`. Return None when the deadline passes."""
        body = bytearray()
        while len(body) <= self.tei_max_bytes:
            piece = response.read1(_PIECE_BYTES, decode_content=False)
            if not piece:
                break
            body += piece
            if time.monotonic() > deadline:
                return None
        return bytes(body)

    def _build_timeout(self) -> GrobidResponse:
        status = GrobidStatus.TIMEOUT
        message = f"no complete response within {self.timeout_s:g} seconds"
        return GrobidResponse(status, status.status_code, error_msg=message)

    def _build_response(self, response: urllib3.BaseHTTPResponse, body: bytes) -> GrobidResponse:
        code = response.status
        message = body[:ERROR_MAX_CHARS].decode("utf-8", "replace").strip()
        if code != 200 and code != 204 and code not in _DOCUMENT_ERROR_CODES:
            retry_after = _SECONDS.fullmatch(response.headers.get("retry-after") or "")
            raise self.pressure.mark_away(
                f"GROBID responded with {code}: {message[:200]}",
                float(retry_after[0]) if retry_after else 0.0,
            )
        self.pressure.mark_available()
        if code == 204 or (code == 200 and not body):
            return GrobidResponse(GrobidStatus.NO_CONTENT, code, error_msg="no content")
        if code != 200:
            return GrobidResponse(GrobidStatus.ERROR, code, error_msg=message or f"status {code}")
        if len(body) > self.tei_max_bytes:
            longer = f"the TEI is longer than {self.tei_max_bytes} bytes"
            return GrobidResponse(GrobidStatus.TEI_TOO_LARGE, code, error_msg=longer)
        return GrobidResponse(GrobidStatus.SUCCESS, code, body)


def _describe_error(error: BaseException) -> str:
    return redact_secrets(str(error))[:ERROR_MAX_CHARS]
