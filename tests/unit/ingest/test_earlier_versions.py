"""Texts of earlier versions in the document of a story: which are included and which are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest

from fonds.audit.repair.reindex import reindex
from fonds.derivatives import document_rows, story_versions
from fonds.derivatives.documents import build_text_blob
from fonds.ingest.steps.import_story import ImportStoryStep
from fonds.model.document import IndexDocument
from fonds.model.keys import build_text_blob_key
from fonds.model.search import SearchQuery
from fonds.model.story import ContentMetadata, ParsedPage, Story
from fonds.search.index.tantivy_index import TantivyIndex
from step_bench import LATER, MOMENT, PAGE, Bench, page_file

ID = "1" * 64
DAY = timedelta(days=1)


def build_version(
    bench: Bench, day: int, text: str, title: str = "A page", extractor: str = "reader 1"
) -> ParsedPage:
    """Return a page captured on this day, with unique bytes."""
    body = PAGE + b"<!-- %d -->" % day
    capture = replace(bench.write_file(body), id=f"c{day}", captured_at=MOMENT + day * DAY)
    bench.enter(capture)
    content = ContentMetadata(url=capture.url, text_content=text, article_title=title)
    return ParsedPage(capture, page_file(body), Story(content_metadata=content), ID, extractor)


def import_versions(
    bench: Bench, versions: Sequence[ParsedPage], later: timedelta = timedelta()
) -> None:
    ImportStoryStep(bench.records, bench.blobs, bench.index, lambda: LATER + later)(versions)


def get_document(bench: Bench) -> IndexDocument:
    (document,) = bench.index.get([ID]).values()
    return document


def list_days(document: IndexDocument) -> list[int]:
    """Return the days of the earlier versions."""
    return [int(earlier.captured[6:8]) - MOMENT.day for earlier in document.earlier]


def is_found(bench: Bench, query: str) -> bool:
    return bench.index.search(SearchQuery(f"version:all {query}")).total == 1


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_document_does_not_depend_on_the_order_of_versions(
    bench: Bench, order: tuple[int, ...]
) -> None:
    for day in order:
        import_versions(
            bench, [build_version(bench, day, f"text number{day}", f"Title title{day}")]
        )
    document = get_document(bench)
    assert (document.text_content, list_days(document)) == ("text number2", [1, 0])
    for day in range(3):
        assert is_found(bench, f"number{day} title:title{day}")
    assert bench.index.search(SearchQuery("number1")).total == 0
    reindex(bench.records, bench.blobs, bench.index, lambda _: None)
    assert replace(get_document(bench), collection=document.collection) == document


def test_each_text_or_title_is_included_once(bench: Bench) -> None:
    texts = ["one", "two", "two", "one", "three", "three"]
    titles = ["A", "A", "B", "B", "C", "C"]
    read: list[str] = []

    class RecordingBlobs:
        """Blobs that record which texts are read."""

        def __getattr__(self, name: str) -> object:
            return getattr(bench.blobs, name)

        def get(self, key: str) -> bytes | None:
            read.append(key)
            return bench.blobs.get(key)

    for day, (text, title) in enumerate(zip(texts, titles, strict=True)):
        item = build_version(bench, day, text, title)
        ImportStoryStep(bench.records, RecordingBlobs(), bench.index, lambda: LATER)([item])  # type: ignore[arg-type]
    # Days 4 and 5 have equal texts and titles. The newest "one", "two" and "A" are of days 3, 2 and 1.
    assert list_days(get_document(bench)) == [3, 2, 1]
    assert [earlier.title for earlier in get_document(bench).earlier] == ["B", "B", "A"]
    assert get_document(bench).earlier_left_out == 0
    expected_keys = {
        build_text_blob_key(page_file(PAGE + b"<!-- %d -->" % day).sha1) for day in (3, 2)
    }
    assert set(read[-2:]) == expected_keys
    assert is_found(bench, "one two three title:a")


def test_a_story_with_one_version_reads_no_other_text(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bench.blobs), "get", None)
    import_versions(bench, [build_version(bench, 0, "a text")])
    assert get_document(bench).earlier == ()


def test_an_earlier_version_parsed_again_gets_its_new_text(bench: Bench) -> None:
    import_versions(
        bench, [build_version(bench, 0, "wrong menu"), build_version(bench, 1, "later")]
    )
    import_versions(bench, [build_version(bench, 0, "right article", extractor="reader 2")], DAY)
    assert is_found(bench, "right")
    assert not is_found(bench, "menu")


def test_versions_over_the_limit_are_left_out_and_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story_versions, "VERSIONS_MAX", 3)
    import_versions(bench, [build_version(bench, day, f"text number{day}") for day in range(7)])
    assert (list_days(get_document(bench)), get_document(bench).earlier_left_out) == ([5, 4, 3], 3)
    assert is_found(bench, "number3")
    assert not is_found(bench, "number2")
    assert bench.index.search(SearchQuery(cut_versions=True)).total == 1
    monkeypatch.setattr(story_versions, "COMPARED_MAX", 2)
    reindex(bench.records, bench.blobs, bench.index, lambda _: None)
    assert (list_days(get_document(bench)), get_document(bench).earlier_left_out) == ([5], 5)


def test_texts_over_the_limit_are_cut_between_words_and_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_rows, "EARLIER_MAX_CHARS", 30)
    texts = ["oldest words", "words " + "middle " * 5, "twelve words", "newest"]
    import_versions(bench, [build_version(bench, day, text) for day, text in enumerate(texts)])
    assert (list_days(get_document(bench)), get_document(bench).earlier_left_out) == ([2, 1, 0], 2)
    assert is_found(bench, "twelve middle")
    assert not is_found(bench, "oldest")
    # "words middle middl" has 18 characters: a cut word is not indexed.
    assert not is_found(bench, "=middl")


def test_a_long_word_over_the_limit_is_cut_inside_the_word(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_rows, "EARLIER_MAX_CHARS", 30)
    monkeypatch.setattr(document_rows, "WORD_MAX_CHARS", 24)
    import_versions(bench, [build_version(bench, 0, f"words {'m' * 40}")])
    import_versions(bench, [build_version(bench, 1, "newest")])
    assert is_found(bench, f"=words ={'m' * 24}")
    monkeypatch.setattr(document_rows, "WORD_MAX_CHARS", 25)
    reindex(bench.records, bench.blobs, bench.index, lambda _: None)
    assert is_found(bench, "=words")
    assert not is_found(bench, f"={'m' * 24}")


def test_reindex_reports_a_missing_text(bench: Bench) -> None:
    import_versions(bench, [build_version(bench, 0, "first"), build_version(bench, 1, "second")])
    sha1hex = page_file(PAGE + b"<!-- 0 -->").sha1
    bench.blobs.delete([build_text_blob_key(sha1hex)])
    assert reindex(bench.records, bench.blobs, bench.index, lambda _: None).textless == [sha1hex]
    assert list_days(get_document(bench)) == [0]
    bench.blobs.put([build_text_blob(sha1hex, b"first")])
    reindex(bench.records, bench.blobs, bench.index, lambda _: None)
    assert is_found(bench, "first")


def test_an_index_with_an_older_schema_requires_a_reindex(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fonds.model.errors import ConfigurationError
    from fonds.search.index import tantivy_schema

    before = {
        name: field for name, field in tantivy_schema.WORD_FIELDS.items() if "earlier" not in name
    }
    with monkeypatch.context() as patch:
        patch.setattr(tantivy_schema, "WORD_FIELDS", before)
        index = TantivyIndex(bench.home / "before")
        index.put([replace(build_document(), earlier=())])
        index.close()
    with pytest.raises(ConfigurationError, match=re.escape("Run `fonds reindex`")):
        TantivyIndex(bench.home / "before").search(SearchQuery("words"))


def build_document() -> IndexDocument:
    from contract.index_backends import document

    return document("a")
