"""Messages: a body is a payload of its topic, a foreign entry or refused; sent messages are read back.

The first byte selects the type of the payload.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from fonds.model.capture import Capture, Place, PlaceKind, RssEntry
from fonds.model.entry import Entry
from fonds.model.errors import DamagedInputError
from fonds.model.file import FileMeta, IdentifiedCapture, UnextractedPdf, UnparsedPage
from fonds.model.message import PIPELINE, Message
from fonds.model.pdf import PdfStatus, PdfText, Thumbnail
from fonds.model.pdf_extra import PdfExtra
from fonds.model.story import ContentMetadata, ParsedPage, Story, UnarchivedBody
from fonds.model.story_json import decode_story, encode_story
from fonds.model.task import Task
from fonds.queues.messages.envelope import (
    build_foreign_entry,
    decode,
    encode,
)
from fonds.queues.messages.work_objects import read_task
from nightly.fuzz.guarantees import require

KINDS: Sequence[type] = (
    Capture,
    IdentifiedCapture,
    UnextractedPdf,
    UnparsedPage,
    PdfText,
    Thumbnail,
    ParsedPage,
    UnarchivedBody,
)
TAG = "180px-jpg"
AT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


def check(data: bytes) -> None:
    """Decode as a message of Fonds and of another program, as the JSON of a story, and as a task."""
    if not data:
        return
    kind, body = KINDS[data[0] % len(KINDS)], data[1:]
    for headers in ({PIPELINE: "library"}, {}):
        _check_payload(Message("m1", body, "key", headers=headers), kind)
    _check_story(body)
    try:
        task = read_task(body, key="key", id="m1")
    except ValueError as error:
        require(bool(str(error)), "an invalid task has a reason")
    else:
        require(isinstance(task, Task) and bool(str(task.place)), "a task names a place", task)


def _check_payload(message: Message, kind: type) -> None:
    entry = build_foreign_entry(message, kind, "topic")
    require(entry is None or isinstance(entry, Entry), "a foreign entry is an Entry or None", entry)
    try:
        payload = decode(message, kind, TAG)
    except DamagedInputError as error:
        require(bool(error.detail), "an invalid payload has a reason")
        return
    if isinstance(payload, Task):
        return
    reread = decode(Message("m1", encode(payload), headers={PIPELINE: "library"}), kind, TAG)
    require(reread == payload, "a message is read back unchanged", payload)


def _check_story(body: bytes) -> None:
    try:
        story = decode_story(body)
    except DamagedInputError:
        return
    reread = decode_story(msgspec.json.encode(encode_story(story, html=True)))
    require(reread == story, "a story is read back unchanged", (story, reread))


def seeds() -> Iterator[bytes]:
    """Yield every payload, and messages of other programs."""
    digest = "0" * 40
    place = Place(PlaceKind.WARC, "a.warc.gz", 7, 8)
    capture = Capture("c", "i", place, "http://a.example/", AT, "response", status=200)
    file = FileMeta(9, "application/pdf", "PDF", "application/pdf", digest, "", "")
    story = Story(
        rss_entry=RssEntry(link="http://a.example/"),
        content_metadata=ContentMetadata(url="http://a.example/", article_title="A"),
    )
    payloads = (
        capture,
        IdentifiedCapture(capture, file),
        UnextractedPdf(capture, file),
        UnparsedPage(capture, file, "utf-8"),
        PdfText(
            *(digest, PdfStatus.SUCCESS, "words", True, "<x/>", {"Title": "A"}, PdfExtra()),
            *(file, capture, "x"),
        ),
        Thumbnail(digest, TAG, b"\xff\xd8picture"),
        UnarchivedBody(capture, file, story),
    )
    for payload in payloads:
        yield bytes([KINDS.index(type(payload))]) + encode(payload)
    yield (
        b"\2"
        + b'{"url": "http://a/", "datetime": "20240305060708", "warc_path": "w", "warc_offset": 1}'
    )
    yield b"\2" + b'{"item": "i", "path": "p.pdf", "file_meta": {"sha1hex": "00", "mimetype": 1}}'
    yield b"\2" + b'{"path": "/a.zip", "member": "b.pdf", "sha1hex": "sha1:' + b"2" * 32 + b'"}'
    yield b"\0" + msgspec.json.encode(encode_story(story))
    yield b"\0" + b'{"rss_entry": {"link": 1, "new": [1]}, "more": 3, "content_metadata": null}'
