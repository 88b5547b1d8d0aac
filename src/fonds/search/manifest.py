"""What stands beside an exported file: what it holds, how it was asked for, and whether that is still so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

from fonds.derivatives.kinds import indexed_kinds
from fonds.derivatives.sketch import load_text_hashes
from fonds.model.document import IndexDocument
from fonds.model.encoding import prepare_type
from fonds.model.errors import ConfigurationError, cause_of
from fonds.ports import Records
from fonds.ports.scan import iter_chunks
from fonds.search.request import SearchRequest, parse_request, render_filters
from fonds.search.scan import MatchCount

# What a manifest names of each document of a result, so that it can be told later what became of it.
#
# A line has the id, the SHA-1 of the file, the first 16 digits of the SHA-256 of its text and the number of
# the extractor that read it, with a blank between: `-` stands for a text that is not known, and for an
# extractor. At most 100,000 documents are named: of a larger result none is.


MEMBERS_MAX = 100_000
EXTRACTORS_MAX = 10_000
HASH_DIGITS = 16
_LINE = re.compile(
    r"(?P<id>[^\s]{1,200}) (?P<sha1hex>[0-9a-f]{40}) (?P<text>[0-9a-f]{16}|-) (?P<by>\d{1,5}|-)"
)


@dataclass(frozen=True, slots=True)
class ManifestMember:
    """A document as a manifest has it: `text` are 16 digits of the hash of its text, "" where it is unknown,
    `extractor` is "" likewise."""

    id: str
    sha1hex: str
    text: str
    extractor: str


def build_members(
    records: Records, documents: Sequence[IndexDocument] | Sequence[ManifestMember]
) -> dict[str, ManifestMember]:
    """By id, how the rows say now that the files of these documents were read; a chunk of them at a time."""
    keys = sorted({document.sha1hex for document in documents})
    texts = load_text_hashes(records, keys)
    read_by: dict[str, str] = {}
    for kind, _ in indexed_kinds():
        for row in records.get(kind.row, keys):
            read_by[getattr(row, "sha1hex")] = getattr(row, "extractor")  # noqa: B009
    return {
        document.id: ManifestMember(
            document.id,
            document.sha1hex,
            texts.get(document.sha1hex, "")[:HASH_DIGITS],
            read_by.get(document.sha1hex, ""),
        )
        for document in documents
    }


@dataclass(slots=True)
class ManifestMembers:
    """The lines of a manifest, gathered while documents go by; None when there were too many of them."""

    records: Records
    lines: list[str] | None = field(default_factory=list)
    extractors: dict[str, int] = field(default_factory=dict)

    def collect(self, documents: Iterator[IndexDocument]) -> Iterator[IndexDocument]:
        """The same documents."""
        for chunk in iter_chunks(documents):
            if self.lines is not None and len(self.lines) + len(chunk) > MEMBERS_MAX:
                self.lines = None
            if self.lines is not None:
                self.lines += map(self._format_line, build_members(self.records, chunk).values())
            yield from chunk

    def _format_line(self, member: ManifestMember) -> str:
        number = "-"
        if member.extractor and len(self.extractors) < EXTRACTORS_MAX:
            number = str(self.extractors.setdefault(member.extractor, len(self.extractors)))
        return f"{member.id} {member.sha1hex} {member.text or '-'} {number}"


def iter_members(lines: Sequence[str], extractors: Sequence[str]) -> Iterator[ManifestMember]:
    """The documents a manifest names. Raises ValueError with a sentence for a line that is none."""
    for number, line in enumerate(lines, 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number:,} of its documents names none")
        by: Mapping[str, str] = found.groupdict()
        if by["by"] != "-" and int(by["by"]) >= len(extractors):
            raise ValueError(
                f"line {number:,} of its documents names an extractor it does not have"
            )
        yield ManifestMember(
            by["id"],
            by["sha1hex"],
            "" if by["text"] == "-" else by["text"],
            "" if by["by"] == "-" else extractors[int(by["by"])],
        )


MANIFEST_MAX_BYTES = 32_000_000
"""More than the lines of 100,000 documents have."""
VALUE_MAX_CHARS = 300
SUFFIX = ".manifest.json"


@dataclass(frozen=True, slots=True)
class ExportedSearch:
    """The search that an export holds the result of.

    `parameters` are those of its URL. `total` documents were found, and at most `limit` were requested.
    Themes are named, so that verification uses the documents they have then.
    """

    parameters: Mapping[str, str | Sequence[str]]
    total: int
    limit: int | None = None

    def parse(self) -> SearchRequest:
        """Return the request. Raises ValueError with a sentence for people."""
        return parse_request(self.parameters)


def build_exported_search(
    request: SearchRequest, matches: MatchCount, limit: int | None
) -> ExportedSearch:
    """Return the search as a manifest stores it."""
    return ExportedSearch(render_filters(request), matches.total, limit)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Beside `file`: its form, rows, hash and fields. Of a result also its search, and one hash over the
    ids of its documents and the SHA-1s of their files, `documents_sha256`. `documents` names each of them
    (`search/manifest.py`) and `extractors` what read them; None where they are too many, or
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
    search: ExportedSearch | None = None
    documents_sha256: str | None = None
    extractors: Sequence[str] = ()
    documents: Sequence[str] | None = None
    generation: str | None = None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Beside the file at `path`."""
    Path(f"{path}{SUFFIX}").write_bytes(encode_manifest(manifest))


def encode_manifest(manifest: Manifest) -> bytes:
    """As it is written."""
    return msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"


def read_manifest(path: Path) -> Manifest:
    """That of the file at `path`, or at `path` itself. Raises ConfigurationError for what is none."""
    own = path if path.name.endswith(SUFFIX) else Path(f"{path}{SUFFIX}")
    try:
        with own.open("rb") as stream:
            told = stream.read(MANIFEST_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(
            f"there is no manifest to be read at {own}: {cause_of(error)}"
        ) from error
    try:
        return parse_manifest(told)
    except ValueError as error:
        raise ConfigurationError(f"{own} is no manifest of an export: {error}") from error


def parse_manifest(data: bytes) -> Manifest:
    """What these bytes say. Raises ValueError with what is wrong with them."""
    if len(data) > MANIFEST_MAX_BYTES:
        raise ValueError("it is larger than a manifest can be")
    try:
        found = msgspec.json.decode(data, type=prepare_type(Manifest))
    except (RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(str(error)) from error
    if found.rows < 0 or len(found.documents or ()) > MEMBERS_MAX:
        raise ValueError("it names more documents than a manifest can, or less than none")
    if len(found.generation or "") > VALUE_MAX_CHARS:
        raise ValueError("it names a generation that can be none")
    if found.search is not None:
        found.search.parse()
        if (found.search.limit or 1) < 1:
            raise ValueError("its search has a limit below 1")
    return found
