"""Funnel of links from announced to kept, counted from tallies and never from entries."""

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
    """Number of links of a source with one outcome.

    `reason` and `step` are None if nothing was decided.
    """

    outcome: str
    reason: str | None
    step: str | None
    count: int

    @property
    def weight(self) -> Weight | None:
        """Weight of the reason; None for links that were kept or are pending."""
        return Reason(self.reason).weight if self.reason else None

    @property
    def is_lost(self) -> bool:
        """Whether these links ended without being kept."""
        return self.outcome not in (Verdict.DONE, PENDING)


@dataclass(frozen=True, slots=True)
class Funnel:
    """Progress of a source's links.

    `announced` links were listed and new, and some of them `entered`.
    `fetched` links were fetched, which is known once they ended.
    `kept` links were kept; `waiting` links are in progress.
    `coverage` is `kept` divided by `announced`, from 0 to 1; None if nothing was announced.
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
    """Return the outcomes of each source's links by source id, most frequent first.

    Covers the given pipelines and the sources' own pipelines.
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
    """Add an ending; equal endings of several pipelines are added up."""
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
    """Build the funnel of a source. `stages` are those of its pipeline; the first one fetches."""
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
    """Return the number of links of a source that were refused before they entered, by reason."""
    return {reason: count for reason, count in (row.refused_tally or {}).items() if count}


def list_steps_after(endings: Sequence[LinkEnding], stages: Sequence[str]) -> list[str]:
    """Return the steps after these first stages of the pipeline at which links of a source ended."""
    return sorted(
        {ending.step for ending in endings if ending.is_lost and ending.step} - set(stages)
    )
