"""CDX and CDXJ indexes of captures: parse their lines, with a reason for each rejected line, and
write CDXJ lines.

Source: the CDX file format of the Internet Archive, where letters in the ` CDX` header line name
the fields; CDXJ as pywb writes it (`urlkey timestamp {json}`).
Parsing takes time linear in the length of a line. Readers of inputs pass lines of at most 64 KiB.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import msgspec

from fonds.model.archive import ArchiveEntry
from fonds.model.capture import REVISIT_MIME, format_datetime14, parse_datetime14
from fonds.model.keys import encode_sha1_base32, normalize_sha1
from fonds.urls.surt import build_surt

OFFSET_MAX = 1 << 40

_FIELD_LETTERS_BY_COUNT = {
    9: "N b a m s k r V g",
    10: "N b a m s k r M V g",
    11: "N b a m s k r M S V g",
}
_NAMES_BY_LETTER = {
    "N": "surt",
    "b": "timestamp",
    "a": "url",
    "m": "mime",
    "s": "status",
    "k": "digest",
    "S": "length",
    "V": "offset",
    "v": "offset",
    "g": "filename",
}
_REQUIRED_FIELDS = ("timestamp", "url", "offset", "filename")
_OTHER_DIGEST = re.compile(r"[A-Za-z0-9-]{2,12}:\S+")
_NUMBER = re.compile(r"[0-9]{1,15}")


_DAY_CACHE_SIZE = 4096
_USUAL_LINE = re.compile(
    r"(?![#!{]|filedesc:|- )([!-~]+) (([0-9]{8})(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9])"
    r" (?![{]|- )([!-~]+) ([!-~]+) ([0-9]{3}|-) ([A-Z2-7]{32}|-) [!-~]+ [!-~]+"
    r" ([0-9]{1,12}|-) ([0-9]{1,12}) (?!-(?: |$))([!-~]+)(?: .*)?"
)
"""Matches a regular CDX line of eleven fields.

