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

from fonds.formats.warc.write import as_uri
from fonds.model.keys import sha1_base32, sha1_from_text
from fonds.model.names import no_such
from fonds.model.prepared import prepared
from fonds.model.rows import CdxRow
from fonds.ports import Records
from fonds.replay.captures import LAST_TIME, Match, Spot, stretches_of, walk

FIELDS = (
    *("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"),
    *("offset", "filename"),
)
USUAL_FIELDS = FIELDS[:7]
LIMIT_MAX = 10_000
SCANNED_MAX = 50_000
PATTERN_MAX_CHARS = 500
CONDITIONS_MAX = 10
_TOGETHER = 500

Values = dict[str, str]


@dataclass(frozen=True, slots=True)
class Filter:
    """Captures whose field is `pattern` from end to end, or is not."""

    name: str
    pattern: str
    negated: bool

    @classmethod
    def parse(cls, text: str) -> Filter:
        """`[!]field:pattern`. Raises ValueError for another field and for what RE2 does not take."""
        name, colon, pattern = text.removeprefix("!").partition(":")
        if not colon:
            raise ValueError("a filter is [!]FIELD:PATTERN")
        if len(pattern) > PATTERN_MAX_CHARS:
            raise ValueError(f"a pattern has {PATTERN_MAX_CHARS} characters at most")
        one = cls(_field(name), pattern, text.startswith("!"))
        _matching(pattern, [""])
        return one

    def keep(self, rows: Sequence[Values]) -> list[bool]:
        """Which of the rows it lets through."""
        found = _matching(self.pattern, [row[self.name] for row in rows])
        return [one is not self.negated for one in found]


@dataclass(frozen=True, slots=True)
class Collapse:
    """Of neighbours the first alone, while so many characters of a field stay the same; None: all of them."""

    name: str
    chars: int | None

    @classmethod
    def parse(cls, text: str) -> Collapse:
        """`field` or `field:N`. Raises ValueError for another field, and for no number from 1."""
        name, colon, count = text.partition(":")
        if colon and not (count.isascii() and count.isdigit() and 0 < int(count[:9]) < 10**6):
            raise ValueError(f"the characters to compare are a number from 1, not {count[:40]!r}")
        return cls(_field(name), int(count) if colon else None)

    def of(self, row: Values) -> str:
        """What is compared."""
        return row[self.name][: self.chars]


def check_fields(text: str) -> tuple[str, ...]:
    """Names of fields, a comma between. Raises ValueError for another."""
    return tuple(_field(name.strip()) for name in text.split(","))


def _field(name: str) -> str:
    if name not in FIELDS:
        raise ValueError(no_such("field", name[:40], FIELDS))
    return name


def _matching(pattern: str, texts: Sequence[str]) -> list[bool]:
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
class Resume:
    """Where an answer goes on: behind a capture, and with what the last one shown was collapsed by."""

    spot: Spot
    last: tuple[str, ...] | None = None

    def text(self) -> str:
        """For links; nobody is meant to read or make it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> Resume:
        """Raises ValueError for what is none."""
        try:
            padded = text + "=" * (-len(text) % 4)
            return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=prepared(Resume))
        except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError) as error:
            raise ValueError("it is no place in a list; begin without it") from error


@dataclass(frozen=True, slots=True)
class CdxQuery:
    """What is asked; `since` and `until` are 14 digits, both included, "" for no bound."""

    url: str
    match: Match = Match.EXACT
    since: str = ""
    until: str = ""
    filters: Sequence[Filter] = ()
    collapse: Sequence[Collapse] = ()
    fields: Sequence[str] = USUAL_FIELDS
    limit: int = LIMIT_MAX
    resume: Resume | None = None


@dataclass(slots=True)
class CdxAnswer:
    """Rows of the fields asked for, in the order of SURT and time; `resume` goes on behind them, None when
    there is nothing behind. `scanned` captures were looked at."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    resume: Resume | None = None
    scanned: int = 0


def ask(records: Records, query: CdxQuery) -> CdxAnswer:
    """The answer, or its first piece. Raises ValueError for what is no address."""
    stretches = stretches_of(query.url, query.match)
    after = query.resume.spot if query.resume else None
    found = _in_time(walk(records, stretches, after=after, since=query.since), query)
    last = query.resume.last if query.resume else None
    answer, seen = CdxAnswer(), list[CdxRow]()
    while not _is_full(answer, query) and (rows := list(islice(found, _TOGETHER))):
        for number, (values, wanted) in enumerate(_kept(rows, query)):
            seen = rows[number : number + 1]
            answer.scanned += 1
            key = tuple(one.of(values) for one in query.collapse)
            if wanted and not (query.collapse and key == last):
                last = key
                answer.rows.append(tuple(values[name] for name in query.fields))
            if _is_full(answer, query):
                break
    if seen and _is_full(answer, query):
        spot = Spot.of(seen[0])
        behind = walk(records, stretches, after=spot, since=query.since)
        if next(_in_time(behind, query), None) is not None:
            answer.resume = Resume(spot, last if query.collapse else None)
    return answer


def _is_full(answer: CdxAnswer, query: CdxQuery) -> bool:
    """Whether no more is to be shown, or looked at, in one answer."""
    return len(answer.rows) >= query.limit or answer.scanned >= SCANNED_MAX


def _in_time(rows: Iterator[CdxRow], query: CdxQuery) -> Iterator[CdxRow]:
    """Of one address those behind the last time asked for are not looked at."""
    for row in rows:
        if query.until and query.match is Match.EXACT and row.datetime > query.until:
            return
        yield row


def _kept(rows: Sequence[CdxRow], query: CdxQuery) -> Iterator[tuple[Values, bool]]:
    """The fields of each capture, and whether it is asked for."""
    values = [_values(row) for row in rows]
    until = query.until or LAST_TIME
    keep = [query.since <= row.datetime <= until for row in rows]
    for one in query.filters:
        keep = [good and more for good, more in zip(keep, one.keep(values), strict=True)]
    return zip(values, keep, strict=True)


def _values(row: CdxRow) -> Values:
    """The fields of a capture as texts without blanks, `-` for what is not known."""
    raw = sha1_from_text(row.sha1hex)
    values = {
        "urlkey": row.surt,
        "timestamp": row.datetime,
        "original": row.url,
        "mimetype": row.mimetype,
        "statuscode": "-" if row.status is None else str(row.status),
        "digest": sha1_base32(raw) if raw else "-",
        "length": "-" if row.warc_csize is None else str(row.warc_csize),
        "offset": str(row.warc_offset),
        "filename": row.warc_path,
    }
    return {name: as_uri(value) or "-" for name, value in values.items()}
