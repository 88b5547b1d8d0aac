"""What stands beside an exported file: what it holds, how it was asked for, and whether that is still so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from pathlib import Path

import msgspec

from fonds.library.searching.members import MEMBERS_MAX
from fonds.library.searching.whole import Found
from fonds.model.document import DateOf, Match, SearchQuery
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.file import Kind
from fonds.model.prepared import prepared

MANIFEST_BYTES_MAX = 32_000_000
"""More than the lines of 100,000 documents have."""
VALUES_MAX, VALUE_MAX_CHARS = 100, 300
SUFFIX = ".manifest.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """The search a result is of; `total` is how many documents it found, `limit` how many were asked for."""

    text: str
    total: int
    limit: int | None = None
    kinds: Sequence[Kind] = ()
    languages: Sequence[str] = ()
    domains: Sequence[str] = ()
    collections: Sequence[str] = ()
    date_from: date | None = None
    date_to: date | None = None
    undated: bool = False
    dates: DateOf = DateOf.PUBLISHED
    match: Match = Match.EXACT

    def query(self) -> SearchQuery:
        """The same for the index."""
        return SearchQuery(**{name: getattr(self, name) for name in _FILTERS})


_FILTERS = tuple(one.name for one in fields(Asked) if one.name not in ("total", "limit"))


def asked_of(found: Found, limit: int | None) -> Asked:
    """What was asked, in words: of themes their names, not the documents they had."""
    said = {name: getattr(found.query, name) for name in _FILTERS}
    return Asked(**said, total=found.total, limit=limit)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Beside `file`: its form, rows, hash and fields. Of a result also what was asked, and one hash over the
    ids of its documents and the SHA-1s of their files, `documents_sha256`. `documents` names each of them
    (`library/searching/members.py`) and `extractors` what read them; None where they are too many, or
    the manifest was written before there was such a list. `generation` is that of the index all of it was
    read from; None where that is not known, or another came meanwhile.
    """

    file: str
    format: str
    rows: int
    sha256: str
    fields: Sequence[str]
    written_at: datetime
    fonds: str
    asked: Asked | None = None
    documents_sha256: str | None = None
    extractors: Sequence[str] = ()
    documents: Sequence[str] | None = None
    generation: str | None = None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Beside the file at `path`."""
    Path(f"{path}{SUFFIX}").write_bytes(as_json(manifest))


def as_json(manifest: Manifest) -> bytes:
    """As it is written."""
    return msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"


def read_manifest(path: Path) -> Manifest:
    """That of the file at `path`, or at `path` itself. Raises ConfigurationError for what is none."""
    own = path if path.name.endswith(SUFFIX) else Path(f"{path}{SUFFIX}")
    try:
        with own.open("rb") as stream:
            told = stream.read(MANIFEST_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError(
            f"there is no manifest to be read at {own}: {cause_of(error)}"
        ) from error
    try:
        return manifest_of(told)
    except ValueError as error:
        raise ConfigurationError(f"{own} is no manifest of an export: {error}") from error


def manifest_of(told: bytes) -> Manifest:
    """What these bytes say. Raises ValueError with what is wrong with them."""
    if len(told) > MANIFEST_BYTES_MAX:
        raise ValueError("it is larger than a manifest can be")
    try:
        found = msgspec.json.decode(told, type=prepared(Manifest))
    except (RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(str(error)) from error
    if found.rows < 0 or len(found.documents or ()) > MEMBERS_MAX:
        raise ValueError("it names more documents than a manifest can, or less than none")
    if len(found.generation or "") > VALUE_MAX_CHARS:
        raise ValueError("it names a generation that can be none")
    asked = found.asked
    if asked is not None and not _can_be_asked(asked):
        raise ValueError("its search has more, or longer, values than a search can")
    return found


def _can_be_asked(asked: Asked) -> bool:
    lists = (asked.kinds, asked.languages, asked.domains, asked.collections)
    values = [value for one in lists if len(one) <= VALUES_MAX for value in one]
    is_short = all(len(value) <= VALUE_MAX_CHARS for value in values)
    return is_short and len(values) == sum(map(len, lists)) and (asked.limit or 1) > 0
