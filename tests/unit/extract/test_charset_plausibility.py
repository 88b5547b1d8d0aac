"""Several charsets decode the same bytes; the one that gives text is chosen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.extract.charset import decode
from fonds.extract.mojibake import LANGUAGES, guess_languages, score_reading

TEXTS = {
    "ru": "Совет города решил во вторник, что старый мост будет закрыт весной из-за трещин.",
    "uk": "Міська рада вирішила у вівторок, що старий міст буде закрито навесні. Її ґанок і є новий.",
    "bg": "Градският съвет реши във вторник, че старият мост ще бъде затворен през пролетта.",
    "pl": "Rada miasta zdecydowała we wtorek, że stary most zostanie zamknięty wiosną. Źle, mówią kupcy.",
    "cs": "Městská rada v úterý rozhodla, že starý most bude na jaře uzavřen. Většina řidičů pojede jinudy.",
    "hu": "A városi tanács kedden úgy döntött, hogy a régi hidat tavasszal lezárják. Őszintén, fűtött.",
    "tr": "Belediye meclisi salı günü eski köprünün ilkbaharda kapatılacağına karar verdi. İşte yağmur.",
    "lt": "Miesto taryba antradienį nusprendė, kad senasis tiltas bus uždarytas. Žmonės nepatenkinti.",
    "el": "Το δημοτικό συμβούλιο αποφάσισε την Τρίτη ότι η παλιά γέφυρα θα κλείσει την άνοιξη.",
    "ar": "قرر مجلس المدينة يوم الثلاثاء إغلاق الجسر القديم في الربيع بسبب الشقوق التي ظهرت فيه",
    "he": "מועצת העיר החליטה ביום שלישי כי הגשר הישן ייסגר באביב בגלל הסדקים שנמצאו בו",
    "th": "สภาเมืองตัดสินใจเมื่อวันอังคารว่าสะพานเก่าจะปิดในฤดูใบไม้ผลิเนื่องจากรอยแตก",
    "zh": "市议会星期二决定,由于裂缝,旧桥将于春天关闭。去年开放的新桥将承担交通,市长说。商人们担心生意。",
    "zh-Hant": "市議會星期二決定,由於裂縫,舊橋將於春天關閉。去年開放的新橋將承擔交通,市長說。",
    "ja": "市議会は火曜日、ひび割れのため古い橋を春に閉鎖することを決めた。新しい橋が交通を担う。",
    "ko": "시의회는 화요일 균열 때문에 오래된 다리를 봄에 폐쇄하기로 결정했다. 새 다리가 교통을 맡는다.",
    "de": "Der Stadtrat beschloss, dass die alte Brücke im Frühjahr geschlossen wird, für Fußgänger schön.",
    "fr": "Le conseil a décidé mardi que le vieux pont sera fermé à cause des fissures; les élèves râlent.",
    "is": "Borgarráð ákvað á þriðjudag að gömlu brúnni verði lokað í vor. Það þykir mörgum slæmt.",
}
CASES = [
    *(("ru", "cp1251"), ("ru", "koi8_r"), ("uk", "cp1251"), ("uk", "koi8_u"), ("bg", "cp1251")),
    *(("pl", "cp1250"), ("pl", "iso8859_2"), ("cs", "cp1250"), ("hu", "cp1250"), ("tr", "cp1254")),
    *(("lt", "cp1257"), ("el", "cp1253"), ("el", "iso8859_7"), ("ar", "cp1256"), ("he", "cp1255")),
    *(("th", "cp874"), ("zh", "gbk"), ("zh-Hant", "big5"), ("ja", "cp932"), ("ja", "euc_jp")),
    *(("ko", "cp949"), ("de", "cp1252"), ("fr", "cp1252"), ("is", "cp1252")),
]


def make_page(language: str) -> str:
    paragraph = f"<p>{TEXTS[language]}</p>"
    return f"<html><body>{paragraph * 3}</body></html>"


@pytest.mark.parametrize(("language", "codec"), CASES)
@pytest.mark.parametrize("http", ["iso-8859-1", None])
def test_a_wrong_default_or_missing_charset_is_corrected(
    language: str, codec: str, http: str | None
) -> None:
    assert decode(make_page(language).encode(codec), http).text == make_page(language)


def test_a_declaration_that_gives_text_is_used() -> None:
    decoded = decode(make_page("cs").encode("iso8859_2"), "iso-8859-2")
    assert (decoded.text, decoded.charset) == (make_page("cs"), "iso-8859-2")


def test_the_evidence_for_the_charset_is_returned() -> None:
    decoded = decode(make_page("ru").encode("cp1251"), "iso-8859-1")
    assert "http: windows-1252, page: nothing" in decoded.evidence
    assert "as windows-1251 ru 1.00" in decoded.evidence
    assert decode(b"\xef\xbb\xbfx", None).evidence == "byte order mark"


def test_a_few_foreign_letters_do_not_override_a_declaration() -> None:
    body = ("<p>The café closed, said the mayor of the town on Tuesday afternoon.</p>" * 3).encode(
        "cp1252"
    )
    assert decode(body, "iso-8859-1").charset == "windows-1252"


def test_the_language_is_guessed_from_the_page_and_its_country() -> None:
    assert guess_languages("cs", "www.example.sk") == {"cs", "sk"}
    assert guess_languages(None, "example.com") == frozenset()


@given(st.binary(max_size=300), st.sampled_from(sorted(LANGUAGES)))
def test_any_bytes_get_a_score(body: bytes, charset: str) -> None:
    verdict = score_reading(body.decode("latin-1"), charset, frozenset())
    assert 0 <= verdict.score <= 1
    assert isinstance(decode(body, charset).text, str)
