"""Text strings, dates, and cleaning of texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.pdf.strings import (
    clean_stored_text,
    clean_text,
    convert_pdf_date,
    decode_text_string,
)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        (b"\xfe\xff\x00C\x00a\x00f\x00\xe9", "Café"),
        (b"\xff\xfeC\x00a\x00f\x00\xe9\x00", "Café"),
        (b"\xef\xbb\xbfCaf\xc3\xa9", "Café"),
        (b"Caf\xe9", "Café"),
        ("Ünïcode ohne Marke".encode(), "Ünïcode ohne Marke"),
        (b"\x80 \x8d\x8e \xa0 \x84", "• “” € —"),
        (b"\x9f\xad", ""),
        (b"of\x93ce", "office"),
        (b"\xfe\xff\x00\x1b\x00e\x00n\x00\x1b\x00O\x00n\x00e", "One"),
        (b"\xfe\xff\xd8\x35\x00a", "\ufffda"),
        (b"\xfe\xff\x00", "\ufffd"),
        (b"  nul\x00led  ", "nulled"),
        (b"", ""),
    ],
)
def test_a_string_is_decoded_by_its_mark_or_as_pdfdoc(raw: bytes, text: str) -> None:
    assert decode_text_string(raw) == text


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_to_storable_text(raw: bytes) -> None:
    text = decode_text_string(raw)
    assert "\x00" not in text
    assert text == text.encode().decode()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=50))
def test_utf_16_strings_are_decoded(text: str) -> None:
    assert decode_text_string(b"\xfe\xff" + text.encode("utf-16-be")) == clean_text(text).strip()


@pytest.mark.parametrize(
    ("pdf_date", "iso"),
    [
        ("D:20200326012657-07'00'", "2020-03-26T08:26:57Z"),
        ("D:20200326012657-07'00", "2020-03-26T08:26:57Z"),
        ("D:20200326012657+0530", "2020-03-25T19:56:57Z"),
        ("D:20200326012657Z", "2020-03-26T01:26:57Z"),
        ("D:20200326012657Z00'00'", "2020-03-26T01:26:57Z"),
        ("D:20200326012657", "2020-03-26T01:26:57Z"),
        ("20200326012657", "2020-03-26T01:26:57Z"),
        ("D:202003", "2020-03-01T00:00:00Z"),
        ("D:2020", "2020-01-01T00:00:00Z"),
        ("2004-05-06T07:08:09+02:00", "2004-05-06T05:08:09Z"),
        ("2004-05-06", "2004-05-06T00:00:00Z"),
        ("D:20100210124509Z'", "2010-02-10T12:45:09Z"),
        ("D:20100210124509Z00'00''", "2010-02-10T12:45:09Z"),
        ("D:20200326012657+01'00''", "2020-03-26T00:26:57Z"),
        ("D:20040102030405--5'00'", "2004-01-02T08:04:05Z"),
        ("D:20040102030405-5'00'", "2004-01-02T08:04:05Z"),
        ("D:191040314151617", "2004-03-14T15:16:17Z"),
        ("D:191000101000000Z", "2000-01-01T00:00:00Z"),
        ("D:1910", "1910-01-01T00:00:00Z"),
    ],
)
def test_dates_become_iso_in_utc(pdf_date: str, iso: str) -> None:
    assert convert_pdf_date(pdf_date) == iso


@pytest.mark.parametrize(
    "pdf_date",
    [
        "Thu Mar 26 01:26:57 2020",
        "D:192000101000000",
        "D:20100210124509Z" + 3 * "'",
        "D:20201345000000",
        "D:20200326246157",
        "D:00010101000000+23'00'",
        "D:99991231235959-23'00'",
        "D:20200326012657+99'99'",
        "D:20200326012657junk",
        "2004-99-99",
        "",
    ],
)
def test_invalid_dates_stay_unchanged(pdf_date: str) -> None:
    assert convert_pdf_date(pdf_date) == pdf_date


@given(
    st.datetimes().filter(lambda moment: 1000 <= moment.year <= 9998),
    st.integers(-14 * 60 + 1, 14 * 60 - 1),
)
def test_any_formatted_date_is_parsed_back(moment: datetime, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    local = moment.replace(tzinfo=UTC, microsecond=0).astimezone(zone)
    sign, hours, rest = "-" if minutes < 0 else "+", *divmod(abs(minutes), 60)
    pdf_date = f"D:{local:%Y%m%d%H%M%S}{sign}{hours:02}'{rest:02}'"
    assert datetime.fromisoformat(convert_pdf_date(pdf_date)) == local


@given(st.text(max_size=60))
def test_any_text_is_accepted_as_a_date(text: str) -> None:
    assert isinstance(convert_pdf_date(text), str)


def test_ligatures_become_letters_and_invisible_characters_are_removed() -> None:
    assert clean_text("e\ufb03cient \ufb02ow soft\u00adhyphen\ufeff \ufb16") == (
        "efficient flow softhyphen վն"
    )


def test_line_ends_become_line_feeds_and_tabs_stay() -> None:
    assert clean_stored_text("a\r\nb\rc\n\td\x0c\x0b\x85") == "a\nb\nc\n\td"


@given(st.text(alphabet=st.characters(), max_size=100))
def test_storable_text_encodes_without_control_characters_and_stays_unchanged(
    text: str,
) -> None:
    stored = clean_stored_text(text)
    stored.encode()
    assert not any(ord(character) < 32 and character not in "\n\t" for character in stored)
    assert clean_stored_text(stored) == stored
