"""Bytes of a page to text, whatever its server, its author or nobody said about the charset.

Source: WHATWG Encoding, section 4.2 (names and labels); WHATWG HTML, 13.2.3 (determining the character
encoding, prescan); XML 1.0, appendix F.
Bound: each of some 20 charsets is tried on a sample; whole bodies are decoded four times at most.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes
from webencodings.labels import LABELS as WEB_LABELS

from fonds.extract.mojibake import CANDIDATES, LANGUAGES, SURE, guess_languages, score_reading

# The charset labels of the web, and the codec that reads each charset.
#
# Source: WHATWG Encoding, section 4.2, as webencodings has it. The encodings the standard refuses
# (`replacement`) are read here: an archive has them, and no script of theirs is ever run.


_SINGLE_BYTE = {
    "ibm866": "cp866",
    **{f"iso-8859-{part}": f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    **{f"windows-{page}": f"cp{page}" for page in range(1250, 1259)},
    "x-mac-cyrillic": "mac_cyrillic",
}
_PYTHON_CODECS = {
    "utf-8": "utf_8",
    "utf-16le": "utf_16_le",
    "utf-16be": "utf_16_be",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp_ext",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "iso-2022-kr": "iso2022_kr",
    "hz-gb-2312": "hz",
}
CODECS = _SINGLE_BYTE | _PYTHON_CODECS
"""The codec of the standard library for each charset; of two that differ little, the larger one."""

_READ_AS = {
    "iso-8859-8-i": "iso-8859-8",
    "csiso88598i": "iso-8859-8",
    "logical": "iso-8859-8",
    "iso-2022-kr": "iso-2022-kr",
    "csiso2022kr": "iso-2022-kr",
    "hz-gb-2312": "hz-gb-2312",
    "x-user-defined": "windows-1252",
}
"""Labels that mean something to us that they do not mean to a browser."""

_EXTRA_LABELS = {
    "latin9": "iso-8859-15",
    "cp874": "windows-874",
    "win-1251": "windows-1251",
    "win1251": "windows-1251",
    "latin-1": "windows-1252",
    "utf-8n": "utf-8",
    "utf8mb4": "utf-8",
    "unicodelittle": "utf-16le",
    "cp936": "gbk",
    "ms936": "gbk",
    "cp950": "big5",
    "eucjp": "euc-jp",
    "ujis": "euc-jp",
    "cp932": "shift_jis",
    "euckr": "euc-kr",
    "cp949": "euc-kr",
    "uhc": "euc-kr",
    "hz": "hz-gb-2312",
}
"""Labels no standard has, and that mean one charset only."""

LABELS = {
    label: charset
    for label, charset in (WEB_LABELS | _READ_AS | _EXTRA_LABELS).items()
    if charset in CODECS
}
"""The charset meant by each label, both in lower case."""

DOUBLE_BYTE = frozenset({"gbk", "gb18030", "big5", "euc-jp", "euc-kr", "shift_jis"})
"""Charsets whose characters outside ASCII take two bytes or more, without escapes."""


PRESCAN_BYTES = 16384
"""How far a declaration is looked for; pages in the field hold it well behind the standard's 1,024."""

FOREIGN_MIN = 12
"""With fewer characters outside ASCII no language is told, and a declaration is believed."""

BELIEVED = 0.35
"""A declared reading with at least this score is believed; another must be sure to take its place."""

