"""Pages whose text is in no language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.pdfs import mapped_pdf, text_pdf
from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.garbled_text import is_garbled
from fonds.extract.pdf.limits import PdfLimits
from fonds.model.pdf_extra import PdfExtra

ENGLISH = (
    "The hills above the village were covered with snow for most of the winter, and the people who lived"
    " there had learned to keep what they needed close to the house. In the evening they sat together and"
    " told each other what the day had brought, which was seldom very much.\n"
) * 2
RUSSIAN = (
    "Холмы над деревней почти всю зиму были покрыты снегом, и люди, которые там жили, привыкли держать всё"
    " необходимое поближе к дому. По вечерам они сидели вместе и рассказывали друг другу, что принёс день,"
    " хотя обычно это было совсем немного.\n"
) * 2
KOREAN = (
    "마을 위의 언덕은 겨울 내내 눈으로 덮여 있었고 그곳에 사는 사람들은 필요한 것을"
    " 집 가까이에 두는 법을 배웠다."
    " 저녁이면 그들은 함께 앉아 그날 있었던 일을 서로에게 이야기했는데 대개는 별다른 것이 없었다.\n"
) * 3


def shift_letters(text: str, offset: int) -> str:
    return "".join(
        chr(ord(character) + offset) if character.isalpha() else character for character in text
    )


@pytest.mark.parametrize("text", [ENGLISH, RUSSIAN, KOREAN, "short", "", "1 2 3\n" * 200])
def test_text_in_a_language_is_not_garbled(text: str) -> None:
    assert not is_garbled(text)


@pytest.mark.parametrize(
    "text",
    [
        shift_letters(ENGLISH, 3),
        shift_letters(ENGLISH, -29),
        shift_letters(RUSSIAN, 0xAC00 - 0x400),
        RUSSIAN.encode().decode("latin-1"),
        shift_letters(ENGLISH, 0xE000),
        shift_letters(KOREAN, 40),
    ],
)
def test_wrongly_mapped_letters_are_garbled(text: str) -> None:
    assert is_garbled(text)


def test_garbled_pages_are_listed_by_number() -> None:
    data = text_pdf((ENGLISH, shift_letters(ENGLISH, 3), ENGLISH))
    extraction = extract_pdf_bytes(data, PdfLimits(thumbnails=()))
    assert (extraction.pdf_extra or PdfExtra()).pages_garbled == (1,)
    readable = extract_pdf_bytes(mapped_pdf("漢字"), PdfLimits(thumbnails=()))
    assert (readable.pdf_extra or PdfExtra()).pages_garbled is None


@given(st.text(alphabet=st.characters(), max_size=400))
def test_any_text_is_accepted(text: str) -> None:
    assert is_garbled(text) in (True, False)
