"""The charset labels of the web, and the codec that reads each charset.

Source: WHATWG Encoding, section 4.2, as webencodings has it. The encodings the standard refuses
(`replacement`) are read here: an archive has them, and no script of theirs is ever run.
"""

from __future__ import annotations

from webencodings.labels import LABELS as WEB_LABELS

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
_OTHERS = {
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
CODECS = _SINGLE_BYTE | _OTHERS
"""The codec of the standard library for each charset; of two that differ little, the larger one."""

_READ_ALL_THE_SAME = {
    "iso-8859-8-i": "iso-8859-8",
    "csiso88598i": "iso-8859-8",
    "logical": "iso-8859-8",
    "iso-2022-kr": "iso-2022-kr",
    "csiso2022kr": "iso-2022-kr",
    "hz-gb-2312": "hz-gb-2312",
    "x-user-defined": "windows-1252",
}
"""Labels that mean something to us that they do not mean to a browser."""

_FOUND_ON_PAGES = {
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
    for label, charset in (WEB_LABELS | _READ_ALL_THE_SAME | _FOUND_ON_PAGES).items()
    if charset in CODECS
}
"""The charset meant by each label, both in lower case."""

DOUBLE_BYTE = frozenset({"gbk", "gb18030", "big5", "euc-jp", "euc-kr", "shift_jis"})
"""Charsets whose characters outside ASCII take two bytes or more, without escapes."""
