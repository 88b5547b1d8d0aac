"""URLs at which captures are replayed (mementos), and the links between them, by the Memento
protocol.

Source: RFC 7089 (Memento: TimeGates, TimeMaps, their headers), RFC 6690 and 8288 (link format); RFC
9110, section 5.6.7 (dates).
All functions take time linear in the length of the URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

from fonds.model.capture import parse_datetime14
from fonds.model.rows import CdxRow

LINK_FORMAT = "application/link-format"
RAW_SUFFIX = "id_"

_MEMENTO = re.compile(r"([0-9]{4,14})(id_)?/(.+)", re.DOTALL)
_TIMEMAP = re.compile(r"timemap/(link|json)/(?:([0-9]{14})/)?(.+)", re.DOTALL)
_COLLAPSED_SLASHES = re.compile(r"(https?|ftp):/+", re.IGNORECASE)
_SAFE = "%/:=&?~+!$,;'@()*[]._-"


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Request parsed from a URL below `/web/`: for one capture, for a TimeMap or for a TimeGate.

    A request for a capture has a `timestamp`. It has `is_raw` if the URL contains `id_`, which
    requests the unchanged body. A request for a TimeMap (list of captures) has `timemap` set to
    `link` or `json`. That list contains the captures after `timestamp` if it is set. A request for
    a TimeGate (redirect to the capture nearest to a time) has neither.

    `url`: the captured URL.
    """

    url: str
    timestamp: str = ""
    is_raw: bool = False
    timemap: str = ""


def parse_replay_path(path: str, query: str) -> ReplayRequest | None:
    """Parse a replay request from the percent-encoded URL path after `/web/` and the query string.

    Returns None if the path is empty.
    """
    target = f"{path}?{query}" if query else path
    if match := _TIMEMAP.fullmatch(target):
        return ReplayRequest(_parse_captured_url(match[3]), match[2] or "", timemap=match[1])
    if match := _MEMENTO.fullmatch(target):
        return ReplayRequest(_parse_captured_url(match[3]), match[1], is_raw=bool(match[2]))
    return ReplayRequest(_parse_captured_url(target)) if path.strip("/") else None


def _parse_captured_url(text: str) -> str:
    """Restore the captured URL that is part of the URL of a replay request.

    Repairs slashes that a proxy collapsed, and unescapes `#` in `file:` URLs.
    """
    url = _COLLAPSED_SLASHES.sub(lambda match: f"{match[1]}://", text, count=1)
    return url.replace("%23", "#") if url[:5].lower() == "file:" else url


def escape_link_url(url: str) -> str:
    """Escape a captured URL for use in a header, in angle brackets, or within another URL.

    The fragment is removed, except from `file:` URLs.
    """
    plain = url.strip()
    if plain[:5].lower() != "file:":
        # SURT keys contain no fragment. An escaped fragment would become part of the path.
        plain = plain.partition("#")[0]
    return quote(plain, safe=_SAFE, errors="replace")


def format_http_date(datetime14: str) -> str:
    """Format a capture time of 14 digits as an HTTP date."""
    return format_datetime(parse_datetime14(datetime14), usegmt=True)


def parse_accept_datetime(header: str) -> datetime:
    """Parse the value of an Accept-Datetime header to aware UTC.

    Raises ValueError if the value is not an HTTP date.
    """
    try:
        moment = parsedate_to_datetime(header[:100])
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise ValueError(f"Accept-Datetime is not an HTTP date: {header[:100]!r}") from error


@dataclass(frozen=True, slots=True)
class MementoOrigin:
    """Origin (scheme, host and port) of the Fonds server that replays captures, from which replay
    URLs are built.

    `url`: the origin without a final slash.
    """

    url: str

    def build_memento_url(self, row: CdxRow, *, is_raw: bool = False) -> str:
        """Return the URL at which one capture is replayed.

        `is_raw` requests the body unchanged, with `id_` after the timestamp.
        """
        return f"{self.url}/web/{row.datetime}{RAW_SUFFIX if is_raw else ''}/{escape_link_url(row.url)}"

    def build_timegate_url(self, url: str) -> str:
        """Return the URL of the TimeGate of a captured URL, which redirects to the capture nearest
        to a time.
        """
        return f"{self.url}/web/{escape_link_url(url)}"

    def build_timemap_url(self, url: str, form: str = "link", after: str = "") -> str:
        """Return the URL of the TimeMap of a captured URL, which lists its captures.

        `form` is the format of the list: `link` or `json`. `after` (14 digits) limits the list to
        later captures; "" means all.
        """
        after_part = f"{after}/" if after else ""
        return f"{self.url}/web/timemap/{form}/{after_part}{escape_link_url(url)}"