SAMPLE_BYTES = 4096
_GUESS_BYTES = 16384
# The ISO code pages have control characters where windows has letters; in text those are damage too.
_DAMAGE = ("\ufffd", *(chr(code) for code in range(0x80, 0xA0) if code != 0x85))

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_COMMENT = re.compile(rb"<!--.*?-->", re.S)
_META = re.compile(rb"<meta[\s/]([^<>]{0,2000})>?", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"""([a-z-]{1,40})\s*=\s*(?:"([^"]{0,500})"|'([^']{0,500})'|([^\s"'>]{1,500}))""",
    re.IGNORECASE,
)
_CONTENT_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([^\s\"';]{1,60})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([^"']{1,60})["']""")
_LANG = re.compile(rb"<html[^<>]{0,1000}?\blang\s*=\s*[\"']?([A-Za-z]{2})", re.IGNORECASE)
_TAGS = re.compile(rb"<(?:script|style)\b[^<]*|<[^<>]{0,2000}>", re.IGNORECASE)


def normalize_charset(label: str | None) -> str | None:
    """The standard's name for a charset label, in lower case; None for an unknown one.

    `latin1` is `windows-1252`, `gb2312` is `gbk`, as browsers read them.
    """
    if label is None:
        return None
    bare = label.strip(" \t\r\n\f\"';,").lower()
    return (
        LABELS.get(bare) or LABELS.get(bare.replace("_", "-")) or LABELS.get(bare.replace("-", ""))
    )


@dataclass(frozen=True, slots=True)
class DecodedPage:
    """A page's text, the charset it was read with, and in words what spoke for that.

    The text is without byte order mark, NUL and lone surrogates.
    """

    text: str
    charset: str
    evidence: str


def decode_page(body: bytes, http_charset: str | None) -> tuple[str, str]:
    """The text of a page and the name of the charset it was read with, as `decode` has them."""
    decoded = decode(body, http_charset)
    return decoded.text, decoded.charset


def decode(body: bytes, http_charset: str | None, host: str = "") -> DecodedPage:
    """The text of a page. Never raises.

    Asked in turn: byte order mark, `http_charset` (of the Content-Type header, None when the server sent
    none), the page's own declaration, UTF-8, the language of the readings, windows-1252. A declaration the
    bytes contradict is passed over; so is one that gives text in no language where another charset does.
    `host` is the server's name, "" when unknown: its top-level domain counts for a little.
    """
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return DecodedPage(
                _clean(_decode(body[len(mark) :], charset)), charset, "byte order mark"
            )
    if utf16 := _detect_utf16(body):
        return DecodedPage(_clean(_decode(body, utf16)), utf16, "zeros of UTF-16")
    said = {"http": normalize_charset(http_charset), "page": find_declared_charset(body)}
    reading = _decode_declared(body, [charset for charset in said.values() if charset])
    evidence = ", ".join(f"{who}: {charset or 'nothing'}" for who, charset in said.items())
    if reading is None or (reading.charset in LANGUAGES and reading.foreign):
        reading, why = _decode_by_language(body, reading, host)
        evidence = f"{evidence}; {why}"
    return DecodedPage(_clean(reading.text), reading.charset, evidence)


def find_declared_charset(body: bytes) -> str | None:
    """What the page's XML declaration or `<meta>` says; UTF-16 there means UTF-8, as the standard has it."""
    head = body[:PRESCAN_BYTES]
    if xml := _XML_ENCODING.match(head):
        charset = normalize_charset(xml[1].decode("ascii", "replace"))
        if charset:
            return _replace_utf16(charset)
    for meta in _META.finditer(_COMMENT.sub(b"", head)):
        attributes = {
            name.lower(): value or other or bare
            for name, value, other, bare in _ATTRIBUTE.findall(meta[1])
        }
        label = attributes.get(b"charset")
        if label is None and b"content" in attributes and b"http-equiv" in attributes:
            found = _CONTENT_CHARSET.search(attributes[b"content"])
            label = found[1] if found else None
        charset = normalize_charset(label.decode("ascii", "replace")) if label else None
        if charset:
            return _replace_utf16(charset)
    return None


def _replace_utf16(charset: str) -> str:
    # The declaration was read byte by byte, so the page cannot be UTF-16.
    return "utf-8" if charset.startswith("utf-16") else charset


@dataclass(frozen=True, slots=True)
class _CharsetReading:
    """A text as one charset reads it.

    `foreign` tells about how many characters outside ASCII were read well, `damaged` how many were not.
    """

    text: str
    charset: str
    foreign: int
    damaged: int

    @property
    def is_plausible(self) -> bool:
        """A page cut short or with a foreign snippet is still in its charset; one damage in ten is not."""
        return self.damaged * 10 <= self.foreign


def _read(body: bytes, charset: str) -> _CharsetReading:
    if charset == "utf-8":
        try:
            text = body.decode()
        except UnicodeDecodeError:
            pass
        else:
            return _CharsetReading(text, charset, len(body) - len(text), 0)
    text = _decode(body, charset)
    if text.isascii():
        return _CharsetReading(text, charset, 0, 0)
    damaged = sum(map(text.count, _DAMAGE))
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return _CharsetReading(text, charset, foreign - damaged, damaged)


def _decode(body: bytes, charset: str) -> str:
    return codecs.decode(body, CODECS[charset], "replace")


def _decode_declared(body: bytes, declared: list[str]) -> _CharsetReading | None:
    """The first declared charset that fits, or UTF-8 where a declared one reads UTF-8 as mojibake."""
    if not declared:
        return None
    utf8 = None if body.isascii() else _read(body, "utf-8")
    for charset in declared:
        reading = utf8 if utf8 and charset == "utf-8" else _read(body, charset)
        if charset != "utf-8" and utf8 and utf8.is_plausible and _is_mojibake(reading, utf8):
            return utf8
        if reading.is_plausible:
            return reading
    return None


def _is_mojibake(reading: _CharsetReading, utf8: _CharsetReading) -> bool:
    """Whether bytes that are UTF-8 were declared otherwise.

    Bytes of a single-byte charset are hardly ever UTF-8 by accident; a few double-byte characters may be.
    """
    if CODECS[reading.charset].startswith("utf_16"):
        return True
    return utf8.damaged == 0 and (
        reading.charset not in DOUBLE_BYTE or utf8.foreign >= 8 or not reading.is_plausible
    )


def _decode_by_language(
    body: bytes, declared: _CharsetReading | None, host: str
) -> tuple[_CharsetReading, str]:
    """The declared reading unless it is in no language and another is; without one UTF-8 and the best."""
    if declared is None:
        if b"\x1b$B" in body or b"\x1b$@" in body:
            japanese = _read(body, "iso-2022-jp")
            if japanese.is_plausible:
                return japanese, "its escapes"
        utf8 = _read(body, "utf-8")
        if utf8.is_plausible:
            return utf8, "valid as UTF-8"
    sample = _sample_non_ascii(body)[:SAMPLE_BYTES]
    hints = guess_languages(_find_page_language(body), host)
    first = declared or _read(body, "windows-1252")
    verdict = score_reading(_decode(sample, first.charset), first.charset, hints)
    told = f"as {first.charset} {verdict.language or 'no language'} {verdict.score:.2f}"
    enough = FOREIGN_MIN if declared else FOREIGN_MIN // 2
    if verdict.score >= (BELIEVED if declared else SURE) or first.foreign < enough:
        return first, told
    others = [
        (score_reading(_decode(sample, charset), charset, hints), charset)
        for charset in CANDIDATES
        if charset != first.charset
    ]
    best, charset = max(others, key=lambda one: one[0].score)
    reading = _read(body, charset)
    if best.score >= SURE and best.score > verdict.score and reading.is_plausible:
        return reading, f"{told}, as {charset} {best.language} {best.score:.2f}"
    if declared is None and (guess := _guess_charset(sample, body)):
        return guess, f"{told}, guessed"
    return first, told


def _find_page_language(body: bytes) -> str | None:
    found = _LANG.search(body[:PRESCAN_BYTES])
    return found[1].decode("ascii", "replace") if found else None


def _detect_utf16(body: bytes) -> str | None:
    """UTF-16 without a mark, by the zeros beside its ASCII; text of any other charset has none."""
    if b"\x00" not in body[:64]:
        return None
    zeros_even, zeros_odd = body[0:512:2].count(0), body[1:512:2].count(0)
    if min(zeros_even, zeros_odd) * 10 > max(zeros_even, zeros_odd):
        return None
    begins_as_markup = b"\x00\x00" in (body[:4:2], body[1:4:2])
    if max(zeros_even, zeros_odd) * 5 < len(body[:512]) and not begins_as_markup:
        return None
    return "utf-16le" if zeros_odd > zeros_even else "utf-16be"


def _guess_charset(sample: bytes, body: bytes) -> _CharsetReading | None:
    """The charset that makes words of what is not ASCII; None when the guess does not fit."""
    matches = from_bytes(sample, cp_isolation=_GUESSABLE, enable_fallback=False)
    best = matches.best()
    if best is None:
        return None
    # The neighbours of windows-1252 read its text as well as it does itself, and are far rarer.
    usual = any(
        "cp1252" in (match.encoding, *match.could_be_from_charset)
        and match.coherence >= best.coherence - 0.05
        and match.chaos <= best.chaos + 0.1
        for match in matches
    )
    unproven = best.encoding in _NEIGHBOURS and best.coherence == 0
    charset = (
        "windows-1252" if usual or unproven else normalize_charset(best.encoding.replace("_", "-"))
    )
    reading = _read(body, charset) if charset else None
    return reading if reading and reading.is_plausible else None


_NEIGHBOURS = ("cp1250", "cp1254", "cp1257", "iso8859_2")
_GUESSABLE = [
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874"),
    *("koi8_r", "iso8859_2", "iso8859_7", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
]


def _sample_non_ascii(body: bytes) -> bytes:
    """The lines of the page's text, without its markup, that hold anything but ASCII."""
    text = _TAGS.sub(b"\n", body[: 64 * _GUESS_BYTES])
    sample = b"\n".join(line.strip() for line in text.split(b"\n") if not line.isascii())
    return sample[:_GUESS_BYTES]


def _clean(text: str) -> str:
    # Decoders never yield lone surrogates, so only what the bytes may hold is left to remove.
    return text.removeprefix("\ufeff").replace("\x00", "")
