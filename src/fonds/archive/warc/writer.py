"""Write bodies as WARC records: warcinfo, response or resource, revisit, metadata and request.

Source: WARC/1.1, sections 5 and 6 (WARC/1.0 on request), annex D (one gzip member per record).
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from typing import Protocol

from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParser
from warcio.warcwriter import WARCWriter
from zlib_ng import zlib_ng

from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.exchange import Exchange, HttpHead
from fonds.model.keys import encode_sha1_base32, parse_record_id

VERSIONS = ("WARC/1.0", "WARC/1.1")
METADATA_TYPE = "application/x.mediacloud-indexer+json"
METADATA_URI = "urn:metadata:"

_GZIP_LEVEL = 6
_FIXED_MAX_BYTES = 4096
"""Upper bound for the bytes of an entry's WARC records other than URL, headers, body and metadata.
"""
_SPECIFICATION = "https://iipc.github.io/warc-specifications/specifications/warc-format/"
_PROFILE = "http://netpreserve.org/{version}/revisit/{kind}"
_NOT_MODIFIED = 304
_REMOVED_HEADERS = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_PROTOCOLS = {
    "HTTP/0.9": "http/0.9",
    "HTTP/2": "h2",
    "HTTP/2.0": "h2",
    "HTTP/3": "h3",
    "HTTP/3.0": "h3",
}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_INVALID_URI_CHARS = re.compile(r"[\x00-\x20\x7f]")


class AppendableFile(Protocol):
    """Interface of the output file to which WARC records are appended."""

    def write(self, data: bytes, /) -> object:
        """Append bytes to the output file."""

    def tell(self) -> int:
        """Return the number of bytes in the output file so far."""


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """WARC record that was written for a body or revisit.

    `record_id`: WARC record id without angle brackets.
    `size_bytes`: compressed size of the record.
    """

    record_id: str
    size_bytes: int


class RecordWriter:
    """Appends WARC records to a file, one gzip member each. Not thread-safe."""

    def __init__(
        self,
        out: AppendableFile,
        *,
        version: str = "WARC/1.1",
        metadata_uri: str = METADATA_URI,
        agent: str = "",
    ) -> None:
        """Create a writer that appends WARC records to `out`. Raises ValueError for an unsupported
        WARC version.

        `metadata_uri` is the prefix of the URI of a metadata record. The URL of the page that it
        describes follows. `agent` is the User-Agent of a fetcher that obeys robots.txt and writes
        to the file, or "".
        """
        if version not in VERSIONS:
            raise ValueError(f"unsupported WARC version: {version!r}")
        self._out = out
        self._version = version
        self._metadata_uri = metadata_uri
        self._agent = agent
        self._records = WARCWriter(None, gzip=False, warc_version=version)
        self._warcinfo_id = StatusAndHeadersParser.make_warc_id()

    def write_warcinfo(
        self, filename: str, created_at: datetime, hostname: str | None = None
    ) -> None:
        """Write the warcinfo record at the start of a WARC file: the software, host and format of
        the file.
        """
        number = self._version.removeprefix("WARC/")
        fields = {
            "software": f"Fonds/{installed_version('fonds')}",
            "hostname": hostname,
            "format": f"WARC File Format {number}",
            "conformsTo": f"{_SPECIFICATION}warc-{number}/",
            "robots": "obey" if self._agent else None,
            "http-header-user-agent": self._agent,
        }
        lines = [
            f"{name}: {_clean_header_value(value)}\r\n" for name, value in fields.items() if value
        ]
        headers = {
            "WARC-Record-ID": self._warcinfo_id,
            "WARC-Date": self._format_date(created_at),
            "WARC-Filename": _clean_header_value(filename),
        }
        self._write("warcinfo", "", headers, "application/warc-fields", "".join(lines).encode())

    def write_entry(self, entry: ArchiveEntry) -> WrittenRecord:
        """Write the WARC records of an entry. Return the first of them, which has the body or is a
        revisit.

        A body with an HTTP head becomes a `response` with the decoded body. Headers that describe
        codings, such as `Content-Encoding`, are renamed to `X-Archive-Orig-*`, and `Content-Length`
        is that of the decoded body. The metadata record has its own URI, `urn:metadata:URL`. With
        the URL of the page, programs that index the WARC would show the metadata in place of the
        page.
        """
        start = self._out.tell()
        record_id = StatusAndHeadersParser.make_warc_id()
        shared_fields = {
            "WARC-Date": self._format_date(entry.captured_at),
            "WARC-Warcinfo-ID": self._warcinfo_id,
        }
        fields = {"WARC-Record-ID": record_id, **shared_fields}
        head = None
        if entry.http:
            head, protocol = _build_http_head(entry.http, len(entry.body))
            fields |= {"WARC-Protocol": protocol} if protocol else {}
        if entry.exchange:
            fields |= _build_connection_fields(entry.exchange)
        record_type = "response" if head else "resource"
        content_type = "application/http; msgtype=response" if head else entry.mime
        if entry.original is not None:
            record_type = "revisit"
            fields |= self._build_revisit_fields(entry.original, entry)
        body = b"" if record_type == "revisit" else entry.body
        self._write(record_type, entry.url, fields, content_type, body, head)
        size_bytes = self._out.tell() - start
        if entry.metadata_json is not None:
            related_fields = {**shared_fields, "WARC-Refers-To": record_id}
            uri = f"{self._metadata_uri}{entry.url}"
            self._write("metadata", uri, related_fields, METADATA_TYPE, entry.metadata_json)
        if entry.exchange and (request := entry.exchange.hops[-1].request_head):
            related_fields = {**shared_fields, "WARC-Concurrent-To": record_id}
            media_type = "application/http; msgtype=request"
            self._write(
                "request",
                entry.url,
                related_fields,
                media_type,
                request.encode("latin-1", "replace"),
            )
        return WrittenRecord(record_id[1:-1], size_bytes)

    def _build_revisit_fields(
        self, original: OriginalCapture, entry: ArchiveEntry
    ) -> dict[str, str]:
        record_id = parse_record_id(original.record_id or "")
        reference = {"WARC-Refers-To": f"<{record_id}>"} if record_id else {}
        return reference | {
            "WARC-Profile": _PROFILE.format(
                version=self._version.lower(), kind=_choose_revisit_profile(entry)
            ),
            "WARC-Refers-To-Target-URI": escape_uri(original.url),
            "WARC-Refers-To-Date": self._format_date(original.captured_at),
            "WARC-Payload-Digest": f"sha1:{encode_sha1_base32(hashlib.sha1(entry.body).digest())}",  # noqa: S324
        }

    def _write(
        self,
        kind: str,
        url: str,
        headers: Mapping[str, str],
        content_type: str,
        body: bytes,
        http: StatusAndHeaders | None = None,
    ) -> None:
        record = self._records.create_warc_record(
            escape_uri(url),
            kind,
            payload=io.BytesIO(body),
            length=len(body),
            warc_content_type=_clean_header_value(content_type),
            warc_headers_dict=dict(headers),
            http_headers=http,
        )
        member = _GzipMemberWriter(self._out)
        self._records.out = member
        self._records.write_record(record)
        member.close()

    def _format_date(self, moment: datetime) -> str:
        """Format a time as a WARC date: ISO 8601 in UTC with microseconds, or with whole seconds in
        WARC/1.0.
        """
        timespec = "seconds" if self._version == "WARC/1.0" else "microseconds"
        local = moment.astimezone(UTC).replace(tzinfo=None)
        return local.isoformat(timespec=timespec) + "Z"


class _GzipMemberWriter:
    """File-like object that compresses everything written to it into one gzip member."""

    def __init__(self, out: AppendableFile) -> None:
        self._out = out
        self._packer = zlib_ng.compressobj(_GZIP_LEVEL, zlib_ng.DEFLATED, 31)

    def write(self, data: bytes) -> None:
        """Compress bytes and append them to the gzip member."""
        self._out.write(self._packer.compress(data))

    def flush(self) -> None:
        """Do nothing. The library that writes records flushes before the gzip member is
        complete.
        """

    def close(self) -> None:
        """Complete the gzip member. The underlying file stays open."""
        self._out.write(self._packer.flush())


def estimate_max_bytes(entry: ArchiveEntry) -> int:
    """Return an upper bound for the size in bytes of an entry's WARC records.

    Compressed records are nearly always shorter than the bound.
    """
    headers = entry.http.headers if entry.http else ()
    heads = sum(4 * len(name) + 4 * len(value) + 4 for name, value in headers)
    plain = len(entry.body) + len(entry.metadata_json or b"") + heads + 12 * len(entry.url)
    return plain + plain // 1000 + _FIXED_MAX_BYTES


def _build_connection_fields(exchange: Exchange) -> dict[str, str]:
    """Return the WARC header fields for the address of the server and the TLS cipher of an
    exchange.

    The cipher's field, WARC-Cipher-Suite, is proposed for WARC 1.1.
    """
    last_hop = exchange.hops[-1]
    fields = {"WARC-IP-Address": last_hop.address}
    cipher = (last_hop.tls or "").partition(" ")[2]
    return {name: value for name, value in {**fields, "WARC-Cipher-Suite": cipher}.items() if value}


def _build_http_head(http: HttpHead, body_bytes: int) -> tuple[StatusAndHeaders, str]:
    """Return the HTTP head to write for a body, and the original protocol such as `h2`.

    WARC readers accept only HTTP/1 heads. The protocol is "" if the written head already states it.
    """
    headers: list[tuple[str, str]] = []
    for name, value in http.headers:
        header_name = f"X-Archive-Orig-{name}" if name.lower() in _REMOVED_HEADERS else name
        headers.append(
            (_clean_header_value(header_name).replace(":", ""), _clean_header_value(value))
        )
    headers.append(("Content-Length", str(body_bytes)))
    original_protocol, statusline = _split_status_line(http)
    # WARC readers reject the head of a response that is not HTTP/1.
    protocol = original_protocol if original_protocol in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    head = StatusAndHeaders(statusline, headers, protocol=protocol)
    # The record writer would percent-escape non-ASCII values. UTF-8 preserves them.
    head.to_ascii_bytes = head.to_bytes
    return head, "" if original_protocol == protocol else _PROTOCOLS.get(
        original_protocol, original_protocol.lower()
    )


def _split_status_line(http: HttpHead) -> tuple[str, str]:
    """Return the protocol and the rest of an HTTP status line.

    If the line is missing, they are `HTTP/1.1` and the status code.
    """
    protocol, _, rest = _clean_header_value(http.status_line).partition(" ")
    protocol = protocol.upper()
    if not protocol.startswith(("HTTP", "ICY")):
        return "HTTP/1.1", f"{http.status:03d}"
    return protocol, rest.strip()


def _clean_header_value(text: str) -> str:
    """Return text that is safe in a header line: control characters become blanks, lone surrogates
    `?`.
    """
    return _CONTROLS.sub(" ", text).encode("utf-8", "replace").decode("utf-8").strip()


def escape_uri(url: str) -> str:
    """Escape blanks and control characters in a URL for use as a header value."""
    clean = url.strip().encode("utf-8", "replace").decode("utf-8")
    return _INVALID_URI_CHARS.sub(lambda match: f"%{ord(match.group()):02X}", clean)


def _choose_revisit_profile(entry: ArchiveEntry) -> str:
    """Return the WARC revisit profile, which says how the body is known to be unchanged.

    `server-not-modified` means that the server answered 304. `identical-payload-digest` means that
    the body has the same digest as the earlier capture.
    """
    is_not_modified = entry.http is not None and entry.http.status == _NOT_MODIFIED
    return "server-not-modified" if is_not_modified else "identical-payload-digest"
