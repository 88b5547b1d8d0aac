"""Detect the type of an input file by its content: WARC, CDX index, ZIP, list of URLs, and
others.

Source: WARC 1.1 (ISO 28500), section 4 and annex D; IIPC WARC zstd draft (dictionary frames); ARC
1.0 and 2.0; CDX file format; CDXJ as pywb and OpenWayback write it; ZipNum clusters; RFC 1952; RFC
8878.

A file that looks like a WARC, ARC or ZIP counts as one, even if it is damaged. The reader of that
type reports the damage.
Limits: only the first 64 KiB of a file are examined, and at most 64 KiB of their unpacked content.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable
from enum import StrEnum

import lz4.frame
import msgspec
import zstandard

from fonds.extract.mime import HEAD_BYTES, HTML_MIMES, sniff

UNPACKED_BYTES = 65536
"""Maximum bytes unpacked from the compressed beginning of a file."""


class Container(StrEnum):
    """Types of input files that Fonds can read.

    WARC and ARC files may have any supported compression. Lists and indexes may be compressed with
    gzip.
    """

    WARC = "warc"
    ARC = "arc"
    ZIP = "zip"
    CDX = "cdx"
    CDXJ = "cdxj"
    ZIPNUM = "zipnum"  # second-level index: which part of a cluster holds which CDX lines
    PDF = "pdf"
    HTML = "html"
    TASKS = "tasks"  # one JSON object per line with the location of a file
    LIST = "list"  # one http(s) URL per line; `#` begins a comment


_GZIP, _ZSTD = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
_EPUB = b"mimetypeapplication/epub+zip"
_XZ_MEMORY_MAX_BYTES = 128 * 1024 * 1024
_WARC = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,16}WARC/", re.IGNORECASE)
_ARC = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,16}filedesc:", re.IGNORECASE)
_ARC_RECORD = re.compile(
    rb"(?:https?|ftp|dns|gopher|nntp|whois|mailto|file)[a-z+]{0,4}:[^\s]{1,6000}+ "
    rb"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f.:]{1,45}) [^\s]{1,40}+ "
    rb"[^\n]{1,1000}+(?<=[0-9])\r?\n",
    re.IGNORECASE,
)
"""First line of an ARC record: URL, IP address, date, type, length. It identifies ARC files that do
not begin with `filedesc:`.
"""
_ARCHIVE_NAME = re.compile(
    r"\.w?arc(?:\.(?:gz|gzip|zst|zstd|lz4|bz2|xz|lzma|lz|z|br|open))*\Z", re.IGNORECASE
)
_CDX_HEADER = re.compile(rb"[ \t]?CDX(?:[ \t][A-Za-z]){3,}[ \t]*$")
_CDX_LINE = re.compile(rb"\S+ \d{14} \S+ \S+ \S+ \S+(?: \S+){1,8}$")
_CDXJ_HEADER = re.compile(rb"!(?:OpenWayback-CDXJ|meta\b)", re.IGNORECASE)
_CDXJ_LINE = re.compile(rb"\S+ \d{12,17} \{")
_ZIPNUM_LINE = re.compile(rb"\S+ \d{12,17}[^\t]*\t[^\t]+\t\d+\t\d+(?:\t[^\t]*)*$")
TASK_FIELDS = frozenset(
    {
        "sha1hex", "mimetype", "url", "datetime", "warc_path", "warc_offset", "warc_csize",
        "item", "path", "petabox_item", "petabox_path", "member", "collection", "file_meta", "source",
    }
)  # fmt: skip
"""JSON fields that a line of a task list may have (`queues/messages/work_objects.py`)."""
_DATETIME14 = re.compile(r"[0-9]{14}")
_URL_LINE = re.compile(rb"https?://[^\s,;\"'<>]+$", re.IGNORECASE)
_LINES_MAX = 50


def detect_container(head: bytes) -> Container | None:
    """Return the type of a file from its first 64 KiB; None if Fonds cannot read this type.

    A compressed file has the type of its content. Compressed PDFs and HTML pages return None. Never
    raises.
    """
    head = head[:HEAD_BYTES]
    if head.startswith(_ZSTD_DICTIONARY):
        # Only zstd WARCs begin with their dictionary, which may be larger than the head.
        return Container.WARC
    for magic, unpack in _UNPACKERS.items():
        if head.startswith(magic):
            container = _detect_unpacked(unpack(head))
            return container if container in _CONTAINERS_BY_MAGIC[magic] else None
    return _detect_unpacked(head)


def is_archive_name(name: str) -> bool:
    """Return whether a file name has the extension of a WARC or ARC, compressed or not."""
    return _ARCHIVE_NAME.search(name) is not None


def _detect_unpacked(head: bytes) -> Container | None:
    """Return the type of a file from its first bytes, which are not compressed."""
    if _WARC.match(head):
        return Container.WARC
    if _ARC.match(head) or _ARC_RECORD.match(head):
        return Container.ARC
    # An EPUB counts as a file, although it is a ZIP; its first member identifies it.
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")) and _EPUB not in head[:200]:
        return Container.ZIP
    mime = sniff(head, None).magic_mime
    if mime == "application/pdf":
        return Container.PDF
    if mime in HTML_MIMES:
        return Container.HTML
    return _detect_lines(head) if b"\x00" not in head else None


def _detect_lines(head: bytes) -> Container | None:
    """Return the type of a text file (index, task list or URL list) from its first
    complete lines.
    """
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
    if _CDXJ_HEADER.match(lines[0]) or _matches_mostly(_CDXJ_LINE, lines):
        return Container.CDXJ
    if _matches_mostly(_ZIPNUM_LINE, lines):
        return Container.ZIPNUM
    if _matches_mostly(_CDX_LINE, lines):
        return Container.CDX
    if sum(map(_is_task, lines)) * 2 >= len(lines):
        return Container.TASKS
    lines = [line for line in lines if not line.lstrip().startswith(b"#")]
    return (
        Container.LIST if lines and all(_URL_LINE.match(line.strip()) for line in lines) else None
    )


def _is_task(line: bytes) -> bool:
    """Return whether a line is a task: a JSON object that gives the location of a file.

    Many other JSON lines have a field `path`. A line with only a `path` is a task if all of its
    fields are in `TASK_FIELDS`.
    """
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    inner = fields.get("source") if isinstance(fields, dict) else None
    location_fields = inner if isinstance(inner, dict) else fields
    if not isinstance(location_fields, dict):
        return False
    present_fields = {
        name for name, value in location_fields.items() if isinstance(value, str) and value
    }
    if {"url", "warc_path"} <= present_fields and isinstance(
        location_fields.get("warc_offset"), int
    ):
        return True
    if {"url", "datetime"} <= present_fields and _DATETIME14.fullmatch(location_fields["datetime"]):
        return True
    if present_fields & {"item", "petabox_item"} and present_fields & {"path", "petabox_path"}:
        return True
    return bool(present_fields & {"path", "petabox_path"}) and TASK_FIELDS.issuperset(
        {*fields, *location_fields}
    )


def _matches_mostly(pattern: re.Pattern[bytes], lines: list[bytes]) -> bool:
    """Return whether at least half of the lines match `pattern`. Real indexes contain
    broken lines.
    """
    return sum(pattern.match(line) is not None for line in lines) * 2 >= len(lines)


def _unpack_gzip(head: bytes) -> bytes:
    """Decompress the gzip members in `head`, the first bytes of a file, as far as possible.

    Returns at most 64 KiB. A damaged member and all members after it are left out.
    """
    unpacked_head = b""
    while head.startswith(_GZIP) and len(unpacked_head) < UNPACKED_BYTES:
        member = zlib.decompressobj(wbits=31)
        try:
            unpacked_head += member.decompress(head, UNPACKED_BYTES - len(unpacked_head))
        except zlib.error:
            break
        head = member.unused_data
    return unpacked_head


def _unpack_zstd(head: bytes) -> bytes:
    """Decompress the first zstd frame in `head`, the first bytes of a file, as far as possible."""
    frame = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(head)
    try:
        return frame.read(UNPACKED_BYTES)
    except zstandard.ZstdError:
        return b""


def _unpack_xz(head: bytes) -> bytes:
    return _unpack_stream(
        lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_MAX_BYTES), head
    )


def _unpack_bzip2(head: bytes) -> bytes:
    return _unpack_stream(bz2.BZ2Decompressor(), head)


def _unpack_lz4(head: bytes) -> bytes:
    return _unpack_stream(lz4.frame.LZ4FrameDecompressor(), head)


def _unpack_stream(
    unpacker: lzma.LZMADecompressor | bz2.BZ2Decompressor | lz4.frame.LZ4FrameDecompressor,
    head: bytes,
) -> bytes:
    """Decompress the first stream in `head`, the first bytes of a file, with `unpacker`.

    Returns at most 64 KiB, and b"" if the stream is damaged.
    """
    try:
        unpacked_head: bytes = unpacker.decompress(head, UNPACKED_BYTES)
    except (OSError, EOFError, ValueError, lzma.LZMAError, RuntimeError):
        return b""
    return unpacked_head


_ARCHIVES = frozenset({Container.WARC, Container.ARC})
_LINES = frozenset({Container.CDX, Container.CDXJ, Container.TASKS, Container.LIST})
_UNPACKERS: dict[bytes, Callable[[bytes], bytes]] = {
    _GZIP: _unpack_gzip,
    _ZSTD: _unpack_zstd,
    b"BZh": _unpack_bzip2,
    b"\xfd7zXZ\x00": _unpack_xz,
    b"\x04\x22\x4d\x18": _unpack_lz4,
}
_CONTAINERS_BY_MAGIC = {
    magic: _ARCHIVES | (_LINES if magic == _GZIP else set()) for magic in _UNPACKERS
}
"""File types that Fonds reads in each compression, by the first bytes of the compressed file."""
