"""Exporting a result as WARC or WACZ: complete captures, correct offsets, and a list of missing documents."""

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
COPY = replace(STORY, number=3, url="http://b.example/copy", captured_at=NOW + timedelta(days=1))
MISPLACED = Body(4, "http://a.example/gone", NOW, "text/html", b"<html><p>Gone</p></html>")


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
    document(MISPLACED),
    document(COPY, id_="copy"),
    document(Body(5, "http://x.example/", NOW, "text/html", b"never here")),
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Stores with a paper, a story, a revisit of the story, and a row with a wrong offset."""
    folder: Path = tmp_path_factory.mktemp("warcs")
    with open_home(folder) as stores:
        paper, story, misplaced_body = write_to_archive(stores, [PAPER, STORY, MISPLACED])
        copy = replace(COPY, place=story.place)
        missing_row = cdx_row(misplaced_body)
        misplaced_row = replace(missing_row, warc_offset=missing_row.warc_offset + 5)
        assert story.place is not None
        revisit = replace(cdx_row(copy), mimetype=REVISIT_MIME, warc_offset=10**9)
        rows = [cdx_row(paper), cdx_row(story), revisit, misplaced_row]
        write(stores, [*map(file_row, (paper, story, misplaced_body)), *rows])
        stores.archive.finish()
        yield stores


def read_captures(data: bytes) -> dict[str, tuple[str, bytes]]:
    """Return the type and body of each capture by URL, read with warcio."""
    captures = {}
    for record in ArchiveIterator(io.BytesIO(data)):
        uri = record.rec_headers.get_header("WARC-Target-URI")
        if record.rec_type in ("response", "resource"):
            captures[uri] = (record.rec_type, record.content_stream().read())
    return captures


def test_captures_are_complete_and_missing_documents_listed(stores: Stores) -> None:
    missing = MissingDocuments()
    data = b"".join(export_warc(stores, iter(DOCUMENTS), missing))
    captures = read_captures(data)
    summary = json.loads(captures.pop("urn:fonds:export")[1])
    assert captures == {
        PAPER.url: ("response", PAPER.content),
        "http://a.example/story%0D%0AX:%201": ("response", STORY.content),
        COPY.url: ("response", STORY.content),
    }
    assert (summary["documents"], summary["written"], missing.count) == (5, 3, 2)
    assert summary["missing"] == [
        {"id": row.id, "sha1hex": row.sha1hex, "why": row.why} for row in missing.first
    ]
    assert [row.sha1hex for row in missing.first] == [MISPLACED.sha1hex, DOCUMENTS[4].sha1hex]
    assert "no WARC contains" in missing.first[1].why


def test_the_package_matches_its_manifest(stores: Stores) -> None:
    wacz = zipfile.ZipFile(
        io.BytesIO(b"".join(export_wacz(stores, iter(DOCUMENTS), MissingDocuments())))
    )
    assert wacz.testzip() is None
    assert wacz.namelist() == [WARC, INDEX, PAGES, PACKAGE, DIGEST]
    assert {member.compress_type for member in wacz.infolist()} == {zipfile.ZIP_STORED}
    package = json.loads(wacz.read(PACKAGE))
    for resource in package["resources"]:
        data = wacz.read(resource["path"])
        assert resource["hash"] == f"sha256:{sha256(data).hexdigest()}"
        assert resource["bytes"] == len(data)
    assert json.loads(wacz.read(DIGEST))["hash"] == (
        f"sha256:{sha256(wacz.read(PACKAGE)).hexdigest()}"
    )
    head, *pages = [json.loads(line) for line in wacz.read(PAGES).splitlines()]
    assert head["format"] == "json-pages-1.0"
    assert [(page["url"], page.get("title")) for page in pages] == [
        (PAPER.url, "Paper <b>"),
        (STORY.url, None),
        (COPY.url, None),
    ]
    assert len({page["id"] for page in pages}) == 3
    assert {page["id"] for page in pages} < {row.id for row in DOCUMENTS}
    assert datetime.fromisoformat(pages[0]["ts"]) == NOW.astimezone(UTC)


def test_the_index_has_the_offsets_of_the_records(stores: Stores) -> None:
    wacz = zipfile.ZipFile(
        io.BytesIO(b"".join(export_wacz(stores, iter(DOCUMENTS), MissingDocuments())))
    )
    lines = wacz.read(INDEX).splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 3
    bodies = {sha1(body.content).hexdigest() for body in (PAPER, STORY)}
    data = wacz.read(WARC)
    for line in lines:
        fields = json.loads(line.split(b" ", 2)[2])
        record = read_record(io.BytesIO(data), int(fields["offset"]), body_max_bytes=10**6)
        assert sha1(record.body).hexdigest() in bodies
        member = data[int(fields["offset"]) :][: int(fields["length"])]
        assert len(list(ArchiveIterator(io.BytesIO(member)))) == 1


def test_an_empty_result_is_a_file_without_captures(stores: Stores) -> None:
    data = b"".join(export_warc(stores, iter(()), MissingDocuments()))
    assert set(read_captures(data)) == {"urn:fonds:export"}
