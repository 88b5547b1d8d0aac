"""Files behind http(s) URLs: ranges of them, and whole ones from servers that need not do ranges.

Source: RFC 9110, sections 14 (range requests) and 8.4 (content codings).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fonds.formats.coding import codings_of, decode_body
from fonds.model.archive import HttpHead
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError, PermanentError
from fonds.stores.archive.elsewhere.web import HttpAnswer, Web, check_status

RANGE_S = 120.0
WHOLE_S = 600.0
"""How long one request may take, redirects and body included."""

_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})", re.IGNORECASE)
_LENGTH = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class HttpFiles:
    """Implements Remote for http and https."""

    web: Web

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """As Remote says; a server that does no ranges is UNREADABLE_SOURCE."""
        wanted = {"Range": f"bytes={start}-{start + size_bytes - 1}"}
        with self.web.get(url, wanted, total_s=RANGE_S) as answer:
            _check_partial(answer.status, start)
            first, total = _content_range(answer.headers.get("content-range", ""))
            if first != start:
                raise PermanentError(
                    Reason.UNREADABLE_SOURCE, f"the server sent bytes from {first}, not {start}"
                )
            return answer.read(size_bytes), total

    def whole(self, url: str, bytes_max: int) -> bytes:
        """As Remote says; codings undone that a server sends unasked.

        Then DamagedInputError (BAD_ENCODING) and LimitError (BOMB) as well.
        """
        with self.web.get(url, {}, total_s=WHOLE_S) as answer:
            check_status(answer.status, 200)
            return read_whole(answer, bytes_max)


def read_whole(answer: HttpAnswer, bytes_max: int) -> bytes:
    """The body of an answer, its content codings undone; errors as those of `HttpFiles.whole`."""
    declared = answer.headers.get("content-length", "").strip()
    if _LENGTH.fullmatch(declared) and int(declared) > bytes_max:
        raise _too_large(bytes_max)
    body = answer.read(bytes_max + 1)
    if len(body) > bytes_max:
        raise _too_large(bytes_max)
    coding = ("content-encoding", answer.headers.get("content-encoding", ""))
    codings = codings_of(HttpHead(answer.status, "", (coding,)))
    return decode_body(lambda: iter([body]), codings, body_max_bytes=bytes_max)


def _too_large(bytes_max: int) -> LimitError:
    return LimitError(Reason.TOO_LARGE, f"the server sends more than {bytes_max} bytes")


def _check_partial(status: int, start: int) -> None:
    if status == 416:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, f"the file behind the URL ends before offset {start}"
        )
    if status == 200:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            "the server sends the whole file where a range was asked for; download the file",
        )
    check_status(status, 206)


def _content_range(header: str) -> tuple[int, int]:
    match = _CONTENT_RANGE.fullmatch(header.strip())
    if match is None:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, f"the server's Content-Range is {header[:80]!r}"
        )
    return int(match[1]), int(match[3])
