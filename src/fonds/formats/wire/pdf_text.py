"""The messages of `pdf-text`: what was read out of one PDF.

Source: seed 003, "PDF Metadata and Text"; `key` and `has_page0_thumbnail` stand beside its names because
programs written for that topic read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fonds.formats.wire.file_meta import FileMetaObject, Sha1Hex, from_object, mime_of, to_object
from fonds.formats.wire.large_field import FieldReference, LargeField
from fonds.formats.wire.result import refuse_reference, result_of
from fonds.formats.wire.work_object import WorkObject, of_capture
from fonds.model.capture import Capture
from fonds.model.message import Message
from fonds.model.pdf import PdfStatus, PdfText

TEXT = LargeField("text", "pdf-text", ".txt", "text/plain")
_NUMBER = {"type": ["number", "null"], "minimum": 0}
_COUNT = {"type": ["integer", "null"], "minimum": 0}
_TEXT = {"type": ["string", "null"]}
EXTRA_PROPERTIES = {
    "word_count": _COUNT,
    "page_count": _COUNT,
    "page0_height": _NUMBER,
    "page0_width": _NUMBER,
    "permanent_id": _TEXT,
    "update_id": _TEXT,
    "pdf_version": _TEXT,
}
Extra = Annotated[
    Mapping[str, Any],
    Meta(
        description="sizes in points, ids in hex, and whatever else is small",
        extra_json_schema={"properties": EXTRA_PROPERTIES},
    ),
]
Info = Annotated[
    Mapping[str, str], Meta(description="the Info dictionary; dates in ISO 8601, in UTC")
]


class PdfTextObject(msgspec.Struct, frozen=True, kw_only=True):
    """How the extraction of one PDF ended, and what it gave; absent things are null."""

    key: Annotated[Sha1Hex, Meta(description="the same as `sha1hex`")]
    sha1hex: Sha1Hex
    status: PdfStatus
    text: (
        Annotated[
            str, Meta(description="pages joined by form feeds; null where `text_blob` is set")
        ]
        | None
    )
    text_blob: FieldReference | UnsetType = UNSET
    page0_thumbnail: Annotated[bool, Meta(description="a thumbnail was made")]
    has_page0_thumbnail: Annotated[bool, Meta(description="the same as `page0_thumbnail`")]
    meta_xml: Annotated[str, Meta(description="the XMP packet")] | None
    pdf_info: Info | None
    pdf_extra: Extra | None
    file_meta: FileMetaObject | None
    source: Annotated[WorkObject, Meta(description="where the bytes came from")]
    error_msg: str | None
    extractor: Annotated[str, Meta(description="program, versions and limits; ours")]
    capture: Capture


def to_wire(item: PdfText) -> bytes:
    """The body of its message."""
    return msgspec.json.encode(
        PdfTextObject(
            key=item.sha1hex,
            sha1hex=item.sha1hex,
            status=item.status,
            text=item.text,
            page0_thumbnail=item.page0_thumbnail,
            has_page0_thumbnail=item.page0_thumbnail,
            meta_xml=item.meta_xml,
            pdf_info=item.pdf_info,
            pdf_extra=item.pdf_extra,
            file_meta=to_object(item.file_meta) if item.file_meta else None,
            source=of_capture(item.source, item.sha1hex, mime_of(item.file_meta, item.source)),
            error_msg=item.error_msg,
            extractor=item.extractor,
            capture=item.source,
        )
    )


def from_wire(message: Message, tag: str | None = None) -> PdfText:
    """The result again. Raises DamagedInputError (`bad-message`) for what is none of ours."""
    found = result_of(message, PdfTextObject, work="unextracted")
    refuse_reference(found.text_blob)
    return PdfText(
        sha1hex=found.sha1hex,
        status=found.status,
        text=found.text,
        page0_thumbnail=found.page0_thumbnail,
        meta_xml=found.meta_xml,
        pdf_info=found.pdf_info,
        pdf_extra=found.pdf_extra,
        file_meta=from_object(found.file_meta) if found.file_meta else None,
        source=found.capture,
        extractor=found.extractor,
        error_msg=found.error_msg,
    )
