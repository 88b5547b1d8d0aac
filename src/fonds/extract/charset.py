"""Decode the bytes of a page to text, with or without a declared character encoding (charset).

Source: WHATWG Encoding, section 4.2 (names and labels); WHATWG HTML, 13.2.3 (determining the
character encoding, prescan); XML 1.0, appendix F. Each of some 20 charsets is tried on a sample.
Whole bodies are decoded at most four times.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes
from webencodings.labels import LABELS as WEB_LABELS

from fonds.extract.mojibake import (
    CANDIDATES,
    LANGUAGES,
    TEXT_SCORE_MIN,
    guess_languages,
    score_reading,
)

# Charset labels of the web: WHATWG Encoding, section 4.2, from webencodings.
#
# Encodings the standard refuses (`replacement`) are decoded here: archives contain them, and no
# script of such pages is ever run.


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
"""Python codec of each charset. For similar charsets, such as `gbk` and `gb18030`, it is the codec
of the one with more characters.
"""

_LABEL_OVERRIDES = {
    "iso-8859-8-i": "iso-8859-8",
    "csiso88598i": "iso-8859-8",
    "logical": "iso-8859-8",
    "iso-2022-kr": "iso-2022-kr",
    "csiso2022kr": "iso-2022-kr",
    "hz-gb-2312": "hz-gb-2312",
    "x-user-defined": "windows-1252",
}
"""Charset of each label that Fonds reads differently from browsers."""

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
"""Charset of each label that is in no standard but unambiguous."""

LABELS = {
    label: charset
    for label, charset in (WEB_LABELS | _LABEL_OVERRIDES | _EXTRA_LABELS).items()
    if charset in CODECS
}
"""Charset of each label, such as `gbk` for `gb2312`. Both are in lower case."""

DOUBLE_BYTE = frozenset({"gbk", "gb18030", "big5", "euc-jp", "euc-kr", "shift_jis"})
"""Charsets whose non-ASCII characters take two or more bytes, without escapes."""


PRESCAN_BYTES = 16384
"""Number of bytes of a page that are searched for a declared charset. Real pages often declare it
after the 1,024 bytes of the standard.
"""

FOREIGN_MIN = 12
"""Minimum number of non-ASCII characters for identifying the language of a text. With fewer, a
declared charset is trusted.
"""

DECLARED_SCORE_MIN = 0.35
"""Minimum plausibility (0 to 1) for trusting a declared charset. Below it, another charset is used
only if its text is clearly in a language.
"""

SAMPLE_BYTES = 4096
_GUESS_BYTES = 16384
# ISO code pages have control characters where Windows ones have letters; in text these are damage
# too.
_DAMAGE = ("\ufffd", *(chr(code) for code in range(0x80, 0xA0) if code != 0x85))

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16le"),
    (b"\xfe\xff", "utf-16be"),
)
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
    """Return the standard name of a charset label in lower case; None for an unknown label.

    `latin1` becomes `windows-1252` and `gb2312` becomes `gbk`, as in browsers.
    """
    if label is None:
        return None
    bare = label.strip(" \t\r\n\f\"';,").lower()
    return (
        LABELS.get(bare) or LABELS.get(bare.replace("_", "-")) or LABELS.get(bare.replace("-", ""))
    )


@dataclass(frozen=True, slots=True)
class DecodedPage:
    """Text of a decoded page.

    - `text`: the text without byte order mark, NUL and lone surrogates.
    - `charset`: the charset that the text was decoded with.
    - `evidence`: short text that says how the charset was determined.
    """

    text: str
    charset: str
    evidence: str


def decode_page(body: bytes, http_charset: str | None) -> tuple[str, str]:
    """Decode a page and return its text and charset. The charset is determined by byte order mark,
    HTTP header, the page's declaration or the text itself.
    """
    decoded_page = decode(body, http_charset)
    return decoded_page.text, decoded_page.charset


def decode(body: bytes, http_charset: str | None, host: str = "") -> DecodedPage:
    """Decode a page. Never raises.

    The charset is determined by the first of these that applies:

    - the byte order mark, or the zero bytes of UTF-16;
    - `http_charset`, the charset in the Content-Type header (None if the server sent none);
    - the page's own declaration;
    - UTF-8, if the bytes are valid;
    - the charset whose text is most plausible in a language;
    - windows-1252.

    A declaration is ignored if the bytes contradict it, or if it yields text in no language while
    another charset does. `host` is the server's name ('' if unknown). The language of its top-level
    domain is slightly preferred.
    """
    for mark, charset in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return DecodedPage(
                _clean(_decode(body[len(mark) :], charset)), charset, "byte order mark"
            )
    if utf16 := _detect_utf16(body):
        return DecodedPage(_clean(_decode(body, utf16)), utf16, "zeros of UTF-16")
    declared_charsets = {
        "http": normalize_charset(http_charset),
        "page": find_declared_charset(body),
    }
    reading = _decode_declared(body, [charset for charset in declared_charsets.values() if charset])
    evidence = ", ".join(
        f"{source}: {charset or 'nothing'}" for source, charset in declared_charsets.items()
    )
    if reading is None or (reading.charset in LANGUAGES and reading.foreign):
        reading, language_evidence = _decode_by_language(body, reading, host)
        evidence = f"{evidence}; {language_evidence}"
    return DecodedPage(_clean(reading.text), reading.charset, evidence)


def find_declared_charset(body: bytes) -> str | None:
    """Return the charset that a page declares in its XML declaration or `<meta>`; None if it
    declares none.

    A declared UTF-16 is read as UTF-8, as the standard says.
    """
    head = body[:PRESCAN_BYTES]
    if xml := _XML_ENCODING.match(head):
        charset = normalize_charset(xml[1].decode("ascii", "replace"))
        if charset:
            return _replace_utf16(charset)
    for meta in _META.finditer(_COMMENT.sub(b"", head)):
        attributes = {
            name.lower(): double_quoted or single_quoted or unquoted_value
            for name, double_quoted, single_quoted, unquoted_value in _ATTRIBUTE.findall(meta[1])
        }
        label = attributes.get(b"charset")
        if label is None and b"content" in attributes and b"http-equiv" in attributes:
            match = _CONTENT_CHARSET.search(attributes[b"content"])
            label = match[1] if match else None
        charset = normalize_charset(label.decode("ascii", "replace")) if label else None
        if charset:
            return _replace_utf16(charset)
    return None


def _replace_utf16(charset: str) -> str:
    # The declaration was read byte by byte, so the page cannot be UTF-16.
    return "utf-8" if charset.startswith("utf-16") else charset


@dataclass(frozen=True, slots=True)
class _CharsetReading:
    """A body decoded with one charset.

    - `foreign`: approximate number of non-ASCII characters that were decoded without damage.
    - `damaged`: number of non-ASCII characters that are probably wrong, such as replacement
      characters.
    """

    text: str
    charset: str
    foreign: int
    damaged: int

    @property
    def is_plausible(self) -> bool:
        """Whether at most a tenth as many non-ASCII characters are damaged as are undamaged.
        Truncated pages and some text in another charset stay below that.
        """
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
    damaged_count = sum(map(text.count, _DAMAGE))
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return _CharsetReading(text, charset, foreign - damaged_count, damaged_count)


def _decode(body: bytes, charset: str) -> str:
    return codecs.decode(body, CODECS[charset], "replace")


def _decode_declared(body: bytes, declared_charsets: list[str]) -> _CharsetReading | None:
    """Decode with the first declared charset that fits the bytes; None if none fits.

    If the result is mojibake (UTF-8 bytes decoded as another charset), decode as UTF-8.
    """
    if not declared_charsets:
        return None
    utf8 = None if body.isascii() else _read(body, "utf-8")
    for charset in declared_charsets:
        reading = utf8 if utf8 and charset == "utf-8" else _read(body, charset)
        if charset != "utf-8" and utf8 and utf8.is_plausible and _is_mojibake(reading, utf8):
            return utf8
        if reading.is_plausible:
            return reading
    return None


def _is_mojibake(reading: _CharsetReading, utf8: _CharsetReading) -> bool:
    """Return whether a body is UTF-8 that was declared and decoded as another charset.

    `reading` is the body decoded as declared, `utf8` the same body decoded as UTF-8. Text in a
    single-byte charset is almost never valid UTF-8. A few characters in a double-byte charset may
    be valid UTF-8.
    """
    if CODECS[reading.charset].startswith("utf_16"):
        return True
    return utf8.damaged == 0 and (
        reading.charset not in DOUBLE_BYTE or utf8.foreign >= 8 or not reading.is_plausible
    )


def _decode_by_language(
    body: bytes, declared_reading: _CharsetReading | None, host: str
) -> tuple[_CharsetReading, str]:
    """Decode a body with the charset whose text is most plausible in a language. Return the result
    and a short text on the evidence.

    A declared charset is kept unless its text is in no language and the text of another charset is.
    Without a declared charset (`declared_reading` is None), UTF-8 is tried first, then the other
    charsets.
    """
    if declared_reading is None:
        if b"\x1b$B" in body or b"\x1b$@" in body:
            japanese = _read(body, "iso-2022-jp")
            if japanese.is_plausible:
                return japanese, "its escapes"
        utf8 = _read(body, "utf-8")
        if utf8.is_plausible:
            return utf8, "valid as UTF-8"
    sample = _sample_non_ascii(body)[:SAMPLE_BYTES]
    hints = guess_languages(_find_page_language(body), host)
    baseline = declared_reading or _read(body, "windows-1252")
    verdict = score_reading(_decode(sample, baseline.charset), baseline.charset, hints)
    evidence = f"as {baseline.charset} {verdict.language or 'no language'} {verdict.score:.2f}"
    foreign_min = FOREIGN_MIN if declared_reading else FOREIGN_MIN // 2
    if (
        verdict.score >= (DECLARED_SCORE_MIN if declared_reading else TEXT_SCORE_MIN)
        or baseline.foreign < foreign_min
    ):
        return baseline, evidence
    candidates = [
        (score_reading(_decode(sample, charset), charset, hints), charset)
        for charset in CANDIDATES
        if charset != baseline.charset
    ]
    best, charset = max(candidates, key=lambda candidate: candidate[0].score)
    reading = _read(body, charset)
    if best.score >= TEXT_SCORE_MIN and best.score > verdict.score and reading.is_plausible:
        return reading, f"{evidence}, as {charset} {best.language} {best.score:.2f}"
    if declared_reading is None and (guess := _guess_charset(sample, body)):
        return guess, f"{evidence}, guessed"
    return baseline, evidence


def _find_page_language(body: bytes) -> str | None:
    match = _LANG.search(body[:PRESCAN_BYTES])
    return match[1].decode("ascii", "replace") if match else None


def _detect_utf16(body: bytes) -> str | None:
    """Return the charset if a body is UTF-16 without a byte order mark, else None.

    UTF-16 has zero bytes next to ASCII characters; other charsets have none.
    """
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
    """Decode a body with the charset that the library charset_normalizer guesses from `sample`.

    Return None if there is no guess, or if the text has too many damaged characters.
    """
    matches = from_bytes(sample, cp_isolation=_GUESSABLE, enable_fallback=False)
    best = matches.best()
    if best is None:
        return None
    # Charsets similar to windows-1252 decode its text equally well, but are far rarer.
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
    """Return those lines of a page's text, without markup, that have non-ASCII characters."""
    text = _TAGS.sub(b"\n", body[: 64 * _GUESS_BYTES])
    sample = b"\n".join(line.strip() for line in text.split(b"\n") if not line.isascii())
    return sample[:_GUESS_BYTES]


def _clean(text: str) -> str:
    # Decoders never yield lone surrogates, so only NUL and the mark remain to be removed.
    return text.removeprefix("\ufeff").replace("\x00", "")
