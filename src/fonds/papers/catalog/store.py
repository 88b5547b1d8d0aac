"""Store the records of the catalogue in a wide-row table and find works by their metadata.

Row keys begin with one of five bytes. Parts are separated by a zero byte, which slugs (titles in
lower case without blanks) cannot contain:
- `w`: record, by id of the work.
- `i`: lookup key: identifier, id of the work.
- `t`: lookup key: first letters of the title slug, first family name, year, id of the work.
- `a`: lookup key: first family name, year, volume, first page, id of the work.
- `m`: progress of loading a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from fonds.model.checksums import format_checksum, hash_cells
from fonds.model.errors import ConfigurationError
from fonds.papers.catalog.slugs import (
    SLUG_LETTERS_MAX,
    build_slug,
    normalize_number,
    parse_first_page,
    split_slug_words,
)
from fonds.papers.catalog.work import SOURCES, Work, decode_work, encode_work, merge_records
from fonds.ports import Table

FAMILY = "work"
POINTER, MARK = f"{FAMILY}:at", f"{FAMILY}:mark"
NAME_LETTERS = 24
WORK, IDENTIFIER, TITLE, AUTHOR, LOADED = b"w", b"i", b"t", b"a", b"m"
_NAME_PART = re.compile(r"[A-Za-z0-9_.]+")
_PARTS = {IDENTIFIER: 1, TITLE: 3, AUTHOR: 4}


def name_catalog_table(group: str, env: str) -> str:
    """Return the name of the catalogue table, `{group}-catalog-0-{env}`.

    Raises ConfigurationError if HBase does not allow a part of the name.
    """
    if not _NAME_PART.fullmatch(group) or not _NAME_PART.fullmatch(env):
        raise ConfigurationError(
            f"group {group!r} and environment {env!r} do not form a valid table name"
        )
    return f"{group}-catalog-0-{env}"


def build_column(source: str) -> str:
    """Return the table column for the records of works from a source, such as Crossref."""
    return f"{FAMILY}:{source}"


def build_checksum_cells(key: bytes, cells: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return cells of a row, each followed by a cell with its checksum.

    The records of a work have checksums of their own, because each source replaces only its record.
    """
    checksums = {
        f"{column}:checksum": format_checksum(hash_cells(key, {column: value}))
        for column, value in cells.items()
    }
    return {**cells, **checksums}


def build_work_key(work_id: str) -> bytes:
    """Return the row key in the catalogue table of the work with id `work_id`."""
    return WORK + work_id.encode("utf-8", "replace")


def build_mark_key(name: str) -> bytes:
    """Return the row key under which the progress of loading a file is stored."""
    return LOADED + sha256(name.encode("utf-8", "surrogateescape")).digest()[:16]


def build_title_prefix(title_slug: str) -> bytes:
    """Return the prefix of lookup keys of works whose titles begin with `title_slug`.

    A slug is a title in lower case without blanks. It is cut at 40 letters.
    """
    return TITLE + title_slug[:SLUG_LETTERS_MAX].encode()


def build_full_title_prefix(title_slug: str, surname: str | None = None) -> bytes:
    """Return the prefix of lookup keys of works with exactly this title.

    With `surname`, only of works by this first author. `title_slug` is the title in lower case
    without blanks.
    """
    name = b"" if surname is None else f"{fold_surname(surname)}\0".encode()
    return build_title_prefix(title_slug) + b"\0" + name


def build_author_prefix(surname: str, year: int | None = None, volume: str | None = None) -> bytes:
    """Return the prefix of lookup keys of works by this first author.

    With `year`, only of works of this year; with both, only of this year and volume.
    """
    year_part = f"{year}\0" if year else ""
    volume_part = f"{normalize_number(volume)}\0" if year and volume else ""
    return AUTHOR + f"{fold_surname(surname)}\0{year_part}{volume_part}".encode()


