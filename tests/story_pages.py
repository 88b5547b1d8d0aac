"""News pages from which the steps make the stories of test homes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


def page_markup(
    title: str, text: str, authors: Sequence[str], published: str | None, language: str
) -> bytes:
    """Return an HTML page that states its title, authors, date and language. Each line is a paragraph."""
    metadata: dict[str, object] = {"@context": "https://schema.org", "@type": "NewsArticle"}
    if authors:
        metadata["author"] = [{"@type": "Person", "name": name} for name in authors]
    if published:
        metadata["datePublished"] = published
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return (
        f'<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<script type="application/ld+json">{msgspec.json.encode(metadata).decode()}</script>'
        f"</head><body><article>{paragraphs}</article></body></html>"
    ).encode()
