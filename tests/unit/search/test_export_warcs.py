"""A result as WARC or WACZ: every capture whole, where the index says, and what is missing named."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha1, sha256
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from filled_home import open_home
from fixtures.pdfs import text_pdf
from fonds.archive.warc.reader import read_record
from fonds.model.capture import REVISIT_MIME
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.ports import Stores
from fonds.search.export_warcs import (
    DIGEST,
    INDEX,
    PACKAGE,
    PAGES,
    WARC,
    MissingDocuments,
    export_wacz,
    export_warc,
)
from home_rows import NOW, Body, cdx_row, file_row, write, write_to_archive

PAPER = Body(1, "http://a.example/paper.pdf", NOW, "application/pdf", text_pdf(["One page"]))
STORY = Body(2, "http://a.example/story\r\nX: 1", NOW, "text/html", b"<html><p>Story</p></html>")
AGAIN = replace(STORY, number=3, url="http://b.example/copy", captured_at=NOW + timedelta(days=1))
GONE = Body(4, "http://a.example/gone", NOW, "text/html", b"<html><p>Gone</p></html>")


def document(body: Body, title: str | None = None, id_: str | None = None) -> IndexDocument:
    return IndexDocument(
        id=id_ or body.sha1hex,
        sha1hex=body.sha1hex,
        kind=Kind.STORY,
        url=body.url,
        canonical_domain="a.example",
        publication_date=None,
        language="en",
        article_title=title,
        text_content="",
        indexed_date=NOW,
        collection="",
    )


DOCUMENTS = [
    document(PAPER, "Paper <b>"),
    document(STORY, id_="story"),
    document(GONE),
    document(AGAIN, id_="copy"),
    document(Body(5, "http://x.example/", NOW, "text/html", b"never here")),
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A paper, a story, its repeat that is a revisit here, and one whose record the rows place wrongly."""
    folder: Path = tmp_path_factory.mktemp("warcs")
    with open_home(folder) as found:
        paper, story, gone = write_to_archive(found, [PAPER, STORY, GONE])
        again = replace(AGAIN, place=story.place)
        row = cdx_row(gone)
        lost = replace(row, warc_offset=row.warc_offset + 5)
        assert story.place is not None
        revisit = replace(cdx_row(again), mimetype=REVISIT_MIME, warc_offset=10**9)
        rows = [cdx_row(paper), cdx_row(story), revisit, lost]
        write(found, [*map(file_row, (paper, story, gone)), *rows])
        found.archive.finish()
        yield found


def records(data: bytes) -> dict[str, tuple[str, bytes]]:
    """Type and body of what was captured, by address; warcio reads."""
    found = {}
    for one in ArchiveIterator(io.BytesIO(data)):
        uri = one.rec_headers.get_header("WARC-Target-URI")
        if one.rec_type in ("response", "resource"):
            found[uri] = (one.rec_type, one.content_stream().read())
    return found


def test_every_capture_is_whole_and_what_is_missing_is_named(stores: Stores) -> None:
    missed = MissingDocuments()
    data = b"".join(export_warc(stores, iter(DOCUMENTS), missed))
    found = records(data)
    summary = json.loads(found.pop("urn:fonds:export")[1])
    assert found == {
        PAPER.url: ("response", PAPER.content),
        "http://a.example/story%0D%0AX:%201": ("response", STORY.content),
        AGAIN.url: ("response", STORY.content),
    }
    assert (summary["documents"], summary["written"], missed.count) == (5, 3, 2)
    assert summary["missing"] == [
        {"id": one.id, "sha1hex": one.sha1hex, "why": one.why} for one in missed.first
    ]
    assert [one.sha1hex for one in missed.first] == [GONE.sha1hex, DOCUMENTS[4].sha1hex]
    assert "no WARC contains" in missed.first[1].why


def test_the_package_holds_what_it_says(stores: Stores) -> None:
    packed = zipfile.ZipFile(
        io.BytesIO(b"".join(export_wacz(stores, iter(DOCUMENTS), MissingDocuments())))
    )
    assert packed.testzip() is None
    assert packed.namelist() == [WARC, INDEX, PAGES, PACKAGE, DIGEST]
    assert {one.compress_type for one in packed.infolist()} == {zipfile.ZIP_STORED}
    package = json.loads(packed.read(PACKAGE))
    for one in package["resources"]:
        data = packed.read(one["path"])
        assert one["hash"] == f"sha256:{sha256(data).hexdigest()}"
        assert one["bytes"] == len(data)
    assert json.loads(packed.read(DIGEST))["hash"] == (
        f"sha256:{sha256(packed.read(PACKAGE)).hexdigest()}"
    )
    head, *pages = [json.loads(line) for line in packed.read(PAGES).splitlines()]
    assert head["format"] == "json-pages-1.0"
    assert [(page["url"], page.get("title")) for page in pages] == [
        (PAPER.url, "Paper <b>"),
        (STORY.url, None),
        (AGAIN.url, None),
    ]
    assert len({page["id"] for page in pages}) == 3
    assert {page["id"] for page in pages} < {one.id for one in DOCUMENTS}
    assert datetime.fromisoformat(pages[0]["ts"]) == NOW.astimezone(UTC)


def test_the_index_leads_to_the_records(stores: Stores) -> None:
    packed = zipfile.ZipFile(
        io.BytesIO(b"".join(export_wacz(stores, iter(DOCUMENTS), MissingDocuments())))
    )
    lines = packed.read(INDEX).splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 3
    bodies = {sha1(one.content).hexdigest() for one in (PAPER, STORY)}
    data = packed.read(WARC)
    for line in lines:
        told = json.loads(line.split(b" ", 2)[2])
        read = read_record(io.BytesIO(data), int(told["offset"]), body_max_bytes=10**6)
        assert sha1(read.body).hexdigest() in bodies
        member = data[int(told["offset"]) :][: int(told["length"])]
        assert len(list(ArchiveIterator(io.BytesIO(member)))) == 1


def test_nothing_found_is_a_file_without_captures(stores: Stores) -> None:
    data = b"".join(export_warc(stores, iter(()), MissingDocuments()))
    assert set(records(data)) == {"urn:fonds:export"}