def build_identifier_prefix(identifier: str) -> bytes:
    """Return the prefix of lookup keys of works with an identifier such as `pmid:1`."""
    return IDENTIFIER + identifier.encode("utf-8", "replace") + b"\0"


def fold_surname(surname: str) -> str:
    """Return the last word of a family name in lower case without accents, for lookup keys.

    The words before it may be particles, which some sources omit.
    """
    parts = split_slug_words(surname)
    return parts[-1][:NAME_LETTERS] if parts else ""


def build_pointer_keys(work: Work) -> set[bytes]:
    """Return all lookup keys of a work: one for each identifier, one for each title with surname
    and year, and one for surname, year, volume and first page."""
    surname = fold_surname(work.authors[0].surname) if work.authors else ""
    year = str(work.year or "")
    id_ = work.id.encode("utf-8", "replace")
    keys = {
        build_identifier_prefix(f"{name}:{value}") + id_
        for name, value in (
            ("doi", work.doi),
            ("arxiv", work.arxiv_id),
            ("pmid", work.pmid),
            ("pmcid", work.pmcid),
        )
        if value and f"{name}:{value}" != work.id
    }
    keys |= {
        build_title_prefix(slug) + f"\0{surname}\0{year}\0".encode() + id_
        for slug in {build_slug(work.title), build_slug(work.full_title)} - {""}
    }
    if surname:
        position = f"{normalize_number(work.volume)}\0{parse_first_page(work.pages)}\0"
        keys.add(AUTHOR + f"{surname}\0{year}\0{position}".encode() + id_)
    return keys


def decode_work_id(key: bytes) -> str:
    """Return the id of the work at the end of a lookup key."""
    return key.split(b"\0", _PARTS[key[:1]])[-1].decode("utf-8", "replace")


def decode_work_ids(keys: Iterable[bytes]) -> list[str]:
    """Return the ids of works at the end of the given lookup keys, each id once."""
    return list(dict.fromkeys(map(decode_work_id, keys)))


LISTED_MAX = 50
"""Maximum number of works with the same title, or the same author and year, that are compared."""
PREFIX_MIN_LETTERS = 12
"""Minimum number of letters of a title to search for titles that begin with it."""
RECORD_COLUMNS = tuple(build_column(source) for source in SOURCES)
"""Columns of the row of a work that have its records, one per source."""


