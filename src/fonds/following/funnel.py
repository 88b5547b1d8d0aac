"""Funnel of a source: number of its links at each stage, from announced to stored.

The numbers come from counts in the database; the rows of links are not read.
"""

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
    """Number of links of a source that ended in the same way.

    - `outcome`: outcome of the links, such as done, dropped, quarantined or pending.
    - `reason`: reason code with which the links were dropped or quarantined; None for other
      outcomes.
    - `step`: pipeline step at which the links ended; None if they have not ended.
    - `count`: number of links.
    """

    outcome: str
    reason: str | None
    step: str | None
    count: int

    @property
    def weight(self) -> Weight | None:
        """Severity of the reason code; None for links without a reason, such as stored and pending
        ones.
        """
        return Reason(self.reason).weight if self.reason else None

    @property
    def is_lost(self) -> bool:
        """Whether the links ended without being stored. Links in progress are not lost."""
        return self.outcome not in (Verdict.DONE, PENDING)


@dataclass(frozen=True, slots=True)
class Funnel:
    """Number of a source's links at each stage.

    - `announced`: new links that the source listed, including those that the link rules refused.
    - `entered`: announced links that the link rules accepted.
    - `fetched`: links that were fetched and have ended, stored or not.
    - `kept`: links that were stored.
    - `waiting`: links that have not ended yet.
    - `coverage`: `kept` divided by `announced`, from 0 to 1; None if nothing was announced.
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
    """Return for each source, by id, the numbers of its links with each outcome, the most frequent
    outcome first.

    Links in the given pipelines and in the pipelines of all given sources are counted.
    """
    endings: dict[str, list[LinkEnding]] = {row.source_id: [] for row in rows}
    ids, pipeline_names = list(endings), sorted({*pipelines, *(row.pipeline for row in rows)})
    for start in range(0, len(ids), SOURCES_A_QUERY):
        batch = ids[start : start + SOURCES_A_QUERY]
        conditions = {"counted": ENTRIES_BY_SOURCE, "pipeline": pipeline_names, "first": batch}
        for row in records.find(TallyRow, conditions):
            if row.count:
                step, reason = decode_step_reason(row.third)
                _add(endings[row.first], LinkEnding(row.second, reason, step, row.count))
    for source_endings in endings.values():
        source_endings.sort(
            key=lambda ending: (
                -ending.count,
                ending.outcome,
                ending.reason or "",
                ending.step or "",
            )
        )
    return endings


def _add(endings: list[LinkEnding], ending: LinkEnding) -> None:
    """Add the count of an outcome to a list. Counts of the same outcome in several pipelines become
    one.
    """
    for index, existing in enumerate(endings):
        if (existing.outcome, existing.reason, existing.step) == (
            ending.outcome,
            ending.reason,
            ending.step,
        ):
            endings[index] = LinkEnding(
                existing.outcome, existing.reason, existing.step, existing.count + ending.count
            )
            return
    endings.append(ending)


def build_funnel(row: SourceRow, endings: Sequence[LinkEnding], stages: Sequence[str]) -> Funnel:
    """Build the funnel of a source from the outcomes of its links.

    `stages` are the names of the stages of its pipeline in order. The first stage fetches links.
    """
    entered_count = sum(ending.count for ending in endings)
    kept_count = sum(ending.count for ending in endings if ending.outcome == Verdict.DONE)
    later_steps = list_steps_after(endings, stages[:1])
    lost_later = sum(
        ending.count for ending in endings if ending.is_lost and ending.step in later_steps
    )
    announced_count = entered_count + sum(get_refused_counts(row).values())
    return Funnel(
        announced_count,
        entered_count,
        kept_count + lost_later,
        kept_count,
        sum(ending.count for ending in endings if ending.outcome == PENDING),
        kept_count / announced_count if announced_count else None,
    )


def get_refused_counts(row: SourceRow) -> Mapping[str, int]:
    """Return the number of links of a source that the link rules refused, by reason."""
    return {reason: count for reason, count in (row.refused_tally or {}).items() if count}


def list_steps_after(endings: Sequence[LinkEnding], stages: Sequence[str]) -> list[str]:
    """Return the pipeline steps, other than those in `stages`, at which links of a source were
    lost.

    `stages` are the first stages of the pipeline.
    """
    return sorted(
        {ending.step for ending in endings if ending.is_lost and ending.step} - set(stages)
    )
