"""Messages of a queue as the stories they are about, for tools that read stories and nothing else.

Source: seed 004, "WARC file format" and Appendix B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from fonds.formats.envelope import decode
from fonds.formats.warc.message_record import MessageStory
from fonds.model.capture import Capture
from fonds.model.errors import PermanentError
from fonds.model.file import PAGE_TYPES, Identified, Kind, Unparsed
from fonds.model.link import Link
from fonds.model.message import Message
from fonds.model.rss_entry import RssEntry
from fonds.model.step import Topic
from fonds.model.story import ContentMetadata, HttpMetadata, Parsed, Story, Unarchived
from fonds.ports import Archive

PAYLOADS = (Link, Capture, Identified, Unparsed, Parsed, Unarchived)


@dataclass(frozen=True, slots=True)
class QueuedStories:
    """The stories of messages of a topic; bodies come out of `archive`."""

    topic: Topic
    archive: Archive

    def __call__(self, message: Message) -> MessageStory | None:
        """The story a message is about; None for one that is about none. Its page is empty where nothing was
        fetched yet, or is gone. Raises TransientError."""
        if self.topic.payload not in PAYLOADS:
            return None
        try:
            payload = decode(message, self.topic.payload, self.topic.tag)
        except PermanentError:
            return None
        if isinstance(payload, Link):
            return _of_link(payload)
        if isinstance(payload, Capture):
            return self._of_capture(payload, None, None)
        if isinstance(payload, Identified | Unparsed):
            is_page = payload.file is not None and payload.file.kind is Kind.STORY
            return self._of_capture(payload.capture, None, payload.charset) if is_page else None
        if isinstance(payload, Parsed):
            return self._of_capture(payload.capture, payload.story, None)
        if isinstance(payload, Unarchived) and payload.file.kind is Kind.STORY:
            return self._of_capture(payload.capture, payload.story, None)
        return None

    def _of_capture(
        self, capture: Capture, story: Story | None, charset: str | None
    ) -> MessageStory | None:
        if story is None and capture.rss_entry is None and capture.mime not in PAGE_TYPES:
            return None
        try:
            read = self.archive.read(capture.place)
            body, http = read.body, read.http
        except PermanentError:
            body, http = b"", None
        told = story or Story(
            rss_entry=capture.rss_entry or RssEntry(),
            http_metadata=HttpMetadata(
                response_code=http.status if http else capture.status,
                fetch_timestamp=capture.captured_at.timestamp() if capture.captured_at else None,
                final_url=capture.url,
                encoding=charset or (http.charset if http else None),
            ),
        )
        return _told(told, capture.url, body, capture.captured_at)


def _of_link(link: Link) -> MessageStory:
    entry = replace(link.rss_entry, link=link.rss_entry.link or link.url)
    story = Story(
        rss_entry=entry,
        http_metadata=HttpMetadata(final_url=link.final_url, fetch_timestamp=link.fetch_timestamp),
        content_metadata=ContentMetadata(original_url=link.url),
    )
    return _told(story, link.final_url or link.url, b"", link.found_at)


def _told(story: Story, url: str, page: bytes, at: datetime | None) -> MessageStory:
    parts: Mapping[str, Mapping[str, object]] = {
        "rss_entry": asdict(story.rss_entry),
        "http_metadata": asdict(story.http_metadata),
        "content_metadata": asdict(story.content_metadata),
    }
    return MessageStory(story.http_metadata.final_url or url, page, at, parts)
