"""The charset labels of the web, and the codec that reads each charset, as data.

Source: WHATWG Encoding, section 4.2. The four encodings the standard refuses (`replacement`) are read
here: an archive has them, and no script of theirs is ever run.
"""

from __future__ import annotations

_SINGLE_BYTE = {
    "ibm866": ("cp866", "866 cp866 csibm866"),
    "iso-8859-2": (
        "iso8859_2",
        "csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    ),
    "iso-8859-3": (
        "iso8859_3",
        "csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    ),
    "iso-8859-4": (
        "iso8859_4",
        "csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    ),
    "iso-8859-5": (
        "iso8859_5",
        "csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    ),
    "iso-8859-6": (
        "iso8859_6",
        "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i "
        "iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    ),
    "iso-8859-7": (
        "iso8859_7",
        "csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
        "iso_8859-7:1987 sun_eu_greek",
    ),
    "iso-8859-8": (
        "iso8859_8",
        "csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
        "iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    ),
    "iso-8859-10": ("iso8859_10", "csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6"),
    "iso-8859-13": ("iso8859_13", "iso8859-13 iso885913"),
    "iso-8859-14": ("iso8859_14", "iso8859-14 iso885914"),
    "iso-8859-15": ("iso8859_15", "csisolatin9 iso8859-15 iso885915 iso_8859-15 l9 latin9"),
    "iso-8859-16": ("iso8859_16", ""),
    "koi8-r": ("koi8_r", "cskoi8r koi koi8 koi8_r"),
    "koi8-u": ("koi8_u", "koi8-ru"),
    "macintosh": ("mac_roman", "csmacintosh mac x-mac-roman"),
    "windows-874": ("cp874", "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 cp874"),
    "windows-1250": ("cp1250", "cp1250 x-cp1250"),
    "windows-1251": ("cp1251", "cp1251 x-cp1251 win-1251 win1251"),
    "windows-1252": (
        "cp1252",
        "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
        "iso_8859-1 iso_8859-1:1987 l1 latin1 latin-1 us-ascii x-cp1252 x-user-defined",
    ),
    "windows-1253": ("cp1253", "cp1253 x-cp1253"),
    "windows-1254": (
        "cp1254",
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
        "x-cp1254",
    ),
    "windows-1255": ("cp1255", "cp1255 x-cp1255"),
    "windows-1256": ("cp1256", "cp1256 x-cp1256"),
    "windows-1257": ("cp1257", "cp1257 x-cp1257"),
    "windows-1258": ("cp1258", "cp1258 x-cp1258"),
    "x-mac-cyrillic": ("mac_cyrillic", "x-mac-ukrainian"),
}
_OTHERS = {
    "utf-8": (
        "utf_8",
        "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8 utf-8n utf8mb4",
    ),
    "utf-16le": (
        "utf_16_le",
        "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 unicodelittle",
    ),
    "utf-16be": ("utf_16_be", "unicodefffe"),
    "gbk": (
        "gb18030",
        "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk cp936 ms936",
    ),
    "gb18030": ("gb18030", ""),
    "big5": ("big5hkscs", "big5-hkscs cn-big5 csbig5 x-x-big5 cp950"),
    "euc-jp": ("euc_jp", "cseucpkdfmtjapanese x-euc-jp eucjp ujis"),
    "iso-2022-jp": ("iso2022_jp_ext", "csiso2022jp"),
    "shift_jis": (
        "cp932",
        "csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis cp932",
    ),
    "euc-kr": (
        "cp949",
        "cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
        "windows-949 euckr cp949 uhc",
    ),
    "iso-2022-kr": ("iso2022_kr", "csiso2022kr"),
    "hz-gb-2312": ("hz", "hz"),
}
_CHARSETS = _SINGLE_BYTE | _OTHERS

CODECS = {charset: codec for charset, (codec, _) in _CHARSETS.items()}
"""The codec of the standard library for each charset; of two that differ little, the larger one."""

LABELS = {
    label: charset
    for charset, (_, labels) in _CHARSETS.items()
    for label in (charset, *labels.split())
}
"""The charset meant by each label, both in lower case."""

DOUBLE_BYTE = frozenset({"gbk", "gb18030", "big5", "euc-jp", "euc-kr", "shift_jis"})
"""Charsets whose characters outside ASCII take two bytes or more, without escapes."""
