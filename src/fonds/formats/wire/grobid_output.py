"""The messages of `grobid-output`: how GROBID's reading of one PDF ended.

Source: sandcrawler's topic of this name: `key`, `status`, `status_code`, `tei_xml`, `error_msg`, `file_meta`
and `source`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fonds.formats.wire.file_meta import FileMetaObject, Sha1Hex, from_object, mime_of, to_object
from fonds.formats.wire.large_field import FieldReference, LargeField
from fonds.formats.wire.result import refuse_reference, result_of
from fonds.formats.wire.work_object import WorkObject, of_capture
from fonds.model.capture import Capture
from fonds.model.message import Message
from fonds.model.paper import GrobidOutput, GrobidStatus

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


def to_wire(item: GrobidOutput) -> bytes:
    """The body of its message."""
    return msgspec.json.encode(
        GrobidOutputObject(
            key=item.sha1hex,
            sha1hex=item.sha1hex,
            status=item.status,
            status_code=item.status_code,
            tei_xml=item.tei_xml,
            error_msg=item.error_msg,
            file_meta=to_object(item.file_meta) if item.file_meta else None,
            source=of_capture(item.source, item.sha1hex, mime_of(item.file_meta, item.source)),
            extractor=item.extractor,
            capture=item.source,
        )
    )


def from_wire(message: Message, tag: str | None = None) -> GrobidOutput:
    """The result again. Raises DamagedInputError (`bad-message`) for what is none of ours."""
    found = result_of(message, GrobidOutputObject, work="ungrobided")
    refuse_reference(found.tei_xml_blob)
    return GrobidOutput(
        sha1hex=found.sha1hex,
        status=found.status,
        status_code=found.status_code,
        tei_xml=found.tei_xml,
        error_msg=found.error_msg,
        file_meta=from_object(found.file_meta) if found.file_meta else None,
        source=found.capture,
        extractor=found.extractor,
    )
