"""The names there are in a home: those of its flavours, and those its ledger has met."""

from __future__ import annotations

from fonds.config import Settings
from fonds.library.accounting import pipelines_used, steps_used
from fonds.model.message import Subscription
from fonds.model.names import no_such
from fonds.pipelines import PIPELINES
from fonds.ports import Records, Stores
from fonds.wiring.backends import readers_of


def check_names(records: Records, *, pipeline: str | None = None, step: str | None = None) -> None:
    """Raises ValueError, with the nearest, for a pipeline or step there is not; None and '' are not looked
    at.
    """
    if pipeline and pipeline not in (known := known_pipelines(records)):
        raise ValueError(no_such("pipeline", pipeline, known))
    if step and step not in (known := known_steps(records)):
        raise ValueError(no_such("step", step, known))


def has_flavour(name: str) -> bool:
    """Whether there is a flavour of this name."""
    return name in PIPELINES


def known_pipelines(records: Records) -> list[str]:
    """The flavours, and the pipelines anything ever entered."""
    return list(dict.fromkeys([*PIPELINES, *pipelines_used(records)]))


def known_steps(records: Records) -> list[str]:
    """The steps of all flavours, and those at which anything ever ended."""
    ours = (stage.name for made in PIPELINES.values() for stage in made(()).stages)
    return list(dict.fromkeys([*ours, *steps_used(records)]))


def used_readers(
    stores: Stores, settings: Settings, chosen: str | None = None
) -> dict[str, list[Subscription]]:
    """The pipeline chosen with its readers, else all that anything ever entered, and the home's own; their
    addresses are made."""
    if chosen:
        return {chosen: readers_of(settings)}
    names = dict.fromkeys([settings.pipeline, *pipelines_used(stores.records)])
    found = {name: readers_of(settings, name) for name in names if has_flavour(name)}
    for readers in found.values():
        stores.queue.declare(readers)
    return found
