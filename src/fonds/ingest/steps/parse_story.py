"""parse_story: extract title, text, date and language of one page in an isolated process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fonds.extract.page_extraction import PageExtraction
from fonds.model.archive import Payload
from fonds.model.capture import Capture, PlaceKind, RssEntry
from fonds.model.disposition import (
    DONE,
    Disposition,
    Reason,
    drop,
    end,
    quarantine,
)
from fonds.model.errors import ChildError
from fonds.model.file import PLAIN_TEXT, UnparsedPage
from fonds.model.step import Output, Result
from fonds.model.story import HttpMetadata, ParsedPage, RawHtml, Story, UnarchivedBody
from fonds.ports import Archive
from fonds.urls.normalization import compute_story_id

EMITS = (Output(ParsedPage), Output(UnarchivedBody))


def _allow_any_url(url: str) -> None:
    """Return None for any URL, so that no URL is refused. Default of `ParseStoryStep.refusal`."""


@dataclass(frozen=True, slots=True)
class ParseStoryStep:
    """Step that parses one page.

    - `archive`: reads the bytes of the page.
    - `parse`: parses the page in an isolated process. Arguments: body, URL, charset, capture time,
      whether the page was fetched over HTTP, whether it is plain text.
    - `page_extractor`: name and version of the parser.
    - `copies_bodies`: whether pages in WARC files of other programs are copied to the archive.
    - `clock`: returns the current time (aware UTC).
    - `refusal`: returns the reason for refusing a URL, or None. It is called for a URL that only
      the page itself states.
    """

    archive: Archive
    parse: Callable[[bytes, str, str | None, datetime, bool, bool], PageExtraction]
    page_extractor: str
    copies_bodies: bool
    clock: Callable[[], datetime]
    refusal: Callable[[str], tuple[Reason, str] | None] = _allow_any_url

    def __call__(self, item: UnparsedPage) -> Result:
        """Parse a page. Return a ParsedPage if it has text, and the body to archive unless it stays
        in its WARC file.
        """
        capture = item.capture
        is_archived = item.again or (
            capture.place.kind is PlaceKind.WARC and not self.copies_bodies
        )
        bodies = () if is_archived else (UnarchivedBody(capture, item.file),)
        payload = self.archive.read(capture.place, item.file.sha1)
        is_fetched = payload.http is not None
        charset = item.charset or (payload.http.charset if payload.http else None)
        try:
            is_plain = item.file.mime == PLAIN_TEXT
            page = self.parse(
                payload.body, capture.url, charset, capture.captured_at, is_fetched, is_plain
            )
        except ChildError as error:
            return Result(quarantine(error.reason, error.detail), bodies)
        story = self._build_story(capture, payload, charset, page)
        url = story.content_metadata.url or capture.url
        disposition = (
            _build_disposition(page) if page.status.reason else self._handle_unplaced(capture, url)
        )
        if disposition is not DONE:
            return Result(disposition, bodies)
        if _has_only_storage_url(capture):
            capture = replace(capture, url=url)
        parsed_page = ParsedPage(
            capture, item.file, story, compute_story_id(url), self.page_extractor
        )
        archived_bodies = (replace(body, capture=capture, story=story) for body in bodies)
        return Result(items=(parsed_page, *archived_bodies))

    def _handle_unplaced(self, capture: Capture, url: str) -> Disposition:
        """Return DONE if the story of a page has an acceptable URL, else the reason for dropping
        the page.

        A page copied from S3 may have no other recorded URL than that of its S3 object. It is
        dropped if it does not state a URL itself, or if the URL that it states is refused.
        """
        if not _has_only_storage_url(capture):
            return DONE
        if url == capture.url:
            return drop(Reason.NO_CANONICAL_URL)
        refusal = self.refusal(url)
        return DONE if refusal is None else drop(*refusal)

    def _build_story(
        self, capture: Capture, payload: Payload, charset: str | None, page: PageExtraction
    ) -> Story:
        content = replace(page.content, parsed_date=self.clock().astimezone(UTC).isoformat())
        return Story(
            rss_entry=capture.rss_entry or RssEntry(link=capture.url, via=str(capture.place)),
            raw_html=RawHtml(encoding=page.charset),
            http_metadata=_build_http_metadata(capture, payload, charset, page.content.url),
            content_metadata=content,
            page_metadata=page.metadata,
            exchange=payload.exchange,
        )


def _has_only_storage_url(capture: Capture) -> bool:
    """Return whether the URL of a capture is only the S3 URL of its stored object."""
    return capture.place.kind is PlaceKind.SPOOL and capture.url.startswith("s3://")


def _build_http_metadata(
    capture: Capture, payload: Payload, charset: str | None, own_url: str | None
) -> HttpMetadata:
    return HttpMetadata(
        response_code=payload.http.status if payload.http else None,
        fetch_timestamp=capture.captured_at.timestamp(),
        final_url=own_url if own_url and _has_only_storage_url(capture) else capture.url,
        encoding=charset,
    )


def _build_disposition(page: PageExtraction) -> Disposition:
    reason = page.status.reason
    return DONE if reason is None else end(reason, page.error_msg or "")
