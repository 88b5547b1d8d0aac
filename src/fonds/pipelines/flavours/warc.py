"""The flavour `warc`: stories out of any WARC, read and archived anew; PDFs are not wanted.

Source: seed 004, Appendix A, "If parsing (and archiving) data from WARC files is desired".
"""

from collections.abc import Sequence
from dataclasses import replace

from fonds.model.step import Pipeline
from fonds.pipelines.flavours.stories_only import build_stories_only


def build_warc(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour; `more_thumbnails` makes none."""
    about = "stories out of any WARC, read and archived in ours"
    return replace(build_stories_only(), name="warc", about=about, copies=True)


FLAVOURS = {"warc": build_warc}
