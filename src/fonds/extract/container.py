"""What kind of input a file is to a source: a WARC, an index, a ZIP, a loose document, a list of URLs.

Source: WARC 1.1 (ISO 28500), section 4 and annex D; IIPC WARC zstd draft (dictionary frames); ARC 1.0 and
2.0; CDX file format; CDXJ as pywb and OpenWayback write it; RFC 1952; RFC 8878.
"""

from __future__ import annotations

import re
import zlib
from enum import StrEnum

import zstandard

from fonds.extract.mime import HEAD_BYTES, HTML_MIMES, sniff

UNPACKED_BYTES = 65536
"""How much of a compressed head is unpacked, at most."""


class Container(StrEnum):
    """What a source has to open; `-gz` and `-zst` are the same, compressed."""

    WARC = "warc"
    WARC_GZ = "warc-gz"
    WARC_ZST = "warc-zst"
    ARC = "arc"
    ARC_GZ = "arc-gz"
    ZIP = "zip"
    CDX = "cdx"
    CDX_GZ = "cdx-gz"
    CDXJ = "cdxj"
    CDXJ_GZ = "cdxj-gz"
    PDF = "pdf"
    HTML = "html"
    TASKS = "tasks"  # one JSON object a line that says where a file is
    TASKS_GZ = "tasks-gz"
    LIST = "list"  # one http(s) URL a line, `#` begins a comment
    LIST_GZ = "list-gz"


_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
_WARC = re.compile(rb"(?:\r?\n){0,2}WARC/\d\.\d{1,2}\r?\n", re.IGNORECASE)
_ARC = re.compile(rb"filedesc:/{0,2}[^\n]*\s\d{8,14}\s")
_CDX_HEADER = re.compile(rb"[ \t]?CDX(?:[ \t][A-Za-z]){3,}[ \t]*$")
_CDX_LINE = re.compile(rb"\S+ \d{14} \S+ \S+ \S+ \S+(?: \S+){1,8}$")
_CDXJ_HEADER = re.compile(rb"!(?:OpenWayback-CDXJ|meta\b)", re.IGNORECASE)
_CDXJ_LINE = re.compile(rb"\S+ \d{12,17} \{")
_TASK_LINE = re.compile(
    rb'\{(?=.*"(?:warc_path|item|petabox_item|path|url)"[ \t]*:)'
    rb'(?=.*"(?:sha1hex|datetime|path|petabox_path)"[ \t]*:).*\}$'
)
_URL_LINE = re.compile(rb"https?://[^\s,;\"'<>]+$", re.IGNORECASE)
_LINES_MAX = 50


def container(head: bytes) -> Container | None:
    """The kind of a file by its first bytes (64 KiB are enough); None when it is nothing a source reads.

    A compressed file is what lies in it; a compressed PDF or page is None. Never raises.
    """
    head = head[:HEAD_BYTES]
    if head.startswith(_GZIP):
        return _GZIPPED.get(_bare(_gunzip(head)))
    if head.startswith(_ZSTD_DICTIONARY):
        # Nothing but zstd WARCs begin with their dictionary, which may be larger than the head.
        return Container.WARC_ZST
    if head.startswith(_ZSTD):
        return Container.WARC_ZST if _bare(_unzstd(head)) is Container.WARC else None
    return _bare(head)


_GZIPPED: dict[Container | None, Container] = {
    Container.WARC: Container.WARC_GZ,
    Container.ARC: Container.ARC_GZ,
    Container.CDX: Container.CDX_GZ,
    Container.CDXJ: Container.CDXJ_GZ,
    Container.TASKS: Container.TASKS_GZ,
    Container.LIST: Container.LIST_GZ,
}


def _bare(head: bytes) -> Container | None:
    """The kind of bytes that are not compressed as a whole."""
    if _WARC.match(head):
        return Container.WARC
    if _ARC.match(head):
        return Container.ARC
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Container.ZIP
    mime = sniff(head, None).magic_mime
    if mime == "application/pdf":
        return Container.PDF
    if mime in HTML_MIMES:
        return Container.HTML
    return _lines(head) if b"\x00" not in head else None


def _lines(head: bytes) -> Container | None:
    """An index or a list, told by its first whole lines."""
    lines = [line.rstrip() for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    if len(head) >= UNPACKED_BYTES and len(lines) > 1:
        lines.pop()  # cut off in the middle
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")][
        :_LINES_MAX
    ]
    if not lines:
        return None
    if _CDX_HEADER.match(lines[0]):
        return Container.CDX
    if _CDXJ_HEADER.match(lines[0]) or _mostly(_CDXJ_LINE, lines):
        return Container.CDXJ
    if _mostly(_CDX_LINE, lines):
        return Container.CDX
    if _mostly(_TASK_LINE, lines):
        return Container.TASKS
    lines = [line for line in lines if not line.lstrip().startswith(b"#")]
    return (
        Container.LIST if lines and all(_URL_LINE.match(line.strip()) for line in lines) else None
    )


def _mostly(pattern: re.Pattern[bytes], lines: list[bytes]) -> bool:
    """Whether at least half of the lines fit: indexes in the field hold broken lines."""
    return sum(pattern.match(line) is not None for line in lines) * 2 >= len(lines)


def _gunzip(head: bytes) -> bytes:
    """What the first gzip members in `head` unpack to, as far as they go."""
    unpacked = b""
    while head.startswith(_GZIP) and len(unpacked) < UNPACKED_BYTES:
        member = zlib.decompressobj(wbits=31)
        try:
            unpacked += member.decompress(head, UNPACKED_BYTES - len(unpacked))
        except zlib.error:
            break
        head = member.unused_data
    return unpacked


def _unzstd(head: bytes) -> bytes:
    """What the first zstd frame in `head` unpacks to, as far as it goes."""
    frame = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(head)
    try:
        return frame.read(UNPACKED_BYTES)
    except zstandard.ZstdError:
        return b""
