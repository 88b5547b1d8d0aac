"""Convert queued messages to stories, for tools that read only stories.

Source: seed document 004, "WARC file format" and Appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from fonds.archive.warc.messages import MessageStory
from fonds.model.capture import Capture, RssEntry
from fonds.model.entry import Link
from fonds.model.errors import PermanentError
from fonds.model.file import PAGE_TYPES, IdentifiedCapture, Kind, UnparsedPage
from fonds.model.message import Message
from fonds.model.step import Topic
from fonds.model.story import (
    ContentMetadata,
    HttpMetadata,
    ParsedPage,
    Story,
    UnarchivedBody,
)
from fonds.ports import Archive
from fonds.queues.messages.envelope import decode

PAYLOADS = (Link, Capture, IdentifiedCapture, UnparsedPage, ParsedPage, UnarchivedBody)


@dataclass(frozen=True, slots=True)
class QueuedStories:
    """Converts messages of one topic to stories. Pages are read from the WARC files (`archive`)."""

    topic: Topic
    archive: Archive

    def __call__(self, message: Message) -> MessageStory | None:
        """Return the story that a message is about, or None if the message is about no story.

        The page of the story is empty bytes if it is not fetched yet or no longer readable. Raises
        TransientError if the archive is unavailable.
        """
        if self.topic.payload not in PAYLOADS:
            return None
        try:
            payload = decode(message, self.topic.payload, self.topic.tag)
        except PermanentError:
            return None
        if isinstance(payload, Link):
            return _build_link_story(payload)
        if isinstance(payload, Capture):
            return self._build_story(payload, None, None)
        if isinstance(payload, IdentifiedCapture | UnparsedPage):
            is_page = payload.file is not None and payload.file.kind is Kind.STORY
            return self._build_story(payload.capture, None, payload.charset) if is_page else None
        if isinstance(payload, ParsedPage):
            return self._build_story(payload.capture, payload.story, None)
        if isinstance(payload, UnarchivedBody) and payload.file.kind is Kind.STORY:
            return self._build_story(payload.capture, payload.story, None)
        return None

    def _build_story(
        self, capture: Capture, story: Story | None, charset: str | None
    ) -> MessageStory | None:
        if story is None and capture.rss_entry is None and capture.mime not in PAGE_TYPES:
            return None
        try:
            payload = self.archive.read(capture.place)
            body, http = payload.body, payload.http
        except PermanentError:
            body, http = b"", None
        full_story = story or Story(
            rss_entry=capture.rss_entry or RssEntry(),
            http_metadata=HttpMetadata(
                response_code=http.status if http else capture.status,
                fetch_timestamp=capture.captured_at.timestamp() if capture.captured_at else None,
                final_url=capture.url,
                encoding=charset or (http.charset if http else None),
            ),
        )
        return _build_message_story(full_story, capture.url, body, capture.captured_at)


def _build_link_story(link: Link) -> MessageStory:
    entry = replace(link.rss_entry, link=link.rss_entry.link or link.url)
    story = Story(
        rss_entry=entry,
        http_metadata=HttpMetadata(final_url=link.final_url, fetch_timestamp=link.fetch_timestamp),
        content_metadata=ContentMetadata(original_url=link.url),
    )
    return _build_message_story(story, link.final_url or link.url, b"", link.found_at)


def _build_message_story(
    story: Story, url: str, page: bytes, moment: datetime | None
) -> MessageStory:
    return MessageStory(story.http_metadata.final_url or url, page, moment, story)
