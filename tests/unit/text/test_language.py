"""The language of a text, chosen from the text and the declaration of its page."""

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
def test_the_language_of_a_sentence_is_identified(code: str) -> None:
    identified = identify_language(TEXTS[code])
    assert identified is not None
    assert identified[0] == code
    assert 0.5 < identified[1] <= 1.0


@pytest.mark.parametrize("text", ["", "   ", "12345 67.89 %", "…—!?"])
def test_text_without_letters_has_no_language(text: str) -> None:
    assert identify_language(text) is None


def test_the_text_overrides_a_different_declaration() -> None:
    assert choose_language(TEXTS["zh"], "en") == ("zh", "zh")
    assert choose_language(TEXTS["es"], "en-US") == ("es", "es")


def test_a_matching_declaration_adds_its_region_and_script() -> None:
    assert choose_language(TEXTS["pt"], "pt_br") == ("pt", "pt-BR")
    assert choose_language(TEXTS["zh"], "ZH-hant-tw") == ("zh", "zh-Hant-TW")


def test_a_short_text_takes_the_declared_language() -> None:
    assert choose_language("hola", "es-MX") == ("es", "es-MX")
    assert choose_language("", "fr-CA") == ("fr", "fr-CA")
    assert choose_language("", None) == (None, None)


def test_indistinguishable_languages_take_the_declared_tag() -> None:
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
def test_declared_languages_are_validated_and_normalized(
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


def test_a_page_language_has_a_confidence_unless_the_text_is_short() -> None:
    identified = identify_page_language(TEXTS["es"], "en-US")
    assert (identified.code, identified.tag) == ("es", "es")
    assert identified.confidence is not None
    assert 0.5 < identified.confidence <= 1
    assert identify_page_language("Ok, ja.", None) == IdentifiedLanguage("und", "und")
    assert identify_page_language("Ok, ja.", "nl-BE") == IdentifiedLanguage("nl", "nl-BE")
    assert identify_page_language("", None) == IdentifiedLanguage(None, None)
