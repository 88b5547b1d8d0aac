"""Describe the stories that match a search only in an earlier version."""

from __future__ import annotations

from fonds.model.search import SearchResults


def build_earlier_note(results: SearchResults) -> str | None:
    """Return a sentence that counts the stories that match a search only in an earlier version.

    The sentence has no full stop. Returns None if searching all versions (`version:all`) would find
    no further stories.
    """
    if results.earlier_text is None:
        return None
    count = results.earlier_count
    stories = "1 story has" if count == 1 else f"{count:,} stories have"
    return f"{stories} these words in an earlier version"
