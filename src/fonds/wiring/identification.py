"""The step that identifies captures, as the pipelines and the fetcher use it."""

from __future__ import annotations

from typing import Any

from fonds.config import Settings
from fonds.model.entry import Link
from fonds.ports import Archive, Step
from fonds.wiring.stores import get_configured_pipeline

ARCHIVE = "archive"


def create_identify(archive: Archive, settings: Settings) -> Step[Any]:
    """Return the step that reads what a capture holds."""
    from fonds.extract.mime import describe
    from fonds.ingest.steps.identify import ACCEPTED_STATUSES, SUCCESSES, IdentifyStep

    # Whoever archived a story took its page for one, whichever of these its server answered.
    statuses = SUCCESSES if settings.pipeline == ARCHIVE else ACCEPTED_STATUSES
    begins_with_links = get_configured_pipeline(settings).entry.payload is Link
    limits = (settings.pdf.max_bytes, settings.page.max_bytes)
    return IdentifyStep(archive, describe, *limits, statuses, begins_with_links)
