"""Create the step that identifies captures, used by pipelines and the fetcher."""

from __future__ import annotations

from typing import Any

from fonds.config import Settings
from fonds.model.entry import Link
from fonds.ports import Archive, Step
from fonds.wiring.stores import get_configured_pipeline

ARCHIVE = "archive"


def create_identify(archive: Archive, settings: Settings) -> Step[Any]:
    """Return the step that identifies what a capture contains."""
    from fonds.extract.mime import describe
    from fonds.ingest.steps.identify import ACCEPTED_STATUSES, SUCCESSES, IdentifyStep

    # The page of an archived story was accepted as one, whichever of these statuses the server
    # returned.
    statuses = SUCCESSES if settings.pipeline == ARCHIVE else ACCEPTED_STATUSES
    begins_with_links = get_configured_pipeline(settings).entry.payload is Link
    limits = (settings.pdf.max_bytes, settings.page.max_bytes)
    return IdentifyStep(archive, describe, *limits, statuses, begins_with_links)
