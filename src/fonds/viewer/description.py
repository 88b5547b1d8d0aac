"""Description of one file: captures, metadata, derivatives and processing history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fonds.derivatives.documents import UNKNOWN
from fonds.derivatives.kind import FileRelations
from fonds.derivatives.kinds import KINDS, iter_kinds_with_rows
from fonds.model.bibliography import Citation
from fonds.model.capture import REVISIT_MIME, Place, PlaceKind
from fonds.model.disposition import Reason, Weight
from fonds.model.document import IndexDocument
from fonds.model.errors import PermanentError
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.rows import (
    CdxRow,
    CitationRow,
    DispositionRow,
    EntryRow,
    FileMetaRow,
)
from fonds.model.rows.row import DerivativeRow
from fonds.papers.bibliography.paper import decode_paper, format_citation
from fonds.ports import Records, Stores
from fonds.stores.journal_table.cells import BIB_METADATA, GROBID_METADATA
from fonds.stores.journal_table.keys import build_row_key
from fonds.viewer.history import list_history
from fonds.viewer.rights import NO_RIGHTS, FileRights, load_file_rights

LISTED_MAX = 1000
NO_RELATIVES = FileRelations()


@dataclass(frozen=True, slots=True)
class CitedReference:
    """Reference of a paper as printed, and the work it was matched to.

    - `reference`: printed reference.
    - `status`: status of the match; None if the reference was not compared with the catalogue.
    - `work`, `doi`: id of the work in the catalogue, and its DOI; None if no work was found.
    """

    reference: str
    status: str | None = None
    work: str | None = None
    doi: str | None = None


@dataclass(frozen=True, slots=True)
class FileDescription:
    """Everything that Fonds knows about one file.

    An unknown value is None; an absent list is empty.
    """

    sha1hex: Annotated[str, Meta(description="SHA-1 of the file")]
    file: Annotated[FileMetaRow | None, Meta(description="size, type and other hashes of the file")]
    derivatives: Annotated[
        Mapping[str, DerivativeRow], Meta(description="row of each derivative, by kind")
    ]
    document: Annotated[
        IndexDocument | None,
        Meta(description="document in the index; null if it shows another version of the story"),
    ]
    searched: Annotated[
        str | None, Meta(description="SHA-1 of the version of the story that is in the index")
    ]
    captures: Annotated[
        Sequence[CdxRow],
        Meta(description="captures of the file in WARC files, oldest first, at most 1,000"),
    ]
    entries: Annotated[Sequence[EntryRow], Meta(description="entries that the history names")]
    history: Annotated[
        Sequence[DispositionRow],
        Meta(description="how the messages about the file ended, oldest first, at most 1,000"),
    ]
    captures_total: Annotated[int, Meta(description="number of all captures")]
    history_total: Annotated[int, Meta(description="number of all messages")]
    text_key: Annotated[
        str | None, Meta(description="key of the blob with the text; null without one")
    ]
    thumbnail_key: Annotated[
        str | None, Meta(description="key of the blob with the thumbnail; null without one")
    ]
    relatives: Annotated[
        FileRelations, Meta(description="other versions of the story, and near-duplicates")
    ] = NO_RELATIVES
    citations: Annotated[
        Sequence[CitedReference],
        Meta(
            description="references with the works they were matched with, at most 1,000; `status` is "
            "null if a reference was not matched"
        ),
    ] = ()
    citations_total: Annotated[int, Meta(description="number of all references")] = 0
    rights: Annotated[
        FileRights, Meta(description="statements about the use of the file and of its captures")
    ] = NO_RIGHTS

    @property
    def is_known(self) -> bool:
        """Whether the library has a file, a capture or a message with this SHA-1."""
        return bool(self.file or self.captures or self.history)

    @property
    def textless_reasons(self) -> list[Reason]:
        """Reasons why the file is stored but has no text. Each reason occurs once."""
        reasons = (Reason(row.reason) for row in self.history if row.reason)
        return list(
            dict.fromkeys(reason for reason in reasons if reason.weight is Weight.WITHOUT_TEXT)
        )

    @property
    def title(self) -> str | None:
        """Title of the file's document in the index.

        For a file that is not indexed, the title that its document would have. None if the file has
        no title.
        """
        if self.document is not None:
            return self.document.article_title
        return find_own_title(self.derivatives)

    @property
    def body_place(self) -> Place | None:
        """Location from which the bytes of the file can be read; None if no WARC file contains
        them.
        """
        full_records = (row for row in self.captures if row.mimetype != REVISIT_MIME)
        row = next(full_records, None)
        if row is None:
            return None
        return Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)


def build_description(stores: Stores, sha1hex: str) -> FileDescription:
    """Collect captures, metadata, derivatives and history of a file from all stores."""
    records = stores.records
    text_key, thumbnail_key = build_text_blob_key(sha1hex), build_thumbnail_blob_key(sha1hex)
    present = stores.blobs.filter_existing([text_key, thumbnail_key])
    history = list_history(records, sha1hex, LISTED_MAX)
    entry_ids = list(dict.fromkeys(row.entry_id for row in history))
    captures = records.find(
        CdxRow, {"sha1hex": sha1hex}, order=("datetime", "warc_path"), count_max=LISTED_MAX
    )
    derivatives = {
        kind.name: row
        for kind in iter_kinds_with_rows()
        for row in records.get(kind.row, [sha1hex])
    }
    document = _find_document(stores, sha1hex, derivatives)
    references = _load_citations(stores, sha1hex)
    document_sha1hex = document.sha1hex if document else None
    return FileDescription(
        sha1hex=sha1hex,
        file=next(iter(records.get(FileMetaRow, [sha1hex])), None),
        derivatives=derivatives,
        document=document if document_sha1hex == sha1hex else None,
        searched=document_sha1hex,
        captures=list(captures),
        entries=list(records.find(EntryRow, {"entry_id": entry_ids})) if entry_ids else [],
        history=history,
        captures_total=records.count(CdxRow, (), {"sha1hex": sha1hex})[()],
        history_total=records.count(DispositionRow, (), {"about": sha1hex})[()],
        text_key=text_key if text_key in present else None,
        thumbnail_key=thumbnail_key if thumbnail_key in present else None,
        relatives=_find_relatives(records, derivatives),
        citations=_add_matches(records, sha1hex, references[:LISTED_MAX]),
        citations_total=len(references),
        rights=load_file_rights(records, sha1hex),
    )


def _load_citations(stores: Stores, sha1hex: str) -> Sequence[Citation]:
    """Load the reference list of a paper, as GROBID or Fonds extracted it; [] if it is missing or
    cannot be decoded.
    """
    key = build_row_key(sha1hex)
    columns = (GROBID_METADATA, BIB_METADATA)
    cells = stores.table.get(stores.journal, [key], columns).get(key, {})
    cell = next((cells[column] for column in columns if column in cells), None)
    try:
        return decode_paper(cell).citations if cell is not None else ()
    except ValueError:
        return ()


def _add_matches(
    records: Records, sha1hex: str, citations: Sequence[Citation]
) -> list[CitedReference]:
    """Combine the references of a file with the works that they were matched to."""
    keys = [(sha1hex, citation.index) for citation in citations]
    rows = {row.number: row for row in records.get(CitationRow, keys)}
    references = []
    for citation in citations:
        row = rows.get(citation.index)
        match = (row.status, row.work, row.doi) if row is not None else ()
        references.append(CitedReference(format_citation(citation), *match))
    return references


def _find_relatives(records: Records, derivatives: Mapping[str, DerivativeRow]) -> FileRelations:
    """Return the files related to a file, such as other versions of a story.

    The relations come from the first derivative kind, such as PDF text, that has any. The result is
    empty if no kind has any.
    """
    for kind in iter_kinds_with_rows():
        row = derivatives.get(kind.name)
        relations = kind.find_related(records, [row]) if row is not None else {}
        if row is not None and row.sha1hex in relations:
            return relations[row.sha1hex]
    return FileRelations()


def _find_document(
    stores: Stores, sha1hex: str, derivatives: Mapping[str, DerivativeRow]
) -> IndexDocument | None:
    """Return the document in the search index that contains a file; None if there is none.

    All versions of a story share one document. If the file is a version of a story, the document
    may have been built from another version.
    """
    ids = [
        kind.indexed.get_id(derivatives[kind.name])
        for kind in KINDS
        if kind.indexed and kind.name in derivatives
    ]
    # Also find documents that exist only in the index.
    documents = stores.index.get([*ids, sha1hex])
    return next((documents[id_] for id_ in (*ids, sha1hex) if id_ in documents), None)


def read_body(stores: Stores, description: FileDescription) -> bytes:
    """Read the bytes of a file from the first capture that still has them.

    Raises PermanentError, with the last location tried, if no capture has them.
    """
    last_error = PermanentError(
        Reason.MISSING_SOURCE,
        f"No WARC has a capture of {description.sha1hex}, so its bytes cannot be read again.",
    )
    for row in description.captures:
        if row.mimetype == REVISIT_MIME:
            continue
        place = Place(PlaceKind.WARC, row.warc_path, row.warc_offset, row.warc_csize)
        try:
            return stores.archive.read(place, description.sha1hex).body
        except PermanentError as error:
            last_error = error
    raise last_error


def find_own_title(derivatives: Mapping[str, DerivativeRow]) -> str | None:
    """Return the title that an index document of a file would have, from its derivatives.

    `derivatives` are database rows by kind of derivative, such as a PDF's text. Returns None if
    they give no title.
    """
    for kind in KINDS:
        row = derivatives.get(kind.name)
        if row is not None and kind.indexed is not None and kind.indexed.has_text(row):
            title = kind.indexed.build_document(row, None, UNKNOWN).article_title
            if title:
                return title
    return None
