"""A question to the index of captures as web archives take it, and its answer, which can be gone on with.

Source: the Wayback Machine's CDX server (matchType, from, to, filter, collapse, fl, limit, resumeKey).
Bound: of the captures between the keys of what is asked at most `SCANNED_MAX` are looked at for one answer;
filters are RE2's, linear in what they are held against.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from fonds.archive.replay.captures import (
    MAX_DATETIME14,
    Cursor,
    UrlMatch,
    build_key_ranges,
    iter_captures,
)
from fonds.archive.warc.writer import escape_uri
from fonds.model.encoding import prepare_type
from fonds.model.keys import encode_sha1_base32, parse_sha1
from fonds.model.rows import CdxRow
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Records

FIELDS = (
    *("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"),
    *("offset", "filename"),
)
DEFAULT_FIELDS = FIELDS[:7]
LIMIT_MAX = 10_000
SCANNED_MAX = 50_000
PATTERN_MAX_CHARS = 500
CONDITIONS_MAX = 10
_TOGETHER = 500

Values = dict[str, str]


@dataclass(frozen=True, slots=True)
class CdxFilter:
    """Captures whose field is `pattern` from end to end, or is not."""

    name: str
    pattern: str
    is_negated: bool

    @classmethod
    def parse(cls, text: str) -> CdxFilter:
        """`[!]field:pattern`. Raises ValueError for another field and for what RE2 does not take."""
        name, colon, pattern = text.removeprefix("!").partition(":")
        if not colon:
            raise ValueError("a filter is [!]FIELD:PATTERN")
        if len(pattern) > PATTERN_MAX_CHARS:
            raise ValueError(f"a pattern has {PATTERN_MAX_CHARS} characters at most")
        one = cls(_check_field(name), pattern, text.startswith("!"))
        _match_texts(pattern, [""])
        return one

    def select(self, rows: Sequence[Values]) -> list[bool]:
        """Which of the rows it lets through."""
        found = _match_texts(self.pattern, [row[self.name] for row in rows])
        return [one is not self.is_negated for one in found]


@dataclass(frozen=True, slots=True)
class CdxCollapse:
    """Of neighbours the first alone, while so many characters of a field stay the same; None: all of them."""

    name: str
    chars: int | None

    @classmethod
    def parse(cls, text: str) -> CdxCollapse:
        """`field` or `field:N`. Raises ValueError for another field, and for no number from 1."""
        name, colon, count = text.partition(":")
        if colon and not (count.isascii() and count.isdigit() and 0 < int(count[:9]) < 10**6):
            raise ValueError(f"the characters to compare are a number from 1, not {count[:40]!r}")
        return cls(_check_field(name), int(count) if colon else None)

    def build_key(self, row: Values) -> str:
        """What is compared."""
        return row[self.name][: self.chars]


def check_fields(text: str) -> tuple[str, ...]:
    """Names of fields, a comma between. Raises ValueError for another."""
    return tuple(_check_field(name.strip()) for name in text.split(","))


def _check_field(name: str) -> str:
    if name not in FIELDS:
        raise ValueError(format_unknown_name("field", name[:40], FIELDS))
    return name


def _match_texts(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Which texts a pattern matches from end to end. Raises ValueError for none of RE2's."""
    # Its RE2 takes time linear in the text whatever the pattern; loaded for questions that have one.
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""]), pattern=pattern)
        found = pc.match_substring_regex(pa.array(texts, pa.string()), pattern=f"^(?:{pattern})$")
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise ValueError(f"the pattern {pattern!r} cannot be used: {error}") from error
    return [bool(one) for one in found.to_pylist()]


