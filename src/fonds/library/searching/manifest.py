"""What stands beside an exported file: what it holds, how it was asked for, and whether that is still so."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from pathlib import Path

import msgspec

from fonds.library.searching.whole import Contents, Found, whole
from fonds.model.document import SearchQuery
from fonds.model.errors import ConfigurationError
from fonds.model.file import Kind
from fonds.model.prepared import prepared
from fonds.ports import Index

MANIFEST_BYTES_MAX = 1_000_000
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
    ids of its documents and the SHA-1s of their files, `documents_sha256`.
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


@dataclass(frozen=True, slots=True)
class Verified:
    """`file_is_whole`: its bytes are those that were written. `result_is_same`: the search finds the same
    documents, of the same files, as then; None where no search was noted. `now` is how many it finds.
    """

    file: str
    file_is_whole: bool
    result_is_same: bool | None
    then: int
    now: int | None


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
        raise ConfigurationError(f"there is no manifest to be read at {own}: {error}") from error
    try:
        if len(told) > MANIFEST_BYTES_MAX:
            raise ValueError("it is larger than a manifest can be")
        return msgspec.json.decode(told, type=prepared(Manifest))
    except ValueError as error:
        raise ConfigurationError(f"{own} is no manifest of an export: {error}") from error


def verified(path: Path, manifest: Manifest, index: Index) -> Verified:
    """Whether the file is as it was written, and the search it came from still finds the same.

    Raises ConfigurationError when the file cannot be read.
    """
    file = path.with_name(Path(manifest.file).name)
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    is_same, now = None, None
    if manifest.asked is not None:
        contents = Contents()
        limit = manifest.asked.limit or manifest.rows + 1
        try:
            for _ in contents.noted(whole(index, manifest.asked.query(), limit)):
                pass
        except ValueError as error:
            raise ConfigurationError(f"the search of {file} cannot be asked: {error}") from error
        now = contents.count
        is_same = contents.sha256hex == manifest.documents_sha256
    return Verified(str(file), digest == manifest.sha256, is_same, manifest.rows, now)
