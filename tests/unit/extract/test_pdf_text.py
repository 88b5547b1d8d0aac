"""Text of pages."""

from __future__ import annotations

import time

import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_growth import assert_linear_cpu
from fixtures.pdfs import mapped_pdf, missing_page_pdf, text_pdf
from fonds.extract.pdf.first_page import FrontMatter
from fonds.extract.pdf.page_origin import PageOrigin
from fonds.extract.pdf.page_text import PagesText, read_pages
from fonds.extract.pdf.text_cleanup import normalize_page_text


def read(
    data: bytes, pages_max: int = 100, text_max_chars: int = 10_000, time_max_s: float = 60
) -> PagesText:
    with pypdfium2.PdfDocument(data) as document:
        try:
            page0 = document[0]
        except pypdfium2.PdfiumError:
            page0 = None
        return read_pages(
            document,
            page0,
            pages_max=pages_max,
            text_max_chars=text_max_chars,
            time_max_s=time_max_s,
        )


def test_pages_are_joined_with_form_feeds_and_lines_with_line_feeds() -> None:
    pages_text = read(text_pdf(("first line\nsecond line", "second page")))
    assert pages_text == PagesText(
        "first line\nsecond line\fsecond page",
        (),
        None,
        PageOrigin.BORN_DIGITAL,
        FrontMatter("first line"),
        read_count=2,
    )


def test_a_document_without_words_has_no_text() -> None:
    assert read(text_pdf(("", ""))).text is None


def test_a_missing_page_does_not_affect_others() -> None:
    pages_text = read(missing_page_pdf())
    assert (pages_text.text, pages_text.unreadable_pages) == ("plain words\f\fplain words", (1,))


def test_pages_over_the_limit_are_not_read() -> None:
    pages_text = read(text_pdf(("one", "two", "three")), pages_max=2)
    assert pages_text.text == "one\ftwo"
    assert pages_text.cut_reason == "only 2 of 3 pages were read"


def test_text_over_the_limit_is_cut() -> None:
    pages_text = read(text_pdf(("abcdef", "ghijkl", "mnopqr")), text_max_chars=9)
    assert pages_text.text == "abcdef\fgh"
    assert pages_text.cut_reason == "the text was cut at 9 characters, on page 2"


def test_text_of_exactly_the_limit_is_not_cut() -> None:
    assert read(text_pdf(("abcdef", "ghijkl")), text_max_chars=13).cut_reason is None


def test_no_page_is_started_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 1.0, 11.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    pages_text = read(text_pdf(("one", "two")), time_max_s=10)
    assert (pages_text.text, pages_text.cut_reason) == (
        "one",
        "only 1 of 2 pages were read within 10 s",
    )


@pytest.mark.parametrize("text", ["漢字とかな", "наука", "𝑥😀𠀀", "αβγ"])
def test_characters_of_any_plane_are_returned_as_mapped(text: str) -> None:
    assert read(mapped_pdf(text)).text == text


def test_mapped_ligatures_and_nuls_become_plain() -> None:
    assert read(mapped_pdf("o\ufb03ce\x00s")).text == "offices"


def test_a_hyphenated_word_is_joined() -> None:
    assert read(text_pdf(("it is inter-\nnational",))).text == "it is international"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("inter\ufffenational", "international"),
        ("inter\ufffe\r\nnational", "international"),
        ("inter\x00-\ufeff\r\nnational", "international"),
        ("inter\ufffe\x04\ufffe\nnational", "international"),
        ("Jean\ufffePaul", "Jean-Paul"),
        ("years 2010\ufffe2015", "years 2010-2015"),
        ("state-of-the\ufffeart", "state-of-the-art"),
        ("ends\ufffe", "ends-"),
        ("\ufffebegins", "begins"),
        ("two \ufffe lone", "two  lone"),
        ("a\ufffeb\ufffec", "abc"),
        ("line\r\nline\x02\x00", "line\nline"),
        ("inter\u2010\r\nnational", "international"),
        ("inter\u00ad\r\nnational", "international"),
        ("inter- \r\nnational", "international"),
        ("Jean\u2010\r\nPaul", "Jean-Paul"),
        ("2010\u2011\r\n2015", "2010-2015"),
        ("a list of\r\n- points", "a list of\n- points"),
        ("2010-\r\n2015", "2010-\n2015"),
        ("Part A-\r\nPart B", "Part A-\nPart B"),
    ],
)
def test_a_hyphen_at_a_line_end_is_removed_unless_it_belongs_to_the_word(
    raw: str, text: str
) -> None:
    assert normalize_page_text(raw) == text


def test_a_very_long_word_is_processed_in_linear_time() -> None:
    def normalize(count: int) -> None:
        assert len(normalize_page_text("a" * count + "\ufffe" + "b" * count)) == 2 * count

    assert_linear_cpu(normalize, 300_000)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (
            "\u05e1\u05e2\u05d9\u05e3 15)\u05d1()4( \u05dc\u05d7\u05d5\u05e7",
            "\u05e1\u05e2\u05d9\u05e3 15(\u05d1)(4) \u05dc\u05d7\u05d5\u05e7",
        ),
        ("\u05d0 (\u05d1) \u05d2", "\u05d0 (\u05d1) \u05d2"),
        ("\u05d0) \u05d1", "\u05d0) \u05d1"),
        ("\u05d0\nf)x(", "\u05d0\nf)x("),
    ],
)
def test_brackets_in_right_to_left_lines_are_in_logical_order(raw: str, text: str) -> None:
    assert normalize_page_text(raw) == text


@given(st.text(alphabet=st.characters(), max_size=200))
def test_page_text_has_no_characters_that_stores_reject(raw: str) -> None:
    page = normalize_page_text(raw)
    page.encode()
    assert not {"\x00", "\f", "\r", "\ufffe"} & set(page)
