"""Result of reading one JATS article."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fonds.papers.bibliography.jats import JatsReading


@dataclass(frozen=True, slots=True)
class ArticleResult:
    """Result of reading one JATS article, successful or not.

    - `about`: SHA-1 of the article in hexadecimal.
    - `reading`: text and bibliography, or the error.
    """

    about: str
    reading: JatsReading
