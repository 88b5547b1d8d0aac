"""The Info dictionary, the XMP and the ids of a PDF, read with qpdf.

Source: ISO 32000-2:2020, 14.3.3 (document information dictionary), 14.3.2 (metadata streams), 14.4
(file identifiers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from io import BytesIO
from typing import Any

import pikepdf

from fonds.extract.pdf.fonts import PageFont, fonts_embedded, fonts_of_pages
from fonds.extract.pdf.glyphs.update import with_font_maps
from fonds.extract.pdf.strings import (
    clean_text,
    date_to_iso,
    decode_text_string,
    storable_text,
)
from fonds.extract.pdf.trailer import scan_trailer
from fonds.extract.pdf.traits import TRAIT_NAMES, UNREADABLE, attempt, describe, has_writing

_KEYS_MAX = 500
_VALUE_MAX_CHARS = 100_000
_ELEMENTS_MAX = 100
_UNPACKED_RATIO_MAX = 200
_UNPACKED_MIN_BYTES = 2**24
_XMP_MARKS = ((b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"), (b"\xef\xbb\xbf", "utf-8"))


@dataclass(frozen=True, slots=True)
class PdfStructure:
    """What a PDF says of itself. `info` and `meta_xml` are None when it has none.

    `extra` holds `permanent_id`, `update_id` (lower-case hex), `pdf_version` and the traits. `locked`
    means a password is needed. `error` says why qpdf could not open the file: `extra` then holds
    what the bare bytes tell.
    """

    info: Mapping[str, str] | None
    extra: Mapping[str, Any]
    meta_xml: str | None
    locked: bool = False
    error: str | None = None
    mapped: bytes | None = None
    has_writing: bool = True


def read_structure(data: bytes, *, xmp_max_bytes: int) -> PdfStructure:
    """All that stands outside the pages of the PDF in `data`; never an error."""
    limit_unpacking(len(data))
    try:
        with pikepdf.open(BytesIO(data)) as pdf:
            fonts = attempt(_fonts, pdf) or []
            embedded = attempt(fonts_embedded, fonts)
            return PdfStructure(
                info=attempt(_info, pdf),
                extra={**_ids(pdf), **describe(pdf), "fonts_embedded": embedded},
                meta_xml=attempt(_xmp, pdf, xmp_max_bytes),
                mapped=attempt(with_font_maps, pdf, [one.font for one in fonts], data),
                has_writing=attempt(has_writing, pdf) is not False,
            )
    except pikepdf.PasswordError:
        return PdfStructure(None, _bare(data), None, locked=True)
    except UNREADABLE as error:
        return PdfStructure(None, _bare(data), None, error=str(error)[:500])


def _fonts(pdf: pikepdf.Pdf) -> list[PageFont]:
    return list(fonts_of_pages(pdf))


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


def info_text(value: object) -> str | None:
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
            texts = (info_text(value[n]) for n in range(min(len(value), _ELEMENTS_MAX)))
            return "; ".join(text for text in texts if text)
    return None


def _bare(data: bytes) -> dict[str, Any]:
    return {**dict.fromkeys(TRAIT_NAMES), **asdict(scan_trailer(data))}


def _info(pdf: pikepdf.Pdf) -> dict[str, str] | None:
    info = pdf.trailer.get("/Info")
    if not isinstance(info, pikepdf.Dictionary):
        return None
    texts: dict[str, str] = {}
    for key in sorted(info.keys())[:_KEYS_MAX]:
        name = clean_text(key.removeprefix("/"))
        text = attempt(_item_text, info, key)
        if name and text is not None:
            is_date = name.endswith("Date") or text.startswith("D:")
            texts[name] = date_to_iso(text) if is_date else text
    return texts or None


def _item_text(info: pikepdf.Dictionary, key: str) -> str | None:
    return info_text(info[key])


def _ids(pdf: pikepdf.Pdf) -> dict[str, str | None]:
    ids = attempt(_id_strings, pdf) or (None, None)
    return {"permanent_id": ids[0], "update_id": ids[1]}


def _id_strings(pdf: pikepdf.Pdf) -> tuple[str | None, str | None]:
    ids = pdf.trailer["/ID"]
    first, second = (_hex(ids[n]) for n in range(2))
    return first, second


def _hex(value: object) -> str | None:
    return bytes(value).hex() or None if isinstance(value, pikepdf.String) else None


def _xmp(pdf: pikepdf.Pdf, max_bytes: int) -> str | None:
    stream = pdf.Root.get("/Metadata")
    if not isinstance(stream, pikepdf.Stream):
        return None
    raw = stream.read_bytes()
    if len(raw) > max_bytes:
        return None
    for mark, encoding in _XMP_MARKS:
        if raw.startswith(mark):
            return _stripped(raw.decode(encoding, "replace"))
    return _stripped(raw.decode("utf-8", "replace"))


def _stripped(text: str) -> str | None:
    # Packets are padded with kilobytes of blanks to be edited in place.
    return storable_text(text).strip("\ufeff \t\n") or None
