"""Verify an export: repeat its search and compare each exported document with the library.

Each document has one outcome (a field of `ResultComparison`). The counts add up:

    exported then = unchanged + read_again + other_version + no_longer_found + taken_down
           + under_embargo + gone + not_compared
    found now = unchanged + read_again + other_version + added

If the export was limited to the first documents by id, the comparison ends at the last exported
document. At most `walked_max` documents of the current result are read. Exported documents after
the last document read are not compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from fonds.derivatives.visibility import find_active_embargoes, find_takedowns
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.keys import compute_order_key
from fonds.model.rows import FileMetaRow
from fonds.model.search import SearchQuery
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks
from fonds.search.changed_document import ChangedDocument
from fonds.search.manifest import (
    ExportedSearch,
    Manifest,
    ManifestMember,
    build_members,
    iter_members,
)
from fonds.search.run_search import resolve_query
from fonds.search.scan import ResultContents, confirm_generation, get_generation, iter_documents

WALKED_MAX = 200_000
LISTED_MAX = 50
PROGRESS_DOCUMENTS = 1_000
ORDER_KEY_END = 2**64


@dataclass(slots=True)
class ResultComparison:
    """Number of exported documents by what became of them, and of documents that are new.

    - `unchanged`: found, with the same file, text and extractor.
    - `read_again`: found, with another text or extractor.
    - `other_version`: found with another version of the story.
    - `no_longer_found`: stored, but no longer found by the search.
    - `taken_down`: removed by a takedown.
    - `under_embargo`: hidden by an embargo; None for users who may not see embargoes. They get
      these documents as `gone`.
    - `gone`: missing from the library for no known reason.
    - `not_compared`: not compared, because a limit was reached.
    - `added`: found now, but not in the export.
    - `listed`: the first 50 documents of each outcome except `unchanged`.
    """

    unchanged: int = 0
    read_again: int = 0
    other_version: int = 0
    no_longer_found: int = 0
    taken_down: int = 0
    under_embargo: int | None = None
    gone: int = 0
    not_compared: int = 0
    added: int = 0
    listed: list[ChangedDocument] = field(default_factory=list)

    def count_document(self, document: ChangedDocument) -> None:
        """Count one document under its outcome, and list it if fewer than 50 with this outcome are
        listed.
        """
        count = (getattr(self, document.change) or 0) + 1
        setattr(self, document.change, count)
        if count <= LISTED_MAX:
            self.listed.append(document)


OUTCOME_WORDS = {
    "unchanged": "unchanged",
    "read_again": "extracted again, with another text or extractor",
    "other_version": "found with another version of the story",
    "no_longer_found": "in the library, but no longer found by this search",
    "taken_down": "taken down",
    "under_embargo": "under embargo",
    "gone": "no longer in the library",
    "not_compared": "not compared",
    "added": "added since",
}
"""Descriptions of what became of an exported document, by field of `ResultComparison`.

