"""Run CDX server queries over the capture index. Results come in parts and can be resumed.

Source: the Wayback Machine's CDX server (parameters matchType, from, to, filter, collapse, fl,
limit, resumeKey).
Limits: one response examines at most `SCANNED_MAX` captures. Filters use RE2, which takes time
linear in the text.
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
_ROWS_A_BATCH = 500

Values = dict[str, str]


@dataclass(frozen=True, slots=True)
class CdxFilter:
    """Filter of a CDX query: keeps captures whose field `name` matches the regular expression
    `pattern`.

    The pattern must match the whole field. If `is_negated`, captures that do not match are kept
    instead.
    """

    name: str
    pattern: str
    is_negated: bool

    @classmethod
    def parse(cls, text: str) -> CdxFilter:
        """Parse the filter parameter `[!]field:pattern` of a CDX query. `!` negates the filter.

        Raises ValueError if the field is unknown, or the pattern is too long or rejected by RE2.
        """
        name, colon, pattern = text.removeprefix("!").partition(":")
        if not colon:
            raise ValueError("write a filter as [!]FIELD:PATTERN")
        if len(pattern) > PATTERN_MAX_CHARS:
            raise ValueError(f"a pattern can have at most {PATTERN_MAX_CHARS} characters")
        cdx_filter = cls(_check_field(name), pattern, text.startswith("!"))
        _match_texts(pattern, [""])
        return cdx_filter

    def select(self, rows: Sequence[Values]) -> list[bool]:
        """Return for each row, which has the fields of one capture, whether the filter keeps the
        row.
        """
        matches = _match_texts(self.pattern, [row[self.name] for row in rows])
        return [is_match is not self.is_negated for is_match in matches]


@dataclass(frozen=True, slots=True)
class CdxCollapse:
    """Collapsing in a CDX query: of neighbouring captures with the same value in a field, only the
    first is kept.

    `name`: field name.
    `chars`: number of leading characters to compare; None for the whole value.
    """

    name: str
    chars: int | None

    @classmethod
    def parse(cls, text: str) -> CdxCollapse:
        """Parse the collapse parameter `field` or `field:N` of a CDX query. N is a number of
        characters.

        Raises ValueError if the field is unknown or N is not a number from 1.
        """
        name, colon, count = text.partition(":")
        if colon and not (count.isascii() and count.isdigit() and 0 < int(count[:9]) < 10**6):
            raise ValueError(
                f"the number of characters to compare must be 1 or more, not {count[:40]!r}"
            )
        return cls(_check_field(name), int(count) if colon else None)

    def build_key(self, row: Values) -> str:
        """Return the value that a collapsing query compares between neighbouring captures.

        It is the value of the field `name`, cut to the first `chars` characters.
        """
        return row[self.name][: self.chars]


def check_fields(text: str) -> tuple[str, ...]:
    """Parse the names of CDX fields, separated by commas. Raises ValueError if a name is
    unknown.
    """
    return tuple(_check_field(name.strip()) for name in text.split(","))


def _check_field(name: str) -> str:
    if name not in FIELDS:
        raise ValueError(format_unknown_name("field", name[:40], FIELDS))
    return name


def _match_texts(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether a regular expression matches all of it.

    Raises ValueError if RE2 rejects the pattern.
    """
    # pyarrow's RE2 takes time linear in the text whatever the pattern. Imported only for queries
    # with one.
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""]), pattern=pattern)
        matches = pc.match_substring_regex(pa.array(texts, pa.string()), pattern=f"^(?:{pattern})$")
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise ValueError(f"the pattern {pattern!r} is not valid: {error}") from error
    return [bool(is_match) for is_match in matches.to_pylist()]


