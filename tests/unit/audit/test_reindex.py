"""Rebuilding the index: equal to the documents of the steps, without documents that do not
belong there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from fonds.audit.repair import reindex as reindexing
from fonds.audit.repair.reindex import ReindexResult, reindex
from fonds.derivatives.kinds import count_expected
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.ingest.steps.persist_pdf import PersistPdfTextStep
from fonds.model.archive import Blob
from fonds.model.capture import RssEntry
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError, StorageFullError
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.pdf import PdfStatus, PdfText
from fonds.model.pdf_extra import PdfExtra
from fonds.model.rows import EntryRow, FileMetaRow, PdfMetaRow, StoryMetaRow
from fonds.model.story import ContentMetadata, ParsedPage, Story
from fonds.search.index.tantivy_index import TantivyIndex
from step_bench import JOURNAL, LATER, PAGE, PDF, Bench, identify_capture, page_file, pdf_file

HOSTILE = "NUL \x00, half \ud83d and whole \U0001f4d6"


@dataclass
class DeliveryBuffer:
    """Files processed by the real steps."""

    bench: Bench
    count: int = 0

    def pdf(
        self, status: PdfStatus = PdfStatus.SUCCESS, text: str | None = "a text", **info: str
    ) -> str:
        body = PDF + b"%%%d" % self._increment()
        (capture,) = self.bench.in_warc(body, mime="application/pdf")
        capture = replace(
            capture, collection=f"buffer {self.count % 2}", url=f"http://e.org/{self.count}.pdf"
        )
        self.bench.enter(capture)
        self._persist(capture, body)
        words = None if text is None else len(text.split())
        item = PdfText(
            sha1hex=pdf_file(body).sha1,
            status=status,
            text=text,
            page0_thumbnail=True,
            meta_xml=None,
            pdf_info=info,
            pdf_extra=PdfExtra(
                page_count=self.count,
                word_count=words,
                language=("fr", "de", None)[self.count % 3],
            ),
            file_meta=pdf_file(body),
            source=capture,
            extractor="reader 1",
        )
        self.bench.blobs.put(
            [Blob(build_thumbnail_blob_key(item.sha1hex), b"picture", "image/jpeg")]
        )
        PersistPdfTextStep(
            self.bench.records, self.bench.blobs, self.bench.index, lambda: LATER, 30.0
        )([item])
        return item.sha1hex

    def story(self, **content: str | None) -> str:
        body = PAGE + b"<!-- %d -->" % self._increment()
        (capture,) = self.bench.in_warc(body)
        capture = replace(capture, collection=f"buffer {self.count % 2}")
        self.bench.enter(capture)
        self._persist(capture, body)
        values = {"text_content": "words", "parsed_date": "2024-03-05T06:07:08.9+00:00", **content}
        story = Story(
            rss_entry=RssEntry(pub_date="Mon, 01 Jan 2024 10:00:00 GMT"),
            content_metadata=ContentMetadata(**values),  # type: ignore[arg-type]
        )
        file = page_file(body)
        item = ParsedPage(capture, file, story, f"{self.count:064x}", "reader 1")
        ImportStoryStep(self.bench.records, self.bench.blobs, self.bench.index, lambda: LATER)(
            [item]
        )
        return file.sha1

    def _increment(self) -> int:
        self.count += 1
        return self.count

    def _persist(self, capture: object, body: bytes) -> None:
        step = PersistFileStep(self.bench.table, self.bench.records, JOURNAL, False, lambda: LATER)
        step([identify_capture(capture, body)])  # type: ignore[arg-type]


@pytest.fixture
def buffer(bench: Bench) -> DeliveryBuffer:
    return DeliveryBuffer(bench)


def load_documents(bench: Bench, index: TantivyIndex | None = None) -> dict[str, IndexDocument]:
    ids = {row.sha1hex: row.sha1hex for row in bench.records.find(FileMetaRow)}
    ids |= {row.sha1hex: row.story_id for row in bench.records.find(StoryMetaRow)}
    index_documents = (index or bench.index).get(list(ids.values()))
    return {sha1hex: index_documents[id_] for sha1hex, id_ in ids.items() if id_ in index_documents}


def rebuild(bench: Bench, index: TantivyIndex | None = None) -> ReindexResult:
    counts: list[int] = []
    result = reindex(bench.records, bench.blobs, index or bench.index, counts.append)
    assert counts == sorted(counts)
    assert (counts or [0])[-1] == result.indexed
    return result


def test_a_rebuilt_index_has_the_documents_of_the_steps(
    bench: Bench, buffer: DeliveryBuffer
) -> None:
    buffer.pdf(Title="A title", CreationDate="2020-02-03T04:05:06.789+00:00")
    buffer.pdf(text=None)
    buffer.pdf(text="\f\f")
    buffer.pdf(text="")
    buffer.pdf(PdfStatus.PARTIAL, text=HOSTILE, Title=HOSTILE)
    buffer.pdf(
        PdfStatus.TEXT_TRUNCATED, text="Das ist ein Text auf Deutsch, und er handelt von Wasser."
    )
    buffer.pdf(PdfStatus.ENCRYPTED, text=None)
    buffer.story(article_title="A page", publication_date="2024-02-29", language="en")
    buffer.story(text_content=None, parsed_date=None)
    buffer.story(
        text_content=HOSTILE, article_title=HOSTILE, url="http://x.org/\x00", canonical_domain="x"
    )
    before = load_documents(bench)
    assert len(before) == 9
    assert {indexed.collection for indexed in before.values()} == {"buffer 0", "buffer 1"}
    assert {indexed.language for indexed in before.values()} >= {"de", "fr", "en"}

    empty = TantivyIndex(bench.home / "another")
    result = rebuild(bench, empty)
    assert result == ReindexResult(indexed=9)
    assert count_expected(bench.records) == 9
    assert load_documents(bench, empty) == before
    assert empty.count() == 9
    empty.close()


def test_correct_documents_stay_and_wrong_ones_are_fixed(
    bench: Bench, buffer: DeliveryBuffer
) -> None:
    keys = [buffer.pdf(), buffer.story(), buffer.story()]
    before = load_documents(bench)
    bench.index.put([replace(before[keys[0]], article_title="wrong", text_content="wrong")])
    bench.index.delete([before[keys[1]].id])
    assert rebuild(bench) == ReindexResult(indexed=3)
    assert load_documents(bench) == before
    assert rebuild(bench) == ReindexResult(indexed=3)


def test_documents_of_failed_or_unread_files_are_removed(
    bench: Bench, buffer: DeliveryBuffer
) -> None:
    good, bad, unread = buffer.pdf(), buffer.pdf(), buffer.story()
    (row,) = bench.records.get(PdfMetaRow, [bad])
    bench.records.put([replace(row, status="error-timeout")])
    bench.records.delete(StoryMetaRow, [unread])
    # No store knows the story of the page, so its document is a stray.
    assert rebuild(bench) == ReindexResult(indexed=1, removed=1, strays=1)
    assert load_documents(bench).keys() == {good}
    assert bench.index.count() == 2


def test_documents_unknown_to_other_stores_are_counted(
    bench: Bench, buffer: DeliveryBuffer
) -> None:
    key = buffer.pdf()
    indexed = load_documents(bench)[key]
    bench.index.put([replace(indexed, id=f"{n:040x}") for n in range(3)])
    result = rebuild(bench)
    assert (result.removed, result.strays) == (0, 3)


def test_a_missing_text_is_reported_and_its_document_is_kept(
    bench: Bench, buffer: DeliveryBuffer
) -> None:
    key, pdf_key = buffer.story(article_title="A page"), buffer.pdf()
    bench.blobs.delete([build_text_blob_key(key), build_text_blob_key(pdf_key)])
    result = rebuild(bench)
    assert (result.indexed, sorted(result.textless)) == (2, sorted([key, pdf_key]))
    assert (load_documents(bench)[key].article_title, load_documents(bench)[key].text_content) == (
        "A page",
        "",
    )


def test_a_file_without_a_ledger_entry_is_indexed_without_its_url(
    bench: Bench, buffer: DeliveryBuffer
) -> None:
    key, page = buffer.pdf(), buffer.story(url="http://x.org/own")
    entry_keys = [(row.entry_id, row.pipeline) for row in bench.records.find(EntryRow)]
    bench.records.delete(EntryRow, entry_keys)
    assert rebuild(bench).indexed == 2
    assert (load_documents(bench)[key].url, load_documents(bench)[key].text_content) == (
        "",
        "a text",
    )
    assert load_documents(bench)[page].url == "http://x.org/own"


def test_large_texts_are_indexed_in_small_batches(
    bench: Bench, buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reindexing, "TOGETHER_MAX_CHARS", 100)
    for size in (40, 60, 1, 500, 30):
        buffer.pdf(text="x" * size)
    batches = reindexing.iter_batches(bench.records, bench.blobs, [])
    sizes = [sum(len(document.text_content) for document in batch.documents) for batch in batches]
    assert sum(sizes) == 631
    assert all(size <= 100 or size == 500 for size in sizes)
    assert rebuild(bench).indexed == 5


def test_all_chunks_of_rows_are_indexed(
    bench: Bench, buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reindexing, "CHUNK", 2)
    for _ in range(5):
        buffer.pdf()
        buffer.story()
    before = load_documents(bench)
    bench.index.delete([indexed.id for indexed in before.values()])
    assert rebuild(bench).indexed == 10
    assert load_documents(bench) == before


@dataclass
class FaultyIndex:
    """An index that raises `error` when `method` is called."""

    real: TantivyIndex
    method: str
    error: Exception

    def __getattr__(self, name: str) -> object:
        def fail(*_: object) -> None:
            raise self.error

        return fail if name == self.method else getattr(self.real, name)


@pytest.mark.parametrize("method", ["put", "get", "count", "delete"])
def test_an_index_error_is_returned_and_a_full_disk_raises(
    bench: Bench, buffer: DeliveryBuffer, method: str
) -> None:
    bad = buffer.pdf()
    buffer.pdf()
    (row,) = bench.records.get(PdfMetaRow, [bad])
    bench.records.put([replace(row, status="error-timeout")])
    fault = ConfigurationError("damaged")
    result = reindex(
        bench.records, bench.blobs, FaultyIndex(bench.index, method, fault), lambda _: None
    )  # type: ignore[arg-type]
    assert result.fault is fault
    full = FaultyIndex(bench.index, method, StorageFullError("no room"))
    with pytest.raises(StorageFullError):
        reindex(bench.records, bench.blobs, full, lambda _: None)  # type: ignore[arg-type]


def test_an_error_of_another_store_is_raised(
    bench: Bench, buffer: DeliveryBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer.pdf()

    def raise_error(*_: object) -> None:
        raise ConfigurationError("the records are broken")

    monkeypatch.setattr(bench.blobs.__class__, "get", raise_error)
    with pytest.raises(ConfigurationError, match="the records are broken"):
        rebuild(bench)


def test_the_time_of_indexing_stays_that_of_the_steps(bench: Bench, buffer: DeliveryBuffer) -> None:
    pdf, page = buffer.pdf(), buffer.story(parsed_date="2024-03-05T06:07:08+00:00")
    rebuild(bench)
    indexed = load_documents(bench)
    assert indexed[pdf].indexed_date == LATER
    assert indexed[page].indexed_date == datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)
