"""The captures of a result as WARC, one record each and what is kept beside it; or as WACZ, with an index.

Source: WARC/1.1; Web Archive Collection Zipped (WACZ) 1.1.1, sections 5 and 6; Frictionless data package.
Limits: one body at a time; of WACZ the lines of index and pages, some 600 bytes a document.
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

# A file that is read as it is written, for libraries that write to one.


class DrainableStream(io.RawIOBase):
    """What Parquet, a ZIP or a WARC is written to, taken out again as it comes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size_bytes = 0

    def writable(self) -> bool:
        """It always is."""
        return True

    def tell(self) -> int:
        """How many bytes were written, those that were taken too."""
        return self._size_bytes

    def write(self, data: Any) -> int:
        """Keep a copy until it is taken."""
        self._pieces.append(bytes(data))
        self._size_bytes += len(self._pieces[-1])
        return len(self._pieces[-1])

    def drain(self) -> bytes:
        """What was written since the last time."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken


CHUNK = 100
MISSING_MAX = 1_000
WARC, INDEX, PAGES = "archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"
PACKAGE, DIGEST = "datapackage.json", "datapackage-digest.json"
SUMMARY_URL = "urn:fonds:export"
"""The last record of a WARC says how many documents it should hold, and which it does not."""


@dataclass(frozen=True, slots=True)
class MissingDocument:
    """A document that is not among the records, and why."""

    id: str
    sha1hex: str
    why: str


@dataclass(slots=True)
class MissingDocuments:
    """The documents whose bytes could not be had: how many, and the first thousand."""

    count: int = 0
    first: list[MissingDocument] = field(default_factory=list)

    def add(self, document: IndexDocument, reason: str) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < MISSING_MAX:
            self.first.append(MissingDocument(document.id, document.sha1hex, reason))


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record that was written, and the document it is of."""

    document: IndexDocument
    line: CdxLine


def export_warc(
    stores: Stores, documents: Iterator[IndexDocument], missed: MissingDocuments
) -> Iterator[bytes]:
    """A WARC file, piece by piece."""
    out = DrainableStream()
    for _ in _iter_records(stores, documents, missed, out):
        yield out.drain()
    yield out.drain()


def export_wacz(
    stores: Stores, documents: Iterator[IndexDocument], missed: MissingDocuments
) -> Iterator[bytes]:
    """A WACZ file, piece by piece: the WARC first, then what is known of it."""
    sink, now, parts = DrainableStream(), datetime.now(UTC), list[_PackagePart]()
    lines, pages = list[CdxLine](), [_encode_line({"format": "json-pages-1.0", "id": "pages"})]
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as packed:
        data = _PackagePart(WARC)
        with packed.open(_build_zip_info(WARC, now), "w", force_zip64=True) as entry:
            out = DrainableStream()
            for one in _iter_records(stores, documents, missed, out):
                data.write(entry, out.drain())
                lines.append(one.line)
                pages.append(_encode_page(one))
                yield sink.drain()
            data.write(entry, out.drain())
        parts.append(data)
        for name, content in ((INDEX, b"".join(sort_cdxj_lines(lines))), (PAGES, b"".join(pages))):
            parts.append(_PackagePart(name))
            with packed.open(_build_zip_info(name, now), "w") as entry:
                parts[-1].write(entry, content)
            yield sink.drain()
        package = _encode_package(parts, now)
        packed.writestr(_build_zip_info(PACKAGE, now), package)
        digest = {"path": PACKAGE, "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
        packed.writestr(_build_zip_info(DIGEST, now), msgspec.json.encode(digest))
    yield sink.drain()


def _iter_records(
    stores: Stores,
    documents: Iterator[IndexDocument],
    missed: MissingDocuments,
    out: DrainableStream,
) -> Iterator[WrittenRecord]:
    """What was written, one after the other; behind the last one the summary."""
    writer, count = RecordWriter(out), 0
    name, now = WARC.rpartition("/")[2], datetime.now(UTC)
    writer.write_warcinfo(name, now)
    while some := list(islice(documents, CHUNK)):
        count += len(some)
        captures, files = _load_captures(stores, some)
        for document in some:
            row, file = captures.get(document.id), files.get(document.sha1hex)
            if row is None or file is None:
                missed.add(document, "no capture of it is known to lie in a WARC")
                continue
            try:
                entry = _build_archive_entry(stores, row, file)
            except PermanentError as error:
                missed.add(document, error.detail)
                continue
            offset = out.tell()
            size_bytes = writer.write_entry(entry).size_bytes
            yield WrittenRecord(document, build_line(entry, offset, size_bytes, name))
    told = {
        "fonds": __version__,
        "documents": count,
        "written": count - missed.count,
        "missing": missed.first,
    }
    summary = msgspec.json.encode(told)
    writer.write_entry(ArchiveEntry("", SUMMARY_URL, now, "application/json", summary))


def _load_captures(
    stores: Stores, documents: Sequence[IndexDocument]
) -> tuple[dict[str, CdxRow], dict[str, FileMetaRow]]:
    """The earliest capture of each document, by its id, one of its own address before all others; and the
    files by their SHA-1."""
    keys = list(dict.fromkeys(one.sha1hex for one in documents))
    rows: dict[str, list[CdxRow]] = {key: [] for key in keys}
    for row in stores.records.find(CdxRow, {"sha1hex": keys}, order=("datetime", "warc_path")):
        rows[row.sha1hex].append(row)
    found = {}
    for one in documents:
        of_address = [row for row in rows[one.sha1hex] if row.url == one.url]
        if candidates := of_address or rows[one.sha1hex]:
            found[one.id] = candidates[0]
    return found, {file.sha1hex: file for file in stores.records.get(FileMetaRow, keys)}


def _build_archive_entry(stores: Stores, row: CdxRow, file: FileMetaRow) -> ArchiveEntry:
    """The capture as it is archived, whole also where a revisit stands for it here.

    Raises PermanentError when its bytes cannot be had.
    """
    found = load_capture_body(stores.records, stores.archive, row)
    return ArchiveEntry(
        capture_id=row.capture_id,
        url=row.url,
        captured_at=parse_datetime14(row.datetime),
        mime=file.mimetype,
        body=found.body,
        http=found.http,
        metadata_json=find_warc_metadata(stores.records, row.sha1hex),
    )


@dataclass(slots=True)
class _PackagePart:
    """A file of the package, hashed as it is written."""

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
    # Validators read the header line as the columns of a table: a page without an `id` is a blank row.
    told = {
        "id": record.document.id,
        "url": record.line.url,
        "ts": parse_datetime14(record.line.datetime14),
        "title": record.document.article_title,
    }
    return _encode_line({name: value for name, value in told.items() if value is not None})


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
    told = {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "software": f"Fonds/{__version__}",
        "created": now,
        "resources": resources,
    }
    return msgspec.json.format(msgspec.json.encode(told))
