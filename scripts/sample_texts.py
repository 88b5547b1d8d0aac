"""Texts of the sample crawl: news stories on five themes, and reports, read from `stories/*.txt`.

They were written for Fonds. Towns, people and newspapers are invented; domains are reserved.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

THEMES = ("river", "cup", "bridge", "election", "telescope")
_FOLDER = Path(__file__).parent / "stories"


@dataclass(frozen=True, slots=True)
class Site:
    """An invented newspaper: name, host, language, page layout and charset."""

    name: str
    host: str
    language: str = "en"
    layout: str = "article"
    charset: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Story:
    """One article. `published` is None if the page has no date."""

    theme: str
    site: Site
    title: str
    author: str
    published: date | None
    paragraphs: tuple[str, ...]

    @property
    def language(self) -> str:
        """The language of the newspaper."""
        return self.site.language

    @property
    def url(self) -> str:
        """The URL of the story."""
        day = self.published.strftime("%Y/%m/%d") if self.published else "features"
        return f"https://{self.site.host}/{day}/{build_slug(self.title)}.html"


@dataclass(frozen=True, slots=True)
class Report:
    """Content of a PDF: paragraphs by page, and its special features."""

    key: str
    title: str
    author: str
    language: str
    written_on: date
    pages: tuple[tuple[str, ...], ...]
    doi: str | None = None
    columns: int = 1
    drawing: str | None = None
    table: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        """The URL of the report."""
        return f"https://reports.council.example/{self.written_on.year}/{self.key}.pdf"


SITES = {
    "valley-courier": Site("The Valley Courier", "www.valley-courier.example"),
    "riverpost": Site("Riverpost", "riverpost.example", layout="portal"),
    "harbour-gazette": Site(
        "Harbour Gazette", "harbour-gazette.example", layout="table", charset="iso-8859-1"
    ),
    "evening-lantern": Site("The Evening Lantern", "evening-lantern.example", layout="portal"),
    "science-weekly": Site("Science Weekly", "www.science-weekly.example"),
    "sportsdesk": Site("Sportsdesk", "live.sportsdesk.example", layout="portal"),
    "town-ledger": Site("Town Ledger", "town-ledger.example", layout="table"),
    "northbank-times": Site("Northbank Times", "www.northbank-times.example"),
    "observatory-notes": Site("Observatory Notes", "notes.tarnfell.example", layout="portal"),
    "tageblatt-auental": Site("Tageblatt Auental", "www.tageblatt-auental.example", "de"),
    "voix-du-pont": Site("La Voix du Pont", "voix-du-pont.example", "fr", "table", "windows-1252"),
    "diario-del-rio": Site("Diario del Río", "diario-del-rio.example", "es", "portal"),
}


def read_stories() -> list[Story]:
    """Return all stories; the themes alternate."""
    by_theme = [[_build_story(theme, *part) for part in _read_parts(theme)] for theme in THEMES]
    return [story for turn in zip(*by_theme, strict=True) for story in turn]


def read_reports() -> list[Report]:
    """Return all reports in the order of their file."""
    return [_build_report(*part) for part in _read_parts("reports")]


def build_slug(title: str) -> str:
    """Return the title as part of a URL: ASCII letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title.replace("ß", "ss")).encode("ascii", "ignore")
    return "-".join(re.findall(r"[a-z0-9]+", plain.decode().lower()))[:70].strip("-")


def _read_parts(name: str) -> Iterator[tuple[Mapping[str, str], str]]:
    """Yield head and body of each text in a file: `name: value` lines, an empty line, paragraphs."""
    text = (_FOLDER / f"{name}.txt").read_text("utf-8")
    for part in text.strip().split("\n%%\n"):
        head, _, body = part.partition("\n\n")
        yield dict(line.split(": ", 1) for line in head.splitlines()), body


def _build_story(theme: str, head: Mapping[str, str], body: str) -> Story:
    return Story(
        theme=theme,
        site=SITES[head["site"]],
        title=head["title"],
        author=head["author"],
        published=date.fromisoformat(head["date"]) if "date" in head else None,
        paragraphs=_split_paragraphs(body),
    )


def _build_report(head: Mapping[str, str], body: str) -> Report:
    rows = (row.split("=") for row in head.get("table", "").split(";") if row)
    return Report(
        key=head["key"],
        title=head["title"],
        author=head["author"],
        language=head.get("language", "en"),
        written_on=date.fromisoformat(head["date"]),
        pages=tuple(_split_paragraphs(page) for page in body.split("\n%%page\n")),
        doi=head.get("doi"),
        columns=int(head.get("columns", "1")),
        drawing=head.get("drawing"),
        table=tuple((name, value) for name, value in rows),
    )


def _split_paragraphs(body: str) -> tuple[str, ...]:
    return tuple(" ".join(paragraph.split()) for paragraph in body.split("\n\n"))
