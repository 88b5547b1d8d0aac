"""What a collection needs from time to time: leavings removed, what died finished, a rebuild where one is
due."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.collections.building.rebuilding import Progress, rebuild
from fonds.collections.building.settling import settle
from fonds.collections.building.sweeping import drop_leavings
from fonds.collections.building.triggers import Since, due
from fonds.collections.changing.redo import SEQUENCE, forget, needed_after
from fonds.collections.changing.writing import Changes
from fonds.collections.claims import TakenError
from fonds.collections.clusterings import (
    BUILDING,
    Known,
    by_configuration,
    configurations_of,
    is_served,
    known,
    rebuilt,
    settled,
)
from fonds.collections.configurations import get
from fonds.collections.names import Name, claim_of_rebuild
from fonds.collections.tables import COLLECTIONS, MODIFIED, Cells, number
from fonds.model.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Tended:
    """What was done for one configuration of a collection: clusterings removed that died, whether one was
    finished that was visible and not settled, why it was built again, '' where it was not, and what a person
    must change before it can be, '' where nothing."""

    name: Name
    conf: str
    removed: int
    settled: bool
    why: str
    refused: str = ""


def tend(
    changes: Changes,
    name: Name,
    *,
    threads: int | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> list[Tended]:
    """See to a collection; what another process builds is left to it."""
    with changes.held(name) as held:
        cells = held.cells
        forget(changes.tables, name, needed_after(cells, number(cells, SEQUENCE)))
    confs = {**configurations_of(cells), **by_configuration(cells, BUILDING)}
    done = []
    for conf in confs:
        try:
            removed, was_settled = _finish(changes, name, conf)
            why = due_because(changes, name, conf)
            if why:
                rebuild(changes, name, conf, threads=threads, progress=progress)
        except TakenError:
            continue
        except ConfigurationError as error:
            # An extra that is missing here, say: the others need not wait for it.
            done.append(Tended(name, conf, 0, False, "", str(error)))
            continue
        done.append(Tended(name, conf, removed, was_settled, why))
    return done


def due_because(changes: Changes, name: Name, conf: str) -> str:
    """Why a configuration is to be built again now; '' where it need not be, or never was."""
    tables = changes.tables
    cells = tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    one = next(
        (each for each in known(tables, name) if each.conf == conf and is_served(each, cells)), None
    )
    try:
        configuration = get(tables, name.namespace, conf)
    except ValueError:
        return ""
    if one is None:
        return ""
    return due(configuration, _since(one, cells), changes.now())


def _since(one: Known, collection: Cells) -> Since:
    cells = one.cells
    return Since(
        rebuilt=one.timestamp,
        modified=number(collection, MODIFIED),
        size=number(collection, "main:size"),
        documents=number(cells, "main:documents"),
        outliers=number(cells, "main:outliers"),
        later=number(cells, "main:later"),
        later_outliers=number(cells, "main:later_outliers"),
        terms=number(cells, "main:terms"),
        unknown=number(cells, "main:unknown"),
        later_terms=number(cells, "main:later_terms"),
        later_unknown=number(cells, "main:later_unknown"),
    )


def _finish(changes: Changes, name: Name, conf: str) -> tuple[int, bool]:
    """Remove what died, settle what was served and not settled. Raises TakenError while it is being built."""
    with changes.claims.renewed(claim_of_rebuild(name, conf)):
        removed = drop_leavings(changes, name, conf)
        cells = changes.tables.row(COLLECTIONS, name.row, ["main:"]) or {}
        serving = number(cells, rebuilt(conf), -1)
        if serving < 0 or number(cells, settled(conf), -1) == serving:
            return removed, False
        clusterings = [each for each in known(changes.tables, name) if each.conf == conf]
        return removed, any(
            settle(changes, each) for each in clusterings if each.timestamp == serving
        )
