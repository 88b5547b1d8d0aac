"""From what sources announced to what was kept: counted out of the tallies, never out of the entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fonds.model.disposition import PENDING, Reason, Verdict, Weight
from fonds.model.rows import SourceRow, TallyRow
from fonds.model.tallies import ENTRIES_BY_SOURCE, decode_step_reason
from fonds.ports import Records

SOURCES_A_QUERY = 500


@dataclass(frozen=True, slots=True)
class LinkEnding:
    """So many links of a source ended in one way: `reason` and `step` None where none decided."""

    outcome: str
    reason: str | None
    step: str | None
    count: int

    @property
    def weight(self) -> Weight | None:
        """How the reason counts; None for what was kept or is on its way."""
        return Reason(self.reason).weight if self.reason else None

    @property
    def is_lost(self) -> bool:
        """Whether these links ended, and not well."""
        return self.outcome not in (Verdict.DONE, PENDING)


@dataclass(frozen=True, slots=True)
class Funnel:
    """How far the links of a source came: of those `announced`, that is listed and new, some `entered`, of
    these some were `fetched`, which is known once they ended, and some `kept`; `waiting` are on the way.

    `coverage` is the share of what was announced that was kept, from 0 to 1; None where nothing was.
    """

    announced: int
    entered: int
    fetched: int
    kept: int
    waiting: int
    coverage: float | None


def count_link_endings(
    records: Records, rows: Sequence[SourceRow], pipelines: Sequence[str]
) -> dict[str, list[LinkEnding]]:
    """What became of the links of each source in these pipelines and its own, by its id, the most first."""
    found: dict[str, list[LinkEnding]] = {row.source_id: [] for row in rows}
    ids, of = list(found), sorted({*pipelines, *(row.pipeline for row in rows)})
    for start in range(0, len(ids), SOURCES_A_QUERY):
        some = ids[start : start + SOURCES_A_QUERY]
        where = {"counted": ENTRIES_BY_SOURCE, "pipeline": of, "first": some}
        for row in records.find(TallyRow, where):
            if row.count:
                step, reason = decode_step_reason(row.third)
                _add(found[row.first], LinkEnding(row.second, reason, step, row.count))
    for each in found.values():
        each.sort(key=lambda one: (-one.count, one.outcome, one.reason or "", one.step or ""))
    return found


def _add(endings: list[LinkEnding], ending: LinkEnding) -> None:
    """Links that ended alike in several pipelines are counted as one."""
    for place, one in enumerate(endings):
        if (one.outcome, one.reason, one.step) == (ending.outcome, ending.reason, ending.step):
            endings[place] = LinkEnding(one.outcome, one.reason, one.step, one.count + ending.count)
            return
    endings.append(ending)


def build_funnel(row: SourceRow, endings: Sequence[LinkEnding], stages: Sequence[str]) -> Funnel:
    """The funnel of a source; `stages` are those of its pipeline, the first of which fetches."""
    entered = sum(one.count for one in endings)
    kept = sum(one.count for one in endings if one.outcome == Verdict.DONE)
    gone_on = list_steps_after(endings, stages[:1])
    lost_later = sum(one.count for one in endings if one.is_lost and one.step in gone_on)
    announced = entered + sum(get_refused_counts(row).values())
    return Funnel(
        announced,
        entered,
        kept + lost_later,
        kept,
        sum(one.count for one in endings if one.outcome == PENDING),
        kept / announced if announced else None,
    )


def get_refused_counts(row: SourceRow) -> Mapping[str, int]:
    """How many links of a source were refused before they entered, by reason."""
    return {why: int(count) for why, count in (row.refused_tally or {}).items() if count}


def list_steps_after(endings: Sequence[LinkEnding], stages: Sequence[str]) -> list[str]:
    """The steps at which links of a source ended behind these first stages of its pipeline."""
    return sorted({one.step for one in endings if one.is_lost and one.step} - set(stages))
