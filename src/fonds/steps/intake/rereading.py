"""Reads the bytes of an identified file once more, and makes sure that they still are that file's."""

from __future__ import annotations

from hashlib import sha1

from fonds.model.archive import Payload
from fonds.model.capture import Capture
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.file import FileMeta
from fonds.ports import Archive


def read_again(archive: Archive, capture: Capture, file: FileMeta) -> Payload:
    """The payload at the capture's place. Raises as `Archive.read` does, and DamagedInputError when
    other bytes lie there now: what is learned from them must not be kept under this file's key."""
    payload = archive.read(capture.place)
    if sha1(payload.body).hexdigest() != file.sha1:  # noqa: S324 (a key, not a seal)
        raise DamagedInputError(
            Reason.DAMAGED_RECORD,
            f"The bytes at {capture.place} are no longer those of {file.sha1}: they changed while"
            " they were worked on. Ingest the file again.",
        )
    return payload
