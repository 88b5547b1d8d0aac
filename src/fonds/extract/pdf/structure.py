"""The Info dictionary, the XMP and the ids of a PDF, read with qpdf.

Source: ISO 32000-2:2020, 14.3.3 (document information dictionary), 14.3.2 (metadata streams), 14.4
(file identifiers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from io import BytesIO
from itertools import islice
from typing import Any

import pikepdf

from fonds.extract.pdf.font_maps import add_font_maps
from fonds.extract.pdf.strings import (
    clean_stored_text,
    clean_text,
    convert_pdf_date,
    decode_text_string,
)
from fonds.extract.pdf.trailer import scan_trailer
from fonds.extract.pdf.traits import TRAIT_NAMES, UNREADABLE, describe, has_writing, read_or_none

# The fonts of a PDF, and whether it carries them with it.
#
# Source: ISO 32000-2:2020, 7.8.3 (resource dictionaries), 9.6 to 9.9 (fonts, font descriptors).
# Bound: 300 pages, 1,000 fonts, 50 forms, 20 parents of a page.


_PAGES_MAX, _FONTS_MAX, _PARENTS_MAX = 300, 1_000, 20
_PAGES_JUDGED, _FONTS_JUDGED_MAX = 10, 200
_FORMS_MAX, _FORMS_DEPTH_MAX = 50, 3
_FILES = ("/FontFile", "/FontFile2", "/FontFile3")


@dataclass(frozen=True, slots=True)
class PageFont:
    """A font dictionary and the first page (from 0) that has it."""

    page: int
    font: Any


def summarize_embedding(fonts: Iterable[PageFont]) -> str | None:
    """`all`, `some` or `none` of the fonts of the first 10 pages; None for pages without fonts."""
    first = (one.font for one in fonts if one.page < _PAGES_JUDGED)
    embedded = [_is_embedded(font) for font in islice(first, _FONTS_JUDGED_MAX)]
    if not embedded:
        return None
    if all(embedded):
        return "all"
    return "some" if any(embedded) else "none"


def iter_page_fonts(pdf: pikepdf.Pdf) -> Iterator[PageFont]:
    """The fonts of the first 300 pages and of the forms drawn on them, each once; 1,000 at most."""
    seen: set[tuple[int, int]] = set()
    count = 0
    for number in range(min(len(pdf.pages), _PAGES_MAX)):
        for resources in _iter_resources(
            _find_inherited(pdf.pages[number].obj, "/Resources"), seen
        ):
            fonts = resources.get("/Font")
            if not isinstance(fonts, pikepdf.Dictionary) or _was_seen(fonts, seen):
                continue
            for _, font in fonts.items():
                if not isinstance(font, pikepdf.Dictionary) or _was_seen(font, seen):
                    continue
                count += 1
                if count > _FONTS_MAX:
                    return
                yield PageFont(number, font)


def _iter_resources(first: Any, visited: set[tuple[int, int]]) -> Iterator[Any]:
    """A page's resource dictionary and those of the forms in it, which may be whole pages."""
    waiting = [(first, 0)]
    for _ in range(_FORMS_MAX):
        if not waiting:
            return
        resources, depth = waiting.pop()
        if not isinstance(resources, pikepdf.Dictionary):
            continue
        yield resources
        drawn = resources.get("/XObject")
        if depth >= _FORMS_DEPTH_MAX or not isinstance(drawn, pikepdf.Dictionary):
            continue
        if _was_seen(drawn, visited):
            continue
        for _, one in islice(drawn.items(), _FORMS_MAX):
            is_form = isinstance(one, pikepdf.Stream) and one.get("/Subtype") == "/Form"
            if is_form and not _was_seen(one, visited):
                waiting.append((one.get("/Resources"), depth + 1))


def _was_seen(obj: Any, visited: set[tuple[int, int]]) -> bool:
    """Whether an indirect object was met before; one that stands directly has no number."""
    place = obj.objgen
    if place == (0, 0):
        return False
    if place in visited:
        return True
    visited.add(place)
    return False


def _find_inherited(page: Any, key: str) -> Any:
    """A page's attribute, or that of the nearest node of the page tree above it."""
    node = page
    for _ in range(_PARENTS_MAX):
        if not isinstance(node, pikepdf.Dictionary):
            return None
        if key in node:
            return node[key]
        node = node.get("/Parent")
    return None


def _is_embedded(font: Any) -> bool:
    """A Type 3 font is drawn by the file itself; a composite one by its descendant."""
    if font.get("/Subtype") == "/Type3":
        return True
    descendants = font.get("/DescendantFonts")
    if isinstance(descendants, pikepdf.Array) and len(descendants):
        font = descendants[0]
    descriptor = font.get("/FontDescriptor") if isinstance(font, pikepdf.Dictionary) else None
    return isinstance(descriptor, pikepdf.Dictionary) and any(name in descriptor for name in _FILES)


