"""A PDF with maps for the fonts that lack them, as an update behind its end; nothing before it changes.

Source: ISO 32000-2:2020, 7.5.6 (incremental updates), 7.5.4 (cross-reference table), 7.5.8
(cross-reference streams).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pikepdf

from fonds.extract.pdf.glyphs.maps import map_of, write_map

_SIZE_MAX_BYTES = 64 * 2**20
_TAIL_BYTES = 2_048
_STARTXREF = re.compile(rb"startxref\s{1,9}(\d{1,12})\s")
_HEADER_WITHIN = 1_024


_Wanted = Sequence[tuple[Any, Mapping[int, str]]]


@dataclass(frozen=True, slots=True)
class _Trailer:
    size: int
    root: bytes
    previous: int
    is_table: bool
    offset: int  # of the header, from which all others count


def with_font_maps(pdf: pikepdf.Pdf, fonts: Iterable[Any], data: bytes) -> bytes | None:
    """`data`, which `pdf` was opened from, with the maps `fonts` of it lack; None when they need none.

    What is encrypted is written anew without its encryption. `pdf` is changed.
    """
    if len(data) > _SIZE_MAX_BYTES:
        return None
    wanted = list(_wanted(fonts))
    if not wanted:
        return None
    if pdf.is_encrypted:
        return _rewritten(pdf, wanted)
    trailer = _trailer(pdf, wanted, data)
    return None if trailer is None else data + _update(wanted, trailer, len(data))


def _wanted(fonts: Iterable[Any]) -> Iterator[tuple[Any, Mapping[int, str]]]:
    read: dict[tuple[int, int], dict[int, str]] = {}
    for font in fonts:
        if font.is_indirect and (signs := map_of(font, read)):
            yield font, signs


def _rewritten(pdf: pikepdf.Pdf, wanted: _Wanted) -> bytes:
    for font, signs in wanted:
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


def _trailer(pdf: pikepdf.Pdf, wanted: _Wanted, data: bytes) -> _Trailer | None:
    found = list(_STARTXREF.finditer(data, max(0, len(data) - _TAIL_BYTES)))
    root = pdf.trailer.get("/Root")
    if not found or root is None or not root.is_indirect:
        return None
    header = max(0, data.find(b"%PDF-", 0, _HEADER_WITHIN))
    previous = int(found[-1][1])
    size = int(pdf.trailer.get("/Size", 0))
    if size <= max(font.objgen[0] for font, _ in wanted):
        size = len(pdf.objects) + 1
    is_table = data[header + previous :][:20].lstrip().startswith(b"xref")
    return _Trailer(size, b"%d %d R" % root.objgen, previous, is_table, header)


def _update(wanted: _Wanted, trailer: _Trailer, size_bytes: int) -> bytes:
    out = bytearray(b"\n")
    places: dict[int, tuple[int, int]] = {}
    begin = size_bytes - trailer.offset

    def put(number: int, generation: int, body: bytes) -> None:
        places[number] = (begin + len(out), generation)
        out.extend(b"%d %d obj\n%s\nendobj\n" % (number, generation, body))

    streams: dict[bytes, int] = {}
    for font, signs in wanted:
        said = write_map(tuple(sorted(signs.items())))
        number = streams.setdefault(said, trailer.size + len(streams))
        if number not in places:
            put(number, 0, b"<</Length %d>>\nstream\n%s\nendstream" % (len(said), said))
        if "/ToUnicode" in font:
            del font["/ToUnicode"]
        written = font.unparse(resolved=True).rstrip()
        put(font.objgen[0], font.objgen[1], written[:-2] + b" /ToUnicode %d 0 R >>" % number)
    number = trailer.size + len(streams)
    if trailer.is_table:
        start = begin + len(out)
        out += _table(places, trailer, number)
    else:
        start = begin + len(out)
        places[number] = (start, 0)
        out += _stream(places, trailer, number)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def _table(places: Mapping[int, tuple[int, int]], trailer: _Trailer, size: int) -> bytes:
    lines = [b"xref\n"]
    for number, (place, generation) in sorted(places.items()):
        lines.append(b"%d 1\n%010d %05d n \n" % (number, place, generation))
    entries = b"/Size %d /Root %s /Prev %d" % (size, trailer.root, trailer.previous)
    return b"".join(lines) + b"trailer\n<<" + entries + b">>\n"


def _stream(places: Mapping[int, tuple[int, int]], trailer: _Trailer, number: int) -> bytes:
    entries = sorted(places.items())
    index = b" ".join(b"%d 1" % one for one, _ in entries)
    body = b"".join(struct.pack(">BIH", 1, place, generation) for _, (place, generation) in entries)
    said = b"/Type /XRef /Size %d /W [1 4 2] /Index [%s] /Root %s /Prev %d /Length %d" % (
        number + 1,
        index,
        trailer.root,
        trailer.previous,
        len(body),
    )
    return b"%d 0 obj\n<<%s>>\nstream\n%s\nendstream\nendobj\n" % (number, said, body)
