"""What reading one article of a paper gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fonds.papers.bibliography.jats import JatsReading


@dataclass(frozen=True, slots=True)
class ArticleResult:
    """What reading the article `about` (SHA-1 in hex) gave, also where it could not be read."""

    about: str
    reading: JatsReading
