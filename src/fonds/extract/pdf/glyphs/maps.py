"""Which fonts of a PDF need a map from codes to characters, and what stands in it.

Only a font that has none, or an evidently wrong one, is given a map; of its codes only those whose
meaning its glyph names, its name or the codes it uses tell beyond doubt.
Source: ISO 32000-2:2020, 9.6.5 (character encoding), 9.10.3 (ToUnicode CMaps).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pikepdf

from fonds.extract.pdf.glyphs import tex_encodings as tex
from fonds.extract.pdf.glyphs.names import is_tex_name, meaning

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
_SUBSET = re.compile(r"[A-Z]{6}\+", re.ASCII)
_BY_CODE = re.compile(r"[A-Za-z]{0,3}\d{1,3}|#[0-9A-Fa-f]{2}|.", re.ASCII | re.DOTALL)
_TO_NOTHING = re.compile(rb"<[0-9A-Fa-f]{2}>\s*<0000>")
_MAP_MAX_BYTES, _DIFFERENCES_MAX = 200_000, 1_000
_SMALL_MIN = 5
_SMALL, _TEXT_ONLY = (
    frozenset(range(0x61, 0x7B)),
    frozenset((*range(0x28, 0x2A), *range(0x2D, 0x3A))),
)
_OT1_SIGNS = frozenset((*range(0x0B, 0x20), 0x22, 0x3C, 0x3E, 0x5C, *range(0x7B, 0x80)))
_OT1_LIGATURES, _T1_LIGATURES = frozenset(range(0x0B, 0x10)), frozenset(range(0x1B, 0x20))
_T1_SIGNS = frozenset((*range(0x20), *range(0x7F, 0x100)))


def map_of(font: Any) -> dict[int, str] | None:
    """The characters by code that a font lacks; None for a font that needs nothing."""
    if str(font.get("/Subtype")) not in _SIMPLE:
        return None
    names = _names(font.get("/Encoding"))
    table = _family(str(font.get("/BaseFont", ""))[1:])
    stated = font.get("/ToUnicode")
    if isinstance(stated, pikepdf.Stream):
        return _by_names(names) if names and _is_wrong(stated, names) else None
    if names is None:
        return dict(table) if table is not None and "/Encoding" not in font else None
    if str(font.get("/Subtype")) == "/Type3":
        return _of_drawn(names)
    if table is None and not any(map(is_tex_name, names.values())):
        return None
    found = {code: sign for code, name in names.items() if (sign := _sign(code, name, table))}
    return found or None


def _sign(code: int, name: str, table: Mapping[int, str] | None) -> str | None:
    if is_tex_name(name):
        return meaning(name)
    if table is not None and meaning(name) is None and _BY_CODE.fullmatch(name):
        return table.get(code)
    return None


def _by_names(names: Mapping[int, str]) -> dict[int, str] | None:
    found = {code: meaning(name) for code, name in names.items()}
    return {code: sign for code, sign in found.items() if sign} or None


def _is_wrong(stated: pikepdf.Stream, names: Mapping[int, str]) -> bool:
    """Whether the map makes nothing of codes whose glyphs have names that mean something."""
    if not any(map(is_tex_name, names.values())) and not any(map(meaning, names.values())):
        return False
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


def _family(base_font: str) -> Mapping[int, str] | None:
    name = _SUBSET.sub("", base_font, count=1)
    return next((table for pattern, table in _FAMILIES if pattern.fullmatch(name)), None)


def _names(encoding: Any) -> dict[int, str] | None:
    """Glyph names by code; None for an encoding without names of its own."""
    differences = encoding.get("/Differences") if isinstance(encoding, pikepdf.Dictionary) else None
    if not isinstance(differences, pikepdf.Array):
        return None
    names: dict[int, str] = {}
    for code, name in _differences(differences):
        if 0 <= code <= 0xFF:
            names[code] = name
    return names


def _differences(differences: pikepdf.Array) -> Iterator[tuple[int, str]]:
    code = 0
    for number in range(min(len(differences), _DIFFERENCES_MAX)):
        entry: object = differences[number]
        if isinstance(entry, pikepdf.Name):
            yield code, str(entry)[1:]
            code += 1
        elif isinstance(entry, int):
            code = entry


def write_map(signs: Mapping[int, str]) -> bytes:
    """A ToUnicode CMap of one-byte codes."""
    lines = [
        b"<%02X> <%s>" % (code, sign.encode("utf-16-be").hex().upper().encode("ascii"))
        for code, sign in sorted(signs.items())
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
