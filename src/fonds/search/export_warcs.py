"""Export the captures of a search result as WARC, or as WACZ (a ZIP with the WARC and an index).

The WARC has the capture of each document as one record, and its metadata. Source: WARC/1.1; Web
Archive Collection Zipped (WACZ) 1.1.1, sections 5 and 6; Frictionless data package. Memory: one
response body at a time; for WACZ also the lines of the index and of the page list, about 600 bytes
per document.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import IO, Any

import msgspec

from fonds import __version__
from fonds.archive.cdx import CdxLine, build_line, sort_cdxj_lines
from fonds.archive.replay.bodies import load_capture_body
from fonds.archive.warc.writer import RecordWriter
from fonds.derivatives.kinds import find_warc_metadata
from fonds.model.archive import ArchiveEntry
from fonds.model.capture import parse_datetime14
from fonds.model.document import IndexDocument
from fonds.model.errors import PermanentError
from fonds.model.rows import CdxRow, FileMetaRow
from fonds.ports import Stores


class DrainableStream(io.RawIOBase):
    """Output stream in memory for writers of Parquet, ZIP and WARC files.

    The bytes written so far can be taken out (drained) while a writer still writes.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size_bytes = 0

    def writable(self) -> bool:
        """Return True: the stream accepts writes."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written so far, including drained ones."""
        return self._size_bytes

    def write(self, data: Any) -> int:
        """Store a copy of `data` in memory until `drain` is called.

        Return the number of bytes of `data`.
        """
        self._pieces.append(bytes(data))
        self._size_bytes += len(self._pieces[-1])
        return len(self._pieces[-1])

    def drain(self) -> bytes:
        """Return the bytes written since the last call of `drain`."""
        data, self._pieces = b"".join(self._pieces), []
        return data


CHUNK = 100
MISSING_MAX = 1_000
WARC, INDEX, PAGES = "archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"
PACKAGE, DIGEST = "datapackage.json", "datapackage-digest.json"
SUMMARY_URL = "urn:fonds:export"
"""URL of the last record of an exported WARC.

The record states the number of documents and lists those that could not be exported.
"""


@dataclass(frozen=True, slots=True)
class MissingDocument:
    """Document of a search result that could not be exported.

    - `id`: id of the document.
    - `sha1hex`: SHA-1 of its file.
    - `why`: the reason, for people.
    """

    id: str
    sha1hex: str
    why: str


@dataclass(slots=True)
class MissingDocuments:
    """Documents of a search result that could not be exported.

    - `count`: number of documents.
    - `first`: the first `MISSING_MAX` (1,000) of these documents.
    """

    count: int = 0
    first: list[MissingDocument] = field(default_factory=list)

    def add(self, document: IndexDocument, reason: str) -> None:
        """Count a document that could not be exported, and list it if fewer than 1,000 are listed.

        `reason` is the reason, for people.
        """
        self.count += 1
        if len(self.first) < MISSING_MAX:
            self.first.append(MissingDocument(document.id, document.sha1hex, reason))


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """Document whose WARC record was written. `line` is the CDX line (index entry) of the
    record.
    """

    document: IndexDocument
    line: CdxLine


def export_warc(
    stores: Stores, documents: Iterator[IndexDocument], missing_documents: MissingDocuments
) -> Iterator[bytes]:
    """Yield the captures of documents as a WARC file, piece by piece.

    Documents whose capture cannot be read are added to `missing_documents`.
    """
    out = DrainableStream()
    for _ in _iter_records(stores, documents, missing_documents, out):
        yield out.drain()
    yield out.drain()


