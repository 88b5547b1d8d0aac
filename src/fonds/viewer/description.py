"""Everything known about one file: captures, metadata, derivatives and the history of its dispositions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.archive.replay.captures import iter_url_captures
from fonds.derivatives.documents import UNKNOWN
from fonds.derivatives.kind import FileRelations
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.derivatives.story_versions import list_versions
from fonds.model.capture import REVISIT_MIME, Place, PlaceKind
from fonds.model.disposition import Reason, Weight
from fonds.model.document import IndexDocument
from fonds.model.errors import PermanentError
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key, parse_sha1
from fonds.model.rows import (
    CdxRow,
    CitationRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
)
from fonds.model.rows.row import DerivativeRow
from fonds.papers.bibliography.paper import Citation, decode_paper, format_citation
from fonds.ports import Records, Stores
from fonds.stores.journal_table.cells import BIB_METADATA, GROBID_METADATA
from fonds.stores.journal_table.keys import build_row_key
from fonds.urls.normalization import compute_story_id, normalize_url
from fonds.urls.surt import NONE, build_surt
from fonds.viewer.history import list_history
from fonds.viewer.path_keys import places_of_record, urls_of_path
from fonds.viewer.rights import NO_RIGHTS, FileRights, load_file_rights

LISTED_MAX = 1000
NO_RELATIVES = FileRelations()


@dataclass(frozen=True, slots=True)
class CitedReference:
    """An entry of a list of references, as printed; `status` is how it was matched, None where it was not
    held against the catalogue, `work` and `doi` what it was matched with."""

    reference: str
    status: str | None = None
    work: str | None = None
    doi: str | None = None


@dataclass(frozen=True, slots=True)
class FileDescription:
    """What Fonds knows about one file; absent parts are None or empty.

    `derivatives` are the rows of what was made of it, by kind. `captures` are the places in WARC files its
    bytes lie in, oldest first; `entries` how it entered, so far as the history here tells. Of captures and
    history the thousand oldest are here; `captures_total` and `history_total` say how many there are.
    `text_key` and `thumbnail_key` are set when those blobs exist. `document` is what the index holds of
    it; of a story it holds one version, whose SHA-1 `searched` is: if that is another's, `document` is
    None. `relatives` are other versions of its story, and near-duplicates; `citations` what it cites,
    as printed and matched, the first thousand of `citations_total`. `rights` is what is stated about its use.
    """

    sha1hex: str
    file: FileMetaRow | None
    derivatives: Mapping[str, DerivativeRow]
    document: IndexDocument | None
    searched: str | None
    captures: Sequence[CdxRow]
    entries: Sequence[EntryRow]
    history: Sequence[DispositionRow]
    captures_total: int
    history_total: int
    text_key: str | None
    thumbnail_key: str | None
    relatives: FileRelations = NO_RELATIVES
    citations: Sequence[CitedReference] = ()
    citations_total: int = 0
    rights: FileRights = NO_RIGHTS

    @property
    def is_known(self) -> bool:
        """Whether anything at all is known."""
        return bool(self.file or self.captures or self.history)

    @property
    def textless_reasons(self) -> list[Reason]:
        """Why a kept file has no text, each reason once."""
        said = (Reason(row.reason) for row in self.history if row.reason)
        return list(dict.fromkeys(one for one in said if one.weight is Weight.KEPT))

    @property
    def title(self) -> str | None:
        """What the index calls it; of what is not in there, what its document would be called."""
        if self.document is not None:
            return self.document.article_title
        return find_own_title(self.derivatives)

    @property
    def body_place(self) -> Place | None:
        """Where the bytes can be read again; None when no capture lies in a WARC."""
        whole = (row for row in self.captures if row.mimetype != REVISIT_MIME)
        row = next(whole, None)
        if row is None:
            return None
        return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


@dataclass(frozen=True, slots=True)
class ResolvedKey:
    """The files a key stands for; `complete` is False when there may be more than the thousand looked at."""

    files: Sequence[str]
    complete: bool = True


def resolve(stores: Stores, key: str) -> ResolvedKey:
    """Return the files a key stands for: a SHA-1 in hex or base32, a URL, a path or a story id (64 digits).

    A path is that of a loose file, of a member of a ZIP (`pages.zip#a.html`) or of a record in a WARC
    (`crawl.warc.gz:85`). There are several for a URL or story captured with different bytes, a story's newest
    version first; none when the key is unknown.
    """
    raw = parse_sha1(key)
    if raw is not None:
        return ResolvedKey([raw.hex()])
    if len(key) == 64 and all(c in "0123456789abcdef" for c in key.lower()):
        return _build_resolved(list_versions(stores.records, key.lower(), LISTED_MAX + 1))
    records = stores.records
    placed = places_of_record(records, key)
    found = [row.sha1hex for row in records.get(CdxRow, placed)] if placed else []
    urls = [key, *urls_of_path(key)]
    # A page kept as a loose file was captured under its path, and goes by the address it states itself.
    resolved = _build_resolved(
        found,
        *(_captured_at(records, url) for url in urls),
        *(list_versions(records, compute_story_id(url), LISTED_MAX + 1) for url in urls),
    )
    return resolved if resolved.files else _build_resolved(_entered_at(records, urls))


def _captured_at(records: Records, url: str) -> list[str]:
    """Return the files captured at a URL.

    The keys of captures do not tell apart the case of paths and, on the web, fragments. Both matter where
    they name a file or a member.
    """
    if build_surt(url) == NONE:
        return []
    rows = list(islice(iter_url_captures(records, url), LISTED_MAX + 1))
    is_file = url.lower().startswith("file:")
    if is_file or "#" in url:
        wanted = normalize_url(url)
        same = [row for row in rows if normalize_url(row.url) == wanted]
        rows = same if same or is_file else rows
    return [row.sha1hex for row in rows]


def _entered_at(records: Records, urls: Sequence[str]) -> list[str]:
    """Return the files that entered under these URLs and lie in no WARC."""
    entries = records.find(EntryRow, {"url": list(urls)}, count_max=LISTED_MAX + 1)
    about = _list_distinct([row.about for row in entries if row.about])
    return [row.sha1hex for row in records.get(FileMetaRow, about)] if about else []


def _build_resolved(*hashes: Sequence[str]) -> ResolvedKey:
    files = _list_distinct([sha1hex for some in hashes for sha1hex in some[:LISTED_MAX]])
    return ResolvedKey(files, all(len(some) <= LISTED_MAX for some in hashes))


def _list_distinct(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def build_description(stores: Stores, sha1hex: str) -> FileDescription:
    """Gather what all stores say of one file."""
    records = stores.records
    text_key, thumbnail_key = build_text_blob_key(sha1hex), build_thumbnail_blob_key(sha1hex)
    present = stores.blobs.filter_existing([text_key, thumbnail_key])
    past = list_history(records, sha1hex, LISTED_MAX)
    entered = _list_distinct([row.entry_id for row in past])
    captures = records.find(
        CdxRow, {"sha1hex": sha1hex}, order=("datetime", "warc_path"), count_max=LISTED_MAX
    )
    derivatives = {
        kind.name: row
        for kind in iter_kinds_with_rows()
        for row in records.get(kind.row, [sha1hex])
    }
    document = _find_document(stores, sha1hex, derivatives)
    cited = _load_citations(stores, sha1hex)
    searched = document.sha1hex if document else None
    return FileDescription(
        sha1hex=sha1hex,
        file=next(iter(records.get(FileMetaRow, [sha1hex])), None),
        derivatives=derivatives,
        document=document if searched == sha1hex else None,
        searched=searched,
        captures=list(captures),
        entries=list(records.find(EntryRow, {"entry_id": entered})) if entered else [],
        history=past,
        captures_total=records.count(CdxRow, (), {"sha1hex": sha1hex})[()],
        history_total=records.count(DispositionRow, (), {"about": sha1hex})[()],
        text_key=text_key if text_key in present else None,
        thumbnail_key=thumbnail_key if thumbnail_key in present else None,
        relatives=_find_relatives(records, derivatives),
        citations=_add_matches(records, sha1hex, cited[:LISTED_MAX]),
        citations_total=len(cited),
        rights=load_file_rights(records, sha1hex),
    )


def _load_citations(stores: Stores, sha1hex: str) -> Sequence[Citation]:
    """The list of references, whoever read it; none where it cannot be understood."""
    key = build_row_key(sha1hex)
    columns = (GROBID_METADATA, BIB_METADATA)
    cells = stores.table.get(stores.journal, [key], columns).get(key, {})
    found = next((cells[column] for column in columns if column in cells), None)
    try:
        return decode_paper(found).citations if found is not None else ()
    except ValueError:
        return ()


def _add_matches(
    records: Records, sha1hex: str, citations: Sequence[Citation]
) -> list[CitedReference]:
    """The references with the works they were matched with."""
    keys = [(sha1hex, one.index) for one in citations]
    rows = {row.number: row for row in records.get(CitationRow, keys)}
    found = []
    for one in citations:
        row = rows.get(one.index)
        matched = (row.status, row.work, row.doi) if row is not None else ()
        found.append(CitedReference(format_citation(one), *matched))
    return found


def _find_relatives(records: Records, derivatives: Mapping[str, DerivativeRow]) -> FileRelations:
    """What stands beside the file, by whichever kind knows."""
    for kind in iter_kinds_with_rows():
        row = derivatives.get(kind.name)
        found = kind.find_related(records, [row]) if row is not None else {}
        if row is not None and row.sha1hex in found:
            return found[row.sha1hex]
    return FileRelations()


def _find_document(
    stores: Stores, sha1hex: str, derivatives: Mapping[str, DerivativeRow]
) -> IndexDocument | None:
    """The document made of one of the file's rows, or of another version of what the row is one of."""
    ids = [
        kind.indexed.get_id(derivatives[kind.name])
        for kind in KINDS
        if kind.indexed and kind.name in derivatives
    ]
    # What is in the index and nowhere else is shown too.
    found = stores.index.get([*ids, sha1hex])
    return next((found[id_] for id_ in (*ids, sha1hex) if id_ in found), None)


def read_body(stores: Stores, description: FileDescription) -> bytes:
    """The bytes with this SHA-1, from the first of its captures that still has them.

    Raises PermanentError, which names the last place tried, when none has.
    """
    failed = PermanentError(
        Reason.MISSING_SOURCE,
        f"No capture of {description.sha1hex} lies in a WARC, so its bytes cannot be read again.",
    )
    for row in description.captures:
        if row.mimetype == REVISIT_MIME:
            continue
        place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
        try:
            return stores.archive.read(place, description.sha1hex).body
        except PermanentError as error:
            failed = error
    raise failed


def find_own_title(derivatives: Mapping[str, DerivativeRow]) -> str | None:
    """The title a document made of these rows, by kind, would have."""
    for kind in KINDS:
        row = derivatives.get(kind.name)
        if row is not None and kind.indexed is not None and kind.indexed.has_text(row):
            title = kind.indexed.document(row, None, UNKNOWN).article_title
            if title:
                return title
    return None
