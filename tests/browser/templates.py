"""The page that is looked at on every push for each template, and what templates a server renders."""

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
"""Template -> its page that is checked on push in full; all other pages are in `make nightly`."""
INCLUDED = {"base.html", "parts.html", "reading_parts.html", "theme_parts.html"}
"""Templates that make no page by themselves."""


class RenderedTemplates:
    """The templates that applications in this process rendered."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @contextmanager
    def expect(self, template: str) -> Iterator[None]:
        """What is opened inside ends at a page of this template."""
        self.names.clear()
        yield
        assert self.names[-1:] == [template]


@contextmanager
def rendered_templates() -> Iterator[RenderedTemplates]:
    """Note the template of each page."""
    found = RenderedTemplates()
    load = ENVIRONMENT.get_template

    def note(name: str, parent: str | None = None, *others: Any) -> Any:
        if parent is None:
            found.names.append(name)
        return load(name, parent, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ENVIRONMENT, "get_template", note)
        yield found
