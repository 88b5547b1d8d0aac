"""Annotations of a PDF page: filled form fields, free text, and link targets.

Source: ISO 32000-2:2020, 12.5.3 (annotation flags), 12.5.6.6 (free text annotations), 12.7 (forms).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from fonds.extract.pdf.strings import clean_text

FIELD_MARK, NOTE_MARK = "[field{}] ", "[note] "
"""Prefix of the value of a form field in the text, with the field's name, and prefix of a free text
annotation.
"""
_ANNOTATIONS_MAX, _OPTIONS_MAX, _LINKS_MAX = 2_000, 500, 200
_VALUE_MAX_BYTES, _NAME_MAX_CHARS = 20_000, 100
_HIDDEN_FLAGS = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
_CHECKABLE_FIELDS = frozenset({pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON})
_CHOICES = frozenset({pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX})


@dataclass(frozen=True, slots=True)
class Annotations:
    """Annotations of a PDF page.

    - `lines`: values of form fields and free texts. Each begins with a prefix that says which of
      the two it is.
    - `links`: URLs of links; empty if they were not requested.
    """

    lines: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


NO_ANNOTATIONS = Annotations()


def read_annotations(page: pypdfium2.PdfPage, *, with_links: bool = False) -> Annotations:
    """Read the visible form fields and free texts of a page, and the URLs of its links if
    `with_links`.

    At most 2,000 annotations are examined.
    """
    count = pdfium.FPDFPage_GetAnnotCount(page)
    if count <= 0:
        return NO_ANNOTATIONS
    lines: list[str] = []
    links: list[str] = []
    for number in range(min(count, _ANNOTATIONS_MAX)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_LINK:
                if with_links and len(links) < _LINKS_MAX:
                    links += _iter_link_url(page, annotation)
            elif kind in (pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT):
                lines += _iter_visible_text(page, annotation, kind)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    return Annotations(tuple(lines), tuple(links))


def _iter_visible_text(page: pypdfium2.PdfPage, annotation: Any, kind: int) -> Iterator[str]:
    if pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN_FLAGS:
        return
    if kind == pdfium.FPDF_ANNOT_FREETEXT:
        text = _read_text(
            lambda *into: pdfium.FPDFAnnot_GetStringValue(annotation, b"Contents", *into)
        )
        if text:
            yield NOTE_MARK + text
    elif page.formenv:
        name = _read_field_text(pdfium.FPDFAnnot_GetFormFieldName, page.formenv, annotation)
        for value in _iter_values(page.formenv, annotation):
            if value:
                yield FIELD_MARK.format(f" {name[:_NAME_MAX_CHARS]}" if name else "") + value


def _iter_values(form: Any, annotation: Any) -> Iterator[str]:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _CHECKABLE_FIELDS:
        if pdfium.FPDFAnnot_IsChecked(form, annotation):
            yield _read_field_text(pdfium.FPDFAnnot_GetFormFieldExportValue, form, annotation)
    elif kind in _CHOICES:
        selected_values = list(_iter_chosen(form, annotation))
        if selected_values:
            yield from selected_values
        else:
            yield _read_field_text(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
    elif kind == pdfium.FPDF_FORMFIELD_TEXTFIELD:
        is_secret = pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD
        if not is_secret:
            yield _read_field_text(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)


def _iter_chosen(form: Any, annotation: Any) -> Iterator[str]:
    count = pdfium.FPDFAnnot_GetOptionCount(form, annotation)
    for number in range(min(count, _OPTIONS_MAX)):
        if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, number):
            yield _read_text(
                lambda *into, at=number: pdfium.FPDFAnnot_GetOptionLabel(
                    form, annotation, at, *into
                )
            )


def _read_field_text(read_function: Callable[..., int], form: Any, annotation: Any) -> str:
    return _read_text(lambda *into: read_function(form, annotation, *into))


def _read_text(read_function: Callable[..., int]) -> str:
    """Call a function of pdfium that writes a text into a buffer, and return the text with single
    spaces.

    pdfium writes UTF-16 with a NUL at the end. Return '' if the text is too long.
    """
    size_bytes = read_function(None, 0)
    if not 2 < size_bytes <= _VALUE_MAX_BYTES:
        return ""
    buffer = (ctypes.c_ushort * (size_bytes // 2 + 1))()
    read_function(buffer, size_bytes)
    raw = bytes(buffer)[: size_bytes - 2]
    return " ".join(clean_text(raw.decode("utf-16-le", "ignore")).split())


def _iter_link_url(page: pypdfium2.PdfPage, annotation: Any) -> Iterator[str]:
    action = pdfium.FPDFLink_GetAction(pdfium.FPDFAnnot_GetLink(annotation))
    if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
        return
    size_bytes = pdfium.FPDFAction_GetURIPath(page.pdf, action, None, 0)
    if 1 < size_bytes <= _VALUE_MAX_BYTES:
        buffer = ctypes.create_string_buffer(size_bytes)
        pdfium.FPDFAction_GetURIPath(page.pdf, action, buffer, size_bytes)
        yield clean_text(buffer.value.decode("utf-8", "ignore"))
