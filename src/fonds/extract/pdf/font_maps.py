"""Add missing ToUnicode maps (from character codes to characters) to the fonts of a PDF, as an
update appended to the file.

A font gets a map only if it has none or an evidently wrong one. The map has only codes whose
character is certain from glyph names, the font's name, or the set of codes.

Source: ISO 32000-2:2020, 7.5.6 (incremental updates), 7.5.4 (cross-reference table), 7.5.8
(cross-reference streams), 9.6.5 (character encoding), 9.10.3 (ToUnicode CMaps).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

import pikepdf

from fonds.extract.pdf import glyph_names
from fonds.extract.pdf.glyph_names import TEX_NAMES, find_glyph_text, is_tex_name

_SIMPLE = frozenset({"/Type1", "/MMType1", "/Type3"})
_FAMILIES: tuple[tuple[re.Pattern[str], Mapping[int, str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), table)
    for pattern, table in (
        (r"(?:tex-)?cmex\d+|lmmathextension\d+-.*", glyph_names.OMX),
        (r"(?:tex-)?cmb?sy\d+|lmmathsymbols\d+-.*", glyph_names.OMS),
        (r"(?:tex-)?cmmib?\d+|lmmathitalic\d+-.*", glyph_names.OML),
        (r"msam\d+", glyph_names.MSAM),
        (r"msbm\d+", glyph_names.MSBM),
        (r"stmary\d+", glyph_names.STMARY),
    )
)
_TEX_FONT_NAME = re.compile(
    r"(?:cm|lm|ms[ab]m|ec|sf|eu|rsfs|lasy|wasy|stmary|tex)", re.IGNORECASE | re.ASCII
)
_ENTRY = re.compile(rb"/([^\s/\[\]<>(){}%]{1,60})|(?<![\w.+-])(\d{1,5})(?![\w.])")
_NAME = re.compile(rb"/([A-Za-z0-9]{3,40})")
_TEX_NAMES = frozenset(name.encode("ascii") for name in TEX_NAMES)
_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")
_ENCODING_MAX_BYTES = 20_000
_SUBSET = re.compile(r"[A-Z]{6}\+", re.ASCII)
_BY_CODE = re.compile(r"[A-Za-z]{0,3}\d{1,3}|#[0-9A-Fa-f]{2}|.", re.ASCII | re.DOTALL)
_NUL_MAPPING = re.compile(rb"<[0-9A-Fa-f]{2}>\s*<0000>")
_MAP_MAX_BYTES = 200_000
_SMALL_MIN = 5
_SMALL, _TEXT_ONLY = (
    frozenset(range(0x61, 0x7B)),
    frozenset((*range(0x28, 0x2A), *range(0x2D, 0x3A))),
)
_OT1_SIGNS = frozenset((*range(0x0B, 0x20), 0x22, 0x3C, 0x3E, 0x5C, *range(0x7B, 0x80)))
_OT1_LIGATURES, _T1_LIGATURES = frozenset(range(0x0B, 0x10)), frozenset(range(0x1B, 0x20))
_T1_SIGNS = frozenset((*range(0x20), *range(0x7F, 0x100)))


def build_font_map(
    font: Any, cache: dict[tuple[int, int], dict[int, str]]
) -> dict[int, str] | None:
    """Return the characters of a font by code, for a ToUnicode map that is missing or wrong; None
    if the font needs no map.

    `cache` stores the glyph names of encodings by object number, because many fonts may share an
    encoding.
    """
    base_font = _SUBSET.sub("", str(font.get("/BaseFont", ""))[1:], count=1)
    # Only TeX's own fonts are known to have maps to nothing.
    if "/ToUnicode" in font and not _TEX_FONT_NAME.match(base_font):
        return None
    kind = str(font.get("/Subtype"))
    if kind not in _SIMPLE:
        return None
    stated_map, encoding = font.get("/ToUnicode"), font.get("/Encoding")
    if isinstance(stated_map, pikepdf.Stream) and not _is_wrong(stated_map):
        return None
    table = next((table for pattern, table in _FAMILIES if pattern.fullmatch(base_font)), None)
    if encoding is None:
        return dict(table) if table is not None and stated_map is None else None
    if stated_map is None and table is None and kind != "/Type3" and not _has_tex_names(encoding):
        return None
    names = _read_names(encoding, cache)
    if stated_map is not None:
        signs = {code: find_glyph_text(name) for code, name in names.items()}
    elif kind == "/Type3":
        return _build_type3_map(names)
    else:
        signs = {code: _sign(code, name, table) for code, name in names.items()}
    return {code: sign for code, sign in signs.items() if sign} or None


def _has_tex_names(encoding: Any) -> bool:
    """Return whether the encoding of a font has a glyph name that only TeX's fonts use.

    The names are searched in the encoding's text, which is faster than parsing it.
    """
    if not isinstance(encoding, pikepdf.Dictionary) or "/Differences" not in encoding:
        return False
    differences = encoding.Differences.unparse(resolved=True)[:_ENCODING_MAX_BYTES]
    return not _TEX_NAMES.isdisjoint(_NAME.findall(differences))


def _sign(code: int, name: str, table: Mapping[int, str] | None) -> str | None:
    if is_tex_name(name):
        return find_glyph_text(name)
    if table is not None and find_glyph_text(name) is None and _BY_CODE.fullmatch(name):
        return table.get(code)
    return None


def _is_wrong(stream: pikepdf.Stream) -> bool:
    """Return whether a ToUnicode map is evidently wrong, because it maps codes to NUL."""
    content = stream.read_bytes()
    return len(content) <= _MAP_MAX_BYTES and _NUL_MAPPING.search(content) is not None


def _build_type3_map(names: Mapping[int, str]) -> dict[int, str] | None:
    """Return the characters by code of a Type 3 font whose glyph names are numbers, if it is a TeX
    text font; otherwise None.

    `names` has the glyph name of each code. A text font has small letters. It also has glyphs at
    codes where a font for formulas has none or other signs.
    """
    codes = {code for code, name in names.items() if _BY_CODE.fullmatch(name)}
    if len(codes & _SMALL) < _SMALL_MIN or not codes & _TEXT_ONLY:
        return None
    if codes & _OT1_LIGATURES or not codes & _T1_LIGATURES:
        sign_codes, table = codes & _OT1_SIGNS, glyph_names.OT1
    else:
        sign_codes, table = codes & _T1_SIGNS, glyph_names.T1
    return {code: table[code] for code in sign_codes if code in table} or None


def _read_names(encoding: Any, cache: dict[tuple[int, int], dict[int, str]]) -> dict[int, str]:
    """Return the glyph name of each character code in an encoding; {} if the encoding defines no
    names.
    """
    differences = encoding.get("/Differences") if isinstance(encoding, pikepdf.Dictionary) else None
    if not isinstance(differences, pikepdf.Array):
        return {}
    place = encoding.objgen
    if place == (0, 0) or place not in cache:
        # Unparsing and splitting here is ten times faster than fetching a hundred names one by one.
        cache[place] = dict(
            _iter_differences(differences.unparse(resolved=True)[:_ENCODING_MAX_BYTES])
        )
    return cache[place]


def _iter_differences(encoded_differences: bytes) -> Iterator[tuple[int, str]]:
    code = 0
    for name, number in _ENTRY.findall(encoded_differences):
        if number:
            code = int(number)
        else:
            if code <= 0xFF:
                bare = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), name)
                yield code, bare.decode("latin-1")
            code += 1


@lru_cache(maxsize=64)
def write_map(signs: tuple[tuple[int, str], ...]) -> bytes:
    """Return a ToUnicode map in PDF syntax for pairs of code and character, sorted by code. Codes
    have one byte.
    """
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


_SIZE_MAX_BYTES = 64 * 2**20
_TAIL_BYTES = 2_048
_STARTXREF = re.compile(rb"startxref\s{1,9}(\d{1,12})\s")
_HEADER_SEARCH_BYTES = 1_024


_MissingMaps = Sequence[tuple[Any, Mapping[int, str]]]


@dataclass(frozen=True, slots=True)
class _UpdateTrailer:
    size: int
    root: bytes
    previous: int
    is_table: bool
    offset: int  # of the header; all other offsets are relative to it


def add_font_maps(pdf: pikepdf.Pdf, fonts: Iterable[Any], data: bytes) -> bytes | None:
    """Return the PDF `data` with ToUnicode maps added for those of its `fonts` that lack one.

    Return None if no font needs a map, if the PDF is larger than 64 MiB, or if its trailer cannot
    be updated. `pdf` must be opened from `data` and is modified. An encrypted PDF is rewritten
    without encryption.
    """
    if len(data) > _SIZE_MAX_BYTES:
        return None
    missing_maps = list(_iter_missing_maps(fonts))
    if not missing_maps:
        return None
    if pdf.is_encrypted:
        return _rewrite_pdf(pdf, missing_maps)
    trailer = _read_trailer(pdf, missing_maps, data)
    return None if trailer is None else data + _update(missing_maps, trailer, len(data))


def _iter_missing_maps(fonts: Iterable[Any]) -> Iterator[tuple[Any, Mapping[int, str]]]:
    cache: dict[tuple[int, int], dict[int, str]] = {}
    for font in fonts:
        if font.is_indirect and (signs := build_font_map(font, cache)):
            yield font, signs


def _rewrite_pdf(pdf: pikepdf.Pdf, missing_maps: _MissingMaps) -> bytes:
    for font, signs in missing_maps:
        font.ToUnicode = pdf.make_stream(write_map(tuple(sorted(signs.items()))))
    out = BytesIO()
    pdf.save(
        out,
        preserve_pdfa=False,
        fix_metadata_version=False,
        compress_streams=False,
        stream_decode_level=pikepdf.StreamDecodeLevel.none,
        encryption=False,
    )
    return out.getvalue()


def _read_trailer(
    pdf: pikepdf.Pdf, missing_maps: _MissingMaps, data: bytes
) -> _UpdateTrailer | None:
    matches = list(_STARTXREF.finditer(data, max(0, len(data) - _TAIL_BYTES)))
    root = pdf.trailer.get("/Root")
    if not matches or root is None or not root.is_indirect:
        return None
    header = max(0, data.find(b"%PDF-", 0, _HEADER_SEARCH_BYTES))
    previous = int(matches[-1][1])
    size = int(pdf.trailer.get("/Size", 0))
    if size <= max(font.objgen[0] for font, _ in missing_maps):
        size = len(pdf.objects) + 1
    is_table = data[header + previous :][:20].lstrip().startswith(b"xref")
    return _UpdateTrailer(size, b"%d %d R" % root.objgen, previous, is_table, header)


def _update(missing_maps: _MissingMaps, trailer: _UpdateTrailer, size_bytes: int) -> bytes:
    out = bytearray(b"\n")
    places: dict[int, tuple[int, int]] = {}
    begin = size_bytes - trailer.offset

    def put(number: int, generation: int, body: bytes) -> None:
        places[number] = (begin + len(out), generation)
        out.extend(b"%d %d obj\n%s\nendobj\n" % (number, generation, body))

    streams: dict[bytes, int] = {}
    for font, signs in missing_maps:
        cmap = write_map(tuple(sorted(signs.items())))
        number = streams.setdefault(cmap, trailer.size + len(streams))
        if number not in places:
            put(number, 0, b"<</Length %d>>\nstream\n%s\nendstream" % (len(cmap), cmap))
        if "/ToUnicode" in font:
            del font["/ToUnicode"]
        font_dictionary = font.unparse(resolved=True).rstrip()
        put(
            font.objgen[0], font.objgen[1], font_dictionary[:-2] + b" /ToUnicode %d 0 R >>" % number
        )
    number = trailer.size + len(streams)
    if trailer.is_table:
        start = begin + len(out)
        out += _build_xref_table(places, trailer, number)
    else:
        start = begin + len(out)
        places[number] = (start, 0)
        out += _build_xref_stream(places, trailer, number)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def _build_xref_table(
    places: Mapping[int, tuple[int, int]], trailer: _UpdateTrailer, size: int
) -> bytes:
    lines = [b"xref\n"]
    for number, (place, generation) in sorted(places.items()):
        lines.append(b"%d 1\n%010d %05d n \n" % (number, place, generation))
    entries = b"/Size %d /Root %s /Prev %d" % (size, trailer.root, trailer.previous)
    return b"".join(lines) + b"trailer\n<<" + entries + b">>\n"


def _build_xref_stream(
    places: Mapping[int, tuple[int, int]], trailer: _UpdateTrailer, number: int
) -> bytes:
    entries = sorted(places.items())
    index = b" ".join(b"%d 1" % object_number for object_number, _ in entries)
    body = b"".join(struct.pack(">BIH", 1, place, generation) for _, (place, generation) in entries)
    dictionary = b"/Type /XRef /Size %d /W [1 4 2] /Index [%s] /Root %s /Prev %d /Length %d" % (
        number + 1,
        index,
        trailer.root,
        trailer.previous,
        len(body),
    )
    return b"%d 0 obj\n<<%s>>\nstream\n%s\nendstream\nendobj\n" % (number, dictionary, body)
