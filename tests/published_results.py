"""Results of PDFs as `pdf-text` messages of any size, and a reader that follows their
references."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha1, sha256
from typing import Any

from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.file import FileMeta
from fonds.model.message import PIPELINE, Message
from fonds.model.pdf import PdfStatus, PdfText
from fonds.model.pdf_extra import PdfExtra
from fonds.ports import Blobs
from fonds.queues.messages.envelope import encode

PIPELINE_NAME = "library"


def result(id_: str, text: str, sha1hex: str = "") -> Message:
    """Build the message of a PDF with this text."""
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
        pdf_extra=PdfExtra(word_count=len(text.split())),
        file_meta=FileMeta(
            7, "application/pdf", "PDF", "application/pdf", sha1hex, "ab" * 16, "ab" * 32
        ),
        source=capture,
        extractor="test",
    )
    return Message(id_, encode(item), sha1hex, headers={PIPELINE: PIPELINE_NAME})


def read_text(body: bytes, headers: dict[str, Any], blobs: Blobs) -> str:
    """Return the text of a message as docs/wire.md tells other programs to read it."""
    content = json.loads(body)
    if "text_blob" not in content:
        return str(content["text"])
    reference = content["text_blob"]
    assert content["text"] is None
    text_headers = {name: _decode_header(value) for name, value in headers.items()}
    assert text_headers["fonds-field"] == "text"
    assert text_headers["fonds-field-blob"] == reference["key"]
    assert text_headers["fonds-field-bytes"] == str(reference["size_bytes"])
    assert text_headers["fonds-field-sha256"] == reference["sha256hex"]
    data = blobs.get(reference["key"])
    assert data is not None
    assert len(data) == reference["size_bytes"]
    assert sha256(data).hexdigest() == reference["sha256hex"]
    return data.decode()


def _decode_header(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
