"""Results of PDFs as messages of `pdf-text`, of any size, and reading what a message refers to."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha1, sha256
from typing import Any

from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.file import FileMeta
from fonds.model.message import PIPELINE, Message
from fonds.model.pdf import PdfStatus, PdfText
from fonds.ports import Blobs
from fonds.queues.messages.envelope import encode

PIPELINE_NAME = "library"


def result(id_: str, text: str, sha1hex: str = "") -> Message:
    """The message of a PDF with this text."""
    sha1hex = sha1hex or sha1(id_.encode()).hexdigest()
    place = Place(PlaceKind.FILE, "/papers/one.pdf")
    at = datetime(2026, 11, 1, tzinfo=UTC)
    capture = Capture("capture-1", "input-1", place, "http://x.example/", at, "response")
    item = PdfText(
        sha1hex=sha1hex,
        status=PdfStatus.SUCCESS,
        text=text,
        page0_thumbnail=False,
        meta_xml=None,
        pdf_info=None,
        pdf_extra={"word_count": len(text.split())},
        file_meta=FileMeta(
            7, "application/pdf", "PDF", "application/pdf", sha1hex, "ab" * 16, "ab" * 32
        ),
        source=capture,
        extractor="test",
    )
    return Message(id_, encode(item), sha1hex, headers={PIPELINE: PIPELINE_NAME})


def read_text(body: bytes, headers: dict[str, Any], blobs: Blobs) -> str:
    """The text of a message as docs/wire.md tells other programs to read it."""
    found = json.loads(body)
    if "text_blob" not in found:
        return str(found["text"])
    reference = found["text_blob"]
    assert found["text"] is None
    said = {name: _plain(value) for name, value in headers.items()}
    assert said["fonds-field"] == "text"
    assert said["fonds-field-blob"] == reference["key"]
    assert said["fonds-field-bytes"] == str(reference["size_bytes"])
    assert said["fonds-field-sha256"] == reference["sha256hex"]
    data = blobs.get(reference["key"])
    assert data is not None
    assert len(data) == reference["size_bytes"]
    assert sha256(data).hexdigest() == reference["sha256hex"]
    return data.decode()


def _plain(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
