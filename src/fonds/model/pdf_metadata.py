"""Metadata of a PDF as its row stores it: what the document claims and what the extractor measured.

Source: seed 003, `pdf_meta.metadata`, plus our own fields.
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
    """Metadata of a PDF. Missing fields are None or empty, and not in the JSON.

    - `title` to `keywords`: the document's information dictionary. `title`, `authors`, `doi` and
      `arxiv_id` are those judged to be the document's, and `…_from` says where they were found.
    - `published`: year, month or day at which the paper says it was published.
    - `form`: `none`, `AcroForm` or `XFA`; `origin`: how its pages were made.
    - `update_id`: identifier of the last change, in hex.
    - `page0_rotation`: degrees. `pages_garbled`: pages without usable text, from 0.
    - `unseen_chars`: characters of hidden text. `written_on`: fields and notes in the text.
    - `text_truncated`: True if the text ends at a limit.
    - `word_count_whitespace`: words between blanks, if that differs from `word_count`.
    - `unknown`: fields of other programs, and values of other types (`stored_json.py`).
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
        """Whether the document is a form that readers without XFA support cannot show."""
        return self.form == XFA
