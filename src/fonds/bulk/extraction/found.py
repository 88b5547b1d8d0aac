"""What became of one record of a WARC so far: identified, or ended; as a record of the job."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1

import msgspec

from fonds.formats.envelope import decode, encode
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition, Reason, Verdict
from fonds.model.file import FileMeta, Identified
from fonds.model.message import Message

DETAIL_MAX_CHARS = 2_000
SHA1HEX_CHARS = 40
_BETWEEN = b"\t"


@dataclass(frozen=True, slots=True)
class Found:
    """One record that holds a capture. `ended` is DONE as long as nothing speaks against reading its body;
    `identified` has no file where the record holds none or it was not read."""

    identified: Identified
    ended: Disposition = DONE

    @property
    def capture(self) -> Capture:
        """Where and when it was met."""
        return self.identified.capture

    @property
    def file(self) -> FileMeta | None:
        """Its body, where that was read and is wanted."""
        return self.identified.file


def to_record(found: Found) -> bytes:
    """By the body's SHA-1, then time and id of the capture; what has no body lies anywhere between them."""
    capture, ended = found.capture, found.ended
    name = capture.id.encode("utf-8", "replace")
    digest = found.file.sha1 if found.file else sha1(name).hexdigest()  # noqa: S324 (a key)
    how = (str(ended.verdict), ended.reason, ended.detail[:DETAIL_MAX_CHARS])
    key = b" ".join((digest.encode(), capture.datetime14.encode(), name))
    return _BETWEEN.join((key, msgspec.json.encode(how), encode(found.identified)))


def from_record(record: bytes) -> Found:
    """The same again."""
    _, how, body = record.split(_BETWEEN, 2)
    verdict, reason, detail = msgspec.json.decode(how)
    identified = decode(Message("", body), Identified)
    if not isinstance(identified, Identified):
        raise TypeError(f"no identified capture: {record[:80]!r}")
    ended = Disposition(Verdict(verdict), Reason(reason) if reason else None, detail)
    return Found(identified, ended)