The order is that of display.
"""
FOUND_SORTS = ("unchanged", "read_again", "other_version", "added")
"""Fields of `ResultComparison` that count documents which the search finds now."""


@dataclass(frozen=True, slots=True)
class ComparisonAccount:
    """Number of documents with one outcome when an export is compared with the library.

    - `name`: field of `ResultComparison` for the outcome.
    - `words`: description of the outcome for people.
    - `count`: number of documents.
    - `is_found`: whether the search finds such documents now.
    """

    name: str
    words: str
    count: int
    is_found: bool


def build_accounts(comparison: ResultComparison) -> list[ComparisonAccount]:
    """Return the number of documents for each outcome of a comparison, in display order.

    Documents under embargo are included only if the user may see them.
    """
    counts = {name: getattr(comparison, name) for name in OUTCOME_WORDS}
    return [
        ComparisonAccount(name, OUTCOME_WORDS[name], count, name in FOUND_SORTS)
        for name, count in counts.items()
        if count is not None
    ]


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """Result of the verification of an export."""

    file: Annotated[str, Meta(description="path of the exported file")]
    file_is_whole: Annotated[
        bool | None, Meta(description="whether the file is unchanged; null without the file")
    ]
    result_is_same: Annotated[
        bool | None,
        Meta(
            description="whether the search finds the same documents with the same files; null without "
            "a search"
        ),
    ]
    then: Annotated[int, Meta(description="number of documents found at the export")]
    now: Annotated[int | None, Meta(description="number of documents found now")]
    now_is_more: Annotated[
        bool, Meta(description="whether reading stopped at `now`, so that there may be more")
    ] = False
    compared: Annotated[
        ResultComparison | None,
        Meta(
            description="number of documents by kind of change, and the first 50 of each; null if "
            "the manifest lists no documents"
        ),
    ] = None
    generation_then: Annotated[
        str | None, Meta(description="generation of the index at the export; null if unknown")
    ] = None
    generation_now: Annotated[
        str | None, Meta(description="generation of the index now; null if unknown")
    ] = None

    @property
    def generation_is_same(self) -> bool | None:
        """Whether the index is in the same state as at the export.

        None if the state of the index is unknown for the time of the export or for now.
        """
        if self.generation_then is None or self.generation_now is None:
            return None
        return self.generation_then == self.generation_now


def is_file_intact(path: Path, manifest: Manifest) -> tuple[str, bool]:
    """Return the path of the exported file, and whether its SHA-256 is still that of the manifest.

    `path` is the path of the manifest or file; the exported file is in the same folder. Raises
    ConfigurationError if the file cannot be read.
    """
    file = path.with_name(Path(manifest.file).name)
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"Cannot read {file}: {cause_of(error)}") from error
    return str(file), digest == manifest.sha256


def ignore_progress(read_count: int) -> None:
    """Ignore the number of documents read. Default for `ManifestVerifier.progress`."""


@dataclass(frozen=True, slots=True)
class ManifestVerifier:
    """Verification of exports against the library. Call it with the manifest of an export.

    - `stores`: stores that contain only what the user may see.
    - `unfiltered_records`: SQL tables with the rows of all files; None unless the user may see
      embargoes.
    - `walked_max`: maximum number of documents of the current result that are read.
    - `progress`: function that is called with the number of documents read so far.
    """

    stores: Stores
    unfiltered_records: Records | None = None
    walked_max: int = WALKED_MAX
    progress: Callable[[int], None] = ignore_progress

    def __call__(
        self, manifest: Manifest, file: str = "", file_is_whole: bool | None = None
    ) -> VerificationResult:
        """Verify the manifest of an export against the library.

        `file` (path) and `file_is_whole` are copied to the result. Raises ValueError with a message
        for users if the search of the manifest cannot be run, or if its list of documents is
        invalid.
        """
        search, n_exported = manifest.search, manifest.rows
        if search is None:
            return VerificationResult(file, file_is_whole, None, n_exported, None)
        generation = get_generation(self.stores.index)
        remaining = {
            member.id: member
            for member in iter_members(manifest.documents or (), manifest.extractors)
        }
        has_documents = manifest.documents is not None
        walk = ResultWalk(
            self,
            resolve_query(search.parse(), self.stores.index, self.stores.records),
            search.limit,
            _find_walk_limit(manifest, search, self.walked_max),
            _find_last_position(manifest, remaining),
        )
        comparison = ResultComparison(
            under_embargo=0 if self.unfiltered_records is not None else None
        )
        for chunk in iter_chunks(walk.iter_documents()):
            if has_documents:
                self._compare_found(chunk, remaining, comparison)
        for chunk_missing in iter_chunks(iter(remaining.values())):
            self._classify_missing(chunk_missing, walk.last, comparison)
        is_same = walk.contents.sha256hex == manifest.documents_sha256
        return VerificationResult(
            file, file_is_whole,
            None if walk.is_incomplete and walk.contents.count <= n_exported else is_same,
            n_exported, walk.contents.count, walk.is_incomplete, comparison if has_documents else None,
            manifest.generation, confirm_generation(self.stores.index, generation),
        )  # fmt: skip

    def _compare_found(
        self,
        documents: Sequence[IndexDocument],
        remaining: dict[str, ManifestMember],
        comparison: ResultComparison,
    ) -> None:
        listed_documents = [document for document in documents if document.id in remaining]
        current_members = build_members(self.stores.records, listed_documents)
        for document in documents:
            member, title = (
                remaining.pop(document.id, None),
                document.article_title or document.url,
            )
            if member is None:
                comparison.count_document(
                    ChangedDocument("added", document.id, document.sha1hex, title, "")
                )
            elif member.sha1hex != document.sha1hex:
                reason = f"then file {member.sha1hex}"
                comparison.count_document(
                    ChangedDocument("other_version", document.id, document.sha1hex, title, reason)
                )
            elif reason := _describe_rereading(member, current_members[document.id]):
                comparison.count_document(
                    ChangedDocument("read_again", document.id, document.sha1hex, title, reason)
                )
            else:
                comparison.unchanged += 1

    def _classify_missing(
        self, remaining: Sequence[ManifestMember], last: int, comparison: ResultComparison
    ) -> None:
        compared_members = [member for member in remaining if compute_order_key(member.id) <= last]
        comparison.not_compared += len(remaining) - len(compared_members)
        records = self.unfiltered_records or self.stores.records
        keys = sorted({member.sha1hex for member in compared_members})
        takedowns = find_takedowns(records, keys)
        embargoes = (
            find_active_embargoes(records, keys) if self.unfiltered_records is not None else {}
        )
        stored_sha1hexes = {row.sha1hex for row in records.get(FileMetaRow, keys)}
        for member in compared_members:
            outcome, reason = "gone", ""
            if member.sha1hex in takedowns:
                row = takedowns[member.sha1hex]
                outcome, reason = "taken_down", f"{row.reason_class}, {row.row_created:%Y-%m-%d}"
            elif member.sha1hex in embargoes:
                until = embargoes[member.sha1hex]
                outcome, reason = (
                    "under_embargo",
                    f"{until.reason_class}, until {until.until:%Y-%m-%d}",
                )
            elif member.sha1hex in stored_sha1hexes:
                outcome = "no_longer_found"
            comparison.count_document(
                ChangedDocument(outcome, member.id, member.sha1hex, "", reason)
            )


@dataclass(slots=True)
class ResultWalk:
    """Reader of the documents that the search of an export finds now, in order of id.

    - `verifier`: verifier whose index is searched.
    - `query`: index query of the exported search.
    - `limit`: maximum number of documents of the export; None if there was none.
    - `documents_max`: maximum number of documents to read.
    - `last`: position in the order of ids after which reading stops. It becomes the position
      reached if reading stops at `documents_max`.
    - `is_incomplete`: whether reading stopped at `documents_max` before the end of the result.
    - `contents`: count and hash of the documents read.
    """

    verifier: ManifestVerifier
    query: SearchQuery
    limit: int | None
    documents_max: int
    last: int
    is_incomplete: bool = False
    contents: ResultContents = field(default_factory=ResultContents)

    def iter_documents(self) -> Iterator[IndexDocument]:
        """Yield each document that the search finds now once, without text.

        Raises ValueError with a message for users if the query is invalid.
        """
        last = self.last
        documents = iter_documents(self.verifier.stores.index, self.query, self.documents_max)
        documents_before_last = takewhile(
            lambda document: compute_order_key(document.id) <= last, documents
        )
        position = 0
        for number, document in enumerate(self.contents.collect(documents_before_last), 1):
            position = compute_order_key(document.id)
            if number % PROGRESS_DOCUMENTS == 0:
                self.verifier.progress(number)
            yield document
        self.is_incomplete = self.contents.count == self.documents_max != self.limit
        if self.is_incomplete:
            self.last = position


def _find_last_position(manifest: Manifest, remaining: Mapping[str, ManifestMember]) -> int:
    """Return the last position, in the order of ids, up to which the current result is compared.

    If the export was limited to the first documents, it is the position of the last exported
    document (`remaining`). If the export has all documents of its search, it is `ORDER_KEY_END`.
    """
    search = manifest.search
    is_cut = (
        search is not None
        and search.limit is not None
        and search.limit <= manifest.rows < search.total
    )
    return (
        max(map(compute_order_key, remaining), default=ORDER_KEY_END) if is_cut else ORDER_KEY_END
    )


def _find_walk_limit(manifest: Manifest, search: ExportedSearch, walked_max: int) -> int:
    """Return the maximum number of documents to read from the current result of an exported search.

    It is at most `walked_max`. If the manifest lists no documents, it is also at most the limit of
    the export. Without a limit, it is one more than were exported: the extra document shows that
    the result grew.
    """
    if manifest.documents is not None:
        return walked_max
    return min(search.limit or manifest.rows + 1, walked_max)


def _describe_rereading(previous_member: ManifestMember, now: ManifestMember) -> str:
    """Describe how the text or extractor of an exported document changed since the export.

    Returns "" if neither changed, or if the earlier values are unknown.
    """
    extractors = f"{previous_member.extractor} then, {now.extractor or 'unknown'} now"
    is_other_extractor = (
        bool(previous_member.extractor) and previous_member.extractor != now.extractor
    )
    if previous_member.text and previous_member.text != now.text:
        return (
            f"another text; extractors: {extractors}"
            if is_other_extractor
            else "another text, by the same extractor"
        )
    return f"the same text; extractors: {extractors}" if is_other_extractor else ""
