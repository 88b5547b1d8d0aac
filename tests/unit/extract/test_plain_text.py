"""Plain text is extracted like a page: its title, paragraphs and characters are kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fonds.extract.page import parse_page
from fonds.extract.page_extraction import PageStatus
from fonds.extract.plain_text import TITLE_MAX_CHARS, convert_to_html

CAPTURED_AT = datetime(2026, 3, 4, tzinfo=UTC)
WEIR_TEXT = "The weir above the mill gave way in the night, and the meadow stood under water.\n" * 3
SLUICE_TEXT = (
    "By noon the miller had opened every sluice, <b>and</b> the water fell again & again.\n" * 3
)


def parse(body: bytes, charset: str | None = None):
    return parse_page(
        body,
        "http://news.example/weir.txt",
        charset,
        CAPTURED_AT,
        was_fetched=True,
        is_plain_text=True,
    )


def test_plain_text_keeps_its_title_paragraphs_and_special_characters():
    page = parse(f"The weir is gone\n\n{WEIR_TEXT}\n{SLUICE_TEXT}".encode())
    assert page.status is PageStatus.SUCCESS
    assert page.content.article_title == "The weir is gone"
    text = page.content.text_content or ""
    assert "gave way in the night" in text
    assert "<b>and</b> the water fell again & again" in text
    assert page.content.language == "en"


@pytest.mark.parametrize(("charset", "codec"), [("iso-8859-2", "iso-8859-2"), (None, "utf-16")])
def test_plain_text_is_decoded_by_its_charset_or_byte_order_mark(charset: str | None, codec: str):
    text = "Rzeka przerwała wał powyżej młyna, a łąka stanęła pod wodą aż do rana. " * 4
    page = parse(text.encode(codec), charset)
    assert "przerwała wał powyżej młyna" in (page.content.text_content or "")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("One line", None),
        ("One line\n\nMore", "One line"),
        ("One line\r\n \t\r\nMore", "One line"),
        ("Two\nlines\n\nMore", None),
        ("x" * TITLE_MAX_CHARS + "\n\nMore", "x" * TITLE_MAX_CHARS),
        ("x" * (TITLE_MAX_CHARS + 1) + "\n\nMore", None),
        (
            "</title><script>alert(1)</script>\n\nMore",
            "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
        ),
        ("", None),
    ],
)
def test_the_title_is_a_short_first_line_before_a_blank_line(text: str, title: str | None):
    markup = convert_to_html(text)
    assert ("<title>" in markup) is (title is not None)
    if title is not None:
        assert f"<title>{title}</title>" in markup
    assert "<script>" not in markup
