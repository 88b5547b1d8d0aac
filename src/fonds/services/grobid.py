"""A client of GROBID's web service.

Source: GROBID, "Use GROBID as a service", `/api/processFulltextDocument`: 200 with TEI, 204 without content,
503 when all its engines are busy, 500 when it failed on the document. Parameters as sandcrawler asks.
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
from fonds.model.paper import GrobidAnswer, GrobidStatus
from fonds.model.secrets import without_secrets

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
_OF_THE_DOCUMENT = frozenset({400, 408, 413, 415, 422, 500})
"""The statuses by which a server speaks of the document; all others tell of the server."""
_SECONDS = re.compile(r"\d{1,6}")


@dataclass
class Pressure:
    """How long a server is left alone that said it is busy: doubling, until it takes something again.

    For all threads of a process. `clock` gives seconds that run forward.
    """

    first_s: float = 5.0
    longest_s: float = 300.0
    clock: Callable[[], float] = time.monotonic
    _pause_s: float = 0.0
    _until: float = 0.0
    _told: str = ""
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def turn(self, at_once: int) -> Iterator[None]:
        """One of so many turns. Raises PostponedError while the server is to be left alone."""
        with self._lock:
            left_s = self._until - self.clock()
            if left_s > 0:
                raise PostponedError(self._told, left_s)
            if self._under_way >= at_once:
                raise PostponedError(f"{at_once} PDFs are with GROBID already", self.first_s)
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    def away(self, told: str, asked_s: float = 0.0) -> PostponedError:
        """It is away; the error that says until when. `asked_s` is what it asked for itself."""
        with self._lock:
            now = self.clock()
            if now >= self._until:
                # Of many that were under way at once, the first tells.
                self._pause_s = min(self.longest_s, max(self.first_s, 2 * self._pause_s))
                self._until = now + max(self._pause_s, min(asked_s, self.longest_s))
            self._told = told
            return PostponedError(told, self._until - now)

    def taken(self) -> None:
        """It does its work."""
        with self._lock:
            self._pause_s = 0.0
            self._until = 0.0


@dataclass(frozen=True, slots=True)
class Grobid:
    """The service at `url`; `at_once` requests are under way at most, each for `timeout_s`.

    An answer longer than `tei_max_bytes` is not kept.
    """

    url: str
    at_once: int
    timeout_s: float
    tei_max_bytes: int
    pressure: Pressure = field(default_factory=Pressure)
    connect_s: float = 10.0
    pool: urllib3.PoolManager = field(default_factory=partial(urllib3.PoolManager, maxsize=100))

    def __call__(self, pdf: bytes) -> GrobidAnswer:
        """What it makes of a PDF.

        Raises PostponedError while the server is away or busy, TransientError when the connection broke off
        while it worked, ConfigurationError without a URL.
        """
        if not self.url:
            raise ConfigurationError("no GROBID server is named: set grobid.url")
        if len(pdf) > PDF_MAX_BYTES:
            status, told = GrobidStatus.BLOB_TOO_LARGE, f"{len(pdf)} bytes; at most {PDF_MAX_BYTES}"
            return GrobidAnswer(status, status.status_code, error_msg=told)
        with self.pressure.turn(self.at_once):
            return self._asked(pdf)

    def _asked(self, pdf: bytes) -> GrobidAnswer:
        deadline = time.monotonic() + self.timeout_s
        try:
            response = self._posted(pdf)
            try:
                body = self._body(response, deadline)
            finally:
                response.close()
        except (ConnectTimeoutError, NewConnectionError) as error:
            raise self.pressure.away(f"GROBID cannot be reached: {_told(error)}") from error
        except ReadTimeoutError:
            return self._timed_out()
        except (HTTPError, HTTPException, OSError) as error:
            raise TransientError(f"GROBID broke off: {_told(error)}") from error
        return self._timed_out() if body is None else self._answer(response, body)

    def _posted(self, pdf: bytes) -> urllib3.BaseHTTPResponse:
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

    def _body(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes | None:
        """One byte more than is kept at most; None when the time is over."""
        body = bytearray()
        while len(body) <= self.tei_max_bytes:
            piece = response.read1(_PIECE_BYTES, decode_content=False)
            if not piece:
                break
            body += piece
            if time.monotonic() > deadline:
                return None
        return bytes(body)

    def _timed_out(self) -> GrobidAnswer:
        status = GrobidStatus.TIMEOUT
        told = f"no whole answer within {self.timeout_s:g} seconds"
        return GrobidAnswer(status, status.status_code, error_msg=told)

    def _answer(self, response: urllib3.BaseHTTPResponse, body: bytes) -> GrobidAnswer:
        code = response.status
        told = body[:ERROR_MAX_CHARS].decode("utf-8", "replace").strip()
        if code != 200 and code != 204 and code not in _OF_THE_DOCUMENT:
            asked = _SECONDS.fullmatch(response.headers.get("retry-after") or "")
            raise self.pressure.away(
                f"GROBID answers {code}: {told[:200]}", float(asked[0]) if asked else 0.0
            )
        self.pressure.taken()
        if code == 204 or (code == 200 and not body):
            return GrobidAnswer(GrobidStatus.NO_CONTENT, code, error_msg="no content")
        if code != 200:
            return GrobidAnswer(GrobidStatus.ERROR, code, error_msg=told or f"status {code}")
        if len(body) > self.tei_max_bytes:
            longer = f"the TEI is longer than {self.tei_max_bytes} bytes"
            return GrobidAnswer(GrobidStatus.TEI_TOO_LARGE, code, error_msg=longer)
        return GrobidAnswer(GrobidStatus.SUCCESS, code, body)


def _told(error: BaseException) -> str:
    return without_secrets(str(error))[:ERROR_MAX_CHARS]
