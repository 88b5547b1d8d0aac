"""Pages in many charsets, with right, wrong and missing declarations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.charset import CODECS, decode_page, find_declared_charset, normalize_charset

KOREAN = "<p>서울 시내의 한 카페에서 사람들이 이야기를 나누고 있다. 오늘 날씨가 매우 좋다.</p>"
JAPANESE = "<p>東京の街で人々が話をしている。今日はとても天気が良いので散歩に行きます。</p>"
CHINESE = "<p>今天在北京举行了会议，代表们讨论了经济发展的问题和未来计划。</p>"
RUSSIAN = "<p>Сегодня в Москве прошла встреча министров иностранных дел двух стран.</p>"
GREEK = "<p>Σήμερα ο πρωθυπουργός μίλησε στη βουλή για την οικονομία της χώρας.</p>"
POLISH = "<p>Dziś w Warszawie odbyło się spotkanie ministrów; zażółć gęślą jaźń.</p>"
GERMAN = "<p>Über die Brücke gehen die Müller jeden Tag; schöne Grüße aus Köln.</p>"
FRENCH = "<p>L'été dernier, le président a déclaré que c’était déjà réglé.</p>"

IN_MANY_CHARSETS = [
    (KOREAN, "euc-kr", "cp949"),
    (JAPANESE, "shift_jis", "cp932"),
    (JAPANESE, "euc-jp", "euc_jp"),
    (JAPANESE, "iso-2022-jp", "iso2022_jp"),
    (CHINESE, "gb18030", "gb18030"),
    (RUSSIAN, "windows-1251", "cp1251"),
    (RUSSIAN, "koi8-r", "koi8_r"),
    (GREEK, "windows-1253", "cp1253"),
    (POLISH, "iso-8859-2", "iso8859_2"),
    (POLISH, "windows-1250", "cp1250"),
    (GERMAN, "windows-1252", "cp1252"),
    (FRENCH, "windows-1252", "cp1252"),
    (RUSSIAN, "utf-8", "utf_8"),
]


@pytest.mark.parametrize(("page", "charset", "codec"), IN_MANY_CHARSETS)
def test_the_charset_of_the_server_is_used(page: str, charset: str, codec: str) -> None:
    assert decode_page(page.encode(codec), charset) == (page, charset)


@pytest.mark.parametrize(("page", "charset", "codec"), IN_MANY_CHARSETS)
def test_the_charset_of_the_page_is_used_if_the_server_declares_none(
    page: str, charset: str, codec: str
) -> None:
    page = f'<html><meta http-equiv="Content-Type" content="text/html; charset={charset}">{page}'
    assert decode_page(page.encode(codec), None) == (page, charset)


@pytest.mark.parametrize(("page", "charset", "codec"), IN_MANY_CHARSETS)
def test_the_charset_of_an_undeclared_page_is_guessed(page: str, charset: str, codec: str) -> None:
    assert decode_page(f"<html>{page}".encode(codec), None) == (f"<html>{page}", charset)


@pytest.mark.parametrize(
    "declared", ["iso-8859-1", "windows-1252", "us-ascii", "windows-1251", "euc-kr"]
)
def test_utf8_with_a_default_charset_does_not_become_mojibake(declared: str) -> None:
    page = f"<meta charset=utf-8>{RUSSIAN} Café, naïve, 한국어"
    assert decode_page(page.encode(), declared) == (page, "utf-8")


def test_one_accented_word_distinguishes_utf8_from_latin1() -> None:
    assert decode_page("Café".encode(), "iso-8859-1") == ("Café", "utf-8")
    assert decode_page("Café".encode("latin-1"), "utf-8") == ("Café", "windows-1252")


def test_a_declaration_that_contradicts_the_bytes_is_ignored() -> None:
    page = f"<meta charset=euc-kr>{KOREAN}"
    assert decode_page(page.encode("cp949"), "utf-8") == (page, "euc-kr")
    page = f"<meta charset=utf-8>{GERMAN}"
    assert decode_page(page.encode("cp1252"), None) == (page, "windows-1252")


def test_a_page_cut_inside_a_character_keeps_its_charset() -> None:
    text, charset = decode_page((RUSSIAN * 3).encode()[:-5], "utf-8")
    assert charset == "utf-8"
    assert text.startswith(RUSSIAN)
    cut_text, charset = decode_page(KOREAN.encode("cp949")[:-6], "euc-kr")
    assert charset == "euc-kr"
    assert cut_text.startswith("<p>서울")


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_byte_order_marks_and_zeros_override_declarations(codec: str) -> None:
    page = f"<html><meta charset=iso-8859-1>{RUSSIAN}"
    text, charset = decode_page(page.encode(codec), "iso-8859-1")
    assert text == page
    assert charset.startswith("utf-")


def test_a_meta_element_cannot_declare_utf16() -> None:
    assert find_declared_charset(b"<meta charset=utf-16>") == "utf-8"


@pytest.mark.parametrize(
    ("head", "charset"),
    [
        (b'<meta charset="UTF-8">', "utf-8"),
        (b"<META CHARSET = koi8-r />", "koi8-r"),
        (b"<meta http-equiv=content-type content='text/html;charset=\"gb2312\"'>", "gbk"),
        (b'<meta content="text/html; charset=big5" http-equiv="Content-Type">', "big5"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=utf-8>", "utf-8"),
        (b"<meta charset=nonsense><meta charset=utf-8>", "utf-8"),
        (b'<?xml version="1.0" encoding="euc-kr"?><html>', "euc-kr"),
        (b"<script>" + b"x" * 5000 + b"</script><meta charset=utf-8>", "utf-8"),
        (b'<meta name="description" content="charset=utf-8">', None),
        (b"<p>no declaration", None),
    ],
)
def test_declarations_are_found_in_all_their_forms(head: bytes, charset: str | None) -> None:
    assert find_declared_charset(head) == charset


def test_labels_have_the_meaning_of_browsers() -> None:
    charsets = {
        "latin1": "windows-1252",
        "ISO-8859-1": "windows-1252",
        "us-ascii": "windows-1252",
        "gb2312": "gbk",
        "shift-jis": "shift_jis",
        "ks_c_5601-1987": "euc-kr",
        "iso-8859-9": "windows-1254",
        "tis-620": "windows-874",
        '"utf-8"': "utf-8",
        "UTF_8": "utf-8",
        "unicode": "utf-16le",
        "klingon": None,
    }
    assert {label: normalize_charset(label) for label in charsets} == charsets
    assert (CODECS["gbk"], CODECS["shift_jis"], CODECS["euc-kr"]) == ("gb18030", "cp932", "cp949")


def test_characters_of_vendor_extensions_are_decoded() -> None:
    assert (
        decode_page("똠방각하 펲시콜라".encode("cp949"), "ks_c_5601-1987")[0] == "똠방각하 펲시콜라"
    )
    assert decode_page("①髙﨑".encode("cp932"), "shift_jis")[0] == "①髙﨑"
    assert decode_page("“ok” – €5".encode("cp1252"), "iso-8859-1")[0] == "“ok” – €5"


def test_zeros_are_removed() -> None:
    assert decode_page(b"<p>a\x00b</p>" + b"c" * 100, None)[0].startswith("<p>ab</p>")


@given(st.binary(max_size=400), st.none() | st.sampled_from([*CODECS, "nonsense", "\ud800"]))
def test_any_bytes_are_decoded_to_clean_text(body: bytes, charset: str | None) -> None:
    text, used = decode_page(body, charset)
    assert used in CODECS
    assert "\x00" not in text
    text.encode()


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"), max_size=200)
)
def test_declared_utf8_is_decoded_unchanged(text: str) -> None:
    body = f"<html>{text}".encode()
    assert decode_page(body, "utf-8") == (f"<html>{text}", "utf-8")
