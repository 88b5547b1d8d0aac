"""SQL column type of stories: JSON, which SQLite stores compressed.

PostgreSQL compresses long values itself. Limits: stories of news pages take about a quarter of
their JSON; compressing one takes about 20 µs.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from fonds.model.encoding import decode_json
from fonds.model.story import Story
from fonds.model.story_json import encode_story
from fonds.stores.records.column_types import JSON, StoredJson, clean_json, read_damaged

DICTIONARY = (
    b'"rights":[{"subject":"license","value":"","raw":"","stated_in":"meta element","name":'
    b'"copyright"},{"subject":"preference","value":"noarchive""is_paywalled":false,'
    b'"modified_on":"2025-01-01","modified_source":"meta","modified_confidence":0.9,'
    b'"amp_url":"https://www.{"schema_version":1,"rss_entry":{"link":"http://","via":"https://www.'
    b'","title":"","domain":"","pub_date":"","source_url":"","source_feed_id":"},'
    b'"http_metadata":{"response_code":200,"fetch_timestamp":17.0,"final_url":"https://www.",'
    b'"encoding":"utf-8"},"content_metadata":{"original_url":"https://www.","url":"https://www.",'
    b'"normalized_url":"http://","canonical_domain":"","publication_date":"2025-01-01",'
    b'"language":"en","full_language":"en","text_extraction_method":"blocks+trafilatura",'
    b'"article_title":"","normalized_article_title":"","is_homepage":false,"is_shortened":false,'
    b'"parsed_date":"2026-01-01T00:00:00.000000+00:00","canonical_url":"https://www."},'
    b'"page_metadata":{"unique_url_hash":"","published_on":"2025-01-01","published_source":"meta",'
    b'"published_confidence":0.9,"authors":[],"authors_source":"meta",'
    b'"top_image_url":"https://www.","page_kind":"article","language_confidence":0.99999,'
    b'"charset_evidence":"http: utf-8, page: utf-8; valid as UTF-8"}}'
)
"""Texts that are common in the JSON of stories. The compressed data refers to them, so they must
never change.
"""

WINDOW_BITS, MEMORY_LEVEL = 12, 5
"""Sizes of zlib's buffers. Larger ones take longer to prepare than a story takes to compress."""


_STORED_STORY = StoredJson(Story)


class StoryColumn(TypeDecorator[Story]):
    """Column of stories that are stored as JSON, without their missing fields. SQLite stores the
    JSON compressed.
    """

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Use bytes on SQLite and JSONB on PostgreSQL."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.LargeBinary())
        return _STORED_STORY.load_dialect_impl(dialect)

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Convert a story to JSON data, without NUL characters and lone surrogates.

        Most optional fields have no value, and are left out.
        """
        return clean_json(encode_story(value, omits_missing=True))

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Convert JSON data to a story. Raises ValueError if a required field is missing."""
        return _STORED_STORY.process_result_value(value, dialect)

    def bind_processor(self, dialect: Dialect) -> Any:
        """Return the function that converts stories for the database: on SQLite to compressed
        JSON.
        """
        if dialect.name == "sqlite":
            return lambda story: compress_json(self.process_bind_param(story, dialect))
        return super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that converts stored values to stories: on SQLite from compressed
        JSON.
        """
        if dialect.name == "sqlite":
            return read_damaged(
                lambda data: self.process_result_value(decompress_json(data), dialect)
            )
        return super().result_processor(dialect, coltype)


def compress_json(data: Any) -> bytes:
    """Encode JSON data as text and compress it with the texts of `DICTIONARY`."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    compressor = zlib.compressobj(wbits=WINDOW_BITS, memLevel=MEMORY_LEVEL, zdict=DICTIONARY)
    return compressor.compress(text.encode()) + compressor.flush()


def decompress_json(compressed: bytes) -> Any:
    """Decompress and decode JSON data that `compress_json` returned. Raises ValueError if the data
    is damaged.
    """
    decompressor = zlib.decompressobj(zdict=DICTIONARY)
    try:
        return decode_json(decompressor.decompress(compressed))
    except zlib.error as error:
        raise ValueError(f"a stored story is damaged: {error}") from error
