"""The captures of a result as WARC, one record each and what is kept beside it; or as WACZ, with an index.

Source: WARC/1.1; Web Archive Collection Zipped (WACZ) 1.1.1, sections 5 and 6; Frictionless data package.
Bound: one body at a time; of WACZ the lines of index and pages, some 600 bytes a document.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import IO

import msgspec

from fonds import __version__
from fonds.formats.cdx import CdxLine, line_of, sorted_cdxj
from fonds.formats.warc.write import RecordWriter
from fonds.kinds import beside
from fonds.library.searching.exported.drained import Drained
from fonds.model.archive import ArchiveEntry
from fonds.model.capture import from_datetime14
from fonds.model.document import IndexDocument
from fonds.model.errors import PermanentError
from fonds.model.rows import CdxRow, FileMetaRow
from fonds.ports import Stores
from fonds.replay.bodies import replayed

CHUNK = 100
TOLD_MAX = 1_000
WARC, INDEX, PAGES = "archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"
PACKAGE, DIGEST = "datapackage.json", "datapackage-digest.json"
SUMMARY_URL = "urn:fonds:export"
"""The last record of a WARC says how many documents it should hold, and which it does not."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A document that is not among the records, and why."""

    id: str
    sha1hex: str
    why: str


@dataclass(slots=True)
class Missed:
    """The documents whose bytes could not be had: how many, and the first thousand."""

    count: int = 0
    first: list[Missing] = field(default_factory=list)

    def note(self, document: IndexDocument, why: str) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < TOLD_MAX:
            self.first.append(Missing(document.id, document.sha1hex, why))


@dataclass(frozen=True, slots=True)
class Written:
    """A record that was written, and the document it is of."""

    document: IndexDocument
    line: CdxLine


def warc(stores: Stores, documents: Iterator[IndexDocument], missed: Missed) -> Iterator[bytes]:
    """A WARC file, piece by piece."""
    out = Drained()
    for _ in _records(stores, documents, missed, out):
        yield out.taken()
    yield out.taken()


def wacz(stores: Stores, documents: Iterator[IndexDocument], missed: Missed) -> Iterator[bytes]:
    """A WACZ file, piece by piece: the WARC first, then what is known of it."""
    sink, now, parts = Drained(), datetime.now(UTC), list[_Part]()
    lines, pages = list[CdxLine](), [_line({"format": "json-pages-1.0", "id": "pages"})]
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as packed:
        data = _Part(WARC)
        with packed.open(_entry(WARC, now), "w", force_zip64=True) as entry:
            out = Drained()
            for one in _records(stores, documents, missed, out):
                data.write(entry, out.taken())
                lines.append(one.line)
                pages.append(_page(one))
                yield sink.taken()
            data.write(entry, out.taken())
        parts.append(data)
        for name, content in ((INDEX, b"".join(sorted_cdxj(lines))), (PAGES, b"".join(pages))):
            parts.append(_Part(name))
            with packed.open(_entry(name, now), "w") as entry:
                parts[-1].write(entry, content)
            yield sink.taken()
        package = _package(parts, now)
        packed.writestr(_entry(PACKAGE, now), package)
        digest = {"path": PACKAGE, "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
        packed.writestr(_entry(DIGEST, now), msgspec.json.encode(digest))
    yield sink.taken()


def _records(
    stores: Stores, documents: Iterator[IndexDocument], missed: Missed, out: Drained
) -> Iterator[Written]:
    """What was written, one after the other; behind the last one the summary."""
    writer, count = RecordWriter(out), 0
    name, now = WARC.rpartition("/")[2], datetime.now(UTC)
    writer.write_warcinfo(name, now)
    while some := list(islice(documents, CHUNK)):
        count += len(some)
        captures, files = _captures(stores, some)
        for document in some:
            row, file = captures.get(document.id), files.get(document.sha1hex)
            if row is None or file is None:
                missed.note(document, "no capture of it is known to lie in a WARC")
                continue
            try:
                entry = _archived(stores, row, file)
            except PermanentError as error:
                missed.note(document, error.detail)
                continue
            offset = out.tell()
            size_bytes = writer.write_entry(entry).size_bytes
            yield Written(document, line_of(entry, offset, size_bytes, name))
    told = {
        "fonds": __version__,
        "documents": count,
        "written": count - missed.count,
        "missing": missed.first,
    }
    summary = msgspec.json.encode(told)
    writer.write_entry(ArchiveEntry("", SUMMARY_URL, now, "application/json", summary))


def _captures(
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


def _archived(stores: Stores, row: CdxRow, file: FileMetaRow) -> ArchiveEntry:
    """The capture as it is archived, whole also where a revisit stands for it here.

    Raises PermanentError when its bytes cannot be had.
    """
    found = replayed(stores.records, stores.archive, row)
    return ArchiveEntry(
        capture_id=row.capture_id,
        url=row.url,
        captured_at=from_datetime14(row.datetime),
        mime=file.mimetype,
        body=found.body,
        http=found.http,
        metadata_json=beside(stores.records, row.sha1hex),
    )


@dataclass(slots=True)
class _Part:
    """A file of the package, hashed as it is written."""

    path: str
    size_bytes: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def write(self, out: IO[bytes], data: bytes) -> None:
        self.digest.update(data)
        self.size_bytes += len(data)
        out.write(data)


def _entry(name: str, now: datetime) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, now.timetuple()[:6])


def _page(one: Written) -> bytes:
    # Validators read the header line as the columns of a table: a page without an `id` is a blank row.
    told = {
        "id": one.document.id,
        "url": one.line.url,
        "ts": from_datetime14(one.line.datetime14),
        "title": one.document.article_title,
    }
    return _line({name: value for name, value in told.items() if value is not None})


def _line(told: object) -> bytes:
    return msgspec.json.encode(told) + b"\n"


def _package(parts: Sequence[_Part], now: datetime) -> bytes:
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
