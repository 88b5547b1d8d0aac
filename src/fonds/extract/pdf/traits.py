"""Read the traits of a PDF: tagged, forms, scripts, attachments, encryption, linearized, outline,
page labels.

Source: ISO 32000-2:2020, 7.6 (encryption), 7.7.2 (catalog), 12.3.3 (document outline), 12.4.2 (page
labels), 12.6 (actions), 12.7 (forms), 14.7.1 (mark information). Limits: 100 pages and 2,000
objects are searched, 10,000 fields counted, 8 actions followed.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import pikepdf
import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.strings import clean_text
from fonds.model.pdf_extra import Encryption, OutlineEntry, PdfExtra

_ENTRIES_MAX, _DEPTH_MAX, _TITLE_MAX_CHARS = 1_000, 8, 300
_TITLE_MAX_BYTES = 8_192
_LABELS_MAX = 2_000


def read_outline(document: pypdfium2.PdfDocument) -> tuple[OutlineEntry, ...] | None:
    """Return the outline (table of contents) of a PDF, at most 1,000 entries; None without an
    outline.
    """
    entries = []
    for entry in islice(document.get_toc(max_depth=_DEPTH_MAX), _ENTRIES_MAX):
        destination = entry.get_dest()
        page = destination.get_index() if destination is not None else None
        entries.append(OutlineEntry(entry.level, _read_title(entry), page))
    return tuple(entries) or None


def _read_title(entry: pypdfium2.PdfBookmark) -> str:
    """Read the title of an outline entry. The title is decoded here because pypdfium2 raises an
    error on a lone surrogate.
    """
    size_bytes = min(pdfium.FPDFBookmark_GetTitle(entry, None, 0), _TITLE_MAX_BYTES)
    buffer = ctypes.create_string_buffer(_TITLE_MAX_BYTES)
    if pdfium.FPDFBookmark_GetTitle(entry, buffer, _TITLE_MAX_BYTES) > _TITLE_MAX_BYTES:
        return ""
    text = buffer.raw[: max(0, size_bytes - 2)].decode("utf-16-le", "ignore")
    return clean_text(text).strip()[:_TITLE_MAX_CHARS]


def read_labels(pdf: pikepdf.Pdf) -> tuple[str, ...] | None:
    """Return the labels of at most 2,000 pages, such as `iv`; None if the PDF has no labels, or
    they are simply 1, 2, 3.

    Labels are read with qpdf, because pdfium crashes on a label tree that contains itself.
    """
    if "/PageLabels" not in pdf.Root:
        return None
    pages = pdf.pages
    labels = [clean_text(str(pages[n].label)).strip() for n in range(min(len(pages), _LABELS_MAX))]
    return None if _is_plain(labels) else tuple(labels)


def _is_plain(labels: Sequence[str]) -> bool:
    return all(label in ("", str(number)) for number, label in enumerate(labels, 1))


UNREADABLE = (
    pikepdf.PikepdfError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Errors that the library pikepdf raises on a broken part of a file. Other parts can still
be read.
"""

T = TypeVar("T")

_VERSION = re.compile(r"\d{1,2}\.\d{1,2}", re.ASCII)
_PAGES_SEARCHED_MAX = 100
_OBJECTS_SEARCHED_MAX = 2_000
_FIELDS_MAX = 10_000
_ACTIONS_CHAINED_MAX = 8
_EXHAUSTED = object()  # because None represents null in an array


def read_traits(pdf: pikepdf.Pdf) -> PdfExtra:
    """Read the traits of a PDF, such as forms and encryption. Only the trait of its fonts is not
    included.

    A trait is None if the part of the file that states it is broken.
    """
    traits: dict[str, Any] = {name: read_or_none(trait, pdf) for name, trait in _TRAITS.items()}
    return PdfExtra(**traits)


def read_or_none(load: Callable[..., T], *args: object) -> T | None:
    """Return the result of `load(*args)`; None if it raises an error because a part of the PDF is
    broken.
    """
    try:
        return load(*args)
    except UNREADABLE:
        return None


def _read_version(pdf: pikepdf.Pdf) -> str | None:
    """Return the PDF version: the higher of those in header and catalog, because an update of the
    file cannot change the header; None if both are invalid.
    """
    stated_versions = [pdf.pdf_version]
    catalog_version = pdf.Root.get("/Version")
    if isinstance(catalog_version, pikepdf.Name):
        stated_versions.append(str(catalog_version)[1:])
    versions = [text for text in stated_versions if _VERSION.fullmatch(text)]
    return max(versions, key=lambda text: tuple(map(int, text.split("."))), default=None)


def _has_mark(pdf: pikepdf.Pdf, key: str) -> bool:
    marks = pdf.Root.get("/MarkInfo")
    mark: object = marks.get(key) if isinstance(marks, pikepdf.Dictionary) else None
    return mark is True


def _detect_form(pdf: pikepdf.Pdf) -> str:
    form = pdf.Root.get("/AcroForm")
    if not isinstance(form, pikepdf.Dictionary):
        return "none"
    return "XFA" if "/XFA" in form else "AcroForm"


def _count_fields(pdf: pikepdf.Pdf) -> int | None:
    """Return the number of form fields of a PDF; None above 10,000, which no real form has.

    A field with several parents is counted under each.
    """
    count = sum(1 for _ in _iter_fields(pdf.Root.get("/AcroForm"), _FIELDS_MAX + 1))
    return count if count <= _FIELDS_MAX else None


