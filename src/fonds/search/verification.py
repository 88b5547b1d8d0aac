"""What became of a result since it was written: its search is asked again, and each document looked for.

then = unchanged + read_again + other_version + unfound + taken_down + under_embargo + gone + not_compared
now  = unchanged + read_again + other_version + added

Where only the first of a result were written, as many as were asked for, it is compared up to the last of
them in the order by id. Of what a search finds now at most `walked_max` documents are looked at, and as
many of the manifest are held against them as lie that far.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from fonds.derivatives.visibility import find_active_embargoes, find_takedowns
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.keys import compute_order_key
from fonds.model.rows import FileMetaRow
from fonds.model.search import SearchQuery
from fonds.ports import Records, Stores
from fonds.ports.scan import iter_chunks
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
PROGRESS = 1_000
LAST = 2**64


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """One document that is not as it was: what `became` of it, its file, its title where it is found, and
    why, in words."""

    became: str
    id: str
    sha1hex: str
    title: str
    why: str


@dataclass(slots=True)
class ResultComparison:
    """How many documents of the result are there as they were, read again (another text or extractor), shown
    by another version of their story, kept and not found by the search any more, taken down, under
    embargo, gone for no reason that is told, and not compared; and how many came since.

    `under_embargo` is None for who may not know of embargoes: what is hidden is `gone` for them. `listed`
    are the first 50 of each sort that is not as it was.
    """

    unchanged: int = 0
    read_again: int = 0
    other_version: int = 0
    unfound: int = 0
    taken_down: int = 0
    under_embargo: int | None = None
    gone: int = 0
    not_compared: int = 0
    added: int = 0
    listed: list[ChangedDocument] = field(default_factory=list)

    def count_document(self, document: ChangedDocument) -> None:
        """Count one document, and list it while there is room."""
        count = (getattr(self, document.became) or 0) + 1
        setattr(self, document.became, count)
        if count <= LISTED_MAX:
            self.listed.append(document)


WORDS = {
    "unchanged": "there as they were",
    "read_again": "read again since: another text, or another extractor",
    "other_version": "shown by another version of their story",
    "unfound": "kept, and no longer found by this search",
    "taken_down": "taken down",
    "under_embargo": "under embargo",
    "gone": "not here any more",
    "not_compared": "not compared",
    "added": "came since",
}
"""What became of documents, in the order it is told."""
FOUND_SORTS = ("unchanged", "read_again", "other_version", "added")
"""Those of which the search finds the documents now."""


@dataclass(frozen=True, slots=True)
class ComparisonAccount:
    """How many documents became what: its name in `ResultComparison`, in words, and whether they are
    found now."""

    name: str
    words: str
    count: int
    is_found: bool


def build_accounts(compared: ResultComparison) -> list[ComparisonAccount]:
    """All sorts who asks may know of."""
    counts = {name: getattr(compared, name) for name in WORDS}
    return [
        ComparisonAccount(name, WORDS[name], count, name in FOUND_SORTS)
        for name, count in counts.items()
        if count is not None
    ]


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """`file_is_whole`: its bytes are those that were written; None where the file was not at hand.
    `result_is_same`: the search finds the same documents, of the same files, as `then`; None where no search
    was noted. `now` is how many it finds; `now_is_more`: as many were looked at, and there may be
    more. `compared` is None where the manifest names no documents. The generations are those of the index it
    was written from and of the index now; None where they are not known.
    """

    file: str
    file_is_whole: bool | None
    result_is_same: bool | None
    then: int
    now: int | None
    now_is_more: bool = False
    compared: ResultComparison | None = None
    generation_then: str | None = None
    generation_now: str | None = None

    @property
    def generation_is_same(self) -> bool | None:
        """Whether nothing was written to the index since; None where one of the generations is not known."""
        if self.generation_then is None or self.generation_now is None:
            return None
        return self.generation_then == self.generation_now


def is_file_intact(path: Path, manifest: Manifest) -> tuple[str, bool]:
    """The exported file beside its manifest, and whether its bytes are those that were written.

    Raises ConfigurationError when the file cannot be read.
    """
    file = path.with_name(Path(manifest.file).name)
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {cause_of(error)}") from error
    return str(file), digest == manifest.sha256


def ignore_progress(done: int) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class ManifestVerifier:
    """What holds manifests against a library. `stores` are as who asks is shown them;
    `unfiltered_records` has them who may know of embargoes. `progress` is told how many documents were
    looked at."""

    stores: Stores
    unfiltered_records: Records | None = None
    walked_max: int = WALKED_MAX
    progress: Callable[[int], None] = ignore_progress

    def __call__(
        self, manifest: Manifest, file: str = "", file_is_whole: bool | None = None
    ) -> VerificationResult:
        """What is to be said. Raises ValueError with a sentence for a search that cannot be asked, and for a
        list of documents that is none."""
        search, then = manifest.search, manifest.rows
        if search is None:
            return VerificationResult(file, file_is_whole, None, then, None)
        generation = get_generation(self.stores.index)
        left = {
            member.id: member
            for member in iter_members(manifest.documents or (), manifest.extractors)
        }
        is_named = manifest.documents is not None
        walk = ResultWalk(
            self,
            resolve_query(search.parse(), self.stores.index, self.stores.records),
            search.limit,
            _find_walk_limit(manifest, search, self.walked_max),
            _find_last_position(manifest, left),
        )
        became = ResultComparison(under_embargo=0 if self.unfiltered_records is not None else None)
        for chunk in iter_chunks(walk.iter_documents()):
            if is_named:
                self._compare_found(chunk, left, became)
        for rest in iter_chunks(iter(left.values())):
            self._classify_missing(rest, walk.last, became)
        is_same = walk.contents.sha256hex == manifest.documents_sha256
        return VerificationResult(
            file, file_is_whole, None if walk.is_broken_off and walk.contents.count <= then else is_same,
            then, walk.contents.count, walk.is_broken_off, became if is_named else None,
            manifest.generation, confirm_generation(self.stores.index, generation),
        )  # fmt: skip

    def _compare_found(
        self,
        documents: Sequence[IndexDocument],
        remaining: dict[str, ManifestMember],
        became: ResultComparison,
    ) -> None:
        known = [document for document in documents if document.id in remaining]
        read = build_members(self.stores.records, known)
        for one in documents:
            then, title = remaining.pop(one.id, None), one.article_title or one.url
            if then is None:
                became.count_document(ChangedDocument("added", one.id, one.sha1hex, title, ""))
            elif then.sha1hex != one.sha1hex:
                why = f"then the file {then.sha1hex}"
                became.count_document(
                    ChangedDocument("other_version", one.id, one.sha1hex, title, why)
                )
            elif why := _describe_rereading(then, read[one.id]):
                became.count_document(
                    ChangedDocument("read_again", one.id, one.sha1hex, title, why)
                )
            else:
                became.unchanged += 1

    def _classify_missing(
        self, remaining: Sequence[ManifestMember], last: int, became: ResultComparison
    ) -> None:
        compared = [one for one in remaining if compute_order_key(one.id) <= last]
        became.not_compared += len(remaining) - len(compared)
        records = self.unfiltered_records or self.stores.records
        keys = sorted({one.sha1hex for one in compared})
        down = find_takedowns(records, keys)
        hidden = find_active_embargoes(records, keys) if self.unfiltered_records is not None else {}
        here = {row.sha1hex for row in records.get(FileMetaRow, keys)}
        for one in compared:
            what, why = "gone", ""
            if one.sha1hex in down:
                row = down[one.sha1hex]
                what, why = "taken_down", f"{row.reason_class}, {row.row_created:%Y-%m-%d}"
            elif one.sha1hex in hidden:
                until = hidden[one.sha1hex]
                what, why = "under_embargo", f"{until.reason_class}, until {until.until:%Y-%m-%d}"
            elif one.sha1hex in here:
                what = "unfound"
            became.count_document(ChangedDocument(what, one.id, one.sha1hex, "", why))


@dataclass(slots=True)
class ResultWalk:
    """What a search finds now, at most `documents_max` documents, up to the place `last` in the order by
    id; behind it, `last` is how far it got."""

    verifier: ManifestVerifier
    query: SearchQuery
    limit: int | None
    documents_max: int
    last: int
    is_broken_off: bool = False
    contents: ResultContents = field(default_factory=ResultContents)

    def iter_documents(self) -> Iterator[IndexDocument]:
        """Each once, without texts. Raises ValueError with a sentence for people."""
        last = self.last
        documents = iter_documents(self.verifier.stores.index, self.query, self.documents_max)
        within = takewhile(lambda one: compute_order_key(one.id) <= last, documents)
        key = 0
        for number, one in enumerate(self.contents.collect(within), 1):
            key = compute_order_key(one.id)
            if number % PROGRESS == 0:
                self.verifier.progress(number)
            yield one
        self.is_broken_off = self.contents.count == self.documents_max != self.limit
        if self.is_broken_off:
            self.last = key


def _find_last_position(manifest: Manifest, remaining: Mapping[str, ManifestMember]) -> int:
    """Where the result ends that was written: nowhere, unless only its first documents were."""
    search = manifest.search
    is_cut = (
        search is not None
        and search.limit is not None
        and search.limit <= manifest.rows < search.total
    )
    return max(map(compute_order_key, remaining), default=LAST) if is_cut else LAST


def _find_walk_limit(manifest: Manifest, search: ExportedSearch, walked_max: int) -> int:
    """Without a list of documents there is nothing to be learned behind one more than there were."""
    if manifest.documents is not None:
        return walked_max
    return min(search.limit or manifest.rows + 1, walked_max)


def _describe_rereading(previous_member: ManifestMember, now: ManifestMember) -> str:
    """In words what another reading changed; "" where nothing did, or what was then is not known."""
    by = f"{previous_member.extractor} then, {now.extractor or 'unknown'} now"
    is_other = bool(previous_member.extractor) and previous_member.extractor != now.extractor
    if previous_member.text and previous_member.text != now.text:
        return f"another text; read by {by}" if is_other else "another text, by the same extractor"
    return f"the same text; read by {by}" if is_other else ""
