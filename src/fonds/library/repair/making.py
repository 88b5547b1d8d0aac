"""What was made of files, made again: texts from the index where they are whole there, else by reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fonds.kinds import KINDS, kinds_with_rows
from fonds.kinds.documents import text_blob, text_bytes
from fonds.kinds.fixity import TEXT, blob_of, fixity_of, fixity_of_row, has_fixity
from fonds.kinds.indexing import whole_documents
from fonds.kinds.kind import DerivativeKind
from fonds.library.checks.derivatives import known_fixity
from fonds.library.checks.endings import ACCOUNTED
from fonds.library.checks.fault import Act
from fonds.library.checks.places import ARCHIVE_BODY
from fonds.library.repair.plan import Wanted
from fonds.library.repair.workshop import Workshop
from fonds.model.disposition import Verdict
from fonds.model.keys import text_blob_key
from fonds.model.rows import DispositionRow, FileMetaRow, FixityRow

Read = Callable[[DerivativeKind, frozenset[str]], None]
"""Sends files to be read again for a kind, whatever is known of them."""


def end_again(shop: Workshop) -> None:
    """Endings that say something else than the stores show: written down as these show it."""
    for some in shop.plan.wanted(Act.END):
        for one in some:
            if one.step == ARCHIVE_BODY:
                _end_archived(shop, one)
            else:
                _end(shop, one)


def _end_archived(shop: Workshop, wanted: Wanted) -> None:
    where = {"entry_id": wanted.subject, "step": ARCHIVE_BODY}
    rows = list(shop.stores.records.find(DispositionRow, where))
    if not rows:
        shop.plan.want(Act.SEND, wanted.subject, told=wanted.told)
    for row in rows:
        _done(shop, row, wanted.told)


def _end(shop: Workshop, wanted: Wanted) -> None:
    """A sink is done with what is there; what its row says failed is read once more to see."""
    records, sha1hex = shop.stores.records, wanted.subject
    rows = list(records.find(DispositionRow, {"about": sha1hex, "step": wanted.step}))
    readings = [
        kind for kind in kinds_with_rows() if kind.reading and kind.reading.step == wanted.step
    ]
    read = any(
        made.status not in kind.reading.kept
        for kind in readings
        if kind.reading
        for made in records.get(kind.row, [sha1hex])
    )
    if read or not rows:
        shop.plan.want(Act.READ, sha1hex, told=wanted.told)
        return
    last = max(rows, key=lambda row: row.settled_at or row.promised_at)
    if readings or last.verdict not in ACCOUNTED:
        _done(shop, last, wanted.told)


def _done(shop: Workshop, row: DispositionRow, told: str) -> None:
    now = shop.clock()
    ended = DispositionRow(
        message_id=row.message_id,
        pipeline=row.pipeline,
        step=row.step,
        entry_id=row.entry_id,
        parent_id=row.parent_id,
        parent_step=row.parent_step,
        verdict=str(Verdict.DONE),
        is_open=False,
        reason=None,
        detail=f"put right by repair; before: {row.verdict} {row.reason or ''}",
        about=row.about,
        attempt=row.attempt,
        promised_at=row.promised_at,
        settled_at=now,
    )
    shop.stores.ledger.write([ended])
    message = f"{row.message_id} is done at {row.step} again: {told}"
    shop.note(Act.END, row.entry_id, row.about, message)


def make_again(shop: Workshop, kinds: Sequence[DerivativeKind], read: Read) -> None:
    """Texts and pictures, and the rows about them, of the kinds that can be read now."""
    for some in shop.plan.wanted(Act.READ):
        left = {one.subject for one in some} - set(_from_the_index(shop, some))
        files = {row.sha1hex: row for row in shop.stores.records.get(FileMetaRow, sorted(left))}
        wanted = [sha1hex for sha1hex in sorted(left) if _can_be_read(shop, sha1hex, files)]
        for kind in kinds:
            mine = [key for key in wanted if files[key].mimetype in kind.mimetypes]
            for sha1hex in mine:
                _forget(shop, kind, sha1hex)
                shop.note_file(Act.READ, sha1hex, f"{sha1hex} is read again for {kind.name}")
            if mine:
                read(kind, frozenset(mine))


def _can_be_read(shop: Workshop, sha1hex: str, files: dict[str, FileMetaRow]) -> bool:
    if sha1hex in files and shop.body(sha1hex) is not None:
        return True
    shop.give_up(sha1hex, f"{sha1hex} cannot be read again: its bytes are gone")
    return False


def _forget(shop: Workshop, kind: DerivativeKind, sha1hex: str) -> None:
    """A row that is not as it was written is taken away: it may hide what reading says now."""
    records = shop.stores.records
    fixity = known_fixity(records, [sha1hex])[sha1hex]
    for row in records.get(kind.row, [sha1hex]):
        if has_fixity(kind.row) and fixity.get(row.TABLE) != fixity_of_row(row):
            records.delete(kind.row, [sha1hex])
            records.delete(FixityRow, [(sha1hex, row.TABLE)])


def _from_the_index(shop: Workshop, some: Sequence[Wanted]) -> Iterator[str]:
    """Those files nothing is wrong with but their text, and whose text the index has as it was noted."""
    blobs, index = shop.stores.blobs, shop.stores.index
    for one in some:
        sha1hex, key = one.subject, text_blob_key(one.subject)
        others = any(two.subject == sha1hex and f"blob {key}" not in two.told for two in some)
        fixity = known_fixity(shop.stores.records, [sha1hex])[sha1hex].get(TEXT)
        if others or fixity is None or f"blob {key}" not in one.told or blob_of(fixity) != key:
            continue
        for kind in kinds_with_rows():
            for row in shop.stores.records.get(kind.row, [sha1hex]) if kind.indexed else ():
                id_ = kind.indexed.id_of(row) if kind.indexed else ""
                document = index.get([id_]).get(id_)
                text = text_bytes(document.text_content) if document else b""
                if document is not None and fixity_of(sha1hex, TEXT, text) == fixity:
                    blobs.put([text_blob(sha1hex, text)])
                    shop.note_file(Act.READ, sha1hex, f"{key} was written again from the index")
                    yield sha1hex


def index_again(shop: Workshop) -> bool:
    """Documents that lack or differ, from rows and texts; whether the whole index is to be made again."""
    whole = False
    for some in shop.plan.wanted(Act.INDEX):
        keys = {one.subject for one in some}
        whole = whole or "" in keys
        for kind in KINDS:
            _index(shop, kind, sorted(keys - {""}))
    return whole


def _index(shop: Workshop, kind: DerivativeKind, keys: Sequence[str]) -> None:
    """`keys` are ids of documents, or files."""
    one, stores = kind.indexed, shop.stores
    if one is None or not keys:
        return
    files = [key for key in keys if len(key) == 40]
    ids = {*keys, *(one.id_of(row) for row in stores.records.get(kind.row, files))}
    current = one.current(stores.records, sorted(ids))
    chosen = [each for _, each in sorted(current.items())]
    for document in whole_documents(one, stores.records, stores.blobs, chosen):
        stores.index.put([document])
        told = f"{kind.title} {document.id} is in the index again"
        shop.note_file(Act.INDEX, document.sha1hex, told)
    there = stores.index.get(sorted(ids - current.keys()))
    strays = [id_ for id_, document in there.items() if str(document.kind) == kind.name]
    if strays:
        stores.index.delete(sorted(strays))
        shop.say(f"{len(strays)} documents that should not be there were taken from the index")
