"""What a capture holds: its own bytes, those its revisit speaks of, or another copy of them."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path

import pytest

from cdx_rows import build_cdx_row
from fixtures.archives import entry
from fonds.archive.replay.bodies import load_capture_body
from fonds.archive.store.folder import FolderArchive
from fonds.model.archive import ArchivedRecord, ArchiveEntry, OriginalCapture
from fonds.model.capture import REVISIT_MIME, format_datetime14
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.exchange import HttpHead
from fonds.model.rows import CdxRow
from fonds.stores.records.sql import SqlRecords

CHANGED = HttpHead(200, "HTTP/1.1 200 OK", (("Content-Type", "text/html"), ("X-Second", "yes")))


@pytest.fixture
def archive(tmp_path: Path) -> FolderArchive:
    return FolderArchive(tmp_path / "archive")


def noted(records: SqlRecords, one: ArchiveEntry, archived: ArchivedRecord) -> CdxRow:
    place = archived.place
    row = build_cdx_row(
        one.url,
        format_datetime14(one.captured_at),
        place.offset,
        sha1hex=sha1(one.body).hexdigest(),
        mimetype=REVISIT_MIME if one.original else one.mime,
        warc_path=place.path,
        warc_csize=place.size_bytes,
    )
    records.put([row])
    return row


def test_a_revisit_has_its_own_head_and_the_bytes_it_speaks_of(
    records: SqlRecords, archive: FolderArchive
) -> None:
    first = entry(1)
    again = entry(
        2, body=first.body, http=CHANGED, original=OriginalCapture(first.url, first.captured_at)
    )
    rows = [
        noted(records, one, there)
        for one, there in zip((first, again), archive.write([first, again]), strict=True)
    ]
    found = load_capture_body(records, archive, rows[1])
    assert (found.row, found.source, found.body) == (rows[1], rows[0], first.body)
    assert found.http is not None
    assert found.http.get("X-Second") == "yes"
    assert load_capture_body(records, archive, rows[0]).source == rows[0]


def test_a_copy_is_read_where_the_capture_itself_is_gone_or_altered(
    records: SqlRecords, archive: FolderArchive, tmp_path: Path
) -> None:
    one = entry(1)
    lost = build_cdx_row(
        one.url, "20200101000000", 5, sha1hex=sha1(one.body).hexdigest(), warc_path="/gone.warc"
    )
    records.put([lost])
    with pytest.raises(PermanentError, match=r"/gone\.warc:5") as raised:
        load_capture_body(records, archive, lost)
    assert raised.value.reason is Reason.MISSING_SOURCE
    copy = noted(records, one, archive.write([one])[0])
    found = load_capture_body(records, archive, lost)
    assert (found.row, found.source, found.body) == (lost, copy, one.body)


def test_bytes_of_another_file_are_never_given(records: SqlRecords, archive: FolderArchive) -> None:
    (there,) = archive.write([entry(1)])
    row = build_cdx_row(
        "http://example.org/1", "20240305060708", there.place.offset, warc_path=there.place.path
    )
    records.put([row])
    with pytest.raises(PermanentError, match="no longer match"):
        load_capture_body(records, archive, row)


def test_a_revisit_of_what_nobody_has_says_so(records: SqlRecords, archive: FolderArchive) -> None:
    row = build_cdx_row("http://example.org/", "20240305060708", 7, mimetype=REVISIT_MIME)
    records.put([row])
    with pytest.raises(PermanentError, match="no stored capture has them"):
        load_capture_body(records, archive, row)
