"""Bodies as WARC records: warcinfo, response or resource, metadata beside them, revisits for repeats.

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
"""What an entry's records have besides its address, headers, body and metadata."""
_SPECIFICATION = "https://iipc.github.io/warc-specifications/specifications/warc-format/"
_PROFILE = "http://netpreserve.org/{version}/revisit/{kind}"
_NOT_MODIFIED = 304
_UNDONE = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_PROTOCOLS = {
    "HTTP/0.9": "http/0.9",
    "HTTP/2": "h2",
    "HTTP/2.0": "h2",
    "HTTP/3": "h3",
    "HTTP/3.0": "h3",
}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_NOT_IN_URI = re.compile(r"[\x00-\x20\x7f]")


class AppendableFile(Protocol):
    """What records are written to, one behind the other."""

    def write(self, data: bytes, /) -> object:
        """Append."""

    def tell(self) -> int:
        """How many bytes there are."""


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """The record of a body, or its revisit: `record_id` as in `Archived`, its packed length in bytes."""

    record_id: str
    size_bytes: int


class RecordWriter:
    """Appends records to a file, one gzip member each. Not safe for several threads at once."""

    def __init__(
        self,
        out: AppendableFile,
        *,
        version: str = "WARC/1.1",
        metadata_uri: str = METADATA_URI,
        agent: str = "",
    ) -> None:
        """`metadata_uri` is what stands before the address of a metadata record's subject in its own, `agent`
        the User-Agent of what fetches into these files, which obeys robots.txt; "" for nothing that does."""
        if version not in VERSIONS:
            raise ValueError(f"not a version of WARC that can be written: {version!r}")
        self._out = out
        self._version = version
        self._metadata_uri = metadata_uri
        self._agent = agent
        self._records = WARCWriter(None, gzip=False, warc_version=version)
        self._warcinfo_id = StatusAndHeadersParser.make_warc_id()

    def write_warcinfo(
        self, filename: str, created_at: datetime, hostname: str | None = None
    ) -> None:
        """The record a file begins with: who wrote it, when, and in which format."""
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
        """The entry's records; what is told is the first, which holds the body or the revisit.

        A body with an HTTP head becomes a `response`, its codings being undone: `Content-Encoding` and
        the like are renamed to `X-Archive-Orig-*`, `Content-Length` is that of the body. The metadata
        has a URI of its own, `urn:metadata:URL`, or readers that index it too would show it for the page.
        """
        start = self._out.tell()
        record_id = StatusAndHeadersParser.make_warc_id()
        shared = {
            "WARC-Date": self._format_date(entry.captured_at),
            "WARC-Warcinfo-ID": self._warcinfo_id,
        }
        own = {"WARC-Record-ID": record_id, **shared}
        head = None
        if entry.http:
            head, protocol = _build_http_head(entry.http, len(entry.body))
            own |= {"WARC-Protocol": protocol} if protocol else {}
        if entry.exchange:
            own |= _build_connection_fields(entry.exchange)
        kind = "response" if head else "resource"
        content_type = "application/http; msgtype=response" if head else entry.mime
        if entry.original is not None:
            kind = "revisit"
            own |= self._build_revisit_fields(entry.original, entry)
        body = b"" if kind == "revisit" else entry.body
        self._write(kind, entry.url, own, content_type, body, head)
        size_bytes = self._out.tell() - start
        if entry.metadata_json is not None:
            about = {**shared, "WARC-Refers-To": record_id}
            uri = f"{self._metadata_uri}{entry.url}"
            self._write("metadata", uri, about, METADATA_TYPE, entry.metadata_json)
        if entry.exchange and (request := entry.exchange.hops[-1].request_head):
            about = {**shared, "WARC-Concurrent-To": record_id}
            sort = "application/http; msgtype=request"
            self._write("request", entry.url, about, sort, request.encode("latin-1", "replace"))
        return WrittenRecord(record_id[1:-1], size_bytes)

    def _build_revisit_fields(
        self, original: OriginalCapture, entry: ArchiveEntry
    ) -> dict[str, str]:
        known = parse_record_id(original.record_id or "")
        named = {"WARC-Refers-To": f"<{known}>"} if known else {}
        return named | {
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
        """ISO 8601 in UTC: with microseconds, whole seconds in WARC/1.0."""
        timespec = "seconds" if self._version == "WARC/1.0" else "microseconds"
        local = moment.astimezone(UTC).replace(tzinfo=None)
        return local.isoformat(timespec=timespec) + "Z"


class _GzipMemberWriter:
    """What the record writer takes for its file: everything written becomes one gzip member."""

    def __init__(self, out: AppendableFile) -> None:
        self._out = out
        self._packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 31)

    def write(self, data: bytes) -> None:
        """Pack and pass on."""
        self._out.write(self._packer.compress(data))

    def flush(self) -> None:
        """Nothing: the record writer flushes before the member is complete."""

    def close(self) -> None:
        """Complete the member; the file stays open."""
        self._out.write(self._packer.flush())


