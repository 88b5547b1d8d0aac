"""Bodies of captures: their own bytes, those of the original of a revisit, or those of a copy."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path

import pytest

from cdx_rows import build_cdx_row
from fixtures.archives import build_entry
from fonds.archive.replay.bodies import load_capture_body
from fonds.archive.store.folder import FolderArchive
from fonds.model.archive import ArchivedRecord, ArchiveEntry, OriginalCapture
from fonds.model.capture import REVISIT_MIME, format_datetime14
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.exchange import HttpHead
from fonds.model.rows import CdxRow
from fonds.stores.records.sql import SqlRecords

CHANGED_HEAD = HttpHead(
    200, "HTTP/1.1 200 OK", (("Content-Type", "text/html"), ("X-Second", "yes"))
)


@pytest.fixture
def archive(tmp_path: Path) -> FolderArchive:
    return FolderArchive(tmp_path / "archive")


def store_row(records: SqlRecords, archive_entry: ArchiveEntry, archived: ArchivedRecord) -> CdxRow:
    place = archived.place
    row = build_cdx_row(
        archive_entry.url,
        format_datetime14(archive_entry.captured_at),
        place.offset,
        sha1hex=sha1(archive_entry.body).hexdigest(),
        mimetype=REVISIT_MIME if archive_entry.original else archive_entry.mime,
        warc_path=place.path,
        warc_csize=place.size_bytes,
    )
    records.put([row])
    return row


def test_a_revisit_has_its_own_head_and_the_body_of_its_original(
    records: SqlRecords, archive: FolderArchive
) -> None:
    first = build_entry(1)
    revisit = build_entry(
        2,
        body=first.body,
        http=CHANGED_HEAD,
        original=OriginalCapture(first.url, first.captured_at),
    )
    rows = [
        store_row(records, archive_entry, archived)
        for archive_entry, archived in zip(
            (first, revisit), archive.write([first, revisit]), strict=True
        )
    ]
    capture_body = load_capture_body(records, archive, rows[1])
    assert (capture_body.row, capture_body.source, capture_body.body) == (
        rows[1],
        rows[0],
        first.body,
    )
    assert capture_body.http is not None
    assert capture_body.http.get("X-Second") == "yes"
    assert load_capture_body(records, archive, rows[0]).source == rows[0]


def test_a_copy_is_read_if_the_capture_is_missing(
    records: SqlRecords, archive: FolderArchive, tmp_path: Path
) -> None:
    archive_entry = build_entry(1)
    lost = build_cdx_row(
        archive_entry.url,
        "20200101000000",
        5,
        sha1hex=sha1(archive_entry.body).hexdigest(),
        warc_path="/gone.warc",
    )
    records.put([lost])
    with pytest.raises(PermanentError, match=r"/gone\.warc:5") as raised:
        load_capture_body(records, archive, lost)
    assert raised.value.reason is Reason.MISSING_SOURCE
    copy = store_row(records, archive_entry, archive.write([archive_entry])[0])
    capture_body = load_capture_body(records, archive, lost)
    assert (capture_body.row, capture_body.source, capture_body.body) == (
        lost,
        copy,
        archive_entry.body,
    )


def test_bytes_of_another_file_raise(records: SqlRecords, archive: FolderArchive) -> None:
    (archived,) = archive.write([build_entry(1)])
    row = build_cdx_row(
        "http://example.org/1",
        "20240305060708",
        archived.place.offset,
        warc_path=archived.place.path,
    )
    records.put([row])
    with pytest.raises(PermanentError, match="no longer match"):
        load_capture_body(records, archive, row)


def test_a_revisit_without_a_stored_original_raises(
    records: SqlRecords, archive: FolderArchive
) -> None:
    row = build_cdx_row("http://example.org/", "20240305060708", 7, mimetype=REVISIT_MIME)
    records.put([row])
    with pytest.raises(PermanentError, match="no stored capture has them"):
        load_capture_body(records, archive, row)
