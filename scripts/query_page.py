"""Write the table of search fields in docs/query.md from `fonds.search.fields`."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.search.fields import SEARCH_FIELDS
from written_pages import ROOT, write

PAGE = "docs/query.md"
BEGIN, END = "<!-- fields: written by scripts/query_page.py -->\n", "<!-- end of fields -->\n"


def build_pages() -> dict[str, str]:
    """Return the page by its path from the root of the repository."""
    text = (ROOT / PAGE).read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return {PAGE: "".join((before, begin, *_iter_lines(), end, after))}


def _iter_lines() -> Iterator[str]:
    yield "| field | value | example | facet |\n|---|---|---|---|\n"
    for field in SEARCH_FIELDS:
        names = " ".join(f"`{name}:`" for name in (field.query_name, *field.aliases))
        facet = f"`{field.facet}=`" if field.facet else ""
        yield f"| {names} | {field.meaning} | `{field.example}` | {facet} |\n"


if __name__ == "__main__":
    write(build_pages())
