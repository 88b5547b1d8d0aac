"""Queue messages as WARC records and back: a dump of a queue is a WARC file like any other.

Source: WARC 1.1 (ISO 28500:2017) section 6.4 `resource`; the fields `Fonds-*` are our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import BinaryIO
from urllib.parse import quote

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.warcwriter import WARCWriter

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError
from fonds.model.message import Message

BODY_MAX_BYTES = 1024**3
ADDRESS, ID, KEY, ATTEMPT, HEADERS = (
    "Fonds-Address",
    "Fonds-Message-Id",
    "Fonds-Key",
    "Fonds-Attempt",
    "Fonds-Headers",
)


class MessageWriter:
    """Writes messages to `out` as gzipped `resource` records, one member each."""

    def __init__(self, out: BinaryIO) -> None:
        self._writer = WARCWriter(out, gzip=True, warc_version="1.1")

    def write(self, address: str, message: Message) -> None:
        """Append one message; ids, keys and headers may hold any text, for they are written in ASCII."""
        fields = {
            ADDRESS: json.dumps(address),
            ID: json.dumps(message.id),
            KEY: json.dumps(message.key),
            ATTEMPT: str(message.attempt),
            HEADERS: json.dumps(dict(message.headers)),
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


def read_messages(stream: BinaryIO) -> Iterator[tuple[str, Message]]:
    """Each message with the address it was taken from; records of any other kind are passed over.

    Raises DamagedInputError for a file that is no WARC, is cut, or whose fields cannot be read, and
    LimitError for a body over 1 GiB.
    """
    try:
        for record in ArchiveIterator(stream):
            fields = record.rec_headers
            if record.rec_type != "resource" or fields.get_header(ID) is None:
                continue
            body = record.content_stream().read(BODY_MAX_BYTES + 1)
            declared = int(fields.get_header("Content-Length") or 0)
            yield _message(fields.get_header, body, declared)
    except ArchiveLoadFailed as error:
        raise DamagedInputError(Reason.DAMAGED_RECORD, f"no WARC file: {error}") from error
    except (ValueError, TypeError, AttributeError, EOFError) as error:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, f"a message cannot be read: {error}"
        ) from error


def _message(
    get: Callable[[str], str | None], body: bytes, declared_bytes: int
) -> tuple[str, Message]:
    if len(body) > BODY_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"a body of over {BODY_MAX_BYTES} bytes")
    if len(body) < declared_bytes:
        raise DamagedInputError(
            Reason.TRUNCATED_RECORD, f"a body of {declared_bytes} bytes ends after {len(body)}"
        )
    headers = json.loads(get(HEADERS) or "{}")
    message = Message(
        id=str(json.loads(get(ID) or "")),
        body=body,
        key=str(json.loads(get(KEY) or '""')),
        attempt=int(get(ATTEMPT) or 0),
        headers={str(name): str(value) for name, value in headers.items()},
    )
    return str(json.loads(get(ADDRESS) or '""')), message
