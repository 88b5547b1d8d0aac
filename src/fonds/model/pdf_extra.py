"""What the extractor found in a PDF besides its text: field `pdf_extra` of the topic `pdf-text`.

Source: seed 003, "PDF Metadata and Text", plus fields that Fonds adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from fonds.model.bibliography import Paper
from fonds.model.rights import Statement


class HiddenReason(StrEnum):
    """Why a piece of text is hidden: outside the page, or drawn invisibly."""

    OFF_PAGE = "off-page"
    INVISIBLE = "invisible"


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A piece of text that a reader of the page does not see.

    - `page`: page number, from 0.
    - `why`: why the text is hidden.
    """

    page: int
    why: HiddenReason
    text: str


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Entry in the outline (table of contents) of a PDF.

    - `level`: depth in the outline, from 0.
    - `page`: number of the page, from 0; None if the entry leads to no page.
    """

    level: int
    title: str
    page: int | None


class Encryption(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={
        "can_print": "print",
        "can_print_highres": "print_highres",
        "can_copy": "copy",
        "can_change": "change",
        "can_annotate": "annotate",
        "can_fill_forms": "fill_forms",
        "can_assemble": "assemble",
        "can_extract_for_accessibility": "accessibility",
    },
):
    """Encryption of a PDF, and what it permits to readers without the owner's password."""

    revision: int
    version: int
    key_bits: int
    can_print: bool
    can_print_highres: bool
    can_copy: bool
    can_change: bool
    can_annotate: bool
    can_fill_forms: bool
    can_assemble: bool
    can_extract_for_accessibility: bool


class XmpSummary(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Title, authors and identifiers that the XMP packet of a PDF states.

    A missing field is None or empty, and is left out of the JSON.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    doi: str | None = None
    arxiv_id: str | None = None


class PdfExtra(msgspec.Struct, frozen=True, kw_only=True):
    """What the extractor found in a PDF. All fields are in the JSON; an unknown value is null.

    - `page0_width`, `page0_height`: size of the first page in points, after cropping and rotation.
    - `pages_unreadable`: number of pages whose text could not be read.
    - `word_count`: words as people count them; `word_count_whitespace`: pieces between white space.
    - `text_truncated`: whether the text was cut at a limit.
    - `origin`: how the pages were made, such as `scanned`.
    - `language`: language of the text; `language_declared`: language that the PDF states.
    - `repaired`: whether the PDF was read only after repair.
    - `written_on`: number of form fields and notes in the text.
    - `pages_garbled`: numbers of pages without usable text, from 0.
    - `unseen`: text that a reader does not see.
    - `title`, `authors`, `doi`, `arxiv_id`: metadata judged to be the document's own. The fields
      that end in `_from` say where in the PDF each was found.
    - `bibliography`: metadata and references of the paper; None without text.
    - `rights`: licences and rights holders that the PDF states.
    - `permanent_id`, `update_id`: file identifiers in lower-case hex.
    - `tagged`, `user_properties`, `suspects`: mark information of the PDF.
    - `form`: kind of fillable form: `none`, `AcroForm` or `XFA`.
    - `page0_rotation`: rotation of the first page in degrees.
    - `page_labels`: printed page numbers; None if they are simply 1, 2, 3.
    - `fonts_embedded`: `all`, `some` or `none` of the fonts on the first pages.
    """

    page_count: int | None = None
    page0_width: float | None = None
    page0_height: float | None = None
    pages_unreadable: int | None = None
    word_count: int | None = None
    word_count_whitespace: int | None = None
    text_truncated: bool = False
    origin: str | None = None
    language: str | None = None
    outline: tuple[OutlineEntry, ...] | None = None
    xmp: XmpSummary | None = None
    repaired: bool = False
    written_on: int = 0
    pages_garbled: tuple[int, ...] | None = None
    unseen: tuple[HiddenText, ...] | None = None
    title: str | None = None
    title_from: str | None = None
    authors: tuple[str, ...] | None = None
    authors_from: str | None = None
    doi: str | None = None
    doi_from: str | None = None
    arxiv_id: str | None = None
    arxiv_id_from: str | None = None
    bibliography: Paper | None = None
    rights: tuple[Statement, ...] | None = None
    permanent_id: str | None = None
    update_id: str | None = None
    pdf_version: str | None = None
    tagged: bool | None = None
    user_properties: bool | None = None
    suspects: bool | None = None
    form: str | None = None
    form_field_count: int | None = None
    javascript: bool | None = None
    encrypted: bool | None = None
    encryption: Encryption | None = None
    linearized: bool | None = None
    language_declared: str | None = None
    attachment_count: int | None = None
    page0_rotation: int | None = None
    page_labels: tuple[str, ...] | None = None
    fonts_embedded: str | None = None
