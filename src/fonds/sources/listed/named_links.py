"""Links a person names now: addresses on the command line or on standard input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.crawl.links import link_to
from fonds.model.disposition import Reason
from fonds.model.entry import Entry, input_id_of
from fonds.model.link import TlsCheck, of_link
from fonds.model.rows import InputRow
from fonds.model.rss_entry import RssEntry
from fonds.sources.input_rows import unread_input

LINKS = "links"
MARK_EVERY = 200


@dataclass(frozen=True, slots=True)
class NamedLinks:
    """Addresses a person names now: `asked_at` (aware UTC) tells this time from all others, so that they are
    fetched whatever was fetched before.
    """

    urls: Sequence[str]
    collection: str
    asked_at: datetime
    tls: TlsCheck = TlsCheck.FULL
    via: str = "the command line"

    def inputs(self) -> Iterator[InputRow]:
        """One input for all of them."""
        if self.urls:
            told = "\n".join(self.urls).encode("utf-8", "surrogateescape")
            when = self.asked_at.isoformat()
            yield unread_input(input_id_of(told, when), self.via, LINKS, when, self.asked_at)

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """A link for each address beyond the position of the row; one that is named again is counted."""
        found = RssEntry(via=self.via, fetch_date=self.asked_at.date().isoformat())
        seen: set[str] = set()
        for number, url in enumerate(self.urls, 1):
            link = link_to(
                url,
                row.input_id,
                found,
                collection=self.collection,
                found_at=self.asked_at,
                tls=self.tls,
                allows_any_site=True,
            )
            is_new = link.id not in seen
            seen.add(link.id)
            if number > row.position:
                yield of_link(link) if is_new else {str(Reason.REPEATED): 1}
                if number % MARK_EVERY == 0:
                    yield number
