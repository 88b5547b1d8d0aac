"""docs/index.md links every page once."""

from __future__ import annotations

import re

from unit.repository.tree import ROOT

DOCS = ROOT / "docs"


def test_the_index_links_every_page_once() -> None:
    links = re.findall(r"^\| \[[^\]]+\]\(([^)]+)\)", (DOCS / "index.md").read_text("utf-8"), re.M)
    pages = {
        str(path.relative_to(DOCS))
        for pattern in ("*.md", "howto/*.md", "fonds.1", "openapi.json")
        for path in DOCS.glob(pattern)
    } - {"index.md"}
    assert sorted(link for link in links if link[:3] != "../" and link != "decisions/") == sorted(
        pages
    )
