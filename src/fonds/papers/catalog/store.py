"""The catalogue in a table: records put, and found again by what is known of a work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

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

# The keys of the catalogue's table: records by their id, and what finds them.
#
# `w` id; `i` identifier, 0, id; `t` the first letters of the title's slug, 0, first family name, 0, year,
# 0, id; `a` first family name, 0, year, 0, volume, 0, first page, 0, id; `m` a file that was loaded.
# Parts between zeros hold none: slugs are letters and digits.


FAMILY = "work"
POINTER, MARK = f"{FAMILY}:at", f"{FAMILY}:mark"
NAME_LETTERS = 24
WORK, IDENTIFIER, TITLE, AUTHOR, LOADED = b"w", b"i", b"t", b"a", b"m"
_NAME_PART = re.compile(r"[A-Za-z0-9_.]+")
_PARTS = {IDENTIFIER: 1, TITLE: 3, AUTHOR: 4}


def name_catalog_table(group: str, env: str) -> str:
    """`{group}-catalog-0-{env}`. Raises ConfigurationError for parts HBase refuses."""
    if not _NAME_PART.fullmatch(group) or not _NAME_PART.fullmatch(env):
        raise ConfigurationError(f"group {group!r} and environment {env!r} make no table name")
    return f"{group}-catalog-0-{env}"


def build_column(source: str) -> str:
    """Where the record of a source stands in the row of its work."""
    return f"{FAMILY}:{source}"


def build_work_key(work_id: str) -> bytes:
    """The row of a work."""
    return WORK + work_id.encode("utf-8", "replace")


def build_mark_key(name: str) -> bytes:
    """The row that says how far a file was loaded."""
    return LOADED + sha256(name.encode("utf-8", "surrogateescape")).digest()[:16]


def build_title_prefix(title_slug: str) -> bytes:
    """What the keys of all works begin with whose titles begin so, as far as keys tell."""
    return TITLE + title_slug[:SLUG_LETTERS_MAX].encode()


def build_full_title_prefix(title_slug: str, surname: str | None = None) -> bytes:
    """What the keys of works with this title begin with; with the first author, of theirs alone."""
    name = b"" if surname is None else f"{fold_surname(surname)}\0".encode()
    return build_title_prefix(title_slug) + b"\0" + name


def build_author_prefix(surname: str, year: int | None = None, volume: str | None = None) -> bytes:
    """What the keys of works of this first author begin with; in this year and volume, where told."""
    when = f"{year}\0" if year else ""
    where = f"{normalize_number(volume)}\0" if year and volume else ""
    return AUTHOR + f"{fold_surname(surname)}\0{when}{where}".encode()


def build_identifier_prefix(identifier: str) -> bytes:
    """What the keys of works with this identifier (`pmid:1`) begin with."""
    return IDENTIFIER + identifier.encode("utf-8", "replace") + b"\0"


def fold_surname(surname: str) -> str:
    """A family name in keys: its last word, as some leave its particles out."""
    parts = split_slug_words(surname)
    return parts[-1][:NAME_LETTERS] if parts else ""


def build_pointer_keys(work: Work) -> set[bytes]:
    """The keys that lead to a work, its own not among them."""
    surname = fold_surname(work.authors[0].surname) if work.authors else ""
    year = str(work.year or "")
    id_ = work.id.encode("utf-8", "replace")
    found = {
        build_identifier_prefix(f"{name}:{value}") + id_
        for name, value in (
            ("doi", work.doi),
            ("arxiv", work.arxiv_id),
            ("pmid", work.pmid),
            ("pmcid", work.pmcid),
        )
        if value and f"{name}:{value}" != work.id
    }
    found |= {
        build_title_prefix(one) + f"\0{surname}\0{year}\0".encode() + id_
        for one in {build_slug(work.title), build_slug(work.full_title)} - {""}
    }
    if surname:
        place = f"{normalize_number(work.volume)}\0{parse_first_page(work.pages)}\0"
        found.add(AUTHOR + f"{surname}\0{year}\0{place}".encode() + id_)
    return found


def decode_work_ids(keys: Iterable[bytes]) -> list[str]:
    """The works that keys lead to, each once."""
    ids = (key.split(b"\0", _PARTS[key[:1]])[-1].decode("utf-8", "replace") for key in keys)
    return list(dict.fromkeys(ids))


LISTED_MAX = 50
"""Works of one title, or of one author and year, that are looked at; of more it is said that there are."""
PREFIX_MIN_LETTERS = 12
"""A shorter title is looked for as it is, not as the beginning of others."""
_COLUMNS = tuple(build_column(source) for source in SOURCES)


@dataclass(frozen=True, slots=True)
class WorkIds:
    """Ids of works, and whether there are more than are listed."""

    ids: tuple[str, ...]
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalogue; `name` is its table's."""

    table: Table
    name: str

    def declare(self) -> None:
        """Make the table exist; again is harmless."""
        self.table.declare(self.name, [FAMILY], compressions={FAMILY: "SNAPPY"})

    def is_empty(self) -> bool:
        """Whether no work is in it."""
        return not self.table.scan(self.name, WORK, count_max=1)

    def put(self, works: Sequence[Work]) -> None:
        """Records, each in the place of its source's former one; the last of several of one source counts.

        Idempotent. What leads to a work is there before it, and what led to its former record is gone.
        """
        fresh: dict[str, dict[str, Work]] = {}
        for work in works:
            fresh.setdefault(work.id, {})[work.source] = work
        former = self._load_records(list(fresh))
        wanted: set[bytes] = set()
        stale: set[bytes] = set()
        for id_, records in fresh.items():
            before = former.get(id_, {})
            wanted |= _collect_pointers(before | records)
            stale |= _collect_pointers(before)
        self.table.put(self.name, [(key, {POINTER: b""}) for key in sorted(wanted)])
        if stale - wanted:
            self.table.delete(self.name, sorted(stale - wanted))
        rows = [
            (
                build_work_key(id_),
                {build_column(source): encode_work(one) for source, one in records.items()},
            )
            for id_, records in sorted(fresh.items())
        ]
        self.table.put(self.name, rows)

    def load_works(self, ids: Sequence[str]) -> dict[str, Work]:
        """The works that are there, by id; what several sources say is one."""
        found = {id_: merge_records(records) for id_, records in self._load_records(ids).items()}
        return {id_: work for id_, work in found.items() if work is not None}

    def load_records(self, work_id: str) -> dict[str, Work]:
        """What each source says of a work."""
        return self._load_records([work_id]).get(work_id, {})

    def find_by_identifier(self, identifier: str) -> WorkIds:
        """Works with `doi:…`, `arxiv:…`, `pmid:…` or `pmcid:…`, also where they go by another name."""
        found = self._list_ids(build_identifier_prefix(identifier))
        return WorkIds(
            (identifier, *(one for one in found.ids if one != identifier)), found.has_more
        )

    def find_by_title(self, title: str, surname: str | None = None) -> WorkIds:
        """Works whose titles are this or begin so; of a very common title those of this first author."""
        told = build_slug(title)
        if not told:
            return WorkIds(())
        if len(told) >= PREFIX_MIN_LETTERS:
            found = self._list_ids(build_title_prefix(told))
            if not found.has_more:
                return found
        found = self._list_ids(build_full_title_prefix(told))
        if found.has_more and surname:
            narrow = self._list_ids(build_full_title_prefix(told, surname))
            return WorkIds(narrow.ids if not narrow.has_more else (), narrow.has_more)
        return WorkIds(() if found.has_more else found.ids, found.has_more)

    def find_by_author(self, surname: str, year: int | None, volume: str | None = None) -> WorkIds:
        """Works of a first author, in a year and volume where they are told; none where there are many."""
        if not fold_surname(surname):
            return WorkIds(())
        found = self._list_ids(build_author_prefix(surname, year, volume))
        return WorkIds(() if found.has_more else found.ids, found.has_more)

    def _list_ids(self, prefix: bytes) -> WorkIds:
        rows = self.table.scan(self.name, prefix, count_max=LISTED_MAX + 1)
        ids = decode_work_ids(key for key, _ in rows[:LISTED_MAX])
        return WorkIds(tuple(ids), len(rows) > LISTED_MAX)

    def _load_records(self, ids: Sequence[str]) -> dict[str, dict[str, Work]]:
        keys = {build_work_key(id_): id_ for id_ in ids}
        rows = self.table.get(self.name, list(keys), _COLUMNS) if keys else {}
        return {keys[key]: _read(cells) for key, cells in rows.items()}


def _read(cells: Mapping[str, bytes]) -> dict[str, Work]:
    """The records of a row, by source; one that cannot be read is none, and is replaced by the next load."""
    found = {}
    for source in SOURCES:
        if (cell := cells.get(build_column(source))) is not None:
            try:
                found[source] = decode_work(cell)
            except ValueError:
                continue
    return found


def _collect_pointers(records: Mapping[str, Work]) -> set[bytes]:
    """What leads to a work: by each source's record, and by all of them together."""
    whole = merge_records(records)
    return set().union(
        *(build_pointer_keys(one) for one in (*records.values(), *([whole] if whole else [])))
    )
