"""Result of the extraction of one page, and the name of the extractor. Quick to import, unlike the
extraction itself, which runs in child processes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import version

from fonds.model.disposition import Reason
from fonds.model.story import ContentMetadata, PageMetadata

_LIBRARIES = ("trafilatura", "py3langid", "lxml")
EXTRACTOR = f"fonds-page/4 ({', '.join(f'{name} {version(name)}' for name in _LIBRARIES)})"
"""Name and versions of the programs that determine the result of extracting a page. If they change,
pages must be extracted again.
"""


class PageStatus(StrEnum):
    """How the extraction of a page ended: accepted, or rejected for a reason.

    `reason` is the reason code of the rejection; None if the page was accepted.
    """

    reason: Reason | None

    def __new__(cls, value: str, reason: Reason | None) -> PageStatus:
        """Create a status. `reason` is the reason code of the rejection; None for an accepted
        page.
        """
        member = str.__new__(cls, value)
        member._value_ = value
        member.reason = reason
        return member

    SUCCESS = "success", None
    NO_TEXT = "no-text", Reason.NO_TEXT
    IS_FEED = "is-feed", Reason.IS_FEED
    TOO_LARGE = "too-large", Reason.TOO_LARGE


@dataclass(frozen=True, slots=True)
class PageExtraction:
    """Result of extracting one page, as plain values that can be sent between processes.

    - `status`: whether the page was accepted.
    - `content`: title, text and other main metadata. The caller sets its `parsed_date`. For a
      rejected page it has only the values from the URL and what was extracted before the rejection.
    - `charset`: charset used for decoding; None if the page was not decoded.
    - `error_msg`: sentence that says why the page was rejected; None if it was accepted.
    - `metadata`: further metadata, such as authors, modification date and rights.
    """

    status: PageStatus
    content: ContentMetadata
    charset: str | None = None
    error_msg: str | None = None
    metadata: PageMetadata = field(default_factory=PageMetadata)
