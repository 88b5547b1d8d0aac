"""Source of links from URLs on the command line or standard input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.following.link_rules import build_link
from fonds.model.capture import RssEntry
from fonds.model.disposition import Reason
from fonds.model.entry import Entry, TlsCheck, build_link_entry, compute_input_id
from fonds.model.rows import InputRow
from fonds.pipelines.runtime.intake import build_unread_input

LINKS = "links"
POSITION_EVERY = 200


@dataclass(frozen=True, slots=True)
class NamedLinkSource:
    """Source of URLs from the command line or standard input.

    - `collection`: collection of the links.
    - `named_at`: time of the command (aware UTC). It is part of the input's id, so known URLs are
      fetched again.
    - `tls`: how strictly TLS certificates are checked.
    - `via`: text that says where the URLs came from, for the stored entry of each link.
    """

    urls: Sequence[str]
    collection: str
    named_at: datetime
    tls: TlsCheck = TlsCheck.FULL
    via: str = "the command line"

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield one input row for all URLs together; none if there are no URLs."""
        if self.urls:
            url_bytes = "\n".join(self.urls).encode("utf-8", "surrogateescape")
            timestamp = self.named_at.isoformat()
            yield build_unread_input(
                compute_input_id(url_bytes, timestamp), self.via, LINKS, timestamp, self.named_at
            )

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield an entry for each URL after the first `row.position` URLs.

        A repeated URL yields a mapping that counts it as repeated. Numbers between the entries are
        positions from which a later call can resume.
        """
        rss_entry = RssEntry(via=self.via, fetch_date=self.named_at.date().isoformat())
        seen_ids: set[str] = set()
        for number, url in enumerate(self.urls, 1):
            link = build_link(
                url,
                row.input_id,
                rss_entry,
                collection=self.collection,
                found_at=self.named_at,
                tls=self.tls,
                allows_any_site=True,
            )
            is_new = link.id not in seen_ids
            seen_ids.add(link.id)
            if number > row.position:
                yield build_link_entry(link) if is_new else {str(Reason.REPEATED): 1}
                if number % POSITION_EVERY == 0:
                    yield number
