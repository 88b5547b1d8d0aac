"""Number of a source's links at each stage, from announced to stored.

The numbers come from stored counts; entries are not read.
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
    """Number of links of a source with the same outcome.

    - `outcome`: outcome of the links, such as done, dropped, quarantined or pending.
    - `reason`: reason why the links were dropped or quarantined; None if there is none.
    - `step`: pipeline step at which the links ended; None if they have not ended.
    - `count`: number of links.
    """

    outcome: str
    reason: str | None
    step: str | None
    count: int

    @property
    def weight(self) -> Weight | None:
        """Severity (weight) of the reason; None for links that were stored or are pending."""
        return Reason(self.reason).weight if self.reason else None

    @property
    def is_lost(self) -> bool:
        """Whether the links ended without being stored."""
        return self.outcome not in (Verdict.DONE, PENDING)


@dataclass(frozen=True, slots=True)
class Funnel:
    """Number of a source's links at each stage.

    - `announced`: new links that the source listed.
    - `entered`: those of them that the link rules accepted.
    - `fetched`: links that were fetched. A link counts only once it has ended.
    - `kept`: links that were stored.
    - `waiting`: links in progress.
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
    """Return the outcomes of the links of each source, by source id, the most frequent outcome
    first.

    Links in the given pipelines and in each source's own pipeline are counted.
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
    """Add an outcome to a list. Counts of equal outcomes in several pipelines are added up."""
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

    `stages` are the names of the stages of its pipeline. The first stage fetches links.
    """
    entered_count = sum(ending.count for ending in endings)
    kept_count = sum(ending.count for ending in endings if ending.outcome == Verdict.DONE)
    later_steps = list_steps_after(endings, stages[:1])
    lost_later = sum(
        ending.count for ending in endings if ending.is_lost and ending.step in later_steps
    )
    announced = entered_count + sum(get_refused_counts(row).values())
    return Funnel(
        announced,
        entered_count,
        kept_count + lost_later,
        kept_count,
        sum(ending.count for ending in endings if ending.outcome == PENDING),
        kept_count / announced if announced else None,
    )


def get_refused_counts(row: SourceRow) -> Mapping[str, int]:
    """Return the number of links of a source that the link rules refused, by reason."""
    return {reason: count for reason, count in (row.refused_tally or {}).items() if count}


def list_steps_after(endings: Sequence[LinkEnding], stages: Sequence[str]) -> list[str]:
    """Return the names of steps after the given first stages at which links of a source ended."""
    return sorted(
        {ending.step for ending in endings if ending.is_lost and ending.step} - set(stages)
    )