@dataclass(frozen=True, slots=True)
class WorkIds:
    """Ids of works that a search found. `has_more` says whether the search found more works than
    `ids` lists.
    """

    ids: tuple[str, ...]
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Catalog:
    """Catalogue of works, stored in the wide-row table `name`."""

    table: Table
    name: str

    def declare(self) -> None:
        """Create the table of the catalogue if it does not exist."""
        self.table.declare(self.name, [FAMILY], compressions={FAMILY: "SNAPPY"})

    def is_empty(self) -> bool:
        """Return whether the catalogue has no works."""
        return not self.table.scan(self.name, WORK, count_max=1)

    def put(self, works: Sequence[Work]) -> None:
        """Store records of works. Each replaces an earlier record of the same work and source.

        If `works` has several records of one work and source, the last one is stored. Storing a
        record again changes nothing. New lookup keys are written, and lookup keys that no record of
        the work will have any more are deleted, before the records. A call that is repeated after a
        kill leaves the same rows as one that was not killed.
        """
        new_records: dict[str, dict[str, Work]] = {}
        for work in works:
            new_records.setdefault(work.id, {})[work.source] = work
        former = self._load_records(list(new_records))
        pointers: set[bytes] = set()
        stale: set[bytes] = set()
        for id_, records in new_records.items():
            former_records = former.get(id_, {})
            pointers |= collect_pointers(former_records | records)
            stale |= collect_pointers(former_records)
        self.table.put(self.name, [(key, {POINTER: b""}) for key in sorted(pointers)])
        # Before the records: after a kill, the repeated call still finds the replaced records, and so
        # their keys.
        if stale - pointers:
            self.table.delete(self.name, sorted(stale - pointers))
        rows = [
            (
                build_work_key(id_),
                build_checksum_cells(
                    build_work_key(id_),
                    {
                        build_column(source): encode_work(source_record)
                        for source, source_record in records.items()
                    },
                ),
            )
            for id_, records in sorted(new_records.items())
        ]
        self.table.put(self.name, rows)

    def load_works(self, ids: Sequence[str]) -> dict[str, Work]:
        """Load works by id. The records of several sources are merged. Unknown ids are omitted."""
        works = {id_: merge_records(records) for id_, records in self._load_records(ids).items()}
        return {id_: work for id_, work in works.items() if work is not None}

    def load_records(self, work_id: str) -> dict[str, Work]:
        """Return the records of one work, by source."""
        return self._load_records([work_id]).get(work_id, {})

    def find_by_identifier(self, identifier: str) -> WorkIds:
        """Return works with an identifier such as `doi:…`, `arxiv:…`, `pmid:…` or `pmcid:…`.

        The identifier itself is the first id in the result, even if no work has this id. Ids of
        other works with the identifier follow.
        """
        result = self._list_ids(build_identifier_prefix(identifier))
        return WorkIds(
            (identifier, *(work_id for work_id in result.ids if work_id != identifier)),
            result.has_more,
        )

    def find_by_title(self, title: str, surname: str | None = None) -> WorkIds:
        """Return works whose title equals `title` or begins with it.

        A title of fewer than 12 letters must be equal. If more than 50 works match, only works with
        exactly this title are returned. If these are also more than 50, only works of the first
        author `surname` are returned.
        """
        slug = build_slug(title)
        if not slug:
            return WorkIds(())
        if len(slug) >= PREFIX_MIN_LETTERS:
            result = self._list_ids(build_title_prefix(slug))
            if not result.has_more:
                return result
        result = self._list_ids(build_full_title_prefix(slug))
        if result.has_more and surname:
            author_result = self._list_ids(build_full_title_prefix(slug, surname))
            return WorkIds(
                author_result.ids if not author_result.has_more else (), author_result.has_more
            )
        return WorkIds(() if result.has_more else result.ids, result.has_more)

    def find_by_author(self, surname: str, year: int | None, volume: str | None = None) -> WorkIds:
        """Return works of a first author, optionally of one year and volume.

        If more than 50 works match, the result has no ids.
        """
        if not fold_surname(surname):
            return WorkIds(())
        result = self._list_ids(build_author_prefix(surname, year, volume))
        return WorkIds(() if result.has_more else result.ids, result.has_more)

    def _list_ids(self, prefix: bytes) -> WorkIds:
        rows = self.table.scan(self.name, prefix, count_max=LISTED_MAX + 1)
        ids = decode_work_ids(key for key, _ in rows[:LISTED_MAX])
        return WorkIds(tuple(ids), len(rows) > LISTED_MAX)

    def _load_records(self, ids: Sequence[str]) -> dict[str, dict[str, Work]]:
        keys = {build_work_key(id_): id_ for id_ in ids}
        rows = self.table.get(self.name, list(keys), RECORD_COLUMNS) if keys else {}
        return {keys[key]: read_records(cells) for key, cells in rows.items()}


def read_records(cells: Mapping[str, bytes]) -> dict[str, Work]:
    """Decode the records of one work from the cells of its row, by source.

    A record that cannot be decoded is skipped; the next load replaces it.
    """
    records = {}
    for source in SOURCES:
        if (cell := cells.get(build_column(source))) is not None:
            try:
                records[source] = decode_work(cell)
            except ValueError:
                continue
    return records


def collect_pointers(records: Mapping[str, Work]) -> set[bytes]:
    """Return all lookup keys of one work, given its records by source.

    They are the keys of each record, and those of the record merged from all.
    """
    merged_work = merge_records(records)
    return set().union(
        *(
            build_pointer_keys(work)
            for work in (*records.values(), *([merged_work] if merged_work else []))
        )
    )