_KEYS_MAX = 500
_VALUE_MAX_CHARS = 100_000
_ELEMENTS_MAX = 100
_UNPACKED_RATIO_MAX = 200
_UNPACKED_MIN_BYTES = 2**24
_XMP_MARKS = ((b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"), (b"\xef\xbb\xbf", "utf-8"))


@dataclass(frozen=True, slots=True)
class PdfStructure:
    """What a PDF says of itself. `info` and `meta_xml` are None when it has none.

    `extra` holds `permanent_id`, `update_id` (lower-case hex), `pdf_version` and the traits. `is_locked`
    means a password is needed. `error` says why qpdf could not open the file: `extra` then holds
    what the bare bytes tell.
    """

    info: Mapping[str, str] | None
    extra: Mapping[str, Any]
    meta_xml: str | None
    is_locked: bool = False
    error: str | None = None
    mapped: bytes | None = None
    has_writing: bool = True


def read_structure(data: bytes, *, xmp_max_bytes: int) -> PdfStructure:
    """All that stands outside the pages of the PDF in `data`; never an error."""
    limit_unpacking(len(data))
    try:
        with pikepdf.open(BytesIO(data)) as pdf:
            fonts = read_or_none(_list_fonts, pdf) or []
            embedded = read_or_none(summarize_embedding, fonts)
            return PdfStructure(
                info=read_or_none(_read_info, pdf),
                extra={**_read_ids(pdf), **describe(pdf), "fonts_embedded": embedded},
                meta_xml=read_or_none(_read_xmp, pdf, xmp_max_bytes),
                mapped=read_or_none(add_font_maps, pdf, [one.font for one in fonts], data),
                has_writing=read_or_none(has_writing, pdf) is not False,
            )
    except pikepdf.PasswordError:
        return PdfStructure(None, _scan_bare(data), None, is_locked=True)
    except UNREADABLE as error:
        return PdfStructure(None, _scan_bare(data), None, error=str(error)[:500])


def _list_fonts(pdf: pikepdf.Pdf) -> list[PageFont]:
    return list(iter_page_fonts(pdf))


def limit_unpacking(size_bytes: int) -> None:
    """Let qpdf unpack no stream of a file of `size_bytes` to more than 200 times that (16 MiB at least).

    The limit belongs to the process, which reads one file at a time.
    """
    unpacked_max = max(_UNPACKED_MIN_BYTES, size_bytes * _UNPACKED_RATIO_MAX)
    pikepdf.settings.set_qpdf_limits(
        flate_max_memory=min(unpacked_max, 2**28),
        png_max_memory=min(unpacked_max, 2**28),
        tiff_max_memory=min(unpacked_max, 2**28),
        run_length_max_memory=min(unpacked_max, 2**28),
    )


def decode_info_value(value: object) -> str | None:
    """An Info value as text: strings decoded, names without slash, lists joined; None for the rest."""
    match value:
        case pikepdf.String():
            return decode_text_string(bytes(value))[:_VALUE_MAX_CHARS]
        case pikepdf.Name():
            return clean_text(str(value)[1:])
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case pikepdf.Array():
            texts = (decode_info_value(value[n]) for n in range(min(len(value), _ELEMENTS_MAX)))
            return "; ".join(text for text in texts if text)
    return None


def _scan_bare(data: bytes) -> dict[str, Any]:
    return {**dict.fromkeys(TRAIT_NAMES), **asdict(scan_trailer(data))}


def _read_info(pdf: pikepdf.Pdf) -> dict[str, str] | None:
    info = pdf.trailer.get("/Info")
    if not isinstance(info, pikepdf.Dictionary):
        return None
    texts: dict[str, str] = {}
    for key in sorted(info.keys())[:_KEYS_MAX]:
        name = clean_text(key.removeprefix("/"))
        text = read_or_none(_read_item, info, key)
        if name and text is not None:
            is_date = name.endswith("Date") or text.startswith("D:")
            texts[name] = convert_pdf_date(text) if is_date else text
    return texts or None


def _read_item(info: pikepdf.Dictionary, key: str) -> str | None:
    return decode_info_value(info[key])


def _read_ids(pdf: pikepdf.Pdf) -> dict[str, str | None]:
    ids = read_or_none(_read_id_strings, pdf) or (None, None)
    return {"permanent_id": ids[0], "update_id": ids[1]}


def _read_id_strings(pdf: pikepdf.Pdf) -> tuple[str | None, str | None]:
    ids = pdf.trailer["/ID"]
    first, second = (_encode_hex(ids[n]) for n in range(2))
    return first, second


def _encode_hex(value: object) -> str | None:
    return bytes(value).hex() or None if isinstance(value, pikepdf.String) else None


def _read_xmp(pdf: pikepdf.Pdf, max_bytes: int) -> str | None:
    stream = pdf.Root.get("/Metadata")
    if not isinstance(stream, pikepdf.Stream):
        return None
    raw = stream.read_bytes()
    if len(raw) > max_bytes:
        return None
    for mark, encoding in _XMP_MARKS:
        if raw.startswith(mark):
            return _strip(raw.decode(encoding, "replace"))
    return _strip(raw.decode("utf-8", "replace"))


def _strip(text: str) -> str | None:
    # Packets are padded with kilobytes of blanks to be edited in place.
    return clean_stored_text(text).strip("\ufeff \t\n") or None
