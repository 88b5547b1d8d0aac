"""import_jats: stores text, row, cells and document of an article; a broken article is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.jats import jats
from fonds.derivatives.fixity import build_row_fixity
from fonds.extract.mime import describe
from fonds.model.disposition import DONE, Reason, Verdict, quarantine
from fonds.model.errors import ChildError, PermanentError
from fonds.model.file import Kind
from fonds.model.keys import build_text_blob_key
from fonds.model.paper import UnreadArticle
from fonds.model.rows import FixityRow, JatsRow
from fonds.papers.bibliography.jats import (
    JatsReading,
    read_jats_bytes,
)
from fonds.papers.jats_step import ImportJatsStep
from fonds.stores.journal_table.keys import build_row_key
from step_bench import JOURNAL, LATER, Bench, open_bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened = open_bench(tmp_path)
    yield opened
    opened.close()


def write_article(bench: Bench, body: bytes) -> UnreadArticle:
    (capture,) = bench.in_warc(body, mime="text/xml")
    return UnreadArticle(capture, describe(body, "text/xml"))


def create_step(bench: Bench) -> ImportJatsStep:
    stores = (bench.archive, bench.table, bench.records, bench.blobs, bench.index)
    return ImportJatsStep(*stores, JOURNAL, read_jats_bytes, lambda: LATER)


def test_an_article_is_stored_and_searchable(bench: Bench) -> None:
    item = write_article(bench, jats())
    assert item.file.kind is Kind.JATS
    key = item.file.sha1
    for _ in range(2):
        assert [result.disposition for result in create_step(bench)([item])] == [DONE]
    (row,) = bench.records.find(JatsRow)
    assert (row.status, row.title, row.doi) == ("success", "On the Weight of Air", "10.1000/air.5")
    assert (row.published, row.language, row.reference_count) == ("2020-03-07", "en", 1)
    text = bench.blobs.get(build_text_blob_key(key)) or b""
    assert text.decode() == "Air weighs.\n\nBegin\nIt was weighed twice.\n\nWe thank."
    cells = bench.cells()[build_row_key(key)]
    full, metadata = (json.loads(cells[f"bib0:bib_{name}"]) for name in ("json", "metadata"))
    assert full == {**metadata, "body": "Begin\nIt was weighed twice."}
    document = bench.index.get([key])[key]
    assert (document.kind, document.article_title) == (Kind.JATS, "On the Weight of Air")
    assert str(document.publication_date) == "2020-03-07"
    assert build_row_fixity(row) in list(bench.records.find(FixityRow))


def test_an_article_without_text_has_word_count_zero(bench: Bench) -> None:
    body = jats(body="").replace(b"<p>Air weighs.</p>", b"").replace(b"<p>We thank.</p>", b"")
    create_step(bench)([write_article(bench, body)])
    (row,) = bench.records.find(JatsRow)
    assert (row.status, row.word_count) == ("success", 0)
    assert bench.index.get([row.sha1hex])[row.sha1hex].word_count == 0


def test_a_broken_article_is_quarantined_with_its_error(bench: Bench) -> None:
    item = write_article(bench, jats()[:-200])
    (result,) = create_step(bench)([item])
    (row,) = bench.records.find(JatsRow)
    assert result.disposition.verdict is Verdict.QUARANTINED
    assert (result.disposition.reason, result.items) == (Reason.BROKEN_ARTICLE, ())
    assert "not well-formed" in result.disposition.detail
    assert (row.status, row.word_count, row.metadata) == ("unreadable", None, None)
    assert "not well-formed" in (row.error_msg or "")
    assert bench.index.count() == 0


def test_an_article_that_kills_its_reader_is_quarantined(bench: Bench) -> None:
    def read(_: bytes) -> JatsReading:
        raise ChildError(Reason.TIMEOUT, "20 seconds")

    (result,) = replace(create_step(bench), read=read)([write_article(bench, jats())])
    assert result.disposition == quarantine(Reason.TIMEOUT, "20 seconds")
    (row,) = bench.records.find(JatsRow)
    assert (row.status, row.error_msg) == ("unreadable", "20 seconds")


def test_missing_bytes_are_raised_for_the_runtime(bench: Bench) -> None:
    item = write_article(bench, jats())
    Path(item.capture.place.path).unlink()
    with pytest.raises(PermanentError):
        create_step(bench)([item])
