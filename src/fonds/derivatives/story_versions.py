"""Find the current version of a story, and the earlier versions that its index document includes.

Versions are the pages with different bytes at one URL. The texts of the 1,000 versions captured
last are compared. A document includes at most 100 earlier versions with 1,000,000 characters;
further versions are only counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from fonds.derivatives.document_rows import CurrentRow, EarlierText
from fonds.derivatives.fixity import TEXT
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.rows import FixityRow, StoryMetaRow
from fonds.ports import Records

COMPARED_MAX = 1_000
VERSIONS_MAX = 100
_KEY_BATCH = 500

_Versions: TypeAlias = dict[str, list[tuple[str, str]]]
"""Versions of stories by story id, as (time of capture, SHA-1) in order of capture."""


def load_current_versions(
    records: Records, story_ids: Sequence[str], excluded_files: Collection[str] = ()
) -> dict[str, CurrentRow]:
    """Return the version of each story captured last, with its earlier versions, by story id.

    If several versions were captured in the same second, the one with the largest SHA-1 counts as
    last, so that the order of arrival does not matter. Files in `excluded_files` and files under
    embargo are ignored. Stories without a version are omitted.
    """
    versions = _load_versions(records, story_ids, excluded_files)
    story_by_sha1 = {
        story_versions[-1][1]: story_id for story_id, story_versions in versions.items()
    }
    rows = records.get(StoryMetaRow, list(story_by_sha1)) if story_by_sha1 else []
    current = {row.story_id: row for row in rows if story_by_sha1[row.sha1hex] == row.story_id}
    several = {
        id_: story_versions
        for id_, story_versions in versions.items()
        if id_ in current and len(story_versions) > 1
    }
    earlier = _collect_earlier(records, several) if several else {}
    return {id_: CurrentRow(row, *earlier.get(id_, ())) for id_, row in current.items()}


def list_versions(records: Records, story_id: str, count_max: int) -> list[str]:
    """Return the SHA-1s of up to `count_max` versions of a story, newest first."""
    where, order = {"story_id": story_id}, ("-captured", "-sha1hex")
    rows = records.find(StoryMetaRow, where, order=order, count_max=count_max)
    return [row.sha1hex for row in rows]


def list_versions_by_story(records: Records, story_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the SHA-1s of all versions of each story in order of capture, by story id.

    Versions under embargo are omitted.
    """
    versions = _load_versions(records, story_ids)
    return {
        id_: [sha1hex for _, sha1hex in story_versions] for id_, story_versions in versions.items()
    }


def _load_versions(
    records: Records, story_ids: Sequence[str], excluded_files: Collection[str] = ()
) -> _Versions:
    if not story_ids:
        return {}
    columns = ("story_id", "captured", "sha1hex")
    # Counting by these three columns loads no story JSON; there may be many versions.
    rows = sorted(records.count(StoryMetaRow, columns, {"story_id": list(story_ids)}))
    hidden_files = {
        *excluded_files,
        *find_active_embargoes(records, [sha1hex for _, _, sha1hex in rows]),
    }
    versions: _Versions = {}
    for story_id, datetime14, sha1hex in rows:
        if sha1hex not in hidden_files:
            versions.setdefault(story_id, []).append((datetime14, sha1hex))
    return versions


def _collect_earlier(
    records: Records, versions_by_story: _Versions
) -> dict[str, tuple[tuple[EarlierText, ...], int]]:
    """Return earlier versions by story id, newest first, with the number of versions omitted."""
    compared_versions = {
        id_: versions[::-1][:COMPARED_MAX] for id_, versions in versions_by_story.items()
    }
    keys = [sha1hex for versions in compared_versions.values() for _, sha1hex in versions]
    titles = _load_titles(records, keys)
    hashes = _load_text_hashes(records, keys)
    earlier = {}
    for id_, versions in compared_versions.items():
        different = list(_filter_different(versions, titles, hashes))
        uncompared_count = len(versions_by_story[id_]) - len(versions)
        omitted_count = uncompared_count + max(0, len(different) - VERSIONS_MAX)
        earlier[id_] = tuple(different[:VERSIONS_MAX]), omitted_count
    return earlier


def _filter_different(
    newest_first: Sequence[tuple[str, str]],
    titles: Mapping[str, tuple[str | None, datetime]],
    hashes: Mapping[str, str],
) -> Iterator[EarlierText]:
    """Yield the earlier versions whose text or title differs from those of all newer versions.

    The first item of `newest_first` is the current version; it is not yielded.
    """
    text_keys: set[str] = set()
    headlines: set[str] = set()
    for number, (datetime14, sha1hex) in enumerate(newest_first):
        if sha1hex not in titles:
            # It has moved to another story since the versions were listed.
            continue
        title, updated_at = titles[sha1hex]
        text_key = hashes.get(sha1hex, f"unknown {sha1hex}")
        is_text_new = text_key not in text_keys
        is_title_new = bool(title) and title not in headlines
        text_keys.add(text_key)
        headlines.add(title or "")
        if number and (is_text_new or is_title_new):
            new_text_key = text_key if is_text_new else None
            yield EarlierText(sha1hex, datetime14, title, new_text_key, updated_at)


def _load_titles(
    records: Records, sha1hexes: Iterable[str]
) -> dict[str, tuple[str | None, datetime]]:
    """Return the title of each version and the time at which its row was written, by SHA-1."""
    columns = ("sha1hex", "article_title", "updated")
    titles = {}
    for chunk in _iter_chunks(sha1hexes):
        for sha1hex, title, updated_at in records.count(StoryMetaRow, columns, {"sha1hex": chunk}):
            titles[sha1hex] = title, updated_at
    return titles


def _load_text_hashes(records: Records, sha1hexes: Iterable[str]) -> dict[str, str]:
    """Return the recorded SHA-256 of each news page's text, by SHA-1 of the page.

    Pages without a recorded hash are omitted.
    """
    columns = ("sha1hex", "sha256hex")
    hashes: dict[str, str] = {}
    for chunk in _iter_chunks(sha1hexes):
        for sha1hex, sha256hex in records.count(
            FixityRow, columns, {"sha1hex": chunk, "part": TEXT}
        ):
            hashes[sha1hex] = sha256hex
    return hashes


def _iter_chunks(keys: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(keys)
    while chunk := list(islice(remaining, _KEY_BATCH)):
        yield chunk
