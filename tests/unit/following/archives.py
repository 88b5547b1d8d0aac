"""Sources with older entries: archives, further pages, and indexes of sitemaps."""

from __future__ import annotations

from datetime import date

from fixtures.feeds import atom, json_feed, sitemap
from fonds.following.backfill_requests import request_backfill
from fonds.following.poller import PollResult
from fonds.model.rows import SourceRow
from fonds.model.source import Backfill
from unit.following.world import World

HISTORY = 'xmlns:fh="http://purl.org/syndication/history/1.0"'
PAGES = 5
FIRST, LAST = date(2025, 2, 1), date(2025, 3, 31)
"""Of five monthly pages, May to January, these are the days of the third and the fourth."""


def story(month: int, number: int) -> str:
    return f"https://news.example.org/{month}/{number}"


def entry(month: int, number: int, *, is_dated: bool = True) -> str:
    day = f"<updated>2025-{month:02d}-{number:02d}T12:00:00Z</updated>" if is_dated else ""
    return f'<title>{month}/{number}</title><link href="{story(month, number)}"/>{day}'


def make_page(month: int, older_url: str, relation: str = "prev-archive") -> bytes:
    """Return the page of a month with three entries and a link to the page before."""
    head = f'<link rel="{relation}" href="{older_url}"/>' if older_url else ""
    return atom([entry(month, number) for number in (1, 2, 3)], head, HISTORY)


def serve_archives(world: World, relation: str = "prev-archive") -> None:
    """Serve a feed of May at `/feed`, with archives `/4` to `/1` of the months before."""
    world.serve("/feed", make_page(5, "/4", relation))
    for month in range(4, 0, -1):
        world.serve(f"/{month}", make_page(month, f"/{month - 1}" if month > 1 else "", relation))


def serve_json_pages(world: World) -> None:
    """Serve the same entries as JSON Feed, with `next_url`."""
    for month in range(5, 0, -1):
        items: list[dict[str, object]] = [
            {
                "url": story(month, number),
                "date_published": f"2025-{month:02d}-{number:02d}T12:00:00Z",
            }
            for number in (1, 2, 3)
        ]
        extra = {"next_url": f"{world.server.url}/{month - 1}"} if month > 1 else {}
        world.serve("/feed" if month == 5 else f"/{month}", json_feed(items, **extra))


def serve_index(world: World, lastmods: dict[str, str]) -> None:
    """Serve an index of sitemaps at `/feed`, with their change dates, and three dated pages per
    sitemap."""
    entries = "".join(
        f"<sitemap><loc>{world.server.url}/{name}.xml</loc><lastmod>{day}</lastmod></sitemap>"
        for name, day in lastmods.items()
    )
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    world.serve("/feed", f'<sitemapindex xmlns="{space}">{entries}</sitemapindex>'.encode())
    for name in lastmods:
        day = "<news:news><news:publication_date>2025-03-0{}</news:publication_date></news:news>"
        parts = [
            sitemap([f"https://news.example.org/{name}/{n}"], day.format(n)) for n in (1, 2, 3)
        ]
        urls = b"".join(part[part.index(b"<url>") : part.rindex(b"</urlset>")] for part in parts)
        world.serve(f"/{name}.xml", parts[0][: parts[0].index(b"<url>")] + urls + b"</urlset>")


def request_days(world: World, row: SourceRow, *, undated: bool = False) -> Backfill:
    """Request a backfill of the days above."""
    days = (FIRST, LAST)
    now = world.place.clock()
    return request_backfill(
        world.place.records, world.get_row(row.source_id), days, "ada", now, takes_undated=undated
    )


def get_backfill(world: World, row: SourceRow) -> Backfill:
    backfill = world.get_row(row.source_id).backfill
    assert backfill is not None
    return backfill


def poll_all(world: World) -> list[PollResult]:
    """Poll all due sources until none is due."""
    results = []
    while due := world.poller.list_due(10):
        results += [result for row in due if (result := world.poller.poll(row)) is not None]
    return results


def add_polled_feed(world: World) -> SourceRow:
    """Add a source and poll it once for new entries."""
    row = world.add("/feed")
    poll_all(world)
    return world.get_row(row.source_id)


def list_paths(world: World) -> list[str]:
    return [path for path, _ in world.server.requests if path != "/robots.txt"]
