"""The page that is checked on every push for each template, and the templates that a server renders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fonds.web.html.rendering import ENVIRONMENT

REPRESENTATIVES = {
    "admin.html": "keys, listed and revoked",
    "unclustered.html": "theme, in none",
    "as_of.html": "search, as of a day",
    "changes.html": "what changed",
    "cite.html": "how a page is cited",
    "collection.html": "collection",
    "decide.html": "failures, asked",
    "decided.html": "failure, accepted",
    "docs.html": "API",
    "edits.html": "silent edits",
    "embargoes.html": "embargo, made",
    "excluded.html": "documents taken out",
    "failures.html": "failures",
    "file.html": "file, PDF",
    "files.html": "files",
    "key_made.html": "key, made",
    "links.html": "source, links",
    "over_time.html": "themes over time",
    "overview.html": "overview",
    "pdf_page.html": "page of a PDF",
    "pipeline.html": "pipeline",
    "placed.html": "document",
    "problem.html": "file, unknown",
    "raw.html": "bytes of a file",
    "records.html": "records",
    "search.html": "search",
    "show.html": "look up, sources",
    "sign_in.html": "sign-in, refused",
    "source.html": "source",
    "sources.html": "sources",
    "takedowns.html": "takedown, made",
    "theme.html": "theme",
    "theme_documents.html": "documents of a theme",
    "themes.html": "collections",
    "verified.html": "bytes, the same",
    "verify.html": "result, other",
}
"""Page of each template that is fully checked on push; `make nightly` checks all other pages."""
INCLUDED = {"base.html", "parts.html", "reading_parts.html", "theme_parts.html"}
"""Templates that are only parts of pages."""


class RenderedTemplates:
    """The templates that applications in this process rendered."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @contextmanager
    def expect(self, template: str) -> Iterator[None]:
        """Check that the last rendered page has this template."""
        self.names.clear()
        yield
        assert self.names[-1:] == [template]


@contextmanager
def record_templates() -> Iterator[RenderedTemplates]:
    """Record the template of each page."""
    templates = RenderedTemplates()
    load = ENVIRONMENT.get_template

    def record(name: str, parent: str | None = None, *arguments: Any) -> Any:
        if parent is None:
            templates.names.append(name)
        return load(name, parent, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ENVIRONMENT, "get_template", record)
        yield templates
