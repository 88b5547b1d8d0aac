"""Containers of the sample crawl: WARCs with fixed identifiers, a CDX and a ZIP."""

from __future__ import annotations

import base64
import gzip
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

_STATUS_LINES = {200: "200 OK", 301: "301 Moved Permanently", 404: "404 Not Found"}


@dataclass(frozen=True, slots=True)
class Visit:
    """One response of a server.

    `same_as` is the time of an earlier capture of the same body; the record is then a revisit.
    `packed` sends the body with gzip content coding.
    """

    url: str
    at: datetime
    content_type: str
    body: bytes
    status: int = 200
    location: str | None = None
    same_as: datetime | None = None
    packed: bool = False

    @property
    def digest(self) -> str:
        """SHA-1 of the encoded body, in base32."""
        raw = hashlib.sha1(self.sent, usedforsecurity=False).digest()
        return base64.b32encode(raw).decode()

    @property
    def sent(self) -> bytes:
        """The encoded body."""
        return gzip.compress(self.body, mtime=0) if self.packed else self.body


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """The record of a visit, with its offset and size in the WARC file."""

    visit: Visit
    offset: int
    size_bytes: int


def write_warc(path: Path, visits: Sequence[Visit], *, packed: bool) -> list[WrittenRecord]:
    """Write a WARC/1.0 with a warcinfo record, and a request record before each response."""
    records = []
    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=packed)
        writer.write_record(_build_warcinfo(writer, path.name, visits[0].at))
        for number, visit in enumerate(visits):
            writer.write_record(
                _build_request(writer, visit, _build_record_id(path.name, number, "request"))
            )
            offset = stream.tell()
            writer.write_record(
                _build_response(writer, visit, _build_record_id(path.name, number, "answer"))
            )
            records.append(WrittenRecord(visit, offset, stream.tell() - offset))
    return records


def write_cdx(path: Path, records: Sequence[WrittenRecord], warc_name: str) -> None:
    """Write a CDX with the eleven fields of the Wayback Machine, in byte order."""
    lines = sorted(
        f"{_build_surt(at.visit.url)} {at.visit.at:%Y%m%d%H%M%S} {at.visit.url} "
        f"{at.visit.content_type.split(';')[0]} {at.visit.status} {at.visit.digest} - - "
        f"{at.size_bytes} {at.offset} {warc_name}\n"
        for at in records
    )
    path.write_bytes("".join([" CDX N b a m s k r M S V g\n", *lines]).encode())


def write_zip(path: Path, members: Mapping[str, bytes], at: datetime) -> None:
    """Write a ZIP whose members all have the same time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, at.timetuple()[:6])
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)


def _build_record_id(warc_name: str, number: int, role: str) -> str:
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{warc_name}/{number}/{role}')}>"


def _format_warc_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _build_warcinfo(writer: WARCWriter, name: str, at: datetime) -> Any:
    fields = "software: Fonds sample writer\r\nformat: WARC File Format 1.0\r\nisPartOf: sample\r\n"
    return writer.create_warc_record(
        "",
        "warcinfo",
        payload=BytesIO(fields.encode()),
        length=len(fields),
        warc_content_type="application/warc-fields",
        warc_headers_dict={
            "WARC-Record-ID": _build_record_id(name, 0, "info"),
            "WARC-Date": _format_warc_time(at),
            "WARC-Filename": name,
        },
    )


def _build_request(writer: WARCWriter, visit: Visit, identity: str) -> Any:
    parts = urlsplit(visit.url)
    head = StatusAndHeaders(
        f"GET {parts.path} HTTP/1.1",
        [("Host", parts.netloc), ("User-Agent", "sample-crawler/1.0"), ("Accept", "*/*")],
        is_http_request=True,
    )
    return writer.create_warc_record(
        visit.url,
        "request",
        http_headers=head,
        warc_headers_dict={"WARC-Record-ID": identity, "WARC-Date": _format_warc_time(visit.at)},
    )


def _build_response(writer: WARCWriter, visit: Visit, identity: str) -> Any:
    headers = [("Content-Type", visit.content_type), ("Content-Length", str(len(visit.sent)))]
    if visit.packed:
        headers.append(("Content-Encoding", "gzip"))
    if visit.location:
        headers.append(("Location", visit.location))
    head = StatusAndHeaders(_STATUS_LINES[visit.status], headers, protocol="HTTP/1.1")
    described = {"WARC-Record-ID": identity, "WARC-Date": _format_warc_time(visit.at)}
    if visit.same_as:
        return writer.create_revisit_record(
            visit.url,
            f"sha1:{visit.digest}",
            visit.url,
            _format_warc_time(visit.same_as),
            http_headers=head,
            warc_headers_dict=described,
        )
    return writer.create_warc_record(
        visit.url,
        "response",
        payload=BytesIO(visit.sent),
        length=len(visit.sent),
        http_headers=head,
        warc_headers_dict=described,
    )


def _build_surt(url: str) -> str:
    """Return the SURT of a plain URL: reversed host, then the path."""
    parts = urlsplit(url)
    host = parts.netloc.removeprefix("www.")
    return f"{','.join(reversed(host.split('.')))}){parts.path.lower()}"
