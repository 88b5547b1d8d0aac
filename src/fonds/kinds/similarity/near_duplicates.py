"""Results of a search that say nearly the same as one before them, as copies of an agency's report do.

Bound: linear in the results, of which one page is looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from fonds.extract.similarity.comparing import bands, resemblance
from fonds.kinds.similarity.relatives import RESEMBLANCE_MIN
from fonds.model.document import IndexDocument
from fonds.model.rows import TextSketchRow
from fonds.ports import Records

NO_TEXT = sha256(b"").hexdigest()
_Key = int | str


def near_duplicates(records: Records, documents: Sequence[IndexDocument]) -> Mapping[str, str]:
    """The ids of those that are near-duplicates of an earlier one, and the id of the first such; that one is
    a near-duplicate of none before it. What has no sketch stands alone."""
    sketches = {row.sha1hex: row for row in records.get(TextSketchRow, _files(documents))}
    found: dict[str, str] = {}
    firsts: dict[_Key, list[tuple[str, TextSketchRow]]] = defaultdict(list)
    for one in documents:
        row = sketches.get(one.sha1hex)
        if row is None:
            continue
        keys = list(_keys(row))
        candidates = (pair for key in keys for pair in firsts[key])
        first = next((id_ for id_, other in candidates if _are_alike(row, other)), None)
        if first is not None:
            found[one.id] = first
            continue
        for key in keys:
            firsts[key].append((one.id, row))
    return found


def _files(documents: Sequence[IndexDocument]) -> list[str]:
    return list(dict.fromkeys(one.sha1hex for one in documents))


def _keys(row: TextSketchRow) -> Iterator[_Key]:
    """What texts that are alike have in common; of stories too short to be compared the whole text. Of a scan
    all that is read may be the stamp of who keeps it, which says nothing of what it is."""
    if row.signature or (row.story_id != row.sha1hex and row.text_sha256hex != NO_TEXT):
        yield row.text_sha256hex
    if row.signature:
        yield from bands(bytes.fromhex(row.signature))


def _are_alike(one: TextSketchRow, other: TextSketchRow) -> bool:
    if one.text_sha256hex == other.text_sha256hex:
        return True
    if not (one.signature and other.signature):
        return False
    signed = (bytes.fromhex(row.signature) for row in (one, other))
    return resemblance(*signed) >= RESEMBLANCE_MIN