def _read_rotation(pdf: pikepdf.Pdf) -> int:
    return int(pdf.pages[0].obj.get("/Rotate", 0)) % 360


def _read_encryption(pdf: pikepdf.Pdf) -> Encryption | None:
    if not pdf.is_encrypted:
        return None
    encryption = pdf.encryption
    return Encryption(
        revision=encryption.R,
        version=encryption.V,
        key_bits=encryption.bits,
        can_print=pdf.allow.print_lowres or pdf.allow.print_highres,
        can_print_highres=pdf.allow.print_highres,
        can_copy=pdf.allow.extract,
        can_change=pdf.allow.modify_other,
        can_annotate=pdf.allow.modify_annotation,
        can_fill_forms=pdf.allow.modify_form,
        can_assemble=pdf.allow.modify_assembly,
        can_extract_for_accessibility=pdf.allow.accessibility,
    )


def _read_language(pdf: pikepdf.Pdf) -> str | None:
    language = pdf.Root.get("/Lang")
    return str(language)[:100] or None if isinstance(language, pikepdf.String) else None


def _has_javascript(pdf: pikepdf.Pdf) -> bool:
    names = pdf.Root.get("/Names")
    if isinstance(names, pikepdf.Dictionary) and "/JavaScript" in names:
        return True
    return any(_is_javascript(action) for action in _iter_actions(pdf))


def _iter_actions(pdf: pikepdf.Pdf) -> Iterator[Any]:
    root = pdf.Root
    yield root.get("/OpenAction")
    yield from _iter_additional_actions(root)
    fields = list(_iter_fields(root.get("/AcroForm"), _OBJECTS_SEARCHED_MAX))
    annotations = (
        annotation_object
        for page in _iter_pages(pdf)
        for annotation_object in _iter_elements(page.get("/Annots"))
    )
    for holder in (*fields, *_iter_pages(pdf)):
        yield from _iter_additional_actions(holder)
    for number, annotation in enumerate(annotations):
        if number >= _OBJECTS_SEARCHED_MAX:
            return
        if isinstance(annotation, pikepdf.Dictionary):
            yield annotation.get("/A")
            yield from _iter_additional_actions(annotation)


def _iter_additional_actions(holder: Any) -> Iterator[Any]:
    actions = holder.get("/AA")
    if isinstance(actions, pikepdf.Dictionary):
        for _, action in actions.items():
            yield action


def _iter_pages(pdf: pikepdf.Pdf) -> Iterator[Any]:
    for number in range(min(len(pdf.pages), _PAGES_SEARCHED_MAX)):
        yield pdf.pages[number].obj


def _iter_fields(form: Any, count_max: int) -> Iterator[Any]:
    """Yield at most `count_max` form fields. The limit is needed because a field may be its own
    child.

    Children are read one by one: ten thousand fields with two thousand children each would exhaust
    the memory.
    """
    if not isinstance(form, pikepdf.Dictionary):
        return
    branches = [_iter_elements(form.get("/Fields"))]
    fields_left = count_max
    while branches and fields_left:
        field = next(branches[-1], _EXHAUSTED)
        if field is _EXHAUSTED:
            branches.pop()
            continue
        fields_left -= 1
        if isinstance(field, pikepdf.Dictionary):
            yield field
            branches.append(_iter_elements(field.get("/Kids")))


def _iter_elements(value: Any) -> Iterator[Any]:
    if isinstance(value, pikepdf.Array):
        for number in range(min(len(value), _OBJECTS_SEARCHED_MAX)):
            yield value[number]


def _is_javascript(action: Any) -> bool:
    for _ in range(_ACTIONS_CHAINED_MAX):
        if not isinstance(action, pikepdf.Dictionary):
            return False
        if action.get("/S") == "/JavaScript" or "/JS" in action:
            return True
        following = action.get("/Next")
        action = (
            following[0] if isinstance(following, pikepdf.Array) and len(following) else following
        )
    return False


_TRAITS: dict[str, Callable[[pikepdf.Pdf], Any]] = {
    "pdf_version": _read_version,
    "tagged": lambda pdf: _has_mark(pdf, "/Marked"),
    "user_properties": lambda pdf: _has_mark(pdf, "/UserProperties"),
    "suspects": lambda pdf: _has_mark(pdf, "/Suspects"),
    "form": _detect_form,
    "form_field_count": _count_fields,
    "javascript": _has_javascript,
    "encrypted": lambda pdf: pdf.is_encrypted,
    "encryption": _read_encryption,
    "linearized": lambda pdf: pdf.is_linearized,
    "language_declared": _read_language,
    "attachment_count": lambda pdf: len(pdf.attachments),
    "page0_rotation": _read_rotation,
    "page_labels": read_labels,
}


def has_writing(pdf: pikepdf.Pdf) -> bool:
    """Return whether a PDF has form fields, or notes (free text) on its first 100 pages.

    If neither is found, return True for a longer document, because further pages may have notes.
    """
    if next(_iter_fields(pdf.Root.get("/AcroForm"), 1), None) is not None:
        return True
    annotations = (
        annotation
        for page in _iter_pages(pdf)
        for annotation in _iter_elements(page.get("/Annots"))
    )
    return (
        any(
            isinstance(annotation, pikepdf.Dictionary)
            and annotation.get("/Subtype") in ("/FreeText", "/Widget")
            for annotation in islice(annotations, _OBJECTS_SEARCHED_MAX)
        )
        or len(pdf.pages) > _PAGES_SEARCHED_MAX
    )