@dataclass(frozen=True, slots=True)
class CdxResumeKey:
    """Where an answer goes on: behind a capture, and with what the last one shown was collapsed by."""

    spot: Cursor
    last: tuple[str, ...] | None = None

    def encode(self) -> str:
        """For links; nobody is meant to read or make it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> CdxResumeKey:
        """Raises ValueError for what is none."""
        try:
            padded = text + "=" * (-len(text) % 4)
            return msgspec.json.decode(
                base64.urlsafe_b64decode(padded), type=prepare_type(CdxResumeKey)
            )
        except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError) as error:
            raise ValueError("it is no place in a list; begin without it") from error


@dataclass(frozen=True, slots=True)
class CdxQuery:
    """What is asked; `since` and `until` are 14 digits, both included, "" for no bound."""

    url: str
    match: UrlMatch = UrlMatch.EXACT
    since: str = ""
    until: str = ""
    filters: Sequence[CdxFilter] = ()
    collapse: Sequence[CdxCollapse] = ()
    fields: Sequence[str] = DEFAULT_FIELDS
    limit: int = LIMIT_MAX
    resume: CdxResumeKey | None = None


@dataclass(slots=True)
class CdxResult:
    """Rows of the fields asked for, in the order of SURT and time; `resume` goes on behind them, None when
    there is nothing behind. `scanned` captures were looked at."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    resume: CdxResumeKey | None = None
    scanned: int = 0


def run_query(records: Records, query: CdxQuery) -> CdxResult:
    """The answer, or its first piece. Raises ValueError for what is no address."""
    stretches = build_key_ranges(query.url, query.match)
    after = query.resume.spot if query.resume else None
    found = _filter_time(iter_captures(records, stretches, after=after, since=query.since), query)
    last = query.resume.last if query.resume else None
    answer, seen = CdxResult(), list[CdxRow]()
    while not _is_full(answer, query) and (rows := list(islice(found, _TOGETHER))):
        for number, (values, wanted) in enumerate(_iter_matching(rows, query)):
            seen = rows[number : number + 1]
            answer.scanned += 1
            key = tuple(one.build_key(values) for one in query.collapse)
            if wanted and not (query.collapse and key == last):
                last = key
                answer.rows.append(tuple(values[name] for name in query.fields))
            if _is_full(answer, query):
                break
    if seen and _is_full(answer, query):
        spot = Cursor.after_row(seen[0])
        behind = iter_captures(records, stretches, after=spot, since=query.since)
        if next(_filter_time(behind, query), None) is not None:
            answer.resume = CdxResumeKey(spot, last if query.collapse else None)
    return answer


def _is_full(answer: CdxResult, query: CdxQuery) -> bool:
    """Whether no more is to be shown, or looked at, in one answer."""
    return len(answer.rows) >= query.limit or answer.scanned >= SCANNED_MAX


def _filter_time(rows: Iterator[CdxRow], query: CdxQuery) -> Iterator[CdxRow]:
    """Of one address those behind the last time asked for are not looked at."""
    for row in rows:
        if query.until and query.match is UrlMatch.EXACT and row.datetime > query.until:
            return
        yield row


def _iter_matching(rows: Sequence[CdxRow], query: CdxQuery) -> Iterator[tuple[Values, bool]]:
    """The fields of each capture, and whether it is asked for."""
    values = [_build_values(row) for row in rows]
    until = query.until or MAX_DATETIME14
    keep = [query.since <= row.datetime <= until for row in rows]
    for one in query.filters:
        keep = [good and more for good, more in zip(keep, one.select(values), strict=True)]
    return zip(values, keep, strict=True)


def _build_values(row: CdxRow) -> Values:
    """The fields of a capture as texts without blanks, `-` for what is not known."""
    raw = parse_sha1(row.sha1hex)
    values = {
        "urlkey": row.surt,
        "timestamp": row.datetime,
        "original": row.url,
        "mimetype": row.mimetype,
        "statuscode": "-" if row.status is None else str(row.status),
        "digest": encode_sha1_base32(raw) if raw else "-",
        "length": "-" if row.warc_csize is None else str(row.warc_csize),
        "offset": str(row.warc_offset),
        "filename": row.warc_path,
    }
    return {name: escape_uri(value) or "-" for name, value in values.items()}
