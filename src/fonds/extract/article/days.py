"""Find dates in text, as people and programs write them, in the languages of the world's news.

Source: ISO 8601; RFC 2822; the names of months in CLDR. The search takes time linear in the length
of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

_MONTHS = (
    """
    january jan januar januari janvier janv janeiro enero ene gennaio gen ianuarie ian styczeń
    stycznia sty leden ledna január januára januárja tammikuu tammikuuta ocak января январь янв
    січня січень януари ιανουαρίου ιανουάριος siječnja јануар jänner jän janvāris sausio jaanuar
    يناير كانون
    """,
    """
    february feb februar februari février fevrier févr fev fevereiro febrero febbraio februarie luty
    lutego lut únor února február februára helmikuu helmikuuta şubat февраля февраль фев лютого
    лютий февруари φεβρουαρίου veljače фебруар feber vasario veebruar فبراير شباط
    """,
    """
    march mar märz maerz mrz mars março marco marzo maart martie marzec marca březen března marec
    március maaliskuu maaliskuuta mart марта март мар березня березень μαρτίου ožujka maret mac kovo
    märts مارس آذار
    """,
    """
    april apr avril avr abril abr aprile aprilie kwiecień kwietnia kwi duben dubna apríl apríla
    április huhtikuu huhtikuuta nisan апреля апрель апр квітня квітень април απριλίου travnja
    balandžio aprill أبريل نيسان
    """,
    """
    may mai mayo maio maggio mag mei maj maja květen května máj mája május toukokuu toukokuuta mayıs
    мая май травня травень μαΐου svibnja мај gegužės مايو أيار
    """,
    """
    june jun juni juin junho junio giugno giu iunie iun czerwiec czerwca cze červen června jún júna
    június kesäkuu kesäkuuta haziran июня июнь июн червня червень юни ιουνίου lipnja јун birželio
    juuni يونيو حزيران
    """,
    """
    july jul juli juillet juil julho julio luglio lug iulie iul lipiec lipca lip červenec července
    júl júla július heinäkuu heinäkuuta temmuz июля июль июл липня липень юли ιουλίου srpnja јул
    liepos juuli يوليو تموز
    """,
    """
    august aug août aout agosto ago augustus augusti sierpień sierpnia sie srpen srpna augusta
    augusztus elokuu elokuuta ağustos августа август авг серпня серпень αυγούστου kolovoza agustus
    ogos rugpjūčio أغسطس آب
    """,
    """
    september sep sept septembre setembro set septiembre setiembre settembre septembrie wrzesień
    września wrz září septembra szeptember syyskuu syyskuuta eylül сентября сентябрь сен вересня
    вересень септември σεπτεμβρίου rujna септембар rugsėjo سبتمبر أيلول
    """,
    """
    october oct oktober okt octobre outubro out octubre ottobre ott octombrie październik
    października paź říjen října október októbra lokakuu lokakuuta ekim октября октябрь окт жовтня
    жовтень октомври οκτωβρίου listopada октобар spalio oktoober أكتوبر
    """,
    """
    november nov novembre novembro noviembre noiembrie listopad listopada lis novembra marraskuu
    marraskuuta kasım ноября ноябрь ноя листопада листопад ноември νοεμβρίου studenoga новембар
    lapkričio نوفمبر
    """,
    """
    december dec dezember dez décembre decembre déc dezembro diciembre dic dicembre decembrie
    grudzień grudnia gru prosinec prosince decembra joulukuu joulukuuta aralık декабря декабрь дек
    грудня грудень декември δεκεμβρίου prosinca децембар desember des disember gruodžio detsember
    ديسمبر
    """,
)
_MONTHS_BY_NAME = {
    name: number
    for number, names in reversed(list(enumerate(_MONTHS, 1)))
    for name in names.split()
}
_YEAR = r"(?:19[89]\d|20[0-4]\d)"
_ISO = re.compile(rf"(?<!\d)({_YEAR})([-/.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
_LOOSE_ISO = re.compile(rf"(?<!\d)({_YEAR})[-/.](1[0-2]|0?[1-9])[-/.](3[01]|[12]\d|0?[1-9])(?!\d)")
_CJK = re.compile(
    rf"({_YEAR})\s?[年년]\s?(1[0-2]|0?[1-9])\s?[月월]\s?(3[01]|[12]\d|0?[1-9])\s?[日일号]"
)
_NUMBERS = re.compile(
    rf"(?<![\d/.-])(\d{{1,2}})\s?([./-])\s?(\d{{1,2}})\s?\2\s?({_YEAR}|\d\d)(?![\d/-])"
)
_DAY_FIRST = re.compile(
    rf"(?<!\d)(3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|er|º|ª|\.)?[\s,/-]+(?:de\s+|d')?"
    rf"([^\W\d_]{{3,14}})\.?,?[\s/-]+(?:del?\s+)?({_YEAR}|'?\d\d(?=\s|$))"
)
_MONTH_FIRST = re.compile(
    rf"([^\W\d_]{{3,14}})\.?[\s/-]+(3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?,?[\s/-]+(?:at\s+)?({_YEAR})(?!\d)"
)


def find_days(text: str, *, month_first: bool = False) -> Iterator[tuple[int, date]]:
    """Yield the start index and the date of each date in a text, in text order.

    With `month_first`, 3/4/2020 is 4 March; otherwise it is 3 April. Only years from 1980 to 2049
    are accepted, and two-digit years only if they are unambiguous.
    """
    yield from sorted(set(_iter_days(text, month_first)))


def find_first_day(text: str, *, month_first: bool = False) -> date | None:
    """Return the first date in a text, or None."""
    return next((day for _, day in find_days(text, month_first=month_first)), None)


def swap_day_and_month(text: str, day: date) -> date | None:
    """Return the other date that the text of `day` may mean; None if it is unambiguous.

    For example, 11/1/2023 is 1 November or 11 January.
    """
    for match in _NUMBERS.finditer(text):
        numbers = {int(match[1]), int(match[3])}
        if match[2] == "/" and numbers == {day.day, day.month} and max(numbers) <= 12:
            return None if day.day == day.month else date(day.year, day.day, day.month)
    return None


def _iter_days(text: str, month_first: bool) -> Iterator[tuple[int, date]]:
    for pattern in (_ISO, _LOOSE_ISO, _CJK):
        for match in pattern.finditer(text):
            numbers = [int(part) for part in match.groups() if part.isdigit()]
            yield from _build_day(match.start(), *numbers)
    for match in _NUMBERS.finditer(text):
        first_number, second_number, year = int(match[1]), int(match[3]), int(match[4])
        if len(match[4]) == 2:
            if match[2] == "-":
                continue
            year += 2000 if year < 50 else 1900
        is_month_first = second_number > 12 or (
            month_first and match[2] != "." and first_number <= 12
        )
        day, month = (
            (second_number, first_number) if is_month_first else (first_number, second_number)
        )
        yield from _build_day(match.start(), year, month, day)
    for match in _DAY_FIRST.finditer(text):
        month = _MONTHS_BY_NAME.get(match[2].lower(), 0)
        year = int(match[3].lstrip("'"))
        yield from _build_day(
            match.start(), year if year > 99 else 2000 + year, month, int(match[1])
        )
    for match in _MONTH_FIRST.finditer(text):
        yield from _build_day(
            match.start(), int(match[3]), _MONTHS_BY_NAME.get(match[1].lower(), 0), int(match[2])
        )


def _build_day(position: int, year: int, month: int, day: int) -> Iterator[tuple[int, date]]:
    try:
        yield position, date(year, month, day)
    except ValueError:
        return
