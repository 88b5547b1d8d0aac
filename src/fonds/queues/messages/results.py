"""Messages on the result topics `pdf-text`, `grobid-output` and `pdf-thumbnail-SIZE-TYPE`.

These topics are for other programs. Fonds decodes only results that it sent itself.

Sources: seed document 003, "PDF Metadata and Text" and "Thumbnail Images"; sandcrawler's topic
`grobid-output` with `key`, `status`, `status_code`, `tei_xml`, `error_msg`, `file_meta` and
`source`. In `pdf-text`, `key` and `has_page0_thumbnail` duplicate other fields because programs
written for that topic read them.
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
from fonds.model.pdf_extra import PdfExtra
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

T = TypeVar("T")


def decode_result(message: Message, kind: type[T], work: str) -> T:
    """Decode the JSON body of a result message to an object of type `kind`.

    `work` is the topic on which other programs request such results; the error message names it.
    Raises DamagedInputError (`bad-message`) for an invalid body or a result of another program. The
    file of such a result may be unknown to Fonds, so the result cannot be recorded.
    """
    if PIPELINE not in message.headers:
        reason = f"a result of another program; send work to `{work}` instead"
        raise DamagedInputError(Reason.BAD_MESSAGE, reason)
    try:
        return msgspec.json.decode(message.body, type=prepare_type(kind))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.BAD_MESSAGE, f"not a result from Fonds: {error}") from error


def refuse_reference(reference: FieldReference | UnsetType) -> None:
    """Raise DamagedInputError (`bad-message`) if a message has a reference in place of its large
    field.

    Such a message is a copy for other programs. The steps of Fonds receive the complete result at
    another address.
    """
    if reference is not UNSET:
        reason = "this result refers to a blob and is meant for other programs"
        raise DamagedInputError(Reason.BAD_MESSAGE, reason)


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
        description="sizes in points, ids in hex, and other small values",
        extra_json_schema={"properties": EXTRA_PROPERTIES},
    ),
]
Info = Annotated[
    Mapping[str, str], Meta(description="the Info dictionary; dates in ISO 8601, in UTC")
]


class PdfTextObject(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome and content of one PDF's extraction; absent values are null."""

    key: Annotated[Sha1Hex, Meta(description="same as `sha1hex`")]
    sha1hex: Sha1Hex
    status: PdfStatus
    text: (
        Annotated[str, Meta(description="pages joined by form feeds; null if `text_blob` is set")]
        | None
    )
    text_blob: FieldReference | UnsetType = UNSET
    page0_thumbnail: Annotated[bool, Meta(description="whether a thumbnail was made")]
    has_page0_thumbnail: Annotated[bool, Meta(description="same as `page0_thumbnail`")]
    meta_xml: Annotated[str, Meta(description="XMP packet")] | None
    pdf_info: Info | None
    pdf_extra: Extra | None
    file_meta: FileMetaObject | None
    source: Annotated[WorkObject, Meta(description="where the bytes were read")]
    error_msg: str | None
    extractor: Annotated[str, Meta(description="program, versions and limits; added by Fonds")]
    capture: Capture


def encode_pdf_text(item: PdfText) -> bytes:
    """Return the text and metadata of a PDF as the JSON body of a `pdf-text` message."""
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
            pdf_extra=msgspec.to_builtins(item.pdf_extra),
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
    """Return the text and metadata of a PDF from a message on the topic `pdf-text`. `tag` is not
    used.

    Raises DamagedInputError (`bad-message`) if Fonds did not send the message or its body is
    invalid.
    """
    fields = decode_result(message, PdfTextObject, work="unextracted")
    refuse_reference(fields.text_blob)
    return PdfText(
        sha1hex=fields.sha1hex,
        status=fields.status,
        text=fields.text,
        page0_thumbnail=fields.page0_thumbnail,
        meta_xml=fields.meta_xml,
        pdf_info=fields.pdf_info,
        pdf_extra=_decode_extra(fields.pdf_extra),
        file_meta=decode_file_meta(fields.file_meta) if fields.file_meta else None,
        source=fields.capture,
        extractor=fields.extractor,
        error_msg=fields.error_msg,
    )


def _decode_extra(fields: Mapping[str, Any] | None) -> PdfExtra | None:
    try:
        return None if fields is None else msgspec.convert(fields, prepare_type(PdfExtra))
    except msgspec.ValidationError as error:
        reason = f"not a result from Fonds: invalid pdf_extra: {error}"
        raise DamagedInputError(Reason.BAD_MESSAGE, reason) from error


TEI = LargeField("tei_xml", "grobid-output", ".tei.xml", "application/xml")


class GrobidOutputObject(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of GROBID on one PDF, and its TEI; absent values are null."""

    key: Annotated[Sha1Hex, Meta(description="same as `sha1hex`")]
    sha1hex: Sha1Hex
    status: GrobidStatus
    status_code: Annotated[int, Meta(description="HTTP status; negative if no server responded")]
    tei_xml: (
        Annotated[str, Meta(description="TEI as sent by GROBID; null if `tei_xml_blob` is set")]
        | None
    )
    tei_xml_blob: FieldReference | UnsetType = UNSET
    error_msg: str | None
    file_meta: FileMetaObject | None
    source: Annotated[WorkObject, Meta(description="where the bytes were read")]
    extractor: Annotated[str, Meta(description="client and requested options; added by Fonds")]
    capture: Capture


def encode_body(item: GrobidOutput) -> bytes:
    """Return the result of GROBID for one PDF as the JSON body of a `grobid-output` message."""
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
    """Return the result of GROBID for one PDF from a message on `grobid-output`. `tag` is not used.

    Raises DamagedInputError (`bad-message`) if Fonds did not send the message or its body is
    invalid.
    """
    fields = decode_result(message, GrobidOutputObject, work="ungrobided")
    refuse_reference(fields.tei_xml_blob)
    return GrobidOutput(
        sha1hex=fields.sha1hex,
        status=fields.status,
        status_code=fields.status_code,
        tei_xml=fields.tei_xml,
        error_msg=fields.error_msg,
        file_meta=decode_file_meta(fields.file_meta) if fields.file_meta else None,
        source=fields.capture,
        extractor=fields.extractor,
    )


# Thumbnail messages are the picture's bytes, keyed by the PDF's SHA-1.


def encode_thumbnail(item: Thumbnail) -> bytes:
    """Return the body of a thumbnail message, which is the image file itself."""
    return item.image


def decode_thumbnail(message: Message, tag: str | None = None) -> Thumbnail:
    """Return the thumbnail of a PDF from a message; `tag` is the picture's format, such as
    `180px-jpg`.

    Raises DamagedInputError (`bad-message`) for an empty body or a message key that is not a SHA-1.
    """
    raw = parse_sha1(message.key)
    if raw is None or not message.body:
        reason = (
            "the key of a thumbnail message must be the SHA-1 of the PDF, not "
            f"{message.key[:60]!r}, and its body a picture"
        )
        raise DamagedInputError(Reason.BAD_MESSAGE, reason)
    return Thumbnail(sha1hex=raw.hex(), form=tag or PAGE0_FORM, image=message.body)
