"""The homes of most browser tests, and their pages in every state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from browser.browsing import serve_app
from failed_home import body, fail
from filled_home import FilledHome, open_home
from followed_home import GOOD
from followed_home import HOSTILE as HOSTILE_SOURCE
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusters import load_clusters
from fonds.web.app import create_app
from fonds.web.pages.theme_links import (
    link_to_assignment,
    link_to_collection,
    link_to_exclusions,
    link_to_reason,
    link_to_theme,
)
from reading_home import ReadingHome, create_local_page_views, fill_reading
from themed_home import FIVE, HOSTILE, STRAY, fill_with_themes

AS_OF = "q=flood&day=2026-03-14&change=unchanged"
NOTHING_READ = ReadingHome("", "", ("", "", ""), "")
FAILED_BODIES = (900, 903)


class PageCase(NamedTuple):
    """A page: address, template and status."""

    address: str
    template: str
    status: int = 200


@dataclass(frozen=True, slots=True)
class Library:
    """The origins of three served homes: a full one, an empty one, and one with files to read."""

    filled: FilledHome
    full: str
    empty: str
    read: str
    reading: ReadingHome
    theme: str
    chosen: str

    def list_pages(self) -> dict[str, PageCase]:
        """Return every kind of page in every state, by name."""
        story = f"{self.read}/file/{self.reading.versions[2]}"
        return {
            "overview": PageCase(f"{self.full}/", "overview.html"),
            "overview, empty": PageCase(f"{self.empty}/", "overview.html"),
            "records": PageCase(f"{self.full}/records?weight=skipped", "records.html"),
            "records, none": PageCase(f"{self.full}/records?reason=bomb", "records.html"),
            "files": PageCase(f"{self.full}/files", "files.html"),
            "search": PageCase(f"{self.full}/search?q=flood", "search.html"),
            "search, filtered": PageCase(
                f"{self.full}/search?q=flood&kind=pdf&from=2019-01-01", "search.html"
            ),
            "search, by day added": PageCase(
                f"{self.full}/search?q=flood&dates=added&sort=newest", "search.html"
            ),
            "search, nothing": PageCase(
                f"{self.full}/search?q=flood&kind=pdf&language=de", "search.html"
            ),
            "search, as of a day": PageCase(f"{self.full}/search/as-of?{AS_OF}", "as_of.html"),
            "search, as of no day": PageCase(f"{self.full}/search/as-of?q=flood", "as_of.html"),
            "search, as of tomorrow": PageCase(
                f"{self.full}/search/as-of?q=flood&day=2999-01-01", "as_of.html", 400
            ),
            "search, error": PageCase(f"{self.full}/search?q=kind:sculpture", "search.html", 400),
            "search, empty": PageCase(f"{self.empty}/search", "search.html"),
            "file, PDF": PageCase(f"{self.full}/file/{self.filled.long}", "file.html"),
            "file, hostile": PageCase(f"{self.full}/file/{self.filled.hostile}", "file.html"),
            "file, broken": PageCase(f"{self.full}/file/{self.filled.broken}", "file.html"),
            "file, pending": PageCase(f"{self.full}/file/{self.filled.pending}", "file.html"),
            "file, unknown": PageCase(f"{self.full}/file/{'0' * 40}", "problem.html", 404),
            "look up": PageCase(f"{self.full}/show?key={self.filled.twice_url}", "show.html"),
            "failures": PageCase(f"{self.full}/failures", "failures.html"),
            "failures, none": PageCase(f"{self.empty}/failures", "failures.html"),
            "page of a PDF": PageCase(
                f"{self.read}/file/{self.reading.pdf}/pages/3?q=flood", "pdf_page.html"
            ),
            "page of a PDF, not drawn": PageCase(
                f"{self.read}/file/{self.reading.broken}/pages/1", "pdf_page.html"
            ),
            "story with versions": PageCase(story, "file.html"),
            "story with words marked": PageCase(f"{story}?find=bridge#hit-1", "file.html"),
            "story from right to left": PageCase(
                f"{self.read}/file/{self.reading.hebrew}", "file.html"
            ),
            "what changed": PageCase(f"{story}/changes", "changes.html"),
            "failures, many groups": PageCase(
                f"{self.full}/failures?step=extract_pdf", "failures.html"
            ),
            "failures, asked": PageCase(f"{self.full}/failures/retry?{self.chosen}", "decide.html"),
            "failures, final?": PageCase(
                f"{self.full}/failures/accept?{self.chosen}", "decide.html"
            ),
            "pipeline": PageCase(f"{self.full}/pipeline", "pipeline.html"),
            "pipeline, nothing waits": PageCase(f"{self.empty}/pipeline", "pipeline.html"),
            "verify a result": PageCase(f"{self.full}/verify", "verify.html"),
            "look up, sources": PageCase(
                f"{self.full}/show?key={GOOD.url}/2026/1", "show.html", 404
            ),
            "how a page is cited": PageCase(
                f"{self.read}/file/{self.reading.pdf}/cite?page=2", "cite.html"
            ),
            "how words are cited": PageCase(
                f"{self.read}/file/{self.reading.pdf}/cite?quote=flood", "cite.html"
            ),
            "words it does not say": PageCase(
                f"{self.read}/file/{self.reading.pdf}/cite?quote=ebb", "cite.html", 404
            ),
            "bytes of a file": PageCase(f"{self.read}/file/{self.reading.pdf}/raw", "raw.html"),
            "silent edits": PageCase(f"{self.read}/changes", "edits.html"),
            "API": PageCase(f"{self.full}/docs", "docs.html"),
            "collections": PageCase(f"{self.full}/themes", "themes.html"),
            "collections, none": PageCase(f"{self.empty}/themes", "themes.html"),
            "collection": PageCase(f"{self.full}{link_to_collection(FIVE)}", "collection.html"),
            "collection, hostile": PageCase(
                f"{self.full}{link_to_collection(HOSTILE)}", "collection.html"
            ),
            "collection, not grouped": PageCase(
                f"{self.full}/themes/made/waiting", "collection.html"
            ),
            "collection, unknown": PageCase(f"{self.full}/themes/made/fife", "problem.html", 404),
            "themes over time": PageCase(
                f"{self.full}{link_to_collection(FIVE)}/over-time", "over_time.html"
            ),
            "documents of a theme": PageCase(
                f"{self.full}{link_to_reason(FIVE, 'outlier')}/documents", "theme_documents.html"
            ),
            "theme": PageCase(f"{self.full}{self.theme}", "theme.html"),
            "documents taken out": PageCase(
                f"{self.full}{link_to_exclusions(FIVE)}", "excluded.html"
            ),
            "theme, in none": PageCase(f"{self.full}{link_to_reason(FIVE)}", "unclustered.html"),
            "theme, outliers": PageCase(
                f"{self.full}{link_to_reason(FIVE, 'outlier')}", "unclustered.html"
            ),
            "sources": PageCase(f"{self.full}/sources", "sources.html"),
            "sources, none": PageCase(f"{self.empty}/sources", "sources.html"),
            "source": PageCase(f"{self.full}/sources/{GOOD.source_id}", "source.html"),
            "source, failing": PageCase(
                f"{self.full}/sources/{HOSTILE_SOURCE.source_id}", "source.html"
            ),
            "source, links": PageCase(f"{self.full}/sources/{GOOD.source_id}/links", "links.html"),
            "document": PageCase(f"{self.full}{link_to_assignment(FIVE, 'd1')}", "placed.html"),
            "document, outlier": PageCase(
                f"{self.full}{link_to_assignment(FIVE, STRAY)}", "placed.html"
            ),
        }


@contextmanager
def serve_library(full: Path, empty: Path, read: Path) -> Iterator[Library]:
    """Fill three folders and serve them."""
    filled, reading = fill_with_themes(full), fill_reading(read)
    with (
        open_home(full) as stores,
        open_home(empty) as empty_stores,
        open_home(read) as reading_stores,
    ):
        clusters = load_clusters(Tables(stores.table), FIVE)
        assert clusters is not None
        fail(stores, *FAILED_BODIES)
        with (
            serve_app(create_app(stores)) as full_origin,
            serve_app(create_app(empty_stores)) as empty_origin,
            serve_app(create_app(reading_stores, views=create_local_page_views())) as read_origin,
        ):
            yield Library(
                filled,
                full_origin,
                empty_origin,
                read_origin,
                reading,
                theme=link_to_theme(FIVE, clusters.clusters[0].id),
                chosen=f"pipeline=library&entry={body(FAILED_BODIES[0]).capture_id}",
            )


def list_templates() -> dict[str, str]:
    """Return the template of each page by its name."""
    pages = Library(FilledHome(), "", "", "", NOTHING_READ, "", "").list_pages()
    return {name: page.template for name, page in pages.items()}


PAGES = list_templates().keys()
"""The names of the pages."""