Nearly all lines match, and one expression then parses the whole line.
"""


class CdxLine(NamedTuple):
    """One capture in a CDX index.

    `surt`: SURT of the URL, which has the host reversed so that pages of one site sort together.
    `datetime14`: capture time in UTC as 14 digits; checked to be valid.
    `url`: URL of the capture.
    `mime`: media type; `-` if unknown.
    `status`: HTTP status; None without HTTP, and for revisits.
    `digest`: SHA-1 in base32; None if missing or if the line gives another hash.
    `size_bytes`: length of the WARC record on disk; None if unknown.
    `offset`: bytes from the start of the WARC to the record.
    `filename`: name or path of the WARC.
    """

    surt: str
    datetime14: str
    url: str
    mime: str
    status: int | None
    digest: str | None
    size_bytes: int | None
    offset: int
    filename: str


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """CDX line that cannot be parsed. `detail` is a sentence that says why."""

    detail: str


class _FaultError(Exception):
    """Raised inside this module if a CDX line is rejected. The message is the reason."""


class IndexReader:
    """Parser for the lines of one CDX or CDXJ index, which must be passed in order.

    A ` CDX` header line sets the order of the fields. Without it, a line of 9 or 10 fields has the
    usual fields for that number, and any other line has the usual 11 fields. Additional fields are
    ignored.
    """

    def __init__(self) -> None:
        self._letters: list[str] | None = None
        self._has_usual_fields = True

    def parse(self, text: str) -> CdxLine | RejectedLine | None:
        """Parse one line of a CDX or CDXJ index.

        Returns the capture, or a RejectedLine with the reason if the line is invalid. Returns None
        for blank lines, comments, header lines, and lines about an ARC file itself (`filedesc:`),
        which are not captures. Never raises.
        """
        if self._has_usual_fields and (match := _USUAL_LINE.fullmatch(text)) is not None:
            key, moment, day, url, mime, status, digest, size, offset, name = match.groups()
            if _is_day(day):
                return CdxLine(
                    key,
                    moment,
                    url,
                    mime,
                    None if status == "-" else int(status),
                    None if digest == "-" else digest,
                    None if size == "-" else int(size),
                    int(offset),
                    name,
                )
        line = text.strip("\r\n")
        if line.startswith(" CDX "):
            self._letters = line.split()[1:]
            self._has_usual_fields = self._letters == _FIELD_LETTERS_BY_COUNT[11].split()
            return None
        if not line.strip() or line.startswith(("#", "!", "filedesc:", " filedesc:")):
            return None
        try:
            return _build_line(self._parse_fields(line))
        except _FaultError as fault:
            return RejectedLine(str(fault))

    def _parse_fields(self, line: str) -> Mapping[str, str]:
        parts = line.split(None, 2)
        if line.startswith("{"):
            return _parse_json_fields(line, {})
        if len(parts) == 3 and parts[2].startswith("{"):
            return _parse_json_fields(parts[2], {"surt": parts[0], "timestamp": parts[1]})
        return self._split_fields(line)

    def _split_fields(self, line: str) -> Mapping[str, str]:
        values = line.split()
        letters = (
            self._letters
            or _FIELD_LETTERS_BY_COUNT.get(len(values), _FIELD_LETTERS_BY_COUNT[11]).split()
        )
        if len(values) < len(letters):
            raise _FaultError(f"the line has {len(values)} fields instead of {len(letters)}")
        pairs = zip(letters, values, strict=False)
        return {
            _NAMES_BY_LETTER[letter]: value for letter, value in pairs if letter in _NAMES_BY_LETTER
        }


def _parse_json_fields(text: str, fields: dict[str, str]) -> Mapping[str, str]:
    try:
        json_value = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise _FaultError(f"the JSON is not valid: {error}") from error
    if not isinstance(json_value, dict):
        raise _FaultError("the JSON is not an object")
    texts = {name: str(value) for name, value in json_value.items() if isinstance(value, str | int)}
    if "urlkey" in texts:
        texts.setdefault("surt", texts["urlkey"])
    return {**texts, **fields}


def _build_line(fields: Mapping[str, str]) -> CdxLine:
    for name in _REQUIRED_FIELDS:
        if fields.get(name, "-") in ("-", ""):
            raise _FaultError(f"{name} is missing")
    key = fields.get("surt", "-")
    return CdxLine(
        surt=build_surt(fields["url"]) if key == "-" else key,
        datetime14=_parse_datetime14(fields["timestamp"]),
        url=fields["url"],
        mime=fields.get("mime", "-"),
        status=_parse_number(fields, "status", 999),
        digest=_parse_digest(fields.get("digest", "-")),
        size_bytes=_parse_number(fields, "length", OFFSET_MAX),
        offset=_parse_number(fields, "offset", OFFSET_MAX) or 0,
        filename=fields["filename"],
    )


@lru_cache(_DAY_CACHE_SIZE)
def _is_day(day: str) -> bool:
    try:
        parse_datetime14(day + "000000")
    except ValueError:
        return False
    return True


def _parse_datetime14(text: str) -> str:
    try:
        parse_datetime14(text)
    except ValueError as error:
        raise _FaultError(f"the timestamp {text[:40]!r} is not a 14-digit date") from error
    return text


def _parse_number(fields: Mapping[str, str], name: str, number_max: int) -> int | None:
    text = fields.get(name, "-")
    if text in ("-", ""):
        return None
    if not _NUMBER.fullmatch(text) or int(text) > number_max:
        raise _FaultError(f"{name} is {text[:40]!r}, not a number up to {number_max}")
    return int(text)


def _parse_digest(text: str) -> str | None:
    if text in ("-", ""):
        return None
    if (digest := normalize_sha1(text)) is not None:
        return digest
    if _OTHER_DIGEST.fullmatch(text) and not text.lower().startswith("sha1:"):
        return None
    raise _FaultError(f"the digest {text[:80]!r} is not a SHA-1 in base32 or hex")


def build_line(entry: ArchiveEntry, offset: int, size_bytes: int, filename: str) -> CdxLine:
    """Build the CDX line of an archived entry from the position of its WARC record.

    `offset` and `size_bytes` are the record's start and compressed length in bytes. `filename` is
    the name of the WARC.
    """
    mime = entry.mime or "unk"
    return CdxLine(
        surt=build_surt(entry.url),
        datetime14=format_datetime14(entry.captured_at),
        url=entry.url,
        mime=REVISIT_MIME if entry.original else mime,
        status=entry.http.status or None if entry.http else None,
        digest=encode_sha1_base32(hashlib.sha1(entry.body).digest()),  # noqa: S324
        size_bytes=size_bytes,
        offset=offset,
        filename=filename,
    )


def format_cdxj_line(line: CdxLine) -> bytes:
    """Format a capture as one CDXJ line in bytes, including the line end. Unknown values are left
    out.
    """
    fields = {
        "url": line.url,
        "mime": line.mime,
        "status": None if line.status is None else str(line.status),
        "digest": line.digest,
        "length": None if line.size_bytes is None else str(line.size_bytes),
        "offset": str(line.offset),
        "filename": line.filename,
    }
    known_fields = {name: value for name, value in fields.items() if value is not None}
    key = f"{line.surt} {line.datetime14} ".encode("utf-8", "replace")
    return key + msgspec.json.encode(known_fields) + b"\n"


def sort_cdxj_lines(lines: Iterable[CdxLine]) -> list[bytes]:
    """Format captures as CDXJ lines and sort them by bytes, as programs that search by bisection
    require.
    """
    return sorted(format_cdxj_line(line) for line in lines)
