"""Metadata of a PDF as stored in SQL rows: what the PDF states and what the extractor measured.

Source: seed document 003, `pdf_meta.metadata`, plus fields that Fonds adds.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fonds.model.rights import Statement

XFA = "XFA"


class PdfMetadata(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    rename={"crossmark_domains": "CrossMarkDomains"},
):
    """Metadata of a PDF, as stored in one JSON column of an SQL row.

    A missing field is None or an empty tuple, and is left out of the JSON.

    - `subject`, `author`, `creator`, `producer`, `crossmark_domains`, `keywords`: entries of the
      PDF's information dictionary.
    - `title`, `authors`, `doi`, `arxiv_id`: title, authors and identifiers that the extractor
      judged to be the paper's own.
    - `title_from`, `authors_from`, `doi_from`, `arxiv_id_from`: where in the PDF each of them was
      found.
    - `published`: publication year, month or day that the paper states.
    - `form`: kind of fillable form: `none`, `AcroForm` or `XFA`.
    - `origin`: how the pages were made.
    - `update_id`: identifier of the last change of the PDF, in hex.
    - `page0_rotation`: rotation of the first page, in degrees.
    - `pages_garbled`: numbers of pages without usable text, from 0.
    - `rights`: licences and rights holders that the PDF states.
    - `unseen_chars`: number of characters of hidden text in the PDF.
    - `written_on`: number of form fields and notes whose content is part of the extracted text.
    - `text_truncated`: True if the extracted text was cut at a limit.
    - `word_count_whitespace`: number of words separated by white space; None if it equals
      `word_count`.
    - `unknown`: JSON fields that other programs added, and fields whose value has an unexpected
      type.
    """

    title: str | None = None
    subject: str | None = None
    author: str | None = None
    creator: str | None = None
    producer: str | None = None
    crossmark_domains: str | None = None
    doi: str | None = None
    keywords: str | None = None
    published: str | None = None
    form: str | None = None
    encrypted: bool | None = None
    update_id: str | None = None
    language: str | None = None
    origin: str | None = None
    fonts_embedded: str | None = None
    tagged: bool | None = None
    javascript: bool | None = None
    page0_rotation: int | None = None
    pages_garbled: tuple[int, ...] = ()
    rights: tuple[Statement, ...] = ()
    title_from: str | None = None
    authors: tuple[str, ...] = ()
    authors_from: str | None = None
    doi_from: str | None = None
    arxiv_id: str | None = None
    arxiv_id_from: str | None = None
    unseen_chars: int | None = None
    written_on: int | None = None
    text_truncated: bool | None = None
    word_count_whitespace: int | None = None
    unknown: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def is_xfa_form(self) -> bool:
        """Whether the PDF is an XFA form, which viewers without XFA support cannot show."""
        return self.form == XFA
