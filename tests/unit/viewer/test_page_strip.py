"""The page strip: pages with text, pages without text, and unknown pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import PdfMetaRow
from fonds.model.stored_json import decode_stored
from fonds.viewer.pdf_pages import (
    CELLS_MAX,
    build_page_strip,
)

ROW = PdfMetaRow(
    sha1hex="1" * 40, updated=datetime(2026, 3, 14, tzinfo=UTC), status="success", has_page0_thumbnail=False,
    page_count=3, word_count=5, page0_height=None, page0_width=None, permanent_id=None, pdf_created=None,
    pdf_version=None, metadata=None, extractor="made", error_msg=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("status", "text", "words"),
    [
        ("success", "one two\f \n\fthree", [2, 0, 1]),
        ("success", None, [0, 0, 0]),
        ("success", "", [0, 0, 0]),
        ("partial", "one two\f\fthree", [2, None, 1]),
        ("text-truncated", "one two\fthree", [2, 1, None]),
        ("text-truncated", None, [None, None, None]),
        ("success", "a\fb\fc\fd", [1, 1, 1]),
    ],
)
def test_each_page_has_words_no_words_or_is_unknown(
    status: str, text: str | None, words: list[int | None]
) -> None:
    strip = build_page_strip(replace(ROW, status=status), text)
    assert strip is not None
    assert [cell.words for cell in strip.cells] == words
    assert [cell.page for cell in strip.cells] == [1, 2, 3]
    assert (strip.with_text, strip.without_text, strip.unknown) == (
        sum(bool(word) for word in words),
        words.count(0),
        words.count(None),
    )


def test_a_long_pdf_lists_the_first_pages_and_counts_all() -> None:
    strip = build_page_strip(
        replace(ROW, page_count=10**9, status="text-truncated"), "\f".join("x" * 600)
    )
    assert strip is not None
    assert len(strip.cells) == CELLS_MAX
    assert (strip.with_text, strip.without_text, strip.unknown) == (600, 0, 10**9 - 600)


def test_pdfs_without_pages_have_no_strip_and_invalid_origins_are_ignored() -> None:
    assert build_page_strip(replace(ROW, page_count=None), "text") is None
    assert build_page_strip(replace(ROW, page_count=0), "text") is None
    for claimed_origin, origin in (
        ("scanned", "scanned"),
        ("<b>", None),
        (["scanned"], None),
        (None, None),
    ):
        strip = build_page_strip(
            replace(ROW, metadata=decode_stored(PdfMetadata, {"origin": claimed_origin})), "text"
        )
        assert strip is not None
        assert strip.origin == origin
