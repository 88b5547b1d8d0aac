"""Articles in JATS and NLM XML read outside a pipeline: nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
        from fonds.steps.paper.import_jats import read_article

        found = read_article(self.archive, self.read, item)
        return Result(found.disposition, (ArticleRead(item.file.sha1, found),))
