"""archive_unparsed: a page goes to the archive as it is, in pipelines that parse nothing."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.model.capture import PlaceKind
from fonds.model.file import Unparsed
from fonds.model.step import Output, Result
from fonds.model.story import Unarchived

EMITS = (Output(Unarchived),)


@dataclass(frozen=True, slots=True)
class ArchiveUnparsed:
    """What lies in a WARC stays there, unless bodies are to be copied."""

    copy_bodies: bool

    def __call__(self, item: Unparsed) -> Result:
        """Its body, if it lies in no WARC yet."""
        if item.capture.place.kind is PlaceKind.WARC and not self.copy_bodies:
            return Result()
        return Result(items=(Unarchived(item.capture, item.file),))
