"""The language of a text, weighed against what its page declares."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.text.language import (
    IdentifiedLanguage,
    choose_language,
    identify_language,
    identify_page_language,
    parse_language_tag,
)

TEXTS = {
    "en": "The government said on Tuesday that it would publish the report before the end of the year.",
    "de": "Die Regierung teilte am Dienstag mit, dass sie den Bericht noch vor Jahresende vorlegen wolle.",
    "fr": "Le gouvernement a annoncé mardi qu'il publierait le rapport avant la fin de l'année prochaine.",
    "es": "El gobierno anunció el martes que publicará el informe antes de que termine el año próximo.",
    "pt": "O governo anunciou na terça-feira que vai publicar o relatório antes do final do próximo ano.",
    "ru": "Правительство сообщило во вторник, что опубликует доклад до конца следующего года.",
    "ja": "政府は火曜日、来年末までに報告書を公表すると発表した。詳細はまだ明らかにされていない。",
    "ko": "정부는 화요일 내년 말까지 보고서를 발표할 것이라고 밝혔다. 자세한 내용은 공개되지 않았다.",
    "zh": "政府星期二表示，将在明年年底之前公布该报告，目前尚未透露更多的细节。",
    "ar": "أعلنت الحكومة يوم الثلاثاء أنها ستنشر التقرير قبل نهاية العام المقبل.",
    "hi": "सरकार ने मंगलवार को कहा कि वह अगले साल के अंत तक रिपोर्ट प्रकाशित करेगी।",
}


@pytest.mark.parametrize("code", TEXTS)
def test_a_sentence_is_enough_to_tell_its_language(code: str) -> None:
    found = identify_language(TEXTS[code])
    assert found is not None
    assert found[0] == code
    assert 0.5 < found[1] <= 1.0


@pytest.mark.parametrize("text", ["", "   ", "12345 67.89 %", "…—!?"])
def test_what_has_no_letters_has_no_language(text: str) -> None:
    assert identify_language(text) is None


def test_the_text_is_believed_before_the_template() -> None:
    assert choose_language(TEXTS["zh"], "en") == ("zh", "zh")
    assert choose_language(TEXTS["es"], "en-US") == ("es", "es")


def test_a_declaration_that_agrees_says_more() -> None:
    assert choose_language(TEXTS["pt"], "pt_br") == ("pt", "pt-BR")
    assert choose_language(TEXTS["zh"], "ZH-hant-tw") == ("zh", "zh-Hant-TW")


def test_a_text_that_says_little_leaves_it_to_the_page() -> None:
    assert choose_language("hola", "es-MX") == ("es", "es-MX")
    assert choose_language("", "fr-CA") == ("fr", "fr-CA")
    assert choose_language("", None) == (None, None)


def test_languages_no_model_tells_apart_are_as_declared() -> None:
    norwegian = "Regjeringen opplyste tirsdag at rapporten skal legges fram før utgangen av året."
    assert choose_language(norwegian, "nb-NO") == ("no", "nb-NO")
    assert choose_language(norwegian, None)[0] == "no"


@pytest.mark.parametrize(
    ("declared", "tag"),
    [
        ("en", "en"),
        ("EN-us", "en-US"),
        ("pt_BR", "pt-BR"),
        ("zh-hans-cn", "zh-Hans-CN"),
        ("sr-LATN", "sr-Latn"),
        ("es-419", "es-419"),
        ("de-1996", "de-1996"),
        ("en_US.UTF-8", "en-US"),
        ("de, en", "de"),
        ("eng", "en"),
        ("iw-IL", "he-IL"),
        ("fil", "fil"),
        ("English", None),
        ("x-default", None),
        ("jp", None),
        ("", None),
        (None, None),
    ],
)
def test_declared_languages_are_checked_and_written_in_one_way(
    declared: str | None, tag: str | None
) -> None:
    assert parse_language_tag(declared) == tag


def test_a_language_without_a_code_of_two_letters_has_a_tag_only() -> None:
    assert choose_language("", "haw") == (None, "haw")
    assert choose_language("", "fil-PH") == ("tl", "fil-PH")


@settings(max_examples=examples(20))
@given(st.text(max_size=200), st.none() | st.text(max_size=12))
def test_any_text_and_declaration_give_valid_codes_or_none(text: str, declared: str | None) -> None:
    code, tag = choose_language(text, declared)
    assert code is None or (len(code) == 2 and code.islower())
    assert parse_language_tag(tag) == tag


def test_a_page_s_language_comes_with_its_confidence_and_too_short_a_text_has_none() -> None:
    found = identify_page_language(TEXTS["es"], "en-US")
    assert (found.code, found.tag) == ("es", "es")
    assert found.confidence is not None
    assert 0.5 < found.confidence <= 1
    assert identify_page_language("Ok, ja.", None) == IdentifiedLanguage("und", "und")
    assert identify_page_language("Ok, ja.", "nl-BE") == IdentifiedLanguage("nl", "nl-BE")
    assert identify_page_language("", None) == IdentifiedLanguage(None, None)