def build_link_header(
    origin: MementoOrigin,
    url: str,
    relations: Sequence[tuple[str, CdxRow]],
    *,
    has_timegate: bool = True,
) -> str:
    """Build the value of the Link header of a replayed capture.

    It contains the original URL, the TimeMap, the TimeGate if `has_timegate`, and the given
    captures. `relations` pairs each capture with its relation, such as `first` or `prev`, or "" for
    none.
    """
    links = [
        f'<{escape_link_url(url)}>; rel="original"',
        f'<{origin.build_timemap_url(url)}>; rel="timemap"; type="{LINK_FORMAT}"',
    ]
    links += [f'<{origin.build_timegate_url(url)}>; rel="timegate"'] if has_timegate else []
    return ", ".join(
        [
            *links,
            *(_format_memento(origin, row, words) for words, row in _merge_relations(relations)),
        ]
    )


def _merge_relations(relations: Sequence[tuple[str, CdxRow]]) -> Iterator[tuple[str, CdxRow]]:
    """Yield each capture once, with all its link relations joined by spaces.

    One capture can have several relations: the first capture may also be the previous one.
    """
    rows: dict[tuple[str, str], tuple[list[str], CdxRow]] = {}
    for word, row in relations:
        words, _ = rows.setdefault((row.datetime, row.url), ([], row))
        words += [word] if word else []
    for words, row in rows.values():
        yield " ".join([*words, "memento"]), row


def _format_memento(origin: MementoOrigin, row: CdxRow, words: str) -> str:
    return f'<{origin.build_memento_url(row)}>; rel="{words}"; datetime="{format_http_date(row.datetime)}"'


@dataclass(frozen=True, slots=True)
class TimeMap:
    """List of the captures of a URL (RFC 7089), at most one per second, oldest first, or one part
    of that list.

    `url`: the captured URL.
    `rows`: captures in this part of the list.
    `first`, `last`: first and last capture of the URL.
    `after`: time after which this part begins, as 14 digits; "" for the start.
    `is_last`: whether no captures follow this part.
    """

    url: str
    rows: Sequence[CdxRow]
    first: CdxRow
    last: CdxRow
    after: str
    is_last: bool

    def format_links(self, origin: MementoOrigin) -> str:
        """Format the list of captures in the link format (RFC 6690), with links to the original
        URL, TimeGate and next part.
        """
        since, until = (format_http_date(row.datetime) for row in (self.rows[0], self.rows[-1]))
        own_url = origin.build_timemap_url(self.url, after=self.after)
        lines = [
            f'<{escape_link_url(self.url)}>; rel="original"',
            f'<{own_url}>; rel="self"; type="{LINK_FORMAT}"; from="{since}"; until="{until}"',
            f'<{origin.build_timegate_url(self.url)}>; rel="timegate"',
        ]
        if not self.is_last:
            next_url = origin.build_timemap_url(self.url, after=self.rows[-1].datetime)
            lines.append(f'<{next_url}>; rel="timemap"; type="{LINK_FORMAT}"')
        lines += [_format_memento(origin, row, self._describe_row(row)) for row in self.rows]
        return ",\n".join(lines) + "\n"

    def _describe_row(self, row: CdxRow) -> str:
        is_first = row.datetime == self.first.datetime
        is_last = row.datetime == self.last.datetime
        return f"{'first ' * is_first}{'last ' * is_last}memento"

    def build_json(self, origin: MementoOrigin) -> dict[str, object]:
        """Build the list of captures as JSON data, with the field names that other Memento programs
        use.
        """

        def describe(row: CdxRow) -> dict[str, str]:
            iso_time = parse_datetime14(row.datetime).replace(tzinfo=None).isoformat()
            return {"datetime": f"{iso_time}Z", "uri": origin.build_memento_url(row)}

        next_url = origin.build_timemap_url(self.url, "json", self.rows[-1].datetime)
        return {
            "original_uri": self.url,
            "self": origin.build_timemap_url(self.url, "json", self.after),
            "mementos": {
                "list": [describe(row) for row in self.rows],
                "first": describe(self.first),
                "last": describe(self.last),
            },
            "timemap_uri": {
                "link_format": origin.build_timemap_url(self.url),
                "json_format": origin.build_timemap_url(self.url, "json"),
            },
            "timegate_uri": origin.build_timegate_url(self.url),
            "next": None if self.is_last else next_url,
        }
