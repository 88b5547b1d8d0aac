"""Read the structure of a PDF with qpdf: Info dictionary, XMP, ids, traits (such as forms and
encryption) and fonts.

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

# Fonts of a PDF, and whether they are embedded.
#
# Source: ISO 32000-2:2020, 7.8.3 (resource dictionaries), 9.6 to 9.9 (fonts, font descriptors).
# Limits: 300 pages, 1,000 fonts, 50 forms, 20 ancestors of a page.


_PAGES_MAX, _FONTS_MAX, _PARENTS_MAX = 300, 1_000, 20
_PAGES_JUDGED, _FONTS_JUDGED_MAX = 10, 200
_FORMS_MAX, _FORMS_DEPTH_MAX = 50, 3
_FILES = ("/FontFile", "/FontFile2", "/FontFile3")


@dataclass(frozen=True, slots=True)
class PageFont:
    """A font of a PDF.

    - `page`: number of the first page (from 0) that uses the font.
    - `font`: the font's dictionary in the PDF.
    """

    page: int
    font: Any


def summarize_embedding(fonts: Iterable[PageFont]) -> str | None:
    """Return `all`, `some` or `none`: how many of the fonts on the first 10 pages are embedded in
    the PDF; None if there are no fonts.
    """
    page_fonts = (page_font.font for page_font in fonts if page_font.page < _PAGES_JUDGED)
    is_embedded = [_is_embedded(font) for font in islice(page_fonts, _FONTS_JUDGED_MAX)]
    if not is_embedded:
        return None
    if all(is_embedded):
        return "all"
    return "some" if any(is_embedded) else "none"


def iter_page_fonts(pdf: pikepdf.Pdf) -> Iterator[PageFont]:
    """Yield each font on the first 300 pages, and in forms (reusable drawings) on them, once. At
    most 1,000 fonts are yielded.
    """
    visited_objects: set[tuple[int, int]] = set()
    count = 0
    for number in range(min(len(pdf.pages), _PAGES_MAX)):
        for resources in _iter_resources(
            _find_inherited(pdf.pages[number].obj, "/Resources"), visited_objects
        ):
            fonts = resources.get("/Font")
            if not isinstance(fonts, pikepdf.Dictionary) or _was_seen(fonts, visited_objects):
                continue
            for _, font in fonts.items():
                if not isinstance(font, pikepdf.Dictionary) or _was_seen(font, visited_objects):
                    continue
                count += 1
                if count > _FONTS_MAX:
                    return
                yield PageFont(number, font)


def _iter_resources(first: Any, visited_objects: set[tuple[int, int]]) -> Iterator[Any]:
    """Yield the resource dictionary of a page (`first`), and those of the forms (reusable drawings)
    on it.

    A form may be a whole page. Forms that are in `visited_objects` are skipped.
    """
    pending = [(first, 0)]
    for _ in range(_FORMS_MAX):
        if not pending:
            return
        resources, depth = pending.pop()
        if not isinstance(resources, pikepdf.Dictionary):
            continue
        yield resources
        objects = resources.get("/XObject")
        if depth >= _FORMS_DEPTH_MAX or not isinstance(objects, pikepdf.Dictionary):
            continue
        if _was_seen(objects, visited_objects):
            continue
        for _, child in islice(objects.items(), _FORMS_MAX):
            is_form = isinstance(child, pikepdf.Stream) and child.get("/Subtype") == "/Form"
            if is_form and not _was_seen(child, visited_objects):
                pending.append((child.get("/Resources"), depth + 1))


def _was_seen(obj: Any, visited_objects: set[tuple[int, int]]) -> bool:
    """Return whether a PDF object was visited before, and add it to `visited_objects`.

    Objects without an object number (direct objects) cannot be recognised, so the result for them
    is False.
    """
    object_number = obj.objgen
    if object_number == (0, 0):
        return False
    if object_number in visited_objects:
        return True
    visited_objects.add(object_number)
    return False


def _find_inherited(page: Any, key: str) -> Any:
    """Return the value of a page's attribute `key`, or the value that the page inherits from its
    nearest ancestor in the page tree. Return None if no ancestor has the attribute.
    """
    node = page
    for _ in range(_PARENTS_MAX):
        if not isinstance(node, pikepdf.Dictionary):
            return None
        if key in node:
            return node[key]
        node = node.get("/Parent")
    return None


def _is_embedded(font: Any) -> bool:
    """Return whether a font is embedded. A Type 3 font is always embedded. A composite font is
    embedded if its descendant font is.
    """
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
    """What a PDF states about itself.

    - `info`: Info dictionary; None if missing.
    - `extra`: the file identifiers `permanent_id` and `update_id` (lower-case hexadecimal),
      `pdf_version`, and traits such as forms and encryption.
    - `meta_xml`: XMP packet; None if missing.
    - `is_locked`: whether a password is needed.
    - `error`: why qpdf could not open the PDF; None if it could.
    - `mapped`: the PDF with added ToUnicode maps; None if it needs none.
    - `has_writing`: False if it is known that the pages have no form fields or notes.

    If the PDF is locked or could not be opened, `extra` has what a search of its bytes found.
    """

    info: Mapping[str, str] | None
    extra: Mapping[str, Any]
    meta_xml: str | None
    is_locked: bool = False
    error: str | None = None
    mapped: bytes | None = None
    has_writing: bool = True


def read_structure(data: bytes, *, xmp_max_bytes: int) -> PdfStructure:
    """Read the structure of a PDF. The text of pages is not read. Never raises.

    An XMP packet larger than `xmp_max_bytes` is omitted.
    """
    limit_unpacking(len(data))
    try:
        with pikepdf.open(BytesIO(data)) as pdf:
            fonts = read_or_none(_list_fonts, pdf) or []
            embedding_summary = read_or_none(summarize_embedding, fonts)
            return PdfStructure(
                info=read_or_none(_read_info, pdf),
                extra={**_read_ids(pdf), **describe(pdf), "fonts_embedded": embedding_summary},
                meta_xml=read_or_none(_read_xmp, pdf, xmp_max_bytes),
                mapped=read_or_none(
                    add_font_maps, pdf, [page_font.font for page_font in fonts], data
                ),
                has_writing=read_or_none(has_writing, pdf) is not False,
            )
    except pikepdf.PasswordError:
        return PdfStructure(None, _scan_bare(data), None, is_locked=True)
    except UNREADABLE as error:
        return PdfStructure(None, _scan_bare(data), None, error=str(error)[:500])


def _list_fonts(pdf: pikepdf.Pdf) -> list[PageFont]:
    return list(iter_page_fonts(pdf))


def limit_unpacking(size_bytes: int) -> None:
    """Limit the decompressed size of any stream to 200 times the size of the file (`size_bytes`),
    but at least 16 MiB and at most 256 MiB.

    The limit applies to the whole process, which reads one file at a time.
    """
    unpacked_max = max(_UNPACKED_MIN_BYTES, size_bytes * _UNPACKED_RATIO_MAX)
    pikepdf.settings.set_qpdf_limits(
        flate_max_memory=min(unpacked_max, 2**28),
        png_max_memory=min(unpacked_max, 2**28),
        tiff_max_memory=min(unpacked_max, 2**28),
        run_length_max_memory=min(unpacked_max, 2**28),
    )


def decode_info_value(value: object) -> str | None:
    """Convert a value of the Info dictionary to text; None if that is impossible.

    Strings are decoded, names lose their slash, and lists are joined.
    """
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
    # Packets are padded with kilobytes of blanks for editing in place.
    return clean_stored_text(text).strip("\ufeff \t\n") or None
