"""What sources counted and did not keep one by one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fonds.library.accounting import INPUTS_SHOWN
from fonds.library.tracing.days import Days, counted, pipelines_counted
from fonds.model.by_time import INPUTS_BY_DAY
from fonds.model.rows import InputRow, TallyRow
from fonds.ports import Records

INPUTS_LOOKED = 1_000


@dataclass(frozen=True, slots=True)
class Uncaptured:
    """What sources counted and did not keep one by one.

    `inputs` are those with the most, at most 50, out of `inputs_count`. Only the thousand inputs with the
    largest tallies are looked at; `complete` is False when there are more, which may have some too.
    """

    total: int = 0
    inputs_count: int = 0
    inputs: Sequence[tuple[InputRow, int]] = ()
    complete: bool = True


def uncaptured(
    records: Records,
    reasons: Collection[str] | None = None,
    pipeline: str | None = None,
    days: Days | None = None,
) -> Uncaptured:
    """The tallies of all inputs, or of those last read on some days, for some reasons or (None) for all."""
    if reasons is not None and not reasons:
        return Uncaptured()
    total = _total(records, reasons, pipeline, days)
    if not total:
        return Uncaptured()
    found = []
    order = ("-tally_count", "input_id")
    of = {} if pipeline is None else {"pipeline": pipeline}
    where = of if days is None else {**of, "updated": days.within()}
    rows = list(records.find(InputRow, where, order=order, count_max=INPUTS_LOOKED + 1))
    for row in rows[:INPUTS_LOOKED]:
        if row.tally_count == 0:
            break
        count = sum(n for name, n in row.tally.items() if reasons is None or name in reasons)
        if count:
            found.append((row, count))
    largest = sorted(found, key=lambda one: -one[1])[:INPUTS_SHOWN]
    complete = len(rows) <= INPUTS_LOOKED or rows[-1].tally_count == 0
    return Uncaptured(total, len(found), largest, complete)


def _total(
    records: Records, reasons: Collection[str] | None, pipeline: str | None, days: Days | None
) -> int:
    of = {} if pipeline is None else {"pipeline": pipeline}
    if days is None:
        chosen = {} if reasons is None else {"first": list(reasons)}
        rows = records.find(TallyRow, {"counted": InputRow.TABLE, **chosen, **of})
    else:
        chosen = {} if reasons is None else {"second": list(reasons)}
        pipelines = [pipeline] if pipeline else pipelines_counted(records)
        rows = counted(records, [INPUTS_BY_DAY], days, pipelines, **chosen)
    return sum(row.count for row in rows)
