"""Flavour `warc`: stories from any WARC, parsed and copied to the WARCs of Fonds, without PDFs.

Source: seed document 004, Appendix A, "If parsing (and archiving) data from WARC files is desired".
"""

from collections.abc import Sequence
from dataclasses import replace

from fonds.model.step import Pipeline
from fonds.pipelines.flavours.stories_only import build_stories_only


def build_warc(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `warc`. It makes no thumbnails, so `more_thumbnails` has no effect."""
    description = "stories from any WARC, read and archived again"
    return replace(build_stories_only(), name="warc", about=description, copies=True)


FLAVOURS = {"warc": build_warc}
