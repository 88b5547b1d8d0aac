"""Feeds with what came before, as sources offer it: archives, further pages, indexes of sitemaps."""

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
"""Of five pages of a month each, May to January, these are the days of the third and the fourth."""


def story(month: int, number: int) -> str:
    return f"https://news.example.org/{month}/{number}"


def entry(month: int, number: int, *, is_dated: bool = True) -> str:
    day = f"<updated>2025-{month:02d}-{number:02d}T12:00:00Z</updated>" if is_dated else ""
    return f'<title>{month}/{number}</title><link href="{story(month, number)}"/>{day}'


def page_of(month: int, before: str, relation: str = "prev-archive") -> bytes:
    """A page of a month, with three entries, that leads to the one before."""
    head = f'<link rel="{relation}" href="{before}"/>' if before else ""
    return atom([entry(month, number) for number in (1, 2, 3)], head, HISTORY)


def archived(world: World, relation: str = "prev-archive") -> None:
    """A feed of May at `/feed`, with archives `/4` to `/1` of the months before."""
    world.give("/feed", page_of(5, "/4", relation))
    for month in range(4, 0, -1):
        world.give(f"/{month}", page_of(month, f"/{month - 1}" if month > 1 else "", relation))


def paged_json(world: World) -> None:
    """The same as JSON Feed, with `next_url`."""
    for month in range(5, 0, -1):
        items: list[dict[str, object]] = [
            {"url": story(month, one), "date_published": f"2025-{month:02d}-{one:02d}T12:00:00Z"}
            for one in (1, 2, 3)
        ]
        more = {"next_url": f"{world.server.url}/{month - 1}"} if month > 1 else {}
        world.give("/feed" if month == 5 else f"/{month}", json_feed(items, **more))


def index_of(world: World, lastmods: dict[str, str]) -> None:
    """An index of sitemaps at `/feed`, each with when it changed, and three dated pages of its month."""
    inside = "".join(
        f"<sitemap><loc>{world.server.url}/{name}.xml</loc><lastmod>{day}</lastmod></sitemap>"
        for name, day in lastmods.items()
    )
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    world.give("/feed", f'<sitemapindex xmlns="{space}">{inside}</sitemapindex>'.encode())
    for name in lastmods:
        day = "<news:news><news:publication_date>2025-03-0{}</news:publication_date></news:news>"
        parts = [
            sitemap([f"https://news.example.org/{name}/{n}"], day.format(n)) for n in (1, 2, 3)
        ]
        inner = b"".join(part[part.index(b"<url>") : part.rindex(b"</urlset>")] for part in parts)
        world.give(f"/{name}.xml", parts[0][: parts[0].index(b"<url>")] + inner + b"</urlset>")


def asked_for(world: World, row: SourceRow, *, undated: bool = False) -> Backfill:
    """A backfill of the days above is asked for."""
    days = (FIRST, LAST)
    now = world.place.clock()
    return request_backfill(
        world.place.records, world.row(row.source_id), days, "ada", now, takes_undated=undated
    )


def stands(world: World, row: SourceRow) -> Backfill:
    found = world.row(row.source_id).backfill
    assert found is not None
    return found


def works(world: World) -> list[PollResult]:
    """Poll all that is due, until nothing is."""
    done = []
    while due := world.polling.list_due(10):
        done += [one for row in due if (one := world.polling.poll(row)) is not None]
    return done


def followed_feed(world: World) -> SourceRow:
    """A source that was polled once for what is new."""
    row = world.add("/feed")
    works(world)
    return world.row(row.source_id)


def asked(world: World) -> list[str]:
    return [path for path, _ in world.server.asked if path != "/robots.txt"]
