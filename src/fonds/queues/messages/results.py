"""The messages of `pdf-text`: what was read out of one PDF.

Source: seed 003, "PDF Metadata and Text"; `key` and `has_page0_thumbnail` stand beside its names because
programs written for that topic read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fonds.model.capture import Capture
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError
from fonds.model.keys import parse_sha1
from fonds.model.message import PIPELINE, Message
from fonds.model.paper import GrobidOutput, GrobidStatus
from fonds.model.pdf import PAGE0_FORM, PdfStatus, PdfText, Thumbnail
from fonds.queues.messages.large_field import FieldReference, LargeField
from fonds.queues.messages.work_objects import (
    FileMetaObject,
    Sha1Hex,
    WorkObject,
    build_work_object,
    choose_mime,
    decode_file_meta,
    encode_file_meta,
)

# What result topics have in common: only results of ours are read back.


T = TypeVar("T")


def decode_result(message: Message, kind: type[T], work: str) -> T:
    """The result a message carries.

    Raises DamagedInputError (`bad-message`) for what is none of ours: other programs' results have no place
    in the books, for the file they are of may be unknown here. `work` is the topic for what they want done.
    """
    if PIPELINE not in message.headers:
        told = f"a result of another program; put work on `{work}` instead"
        raise DamagedInputError(Reason.BAD_MESSAGE, told)
    try:
        return msgspec.json.decode(message.body, type=prepare_type(kind))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.BAD_MESSAGE, f"no result of ours: {error}") from error


def refuse_reference(reference: FieldReference | UnsetType) -> None:
    """Refuse a result whose large field lies in a blob.

    Stages receive such a result whole at their own address; the message with the reference is for other
    programs. Raises DamagedInputError (`bad-message`).
    """
    if reference is not UNSET:
        told = "this result refers to a blob and is for other programs"
        raise DamagedInputError(Reason.BAD_MESSAGE, told)


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


def encode_pdf_text(item: PdfText) -> bytes:
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
            file_meta=encode_file_meta(item.file_meta) if item.file_meta else None,
            source=build_work_object(
                item.source, item.sha1hex, choose_mime(item.file_meta, item.source)
            ),
            error_msg=item.error_msg,
            extractor=item.extractor,
            capture=item.source,
        )
    )


def decode_pdf_text(message: Message, tag: str | None = None) -> PdfText:
    """The result again. Raises DamagedInputError (`bad-message`) for what is none of ours."""
    found = decode_result(message, PdfTextObject, work="unextracted")
    refuse_reference(found.text_blob)
    return PdfText(
        sha1hex=found.sha1hex,
        status=found.status,
        text=found.text,
        page0_thumbnail=found.page0_thumbnail,
        meta_xml=found.meta_xml,
        pdf_info=found.pdf_info,
        pdf_extra=found.pdf_extra,
        file_meta=decode_file_meta(found.file_meta) if found.file_meta else None,
        source=found.capture,
        extractor=found.extractor,
        error_msg=found.error_msg,
    )


# The messages of `grobid-output`: how GROBID's reading of one PDF ended.
#
# Source: sandcrawler's topic of this name: `key`, `status`, `status_code`, `tei_xml`, `error_msg`,
# `file_meta` and `source`.


TEI = LargeField("tei_xml", "grobid-output", ".tei.xml", "application/xml")


class GrobidOutputObject(msgspec.Struct, frozen=True, kw_only=True):
    """How GROBID's reading of one PDF ended, and the TEI; absent things are null."""

    key: Annotated[Sha1Hex, Meta(description="the same as `sha1hex`")]
    sha1hex: Sha1Hex
    status: GrobidStatus
    status_code: Annotated[
        int, Meta(description="the HTTP status; below 0 where no server answered")
    ]
    tei_xml: (
        Annotated[str, Meta(description="TEI as GROBID sent it; null where `tei_xml_blob` is set")]
        | None
    )
    tei_xml_blob: FieldReference | UnsetType = UNSET
    error_msg: str | None
    file_meta: FileMetaObject | None
    source: Annotated[WorkObject, Meta(description="where the bytes came from")]
    extractor: Annotated[str, Meta(description="the client and what it asks for; ours")]
    capture: Capture


def encode_body(item: GrobidOutput) -> bytes:
    """The body of its message."""
    return msgspec.json.encode(
        GrobidOutputObject(
            key=item.sha1hex,
            sha1hex=item.sha1hex,
            status=item.status,
            status_code=item.status_code,
            tei_xml=item.tei_xml,
            error_msg=item.error_msg,
            file_meta=encode_file_meta(item.file_meta) if item.file_meta else None,
            source=build_work_object(
                item.source, item.sha1hex, choose_mime(item.file_meta, item.source)
            ),
            extractor=item.extractor,
            capture=item.source,
        )
    )


def decode_message(message: Message, tag: str | None = None) -> GrobidOutput:
    """The result again. Raises DamagedInputError (`bad-message`) for what is none of ours."""
    found = decode_result(message, GrobidOutputObject, work="ungrobided")
    refuse_reference(found.tei_xml_blob)
    return GrobidOutput(
        sha1hex=found.sha1hex,
        status=found.status,
        status_code=found.status_code,
        tei_xml=found.tei_xml,
        error_msg=found.error_msg,
        file_meta=decode_file_meta(found.file_meta) if found.file_meta else None,
        source=found.capture,
        extractor=found.extractor,
    )


# The messages of `pdf-thumbnail-SIZE-TYPE`: the picture's bytes, keyed by the PDF's SHA-1.
#
# Source: seed 003, "Thumbnail Images".


def encode_thumbnail(item: Thumbnail) -> bytes:
    """The body of its message."""
    return item.image


def decode_thumbnail(message: Message, tag: str | None = None) -> Thumbnail:
    """The picture again; `tag` is its form. Raises DamagedInputError (`bad-message`) for a key that is no
    SHA-1, and for no picture at all."""
    raw = parse_sha1(message.key)
    if raw is None or not message.body:
        told = (
            f"a thumbnail needs the PDF's SHA-1 as its key, not {message.key[:60]!r}, and a picture"
        )
        raise DamagedInputError(Reason.BAD_MESSAGE, told)
    return Thumbnail(sha1hex=raw.hex(), form=tag or PAGE0_FORM, image=message.body)
