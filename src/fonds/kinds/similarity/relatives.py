"""What stands beside a text: the other versions of its story, and other stories that are nearly the same.

No links are kept: which texts stand beside one another follows from the rows that are there, so that it is
the same whatever came first, whoever wrote it, and whoever died in between.

Bound: of a band that more than 1,000 texts share those with the smallest SHA-1 are looked at; of one text 100
near-duplicates and 100 versions are told at most, and how many there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from fonds.extract.similarity.comparing import resemblance
from fonds.kinds.kind import Related, Relatives
from fonds.model.rows import TextBandRow, TextSketchRow
from fonds.ports import Records

RESEMBLANCE_MIN = 0.6
"""Texts that have so much in common are near-duplicates."""

BAND_MAX = 1_000
TOLD_MAX = 100
_ROWS_AT_ONCE = 20_000

BandsOf = Callable[[TextSketchRow], Sequence[TextBandRow]]
"""The bands a row promises."""


def relatives(
    bands_of: BandsOf, records: Records, rows: Sequence[TextSketchRow]
) -> Mapping[str, Relatives]:
    """The versions of the stories these texts are of, and what is nearly the same, by SHA-1."""
    beside = _versions(records, rows)
    near = _near(bands_of, records, rows)
    return {
        row.sha1hex: Relatives(
            versions=beside[row.sha1hex][0],
            near_duplicates=near[row.sha1hex][:TOLD_MAX],
            versions_total=beside[row.sha1hex][1],
            near_duplicates_total=len(near[row.sha1hex]),
        )
        for row in rows
    }


def _versions(
    records: Records, rows: Sequence[TextSketchRow]
) -> dict[str, tuple[list[Related], int]]:
    """Of each row the other versions of its story, oldest first, and how many there are. Of more than a
    hundred those captured around it are told."""
    mine = defaultdict(list)
    for row in rows:
        mine[row.story_id].append(row)
    found: dict[str, tuple[list[Related], int]] = {}
    order = ("story_id", "captured", "sha1hex")
    stories = records.find(TextSketchRow, {"story_id": sorted(mine)}, order=order) if rows else ()
    for story_id, versions in groupby(stories, key=lambda one: one.story_id):
        around = _Around({row.sha1hex for row in mine[story_id]})
        for one in versions:
            around.add(one)
        for row in mine[story_id]:
            others = [one for one in around.near(row.sha1hex) if one.sha1hex != row.sha1hex]
            told = [_related(row, one) for one in others]
            found[row.sha1hex] = (told, around.count - 1)
    return {row.sha1hex: found.get(row.sha1hex, ([], 0)) for row in rows}


class _Around:
    """Of a stream of versions those before and behind some of them, fifty each way."""

    def __init__(self, wanted: set[str]) -> None:
        self._wanted = wanted
        self._last: list[TextSketchRow] = []
        self._kept: dict[str, list[TextSketchRow]] = {}
        self._room: dict[str, int] = {}
        self.count = 0

    def add(self, row: TextSketchRow) -> None:
        """The next version."""
        self.count += 1
        for key in list(self._room):
            self._kept[key].append(row)
            self._room[key] -= 1
            if not self._room[key]:
                del self._room[key]
        self._last = [*self._last[-TOLD_MAX // 2 :], row]
        if row.sha1hex in self._wanted:
            self._kept[row.sha1hex] = list(self._last)
            self._room[row.sha1hex] = TOLD_MAX // 2

    def near(self, sha1hex: str) -> list[TextSketchRow]:
        """Those around one of the wanted, itself among them."""
        return self._kept.get(sha1hex, [])


def _near(
    bands_of: BandsOf, records: Records, rows: Sequence[TextSketchRow]
) -> dict[str, list[Related]]:
    """Of each row the texts of other stories that are nearly the same, the most alike first."""
    asked = {row.sha1hex: {one.band for one in bands_of(row)} for row in rows}
    sharing = _sharing(records, sorted(set().union(*asked.values())))
    candidates = {
        key: {one for band in mine for one in sharing[band]} - {key} for key, mine in asked.items()
    }
    others = _by_key(records, sorted(set().union(*candidates.values())))
    found = {}
    for row in rows:
        alike = (_related(row, others[key]) for key in candidates[row.sha1hex] if key in others)
        told = [
            one
            for one in alike
            if (one.resemblance or 0.0) >= RESEMBLANCE_MIN and one.story_id != row.story_id
        ]
        found[row.sha1hex] = sorted(told, key=lambda one: (-(one.resemblance or 0.0), one.sha1hex))
    return found


def _sharing(records: Records, keys: Sequence[int]) -> dict[int, list[str]]:
    """The texts that have these bands, a thousand of each at most."""
    sharing: dict[int, list[str]] = defaultdict(list)
    read = 0
    for row in records.find(TextBandRow, {"band": list(keys)}, count_max=_ROWS_AT_ONCE):
        read += 1
        if len(sharing[row.band]) < BAND_MAX:
            sharing[row.band].append(row.sha1hex)
    if read < _ROWS_AT_ONCE:
        return sharing
    # A band that very many share is not read to its end.
    for key in keys:
        some = records.find(TextBandRow, {"band": key}, count_max=BAND_MAX)
        sharing[key] = [row.sha1hex for row in some]
    return sharing


def _by_key(records: Records, keys: Sequence[str]) -> dict[str, TextSketchRow]:
    return {row.sha1hex: row for row in records.get(TextSketchRow, keys)} if keys else {}


def _related(row: TextSketchRow, other: TextSketchRow) -> Related:
    """How another text stands to this one."""
    both = bool(row.signature and other.signature)
    same = row.text_sha256hex == other.text_sha256hex
    signed = (bytes.fromhex(row.signature), bytes.fromhex(other.signature))
    return Related(
        sha1hex=other.sha1hex,
        story_id=other.story_id,
        url=other.url,
        captured=other.captured,
        same_text=same,
        resemblance=1.0 if same else round(resemblance(*signed), 2) if both else None,
    )
