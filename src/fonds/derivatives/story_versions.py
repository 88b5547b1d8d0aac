"""The versions of a story: which one its document is made of, and which texts of earlier ones it carries.

Versions are the pages of one address with different bytes. Bound: of a story the 1,000 versions captured
last are compared by their texts, and a document carries 100 versions with 1,000,000 characters; what is left
out is counted.
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
"""(captured, SHA-1) of each version by the story's id, in the order of their captures."""


def load_current_versions(
    records: Records, story_ids: Sequence[str], excluded: Collection[str] = ()
) -> dict[str, CurrentRow]:
    """Of each story the version captured last with the texts of earlier ones, by the story's id; of versions
    of one second the one with the largest SHA-1 is the last, so that it is the same in whichever order they
    came.

    `excluded` names files that do not count, nor do those under embargo. Stories without a version are
    absent."""
    found = _load_versions(records, story_ids, excluded)
    chosen = {some[-1][1]: story_id for story_id, some in found.items()}
    rows = records.get(StoryMetaRow, list(chosen)) if chosen else []
    current = {row.story_id: row for row in rows if chosen[row.sha1hex] == row.story_id}
    several = {id_: some for id_, some in found.items() if id_ in current and len(some) > 1}
    earlier = _collect_earlier(records, several) if several else {}
    return {id_: CurrentRow(row, *earlier.get(id_, ())) for id_, row in current.items()}


def list_versions(records: Records, story_id: str, count_max: int) -> list[str]:
    """The SHA-1s of a story's versions, the newest first."""
    where, order = {"story_id": story_id}, ("-captured", "-sha1hex")
    found = records.find(StoryMetaRow, where, order=order, count_max=count_max)
    return [row.sha1hex for row in found]


def list_versions_by_story(records: Records, story_ids: Sequence[str]) -> dict[str, list[str]]:
    """The SHA-1s of all versions of each story but those under embargo, the one captured last behind the
    others."""
    found = _load_versions(records, story_ids)
    return {id_: [sha1hex for _, sha1hex in some] for id_, some in found.items()}


def _load_versions(
    records: Records, story_ids: Sequence[str], excluded: Collection[str] = ()
) -> _Versions:
    if not story_ids:
        return {}
    columns = ("story_id", "captured", "sha1hex")
    # Counted by all three, each version comes without its story's JSON; there may be many.
    rows = sorted(records.count(StoryMetaRow, columns, {"story_id": list(story_ids)}))
    left_out = {*excluded, *find_active_embargoes(records, [sha1hex for _, _, sha1hex in rows])}
    found: _Versions = {}
    for story_id, captured, sha1hex in rows:
        if sha1hex not in left_out:
            found.setdefault(story_id, []).append((captured, sha1hex))
    return found


def _collect_earlier(
    records: Records, several: _Versions
) -> dict[str, tuple[tuple[EarlierText, ...], int]]:
    """Of each story its earlier versions, the newest first, and how many are left out."""
    compared = {id_: some[::-1][:COMPARED_MAX] for id_, some in several.items()}
    keys = [sha1hex for some in compared.values() for _, sha1hex in some]
    titles = _load_titles(records, keys)
    hashes = _load_text_hashes(records, keys)
    found = {}
    for id_, some in compared.items():
        different = list(_filter_different(some, titles, hashes))
        beyond = len(several[id_]) - len(some)
        left_out = beyond + max(0, len(different) - VERSIONS_MAX)
        found[id_] = tuple(different[:VERSIONS_MAX]), left_out
    return found


def _filter_different(
    falling: Sequence[tuple[str, str]],
    titles: Mapping[str, tuple[str | None, datetime]],
    hashes: Mapping[str, str],
) -> Iterator[EarlierText]:
    """The versions behind the first that have a text or title that none before them has."""
    texts: set[str] = set()
    headlines: set[str] = set()
    for number, (captured, sha1hex) in enumerate(falling):
        if sha1hex not in titles:
            # It became a version of another story since it was listed.
            continue
        title, updated = titles[sha1hex]
        text = hashes.get(sha1hex, f"unknown {sha1hex}")
        is_text_new, is_title_new = text not in texts, bool(title) and title not in headlines
        texts.add(text)
        headlines.add(title or "")
        if number and (is_text_new or is_title_new):
            yield EarlierText(sha1hex, captured, title, text if is_text_new else None, updated)


def _load_titles(
    records: Records, sha1hexes: Iterable[str]
) -> dict[str, tuple[str | None, datetime]]:
    """Title and time of writing of these versions, by SHA-1."""
    columns = ("sha1hex", "article_title", "updated")
    found = {}
    for some in _iter_chunks(sha1hexes):
        for sha1hex, title, updated in records.count(StoryMetaRow, columns, {"sha1hex": some}):
            found[sha1hex] = title, updated
    return found


def _load_text_hashes(records: Records, sha1hexes: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the texts as they were written, by SHA-1 of the page; absent where none was noted."""
    columns = ("sha1hex", "sha256hex")
    found: dict[str, str] = {}
    for some in _iter_chunks(sha1hexes):
        for sha1hex, sha256hex in records.count(
            FixityRow, columns, {"sha1hex": some, "part": TEXT}
        ):
            found[sha1hex] = sha256hex
    return found


def _iter_chunks(keys: Iterable[str]) -> Iterator[list[str]]:
    left = iter(keys)
    while some := list(islice(left, _KEY_BATCH)):
        yield some