def export_wacz(
    stores: Stores, documents: Iterator[IndexDocument], missing_documents: MissingDocuments
) -> Iterator[bytes]:
    """Yield the captures of documents as a WACZ file, piece by piece: the WARC comes first, then
    its index.

    Documents whose capture cannot be read are added to `missing_documents`.
    """
    sink, now, package_parts = DrainableStream(), datetime.now(UTC), list[_PackagePart]()
    lines, pages = list[CdxLine](), [_encode_line({"format": "json-pages-1.0", "id": "pages"})]
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        data = _PackagePart(WARC)
        with archive.open(_build_zip_info(WARC, now), "w", force_zip64=True) as entry:
            out = DrainableStream()
            for record in _iter_records(stores, documents, missing_documents, out):
                data.write(entry, out.drain())
                lines.append(record.line)
                pages.append(_encode_page(record))
                yield sink.drain()
            data.write(entry, out.drain())
        package_parts.append(data)
        for name, content in ((INDEX, b"".join(sort_cdxj_lines(lines))), (PAGES, b"".join(pages))):
            package_parts.append(_PackagePart(name))
            with archive.open(_build_zip_info(name, now), "w") as entry:
                package_parts[-1].write(entry, content)
            yield sink.drain()
        package = _encode_package(package_parts, now)
        archive.writestr(_build_zip_info(PACKAGE, now), package)
        digest = {"path": PACKAGE, "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
        archive.writestr(_build_zip_info(DIGEST, now), msgspec.json.encode(digest))
    yield sink.drain()


def _iter_records(
    stores: Stores,
    documents: Iterator[IndexDocument],
    missing_documents: MissingDocuments,
    out: DrainableStream,
) -> Iterator[WrittenRecord]:
    """Write a WARC record for each document to `out` and yield it, then write the summary record.

    The summary counts the documents and lists the missing ones. Documents whose capture cannot be
    read are added to `missing_documents`.
    """
    writer, count = RecordWriter(out), 0
    name, now = WARC.rpartition("/")[2], datetime.now(UTC)
    writer.write_warcinfo(name, now)
    while batch := list(islice(documents, CHUNK)):
        count += len(batch)
        captures, files = _load_captures(stores, batch)
        for document in batch:
            row, file = captures.get(document.id), files.get(document.sha1hex)
            if row is None or file is None:
                missing_documents.add(document, "no WARC contains a capture of this file")
                continue
            try:
                entry = _build_archive_entry(stores, row, file)
            except PermanentError as error:
                missing_documents.add(document, error.detail)
                continue
            offset = out.tell()
            size_bytes = writer.write_entry(entry).size_bytes
            yield WrittenRecord(document, build_line(entry, offset, size_bytes, name))
    summary_fields = {
        "fonds": __version__,
        "documents": count,
        "written": count - missing_documents.count,
        "missing": missing_documents.first,
    }
    summary = msgspec.json.encode(summary_fields)
    writer.write_entry(ArchiveEntry("", SUMMARY_URL, now, "application/json", summary))


def _load_captures(
    stores: Stores, documents: Sequence[IndexDocument]
) -> tuple[dict[str, CdxRow], dict[str, FileMetaRow]]:
    """Return the capture to export of each document, by document id, and the files by SHA-1.

    The capture is the earliest with the URL of the document, or the earliest of its file if none
    has this URL.
    """
    keys = list(dict.fromkeys(document.sha1hex for document in documents))
    rows: dict[str, list[CdxRow]] = {key: [] for key in keys}
    for row in stores.records.find(CdxRow, {"sha1hex": keys}, order=("datetime", "warc_path")):
        rows[row.sha1hex].append(row)
    captures_by_id = {}
    for document in documents:
        same_url = [row for row in rows[document.sha1hex] if row.url == document.url]
        if candidates := same_url or rows[document.sha1hex]:
            captures_by_id[document.id] = candidates[0]
    return captures_by_id, {file.sha1hex: file for file in stores.records.get(FileMetaRow, keys)}


def _build_archive_entry(stores: Stores, row: CdxRow, file: FileMetaRow) -> ArchiveEntry:
    """Return the content of the WARC record for a capture. A revisit gets the full body too.

    Raises PermanentError if the bytes of the capture cannot be read.
    """
    capture_body = load_capture_body(stores.records, stores.archive, row)
    return ArchiveEntry(
        capture_id=row.capture_id,
        url=row.url,
        captured_at=parse_datetime14(row.datetime),
        mime=file.mimetype,
        body=capture_body.body,
        http=capture_body.http,
        metadata_json=find_warc_metadata(stores.records, row.sha1hex),
    )


@dataclass(slots=True)
class _PackagePart:
    """File in a WACZ package (a ZIP). Its size and SHA-256 are computed while it is written.

    - `path`: path of the file in the package.
    - `size_bytes`: number of bytes written so far.
    - `digest`: SHA-256 of the bytes written so far.
    """

    path: str
    size_bytes: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def write(self, out: IO[bytes], data: bytes) -> None:
        self.digest.update(data)
        self.size_bytes += len(data)
        out.write(data)


def _build_zip_info(name: str, now: datetime) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, now.timetuple()[:6])


def _encode_page(record: WrittenRecord) -> bytes:
    # Validators read the header line as the columns of a table: a page without `id` is a blank row.
    page_fields = {
        "id": record.document.id,
        "url": record.line.url,
        "ts": parse_datetime14(record.line.datetime14),
        "title": record.document.article_title,
    }
    return _encode_line({name: value for name, value in page_fields.items() if value is not None})


def _encode_line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _encode_package(parts: Sequence[_PackagePart], now: datetime) -> bytes:
    resources = [
        {
            "name": part.path.rpartition("/")[2],
            "path": part.path,
            "hash": f"sha256:{part.digest.hexdigest()}",
            "bytes": part.size_bytes,
        }
        for part in parts
    ]
    package_fields = {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "software": f"Fonds/{__version__}",
        "created": now,
        "resources": resources,
    }
    return msgspec.json.format(msgspec.json.encode(package_fields))
