"""Articles in JATS and NLM XML read outside a pipeline: nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fonds.model.errors import ChildError
from fonds.model.paper import UnreadArticle
from fonds.model.step import Result
from fonds.ports import Archive

if TYPE_CHECKING:  # a command that reads nothing loads no reader of XML
    from fonds.bibliography.jats_reading import JatsReading


@dataclass(frozen=True, slots=True)
class ArticleRead:
    """What reading the article `about` (SHA-1 in hex) gave, also where it could not be read."""

    about: str
    reading: JatsReading


@dataclass(frozen=True, slots=True)
class ReadArticle:
    """`read` takes an article apart in an isolated process, as it does for `import_jats`."""

    archive: Archive
    read: Callable[[bytes], JatsReading]

    def __call__(self, item: UnreadArticle) -> Result:
        """One `ArticleRead`. Raises PermanentError when the bytes cannot be had."""
        from fonds.bibliography.jats_reading import JatsReading
        from fonds.bibliography.tei_reading import BibliographyReading

        body = self.archive.read(item.capture.place, item.file.sha1).body
        try:
            found = self.read(body)
        except ChildError as error:
            found = JatsReading(BibliographyReading(error=error.detail))
        return Result(items=(ArticleRead(item.file.sha1, found),))
