"""The keys of the catalogue's table: records by their id, and what finds them.

`w` id; `i` identifier, 0, id; `t` the first letters of the title's slug, 0, first family name, 0, year, 0,
id; `a` first family name, 0, year, 0, volume, 0, first page, 0, id; `m` a file that was loaded. Parts between
zeros hold none: slugs are letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from fonds.catalog.works.slugs import KEPT_LETTERS, bare_number, first_page, slug, slug_words
from fonds.catalog.works.work import Work
from fonds.model.errors import ConfigurationError

FAMILY = "work"
POINTER, MARK = f"{FAMILY}:at", f"{FAMILY}:mark"
NAME_LETTERS = 24
WORK, IDENTIFIER, TITLE, AUTHOR, LOADED = b"w", b"i", b"t", b"a", b"m"
_NAME_PART = re.compile(r"[A-Za-z0-9_.]+")
_PARTS = {IDENTIFIER: 1, TITLE: 3, AUTHOR: 4}


def catalog_table(group: str, env: str) -> str:
    """`{group}-catalog-0-{env}`. Raises ConfigurationError for parts HBase refuses."""
    if not _NAME_PART.fullmatch(group) or not _NAME_PART.fullmatch(env):
        raise ConfigurationError(f"group {group!r} and environment {env!r} make no table name")
    return f"{group}-catalog-0-{env}"


def column_of(source: str) -> str:
    """Where the record of a source stands in the row of its work."""
    return f"{FAMILY}:{source}"


def work_key(work_id: str) -> bytes:
    """The row of a work."""
    return WORK + work_id.encode("utf-8", "replace")


def mark_key(name: str) -> bytes:
    """The row that says how far a file was loaded."""
    return LOADED + sha256(name.encode("utf-8", "surrogateescape")).digest()[:16]


def title_prefix(title_slug: str) -> bytes:
    """What the keys of all works begin with whose titles begin so, as far as keys tell."""
    return TITLE + title_slug[:KEPT_LETTERS].encode()


def whole_title_prefix(title_slug: str, surname: str | None = None) -> bytes:
    """What the keys of works with this title begin with; with the first author, of theirs alone."""
    name = b"" if surname is None else f"{name_part(surname)}\0".encode()
    return title_prefix(title_slug) + b"\0" + name


def author_prefix(surname: str, year: int | None = None, volume: str | None = None) -> bytes:
    """What the keys of works of this first author begin with; in this year and volume, where told."""
    when = f"{year}\0" if year else ""
    where = f"{bare_number(volume)}\0" if year and volume else ""
    return AUTHOR + f"{name_part(surname)}\0{when}{where}".encode()


def identifier_prefix(identifier: str) -> bytes:
    """What the keys of works with this identifier (`pmid:1`) begin with."""
    return IDENTIFIER + identifier.encode("utf-8", "replace") + b"\0"


def name_part(surname: str) -> str:
    """A family name in keys: its last word, as some leave its particles out."""
    parts = slug_words(surname)
    return parts[-1][:NAME_LETTERS] if parts else ""


def pointers(work: Work) -> set[bytes]:
    """The keys that lead to a work, its own not among them."""
    surname = name_part(work.authors[0].surname) if work.authors else ""
    year = str(work.year or "")
    id_ = work.id.encode("utf-8", "replace")
    found = {
        identifier_prefix(f"{name}:{value}") + id_
        for name, value in (
            ("doi", work.doi),
            ("arxiv", work.arxiv_id),
            ("pmid", work.pmid),
            ("pmcid", work.pmcid),
        )
        if value and f"{name}:{value}" != work.id
    }
    found |= {
        title_prefix(one) + f"\0{surname}\0{year}\0".encode() + id_
        for one in {slug(work.title), slug(work.whole_title)} - {""}
    }
    if surname:
        place = f"{bare_number(work.volume)}\0{first_page(work.pages)}\0"
        found.add(AUTHOR + f"{surname}\0{year}\0{place}".encode() + id_)
    return found


def ids_of(keys: Iterable[bytes]) -> list[str]:
    """The works that keys lead to, each once."""
    ids = (key.split(b"\0", _PARTS[key[:1]])[-1].decode("utf-8", "replace") for key in keys)
    return list(dict.fromkeys(ids))