def estimate_max_bytes(entry: ArchiveEntry) -> int:
    """So many bytes an entry takes at most; packed it is nearly always shorter."""
    headers = entry.http.headers if entry.http else ()
    heads = sum(4 * len(name) + 4 * len(value) + 4 for name, value in headers)
    plain = len(entry.body) + len(entry.metadata_json or b"") + heads + 12 * len(entry.url)
    return plain + plain // 1000 + _FIXED_MAX_BYTES


def _build_connection_fields(exchange: Exchange) -> dict[str, str]:
    """Where the answer came from, and how it was secured; the latter as WARC 1.1's proposed fields."""
    last = exchange.hops[-1]
    found = {"WARC-IP-Address": last.address}
    cipher = (last.tls or "").partition(" ")[2]
    return {name: value for name, value in {**found, "WARC-Cipher-Suite": cipher}.items() if value}


def _build_http_head(http: HttpHead, body_bytes: int) -> tuple[StatusAndHeaders, str]:
    """The head as it is written, and the protocol when that cannot stand in it, else ""."""
    headers: list[tuple[str, str]] = []
    for name, value in http.headers:
        kept = f"X-Archive-Orig-{name}" if name.lower() in _UNDONE else name
        headers.append((_clean_header_value(kept).replace(":", ""), _clean_header_value(value)))
    headers.append(("Content-Length", str(body_bytes)))
    named, statusline = _split_status_line(http)
    # Readers of WARC refuse the head of a response that is not one of HTTP/1.
    protocol = named if named in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    head = StatusAndHeaders(statusline, headers, protocol=protocol)
    # The record writer would turn non-ASCII values into percent-escapes; as UTF-8 they come back equal.
    head.to_ascii_bytes = head.to_bytes
    return head, "" if named == protocol else _PROTOCOLS.get(named, named.lower())


def _split_status_line(http: HttpHead) -> tuple[str, str]:
    """Protocol and the rest of the status line; made up from the code when there is none."""
    protocol, _, rest = _clean_header_value(http.status_line).partition(" ")
    protocol = protocol.upper()
    if not protocol.startswith(("HTTP", "ICY")):
        return "HTTP/1.1", f"{http.status:03d}"
    return protocol, rest.strip()


def _clean_header_value(text: str) -> str:
    """Text that cannot break out of its header line: controls become blanks, lone surrogates `?`."""
    return _CONTROLS.sub(" ", text).encode("utf-8", "replace").decode("utf-8").strip()


def escape_uri(url: str) -> str:
    """A URL as a header value: blanks and controls escaped."""
    clean = url.strip().encode("utf-8", "replace").decode("utf-8")
    return _NOT_IN_URI.sub(lambda match: f"%{ord(match.group()):02X}", clean)


def _choose_revisit_profile(entry: ArchiveEntry) -> str:
    """How it is known that a body is that of the capture before: the server says so, or its digest."""
    said = entry.http is not None and entry.http.status == _NOT_MODIFIED
    return "server-not-modified" if said else "identical-payload-digest"