@dataclass(frozen=True, slots=True)
class CdxResumeKey:
    """Position after which a CDX query continues in the next response.

    `spot`: position of the last capture examined.
    `last`: values of the last row returned, in the fields by which the query collapses rows; None
        if it does not collapse rows.
    """

    spot: Cursor
    last: tuple[str, ...] | None = None

    def encode(self) -> str:
        """Encode the resume key of a CDX query as an opaque token for URLs."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> CdxResumeKey:
        """Decode the token of a CDX query's resume key. Raises ValueError if the token is
        invalid.
        """
        try:
            padded_text = text + "=" * (-len(text) % 4)
            return msgspec.json.decode(
                base64.urlsafe_b64decode(padded_text), type=prepare_type(CdxResumeKey)
            )
        except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError) as error:
            raise ValueError("the resume key is not valid; start again without it") from error


@dataclass(frozen=True, slots=True)
class CdxQuery:
    """Query for captures, with the parameters of a CDX server.

    `url`: URL to look up.
    `match`: which URLs match: exactly this URL, its prefix, host or domain.
    `since`, `until`: first and last capture time as 14 digits, inclusive; "" for no bound.
    `filters`: conditions on fields that a capture must fulfil.
    `collapse`: fields to compare between neighbouring captures. If they are equal, only the first
        capture is returned.
    `fields`: names of the fields to return.
    `limit`: maximum number of rows to return.
    `resume`: position at which an earlier part of the result ended; None for the start.
    """

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
    """One part of the result of a CDX query.

    `rows`: requested fields of each capture, in the order of SURT and time.
    `resume`: position for the next part; None if no captures follow.
    `scanned`: number of captures examined.
    """

    rows: list[tuple[str, ...]] = field(default_factory=list)
    resume: CdxResumeKey | None = None
    scanned: int = 0


def run_query(records: Records, query: CdxQuery) -> CdxResult:
    """Run a CDX query and return the next part of its result, which begins after `query.resume`.

    Raises ValueError if the URL of the query is invalid.
    """
    key_ranges = build_key_ranges(query.url, query.match)
    after = query.resume.spot if query.resume else None
    candidates = _filter_time(
        iter_captures(records, key_ranges, after=after, since=query.since), query
    )
    last = query.resume.last if query.resume else None
    result, last_row = CdxResult(), list[CdxRow]()
    while not _is_full(result, query) and (rows := list(islice(candidates, _ROWS_A_BATCH))):
        for number, (values, is_wanted) in enumerate(_iter_matching(rows, query)):
            last_row = rows[number : number + 1]
            result.scanned += 1
            key = tuple(collapse.build_key(values) for collapse in query.collapse)
            if is_wanted and not (query.collapse and key == last):
                last = key
                result.rows.append(tuple(values[name] for name in query.fields))
            if _is_full(result, query):
                break
    if last_row and _is_full(result, query):
        cursor = Cursor.after_row(last_row[0])
        later_captures = iter_captures(records, key_ranges, after=cursor, since=query.since)
        if next(_filter_time(later_captures, query), None) is not None:
            result.resume = CdxResumeKey(cursor, last if query.collapse else None)
    return result


def _is_full(result: CdxResult, query: CdxQuery) -> bool:
    """Return whether a CDX result has reached a limit on rows returned or captures examined."""
    return len(result.rows) >= query.limit or result.scanned >= SCANNED_MAX


def _filter_time(rows: Iterator[CdxRow], query: CdxQuery) -> Iterator[CdxRow]:
    """Yield captures, but end a query for one exact URL at the first capture after `query.until`.

    Captures of one URL are in order of time, so all later ones would be examined in vain.
    """
    for row in rows:
        if query.until and query.match is UrlMatch.EXACT and row.datetime > query.until:
            return
        yield row


def _iter_matching(rows: Sequence[CdxRow], query: CdxQuery) -> Iterator[tuple[Values, bool]]:
    """Yield the fields of each capture, with True if the query selects the capture, else False.

    The query selects a capture if the capture is between the query's times and passes all its
    filters.
    """
    values = [_build_values(row) for row in rows]
    until = query.until or MAX_DATETIME14
    is_selected = [query.since <= row.datetime <= until for row in rows]
    for cdx_filter in query.filters:
        is_selected = [
            was_selected and is_match
            for was_selected, is_match in zip(is_selected, cdx_filter.select(values), strict=True)
        ]
    return zip(values, is_selected, strict=True)


def _build_values(row: CdxRow) -> Values:
    """Return the CDX fields of a capture by name, as texts without blanks. Unknown values are
    `-`.
    """
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
