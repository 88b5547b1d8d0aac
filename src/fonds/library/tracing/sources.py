"""Which followed sources should have had an address: those of its host, of hosts above and below it."""

from __future__ import annotations

from itertools import islice

from fonds.model.failure import host_of
from fonds.model.rows import SourceRow
from fonds.ports import Records

SOURCES_LOOKED_MAX = 10_000
SOURCES_SHOWN_MAX = 20


def sources_of(records: Records, url: str) -> list[SourceRow]:
    """Sources whose own address has the host of `url`, or one above or below it, `www.` aside; twenty at
    most, out of the first ten thousand there are. None for what is no address of the web."""
    host = _bare(url)
    if not host:
        return []
    rows = records.find(SourceRow, count_max=SOURCES_LOOKED_MAX)
    fit = (row for row in rows if _related(host, _bare(row.url)))
    return list(islice(fit, SOURCES_SHOWN_MAX))


def _bare(url: str) -> str:
    return host_of(url).removeprefix("www.")


def _related(one: str, other: str) -> bool:
    if "." not in one or "." not in other:
        return one == other
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")
