"""Find the files that a key refers to: a SHA-1, URL, path or story id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.archive.replay.captures import iter_url_captures
from fonds.derivatives.story_versions import list_versions
from fonds.model.keys import parse_sha1
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow
from fonds.ports import Records, Stores
from fonds.urls.normalization import compute_story_id, normalize_url
from fonds.urls.surt import NONE, build_surt
from fonds.viewer.path_keys import list_path_urls, list_record_places

FILES_MAX = 1_000
"""Maximum number of files that are looked up for one key in each of the places where it may occur."""


@dataclass(frozen=True, slots=True)
class ResolvedKey:
    """Files that a key (SHA-1, URL, path or story id) refers to.

    - `files`: SHA-1s of the files.
    - `complete`: False if the key may refer to more than 1,000 files, so that some are missing.
    """

    files: Sequence[str]
    complete: bool = True


def resolve(stores: Stores, key: str) -> ResolvedKey:
    """Return the files that a key refers to; no files for an unknown key.

    A key is a SHA-1 in hexadecimal or base32, a URL, a path or a story id (64 digits). A path names
    a loose file, a member of a ZIP (`pages.zip#a.html`) or a record in a WARC file
    (`crawl.warc.gz:85`). A URL or story that was captured with different bytes has several files.
    Files of a story are ordered from the newest version to the oldest.
    """
    raw = parse_sha1(key)
    if raw is not None:
        return ResolvedKey([raw.hex()])
    if len(key) == 64 and all(c in "0123456789abcdef" for c in key.lower()):
        return _build_resolved(list_versions(stores.records, key.lower(), FILES_MAX + 1))
    records = stores.records
    locations = list_record_places(records, key)
    hashes = [row.sha1hex for row in records.get(CdxRow, locations)] if locations else []
    urls = [key, *list_path_urls(key)]
    # A page from a loose file was captured under its path, but its story has the URL that the page
    # states.
    resolved_key = _build_resolved(
        hashes,
        *(_find_captured_files(records, url) for url in urls),
        *(list_versions(records, compute_story_id(url), FILES_MAX + 1) for url in urls),
    )
    return (
        resolved_key if resolved_key.files else _build_resolved(_find_entered_files(records, urls))
    )


def _find_captured_files(records: Records, url: str) -> list[str]:
    """Return the SHA-1s of the files captured at a URL.

    Captures are found by a key (SURT) that ignores the case of paths and the fragments of web URLs.
    For `file:` URLs and URLs with a fragment, the full URLs are compared too, because case or
    fragment may name another file or ZIP member.
    """
    if build_surt(url) == NONE:
        return []
    rows = list(islice(iter_url_captures(records, url), FILES_MAX + 1))
    is_file = url.lower().startswith("file:")
    if is_file or "#" in url:
        normalized_url = normalize_url(url)
        matches = [row for row in rows if normalize_url(row.url) == normalized_url]
        rows = matches if matches or is_file else rows
    return [row.sha1hex for row in rows]


def _find_entered_files(records: Records, urls: Sequence[str]) -> list[str]:
    """Return the SHA-1s of stored files that were ingested as entries with one of these URLs."""
    entries = records.find(EntryRow, {"url": list(urls)}, count_max=FILES_MAX + 1)
    subjects = _list_distinct([row.about for row in entries if row.about])
    return [row.sha1hex for row in records.get(FileMetaRow, subjects)] if subjects else []


def _build_resolved(*hashes: Sequence[str]) -> ResolvedKey:
    files = _list_distinct([sha1hex for group in hashes for sha1hex in group[:FILES_MAX]])
    return ResolvedKey(files, all(len(group) <= FILES_MAX for group in hashes))


def _list_distinct(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))
