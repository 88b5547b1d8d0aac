"""Writing of bodies as WARC records: warcinfo, response or resource, metadata and revisits.

Source: WARC/1.1, sections 5 and 6 (WARC/1.0 on request), annex D (one gzip member per record).
"""

from __future__ import annotations

import hashlib
import io
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from typing import Protocol

from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParser
from warcio.warcwriter import WARCWriter

from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.exchange import Exchange, HttpHead
from fonds.model.keys import encode_sha1_base32, parse_record_id

VERSIONS = ("WARC/1.0", "WARC/1.1")
METADATA_TYPE = "application/x.mediacloud-indexer+json"
METADATA_URI = "urn:metadata:"

_GZIP_LEVEL = 6
_FIXED_MAX_BYTES = 4096
"""Upper bound for the bytes of an entry's records other than URL, headers, body and metadata."""
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
    """Output to which records are appended."""

    def write(self, data: bytes, /) -> object:
        """Append data."""

    def tell(self) -> int:
        """Return the number of bytes so far."""


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """WARC record that was written for a body or revisit.

    `record_id`: WARC record id without angle brackets.
    `size_bytes`: compressed size of the record.
    """

    record_id: str
    size_bytes: int


class RecordWriter:
    """Appends records to a file, one gzip member each. Not thread-safe."""

    def __init__(
        self,
        out: AppendableFile,
        *,
        version: str = "WARC/1.1",
        metadata_uri: str = METADATA_URI,
        agent: str = "",
    ) -> None:
        """`metadata_uri` is the prefix of a metadata record's URI. Its subject's URL follows.

        `agent` is the User-Agent of a fetcher that obeys robots.txt and writes to these files, or
        "".
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
        """Write the record a file begins with: who wrote it, when, and in which format."""
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
        """Write an entry's records. Returns the first, which holds the body or the revisit.

        A body with an HTTP head becomes a `response` with decoded content. `Content-Encoding` and
        the like are renamed to `X-Archive-Orig-*`, and `Content-Length` is that of the body. The
        metadata has its own URI, `urn:metadata:URL`. Otherwise readers that index it would show it
        in place of the page.
        """
        start = self._out.tell()
        record_id = StatusAndHeadersParser.make_warc_id()
        shared = {
            "WARC-Date": self._format_date(entry.captured_at),
            "WARC-Warcinfo-ID": self._warcinfo_id,
        }
        fields = {"WARC-Record-ID": record_id, **shared}
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
            related_fields = {**shared, "WARC-Refers-To": record_id}
            uri = f"{self._metadata_uri}{entry.url}"
            self._write("metadata", uri, related_fields, METADATA_TYPE, entry.metadata_json)
        if entry.exchange and (request := entry.exchange.hops[-1].request_head):
            related_fields = {**shared, "WARC-Concurrent-To": record_id}
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
        """Format a time as ISO 8601 in UTC with microseconds, or with whole seconds in WARC/1.0."""
        timespec = "seconds" if self._version == "WARC/1.0" else "microseconds"
        local = moment.astimezone(UTC).replace(tzinfo=None)
        return local.isoformat(timespec=timespec) + "Z"


class _GzipMemberWriter:
    """File-like object that turns everything the record writer writes into one gzip member."""

    def __init__(self, out: AppendableFile) -> None:
        self._out = out
        self._packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31)

    def write(self, data: bytes) -> None:
        """Compress and append."""
        self._out.write(self._packer.compress(data))

    def flush(self) -> None:
        """Do nothing: the record writer flushes before the member is complete."""

    def close(self) -> None:
        """Complete the member. The file stays open."""
        self._out.write(self._packer.flush())


def estimate_max_bytes(entry: ArchiveEntry) -> int:
    """Return an upper bound for the bytes of an entry's records.

    Compressed they are nearly always shorter.
    """
    headers = entry.http.headers if entry.http else ()
    heads = sum(4 * len(name) + 4 * len(value) + 4 for name, value in headers)
    plain = len(entry.body) + len(entry.metadata_json or b"") + heads + 12 * len(entry.url)
    return plain + plain // 1000 + _FIXED_MAX_BYTES


def _build_connection_fields(exchange: Exchange) -> dict[str, str]:
    """Return fields for the server's address and the TLS cipher.

    The latter is a proposed WARC 1.1 field.
    """
    last_hop = exchange.hops[-1]
    fields = {"WARC-IP-Address": last_hop.address}
    cipher = (last_hop.tls or "").partition(" ")[2]
    return {name: value for name, value in {**fields, "WARC-Cipher-Suite": cipher}.items() if value}


def _build_http_head(http: HttpHead, body_bytes: int) -> tuple[StatusAndHeaders, str]:
    """Return the head to write, and the protocol if the head cannot express it, else ""."""
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
    """Return the protocol and the rest of the status line. Both have defaults if it is missing."""
    protocol, _, rest = _clean_header_value(http.status_line).partition(" ")
    protocol = protocol.upper()
    if not protocol.startswith(("HTTP", "ICY")):
        return "HTTP/1.1", f"{http.status:03d}"
    return protocol, rest.strip()


def _clean_header_value(text: str) -> str:
    """Make text safe for a header line: control characters become blanks, lone surrogates `?`."""
    return _CONTROLS.sub(" ", text).encode("utf-8", "replace").decode("utf-8").strip()


def escape_uri(url: str) -> str:
    """Escape blanks and control characters in a URL for use as a header value."""
    clean = url.strip().encode("utf-8", "replace").decode("utf-8")
    return _INVALID_URI_CHARS.sub(lambda match: f"%{ord(match.group()):02X}", clean)


def _choose_revisit_profile(entry: ArchiveEntry) -> str:
    """Return how the body is known to be unchanged: the server said so, or its digest is the same."""
    is_not_modified = entry.http is not None and entry.http.status == _NOT_MODIFIED
    return "server-not-modified" if is_not_modified else "identical-payload-digest"
