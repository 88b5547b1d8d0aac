"""Result of reading one JATS article."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fonds.papers.bibliography.jats import JatsReading


@dataclass(frozen=True, slots=True)
class ArticleResult:
    """Result of reading the article `about` (SHA-1 in hex), including articles that could not be
    read.
    """

    about: str
    reading: JatsReading
