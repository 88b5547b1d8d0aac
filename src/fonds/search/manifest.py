"""Manifest of an exported file: its hash and format, the exported search, and the documents found.

`fonds.search.verification` uses a manifest to compare an export with the library later.
"""

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

# Documents of a manifest.
#
# Each line has the id, the SHA-1 of the file, the first 16 digits of the SHA-256 of its text, and
# the number of the extractor that read it, separated by spaces. `-` means an unknown text or
# extractor. A manifest lists at most 100,000 documents; for a larger result it lists none.


MEMBERS_MAX = 100_000
EXTRACTORS_MAX = 10_000
HASH_DIGITS = 16
_LINE = re.compile(
    r"(?P<id>[^\s]{1,200}) (?P<sha1hex>[0-9a-f]{40}) (?P<text>[0-9a-f]{16}|-) (?P<by>\d{1,5}|-)"
)


@dataclass(frozen=True, slots=True)
class ManifestMember:
    """Document that the manifest of an exported search lists.

    - `id`: id of the document.
    - `sha1hex`: SHA-1 of its file.
    - `text`: first 16 hexadecimal digits of the SHA-256 of its text; "" if unknown.
    - `extractor`: program and versions that extracted the text; "" if unknown.
    """

    id: str
    sha1hex: str
    text: str
    extractor: str


def build_members(
    records: Records, documents: Sequence[IndexDocument] | Sequence[ManifestMember]
) -> dict[str, ManifestMember]:
    """Return the manifest's description of each document, by document id.

    Each description has the document's file, the hash of the file's text, and the extractor of the
    text.
    """
    keys = sorted({document.sha1hex for document in documents})
    texts = load_text_hashes(records, keys)
    extractors: dict[str, str] = {}
    for kind, _ in indexed_kinds():
        for row in records.get(kind.row, keys):
            extractors[getattr(row, "sha1hex")] = getattr(row, "extractor")  # noqa: B009
    return {
        document.id: ManifestMember(
            document.id,
            document.sha1hex,
            texts.get(document.sha1hex, "")[:HASH_DIGITS],
            extractors.get(document.sha1hex, ""),
        )
        for document in documents
    }


@dataclass(slots=True)
class ManifestMembers:
    """Collector of the lines of a manifest while documents are exported.

    - `records`: SQL tables from which text hashes and extractors are read.
    - `lines`: one line per document; None after more than `MEMBERS_MAX` (100,000) documents.
    - `extractors`: number by which the lines refer to each extractor, by extractor name.
    """

    records: Records
    lines: list[str] | None = field(default_factory=list)
    extractors: dict[str, int] = field(default_factory=dict)

    def collect(self, documents: Iterator[IndexDocument]) -> Iterator[IndexDocument]:
        """Yield the given documents unchanged, and add a manifest line for each."""
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
    """Parse the document lines of a manifest and yield the documents.

    `extractors` are the names to which the lines refer by number. Raises ValueError with a message
    for users if a line is invalid.
    """
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number:,} of `documents` is invalid")
        values: Mapping[str, str] = match.groupdict()
        if values["by"] != "-" and int(values["by"]) >= len(extractors):
            raise ValueError(
                f"line {number:,} of `documents` names an extractor that is not listed"
            )
        yield ManifestMember(
            values["id"],
            values["sha1hex"],
            "" if values["text"] == "-" else values["text"],
            "" if values["by"] == "-" else extractors[int(values["by"])],
        )


MANIFEST_MAX_BYTES = 32_000_000
"""Maximum size of a manifest in bytes; one with 100,000 documents is smaller."""
VALUE_MAX_CHARS = 300
SUFFIX = ".manifest.json"


@dataclass(frozen=True, slots=True)
class ExportedSearch:
    """Search whose result was exported, as a manifest stores it.

    - `parameters`: URL parameters of the search. Themes are stored by name, so a verification uses
      the documents that the themes have at the time of the verification.
    - `total`: number of documents that the search found.
    - `limit`: maximum number of documents that the export was to contain; None for all.
    """

    parameters: Mapping[str, str | Sequence[str]]
    total: int
    limit: int | None = None

    def parse(self) -> SearchRequest:
        """Return the search request that the stored URL parameters describe.

        Raises ValueError with a message for users if a parameter is invalid.
        """
        return parse_request(self.parameters)


def build_exported_search(
    request: SearchRequest, matches: MatchCount, limit: int | None
) -> ExportedSearch:
    """Return a search request, its number of documents and its limit in the form that a manifest
    stores.
    """
    return ExportedSearch(render_filters(request), matches.total, limit)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of an exported file, stored next to it.

    - `file`: name of the exported file.
    - `format`: export format, such as `csv`.
    - `rows`: number of exported rows or documents.
    - `sha256`: SHA-256 of the file in hexadecimal.
    - `fields`: names of the columns.
    - `written_at`: time of the export (UTC).
    - `fonds`: version of Fonds.

    The other fields are set only if the result of a search was exported:

    - `search`: the search.
    - `documents_sha256`: hash of the ids of its documents and the SHA-1s of their files.
    - `documents`: one line per document; None for more than 100,000 documents and in manifests of
      older versions of Fonds.
    - `extractors`: names of the extractors; the lines of `documents` refer to them by number.
    - `generation`: id of the index state during the export; None if unknown, or if it changed.
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
    """Write the manifest of the exported file at `path`, as `<path>.manifest.json`."""
    Path(f"{path}{SUFFIX}").write_bytes(encode_manifest(manifest))


def encode_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as indented JSON in bytes."""
    return msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of an export. `path` is the exported file or the manifest.

    Raises ConfigurationError if the manifest is missing or invalid.
    """
    manifest_path = path if path.name.endswith(SUFFIX) else Path(f"{path}{SUFFIX}")
    try:
        with manifest_path.open("rb") as stream:
            data = stream.read(MANIFEST_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read the manifest {manifest_path}: {cause_of(error)}"
        ) from error
    try:
        return parse_manifest(data)
    except ValueError as error:
        raise ConfigurationError(
            f"{manifest_path} is not a manifest of an export: {error}"
        ) from error


def parse_manifest(data: bytes) -> Manifest:
    """Return the manifest of an export, parsed from its JSON.

    Raises ValueError that names the problem if the JSON or the stored search is invalid, or if its
    size or a number in it exceeds a limit.
    """
    if len(data) > MANIFEST_MAX_BYTES:
        raise ValueError(f"it is larger than {MANIFEST_MAX_BYTES:,} bytes")
    try:
        manifest = msgspec.json.decode(data, type=prepare_type(Manifest))
    except (RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(str(error)) from error
    if manifest.rows < 0 or len(manifest.documents or ()) > MEMBERS_MAX:
        raise ValueError("its number of documents is invalid")
    if len(manifest.generation or "") > VALUE_MAX_CHARS:
        raise ValueError("its generation is invalid")
    if manifest.search is not None:
        manifest.search.parse()
        if (manifest.search.limit or 1) < 1:
            raise ValueError("its search has a limit below 1")
    return manifest
