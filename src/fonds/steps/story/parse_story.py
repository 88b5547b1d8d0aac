"""parse_story: title, text, date and language of one page, read in an isolated process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fonds.extract.page import PageExtraction
from fonds.extract.url import story_id
from fonds.model.archive import Payload
from fonds.model.capture import Capture, PlaceKind
from fonds.model.disposition import DONE, Disposition, Weight, dropped, quarantined
from fonds.model.errors import ChildError
from fonds.model.file import Unparsed
from fonds.model.step import Output, Result
from fonds.model.story import HttpMetadata, Parsed, RawHtml, RssEntry, Story, Unarchived
from fonds.ports import Archive

EMITS = (Output(Parsed), Output(Unarchived))


@dataclass(frozen=True, slots=True)
class ParseStory:
    """`parse` takes (body, url, charset, captured_at, whether fetched) into an isolated process."""

    archive: Archive
    parse: Callable[[bytes, str, str | None, datetime, bool], PageExtraction]
    page_extractor: str
    copy_bodies: bool
    clock: Callable[[], datetime]

    def __call__(self, item: Unparsed) -> Result:
        """A Parsed when there is text; the body goes to the archive in any case, unless it lies in a WARC."""
        capture = item.capture
        stays = item.again or (capture.place.kind is PlaceKind.WARC and not self.copy_bodies)
        keep = () if stays else (Unarchived(capture, item.file),)
        payload = self.archive.read(capture.place, item.file.sha1)
        fetched = payload.http is not None
        charset = item.charset or (payload.http.charset if payload.http else None)
        try:
            page = self.parse(payload.body, capture.url, charset, capture.captured_at, fetched)
        except ChildError as error:
            return Result(quarantined(error.reason, error.detail), keep)
        story = self._story(capture, payload, charset, page)
        ended = _ended(page)
        if ended is not DONE:
            return Result(ended, keep)
        url = story.content_metadata.url or capture.url
        parsed = Parsed(capture, item.file, story, story_id(url), self.page_extractor)
        return Result(items=(parsed, *(replace(one, story=story) for one in keep)))

    def _story(
        self, capture: Capture, payload: Payload, charset: str | None, page: PageExtraction
    ) -> Story:
        content = replace(page.content, parsed_date=self.clock().astimezone(UTC).isoformat())
        return Story(
            rss_entry=capture.rss_entry or RssEntry(link=capture.url, via=str(capture.place)),
            raw_html=RawHtml(encoding=page.charset),
            http_metadata=_exchange(capture, payload, charset),
            content_metadata=content,
            page_metadata=page.metadata,
            exchange=payload.exchange,
        )


def _exchange(capture: Capture, payload: Payload, charset: str | None) -> HttpMetadata:
    return HttpMetadata(
        response_code=payload.http.status if payload.http else None,
        fetch_timestamp=capture.captured_at.timestamp(),
        final_url=capture.url,
        encoding=charset,
    )


def _ended(page: PageExtraction) -> Disposition:
    reason = page.status.reason
    if reason is None:
        return DONE
    if reason.weight is Weight.FAILED:
        return quarantined(reason, page.error_msg or "")
    return dropped(reason, page.error_msg or "")
