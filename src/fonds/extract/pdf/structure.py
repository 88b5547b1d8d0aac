"""Read the structure of a PDF with qpdf: Info dictionary, XMP, ids, traits (such as forms and
encryption) and fonts.

Source: ISO 32000-2:2020, 14.3.3 (document information dictionary), 14.3.2 (metadata streams), 14.4
(file identifiers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO

import msgspec
import pikepdf

from fonds.extract.pdf.font_maps import add_font_maps
from fonds.extract.pdf.fonts import PageFont, iter_page_fonts, summarize_embedding
from fonds.extract.pdf.strings import (
    clean_stored_text,
    clean_text,
    convert_pdf_date,
    decode_text_string,
)
from fonds.extract.pdf.trailer import scan_trailer
from fonds.extract.pdf.traits import UNREADABLE, has_writing, read_or_none, read_traits
from fonds.model.pdf_extra import PdfExtra

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
    - `extra`: ids, version, and traits such as forms and encryption.
    - `meta_xml`: XMP packet; None if missing.
    - `is_locked`: whether a password is needed.
    - `error`: why qpdf could not open the PDF; None if it could.
    - `mapped`: the PDF with added ToUnicode maps; None if it needs none.
    - `has_writing`: False if it is known that the pages have no form fields or notes.

    If the PDF is locked or could not be opened, `extra` has what a search of its bytes found.
    """

    info: Mapping[str, str] | None
    extra: PdfExtra
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
            permanent_id, update_id = read_or_none(_read_ids, pdf) or (None, None)
            return PdfStructure(
                info=read_or_none(_read_info, pdf),
                extra=msgspec.structs.replace(
                    read_traits(pdf),
                    permanent_id=permanent_id,
                    update_id=update_id,
                    fonts_embedded=read_or_none(summarize_embedding, fonts),
                ),
                meta_xml=read_or_none(_read_xmp, pdf, xmp_max_bytes),
                mapped=read_or_none(
                    add_font_maps, pdf, [page_font.font for page_font in fonts], data
                ),
                has_writing=read_or_none(has_writing, pdf) is not False,
            )
    except pikepdf.PasswordError:
        return PdfStructure(None, _scan_bytes(data), None, is_locked=True)
    except UNREADABLE as error:
        return PdfStructure(None, _scan_bytes(data), None, error=str(error)[:500])


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


def _scan_bytes(data: bytes) -> PdfExtra:
    trailer = scan_trailer(data)
    return PdfExtra(
        page_count=trailer.page_count,
        permanent_id=trailer.permanent_id,
        update_id=trailer.update_id,
        pdf_version=trailer.pdf_version,
        encrypted=trailer.encrypted,
        linearized=trailer.linearized,
    )


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


def _read_ids(pdf: pikepdf.Pdf) -> tuple[str | None, str | None]:
    ids = pdf.trailer["/ID"]
    first, second = (_encode_hex(ids[n]) for n in range(2))
    return first, second


def _encode_hex(value: object) -> str | None:
    return bytes(value).hex() or None if isinstance(value, pikepdf.String) else None


def _read_xmp(pdf: pikepdf.Pdf, xmp_max_bytes: int) -> str | None:
    stream = pdf.Root.get("/Metadata")
    if not isinstance(stream, pikepdf.Stream):
        return None
    raw = stream.read_bytes()
    if len(raw) > xmp_max_bytes:
        return None
    for mark, encoding in _XMP_MARKS:
        if raw.startswith(mark):
            return _strip(raw.decode(encoding, "replace"))
    return _strip(raw.decode("utf-8", "replace"))


def _strip(text: str) -> str | None:
    # Packets are padded with kilobytes of blanks for editing in place.
    return clean_stored_text(text).strip("\ufeff \t\n") or None
