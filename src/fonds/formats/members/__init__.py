"""Framing of a WARC or ARC file: plain stretches, gzip members and zstd frames, told apart by content."""

from fonds.formats.members.raw import MemberError, RawFile
from fonds.formats.members.record_stream import RecordStream

__all__ = ["MemberError", "RawFile", "RecordStream"]
