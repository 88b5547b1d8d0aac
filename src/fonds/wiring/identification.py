"""Creation of the step `identify`, which finds out what a capture contains. Pipelines and the
fetcher use it.
"""

from __future__ import annotations

from typing import Any

from fonds.config import Settings
from fonds.model.entry import Link
from fonds.ports import Archive, Step
from fonds.wiring.flavours import get_configured_pipeline

ARCHIVE = "archive"


def create_identify(archive: Archive, settings: Settings) -> Step[Any]:
    """Create the step `identify`, which determines the type and hashes of the body of a capture."""
    from fonds.extract.mime import describe
    from fonds.ingest.steps.identify import ACCEPTED_STATUSES, SUCCESSES, IdentifyStep

    # The page of an archived story was accepted as one, whichever of these statuses the server
    # returned.
    statuses = SUCCESSES if settings.pipeline == ARCHIVE else ACCEPTED_STATUSES
    begins_with_links = get_configured_pipeline(settings).entry.payload is Link
    limits = (settings.pdf.max_bytes, settings.page.max_bytes)
    return IdentifyStep(archive, describe, *limits, statuses, begins_with_links)
