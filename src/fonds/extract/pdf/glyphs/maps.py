"""Which fonts of a PDF need a map from codes to characters, and what stands in it.

Only a font that has none, or an evidently wrong one, is given a map; of its codes only those whose
meaning its glyph names, its name or the codes it uses tell beyond doubt.
Source: ISO 32000-2:2020, 9.6.5 (character encoding), 9.10.3 (ToUnicode CMaps).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import pikepdf

from fonds.extract.pdf.glyphs import tex_encodings as tex
from fonds.extract.pdf.glyphs.names import TEX_NAMES, is_tex_name, meaning

_SIMPLE = frozenset({"/Type1", "/MMType1", "/Type3"})
_FAMILIES: tuple[tuple[re.Pattern[str], Mapping[int, str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), table)
    for pattern, table in (
        (r"(?:tex-)?cmex\d+|lmmathextension\d+-.*", tex.OMX),
        (r"(?:tex-)?cmb?sy\d+|lmmathsymbols\d+-.*", tex.OMS),
        (r"(?:tex-)?cmmib?\d+|lmmathitalic\d+-.*", tex.OML),
        (r"msam\d+", tex.MSAM),
        (r"msbm\d+", tex.MSBM),
        (r"stmary\d+", tex.STMARY),
    )
)
_OF_TEX = re.compile(
    r"(?:cm|lm|ms[ab]m|ec|sf|eu|rsfs|lasy|wasy|stmary|tex)", re.IGNORECASE | re.ASCII
)
_ENTRY = re.compile(rb"/([^\s/\[\]<>(){}%]{1,60})|(?<![\w.+-])(\d{1,5})(?![\w.])")
_NAME = re.compile(rb"/([A-Za-z0-9]{3,40})")
_TEX_NAMES = frozenset(name.encode("ascii") for name in TEX_NAMES)
_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")
_WRITTEN_MAX_BYTES = 20_000
_SUBSET = re.compile(r"[A-Z]{6}\+", re.ASCII)
_BY_CODE = re.compile(r"[A-Za-z]{0,3}\d{1,3}|#[0-9A-Fa-f]{2}|.", re.ASCII | re.DOTALL)
_TO_NOTHING = re.compile(rb"<[0-9A-Fa-f]{2}>\s*<0000>")
_MAP_MAX_BYTES = 200_000
_SMALL_MIN = 5
_SMALL, _TEXT_ONLY = (
    frozenset(range(0x61, 0x7B)),
    frozenset((*range(0x28, 0x2A), *range(0x2D, 0x3A))),
)
_OT1_SIGNS = frozenset((*range(0x0B, 0x20), 0x22, 0x3C, 0x3E, 0x5C, *range(0x7B, 0x80)))
_OT1_LIGATURES, _T1_LIGATURES = frozenset(range(0x0B, 0x10)), frozenset(range(0x1B, 0x20))
_T1_SIGNS = frozenset((*range(0x20), *range(0x7F, 0x100)))


def map_of(font: Any, read: dict[tuple[int, int], dict[int, str]]) -> dict[int, str] | None:
    """The characters by code that a font lacks; None for a font that needs nothing.

    `read` remembers the names of encodings, which many fonts may share.
    """
    base_font = _SUBSET.sub("", str(font.get("/BaseFont", ""))[1:], count=1)
    # Only TeX's own names are known to have been mapped to nothing.
    if "/ToUnicode" in font and not _OF_TEX.match(base_font):
        return None
    kind = str(font.get("/Subtype"))
    if kind not in _SIMPLE:
        return None
    stated, encoding = font.get("/ToUnicode"), font.get("/Encoding")
    if isinstance(stated, pikepdf.Stream) and not _is_wrong(stated):
        return None
    table = next((table for pattern, table in _FAMILIES if pattern.fullmatch(base_font)), None)
    if encoding is None:
        return dict(table) if table is not None and stated is None else None
    if stated is None and table is None and kind != "/Type3" and not _has_tex_names(encoding):
        return None
    names = _names(encoding, read)
    if stated is not None:
        found = {code: meaning(name) for code, name in names.items()}
    elif kind == "/Type3":
        return _of_drawn(names)
    else:
        found = {code: _sign(code, name, table) for code, name in names.items()}
    return {code: sign for code, sign in found.items() if sign} or None


def _has_tex_names(encoding: Any) -> bool:
    """Whether a name in it is TeX's alone, seen without taking it apart."""
    if not isinstance(encoding, pikepdf.Dictionary) or "/Differences" not in encoding:
        return False
    written = encoding.Differences.unparse(resolved=True)[:_WRITTEN_MAX_BYTES]
    return not _TEX_NAMES.isdisjoint(_NAME.findall(written))


def _sign(code: int, name: str, table: Mapping[int, str] | None) -> str | None:
    if is_tex_name(name):
        return meaning(name)
    if table is not None and meaning(name) is None and _BY_CODE.fullmatch(name):
        return table.get(code)
    return None


def _is_wrong(stated: pikepdf.Stream) -> bool:
    """Whether the map makes nothing of some codes."""
    said = stated.read_bytes()
    return len(said) <= _MAP_MAX_BYTES and _TO_NOTHING.search(said) is not None


def _of_drawn(names: Mapping[int, str]) -> dict[int, str] | None:
    """Of a font drawn by the file itself, whose glyphs are called by their codes: text of TeX, if it is.

    A font of text has small letters, and digits or brackets where a font of formulas has other signs.
    """
    codes = {code for code, name in names.items() if _BY_CODE.fullmatch(name)}
    if len(codes & _SMALL) < _SMALL_MIN or not codes & _TEXT_ONLY:
        return None
    if codes & _OT1_LIGATURES or not codes & _T1_LIGATURES:
        wanted, table = codes & _OT1_SIGNS, tex.OT1
    else:
        wanted, table = codes & _T1_SIGNS, tex.T1
    return {code: table[code] for code in wanted if code in table} or None


def _names(encoding: Any, read: dict[tuple[int, int], dict[int, str]]) -> dict[int, str]:
    """Glyph names by code; {} for an encoding without names of its own."""
    differences = encoding.get("/Differences") if isinstance(encoding, pikepdf.Dictionary) else None
    if not isinstance(differences, pikepdf.Array):
        return {}
    place = encoding.objgen
    if place == (0, 0) or place not in read:
        # Written out and taken apart here: to fetch a hundred names one by one takes ten times as long.
        read[place] = dict(_differences(differences.unparse(resolved=True)[:_WRITTEN_MAX_BYTES]))
    return read[place]


def _differences(written: bytes) -> Iterator[tuple[int, str]]:
    code = 0
    for name, number in _ENTRY.findall(written):
        if number:
            code = int(number)
        else:
            if code <= 0xFF:
                bare = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), name)
                yield code, bare.decode("latin-1")
            code += 1


@lru_cache(maxsize=64)
def write_map(signs: tuple[tuple[int, str], ...]) -> bytes:
    """A ToUnicode CMap of one-byte codes, which come in order."""
    lines = [
        b"<%02X> <%s>" % (code, sign.encode("utf-16-be").hex().upper().encode("ascii"))
        for code, sign in signs
    ]
    blocks = [lines[start : start + 100] for start in range(0, len(lines), 100)]
    body = b"".join(
        b"%d beginbfchar\n%s\nendbfchar\n" % (len(block), b"\n".join(block)) for block in blocks
    )
    return (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        b"/CMapName /Fonds-UCS def 1 begincodespacerange <00> <FF> endcodespacerange\n"
        + body
        + b"endcmap CMapName currentdict /CMap defineresource pop end end\n"
    )
