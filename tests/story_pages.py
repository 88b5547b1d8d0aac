"""News pages as the steps read and import them: stories of test homes are made of pages, never by hand."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fonds.extract.file_meta import describe
from fonds.extract.page import parse_page
from fonds.model.disposition import DONE
from fonds.model.file import Unparsed
from fonds.model.story import Parsed
from fonds.ports import Stores
from fonds.steps.story.import_story import ImportStory
from fonds.steps.story.parse_story import ParseStory
from home_rows import NOW, Body, capture_of

PAGE_EXTRACTOR = "article/1"


def page_markup(
    title: str, text: str, authors: Sequence[str], published: str | None, language: str
) -> bytes:
    """Return an HTML page that states its title, authors, date and language. Each line is a paragraph."""
    stated: dict[str, object] = {"@context": "https://schema.org", "@type": "NewsArticle"}
    if authors:
        stated["author"] = [{"@type": "Person", "name": name} for name in authors]
    if published:
        stated["datePublished"] = published
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return (
        f'<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<script type="application/ld+json">{msgspec.json.encode(stated).decode()}</script>'
        f"</head><body><article>{paragraphs}</article></body></html>"
    ).encode()


def import_page(stores: Stores, body: Body, collection: str = "default") -> Parsed:
    """Parse an archived page and import its story. Return what was parsed."""
    capture = capture_of(body, collection)
    parse = ParseStory(stores.archive, parse_page, PAGE_EXTRACTOR, False, lambda: NOW)
    result = parse(Unparsed(capture, describe(body.content, body.mime)))
    assert result.disposition == DONE, result.disposition
    (parsed,) = (item for item in result.items if isinstance(item, Parsed))
    ImportStory(stores.records, stores.blobs, stores.index, lambda: NOW)([parsed])
    return parsed
