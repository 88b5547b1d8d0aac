"""Names of pipelines and steps that are built in or that a library has used.

Kept apart from `wiring.pipelines`, which imports all steps, so that commands that only read a
library start quickly.
"""

from __future__ import annotations

from fonds.config import Settings
from fonds.failures.accounting.tallies import list_used_pipelines, list_used_steps
from fonds.model.message import Subscription
from fonds.model.suggestions import format_unknown_name
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.ports import Records, TopicQueue
from fonds.wiring.flavours import list_readers


def check_names(records: Records, *, pipeline: str | None = None, step: str | None = None) -> None:
    """Raise ValueError for an unknown pipeline or step. The message suggests the nearest name.

    None and "" are accepted.
    """
    if pipeline and pipeline not in (known_names := list_pipelines(records)):
        raise ValueError(format_unknown_name("pipeline", pipeline, known_names))
    if step and step not in (known_names := list_steps(records)):
        raise ValueError(format_unknown_name("step", step, known_names))


def has_flavour(name: str) -> bool:
    """Return whether a pipeline flavour with this name exists. A flavour is a built-in, named
    pipeline.
    """
    return name in PIPELINES


def list_pipelines(records: Records) -> list[str]:
    """List the names of all pipeline flavours, and of all pipelines that ever had entries."""
    return list(dict.fromkeys([*PIPELINES, *list_used_pipelines(records)]))


def list_steps(records: Records) -> list[str]:
    """List the names of the steps of all pipeline flavours, and of all steps that ever had
    messages.
    """
    flavour_steps = (stage.name for build in PIPELINES.values() for stage in build(()).stages)
    return list(dict.fromkeys([*flavour_steps, *list_used_steps(records)]))


def list_used_readers(
    records: Records, queue: TopicQueue, settings: Settings, selected_pipeline: str | None = None
) -> dict[str, list[Subscription]]:
    """Return the subscriptions of the selected pipeline, by pipeline name.

    Without a selection, returns those of the configured pipeline and of every pipeline that ever
    had entries, and creates their queue addresses.
    """
    if selected_pipeline:
        return {selected_pipeline: list_readers(settings)}
    names = dict.fromkeys([settings.pipeline, *list_used_pipelines(records)])
    readers_by_pipeline = {
        name: list_readers(settings, name) for name in names if has_flavour(name)
    }
    for readers in readers_by_pipeline.values():
        queue.declare(readers)
    return readers_by_pipeline
