"""Dump queues to WARC files: write messages as WARC records and read them back.

Each message is a `resource` record, from which it is loaded again. A message about a story has two
more records before it, as in Media Cloud's dumps: a `response` with the page, and its metadata with
`rabbitmq_headers`. Media Cloud's readers use these two and skip the `resource` records.

Source: WARC 1.0, section 6.4 `resource`; seed document 004, "WARC file format" and Appendix B. The
header fields `Fonds-*` are specific to Fonds.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from io import BytesIO
from typing import BinaryIO, TypeVar
from urllib.parse import quote

import msgspec
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fonds.archive.warc.media_cloud import MediaCloudRssEntry, select_metadata
from fonds.archive.warc.writer import METADATA_TYPE
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import DamagedInputError, LimitError
from fonds.model.message import Message
from fonds.model.story import ContentMetadata, HttpMetadata, Story

BODY_MAX_BYTES = 1024**3
ADDRESS, ID, KEY, ATTEMPT, HEADERS = (
    "Fonds-Address",
    "Fonds-Message-Id",
    "Fonds-Key",
    "Fonds-Attempt",
    "Fonds-Headers",
)

_Field = TypeVar("_Field")
_URL_SAFE_CHARS = "%/:?&=+$,;@!*'()~[]|#"


@dataclass(frozen=True, slots=True)
class MessageStory:
    """Story that a queue message is about.

    `url`: URL of the story.
    `page`: body of the page.
    `found_at`: time at which the page was fetched or found (aware UTC); None if unknown.
    `story`: data extracted from the page.
    """

    url: str
    page: bytes
    found_at: datetime | None
    story: Story


@dataclass(frozen=True, slots=True)
class DumpedStoryMetadata:
    """Metadata of a story in a dump, with the headers of the message."""

    rss_entry: MediaCloudRssEntry
    http_metadata: HttpMetadata
    content_metadata: ContentMetadata
    rabbitmq_headers: Mapping[str, str]


class MessageWriter:
    """Writes queue messages to `out` as WARC records, one gzip member each, after a `warcinfo`
    record.
    """

    def __init__(self, out: BinaryIO, filename: str = "") -> None:
        # Media Cloud's readers expect WARC/1.0, whose times have no fractions.
        self._writer = WARCWriter(out, gzip=True, warc_version="1.0")
        fields = {
            "hostname": socket.gethostname(),
            "software": f"Fonds/{installed_version('fonds')}",
            "format": "WARC File Format 1.0",
        }
        self._writer.write_record(self._writer.create_warcinfo_record(filename, fields))

    def write(self, address: str, message: Message, story: MessageStory | None = None) -> None:
        """Append one queue message as a WARC record. `address` is the queue that the message was
        taken from.

        `story` is the story that the message is about; None for other messages. Ids, keys and
        headers may contain any text, since they are written as ASCII.
        """
        if story is not None:
            self._write_story(message, story)
        fields = {
            ADDRESS: _encode_field(address),
            ID: _encode_field(message.id),
            KEY: _encode_field(message.key),
            ATTEMPT: str(message.attempt),
            HEADERS: _encode_field(dict(message.headers)),
        }
        record = self._writer.create_warc_record(
            f"urn:fonds:message:{quote(address, safe='')}:{quote(message.id, safe='')}",
            "resource",
            payload=BytesIO(message.body),
            length=len(message.body),
            warc_content_type="application/octet-stream",
            warc_headers_dict=fields,
        )
        self._writer.write_record(record)

    def _write_story(self, message: Message, story: MessageStory) -> None:
        """Write the page of a story and its metadata as two records, as Media Cloud's
        `dump_archives` does.
        """
        http = story.story.http_metadata
        code, encoding = http.response_code, http.encoding
        content_type = f"text/html; encoding={encoding}" if encoding else "text/html"
        head = StatusAndHeaders(
            "200 OK" if code == 200 else f"{code} HUH?",
            [
                ("Content-Type", _encode_ascii(content_type)),
                ("Content-Length", str(len(story.page))),
            ],
            protocol="HTTP/1.0",
        )
        url = quote(story.url.encode("utf-8", "replace"), safe=_URL_SAFE_CHARS)
        date = {"WARC-Date": f"{story.found_at or datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
        response = self._writer.create_warc_record(
            url,
            "response",
            payload=BytesIO(story.page),
            length=len(story.page),
            http_headers=head,
            warc_headers_dict=dict(date),
        )
        self._writer.write_record(response)
        known_metadata = select_metadata(story.story)
        metadata = DumpedStoryMetadata(
            known_metadata.rss_entry,
            known_metadata.http_metadata,
            known_metadata.content_metadata,
            dict(message.headers),
        )
        # Not msgspec's encoder: Media Cloud writes JSON as ASCII.
        body = json.dumps(msgspec.to_builtins(metadata), indent=2).encode()
        refers_to = response.rec_headers.get_header("WARC-Record-ID")
        record = self._writer.create_warc_record(
            url,
            "metadata",
            payload=BytesIO(body),
            length=len(body),
            warc_content_type=METADATA_TYPE,
            warc_headers_dict={**date, "WARC-Refers-To": refers_to},
        )
        self._writer.write_record(record)


def _encode_field(value: str | dict[str, str]) -> str:
    """Return a value as JSON in ASCII, for a header field of a WARC record."""
    return json.dumps(value)


def _decode_field(text: str, kind: type[_Field]) -> _Field:
    return msgspec.convert(json.loads(text), prepare_type(kind))


def _encode_ascii(text: str) -> str:
    return "".join(char if " " <= char <= "~" else "?" for char in text)


def read_messages(stream: BinaryIO) -> Iterator[tuple[str, Message]]:
    """Iterate over the messages in a WARC dump, each with the queue address that it was taken from.

    Other records are skipped. Raises DamagedInputError if the file is not a WARC, is truncated or
    has invalid fields, and LimitError for a body over 1 GiB.
    """
    try:
        for record in ArchiveIterator(stream):
            fields = record.rec_headers
            if record.rec_type != "resource" or fields.get_header(ID) is None:
                continue
            body = record.content_stream().read(BODY_MAX_BYTES + 1)
            declared_bytes = int(fields.get_header("Content-Length") or 0)
            yield _parse_message(fields.get_header, body, declared_bytes)
    except ArchiveLoadFailed as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"not a WARC file: {error}") from error
    except (ValueError, TypeError, AttributeError, EOFError, msgspec.ValidationError) as error:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, f"cannot read the message: {error}"
        ) from error


def _parse_message(
    get: Callable[[str], str | None], body: bytes, declared_bytes: int
) -> tuple[str, Message]:
    """Return the queue address and the message in a record, whose header field `get` returns."""
    if len(body) > BODY_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"the body has more than {BODY_MAX_BYTES} bytes")
    if len(body) < declared_bytes:
        raise DamagedInputError(
            Reason.TRUNCATED_RECORD,
            (f"the body should have {declared_bytes} bytes but ends after {len(body)}"),
        )
    message = Message(
        id=_decode_field(get(ID) or "", str),
        body=body,
        key=_decode_field(get(KEY) or '""', str),
        attempt=int(get(ATTEMPT) or 0),
        headers=_decode_field(get(HEADERS) or "{}", dict[str, str]),
    )
    return _decode_field(get(ADDRESS) or '""', str), message
