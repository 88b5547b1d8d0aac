"""One page of a PDF as it is read on a screen: its picture, and where on it its words stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class PlacedWord(NamedTuple):
    """A word and its box in pixels of the picture, y downwards.

    `is_joined` says that it goes on from the word before without a blank: behind a hyphen that ended a
    line, and in scripts without blanks, where each character is a word.
    """

    text: str
    is_joined: bool
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class PageView:
    """`image` is a WebP of `width` x `height` pixels, None where the page cannot be drawn, for the reason
    that `why` tells in words. `words` are those of the text layer in its order. `page_count` 0 means unknown.
    """

    image: bytes | None
    width: int = 0
    height: int = 0
    words: tuple[PlacedWord, ...] = ()
    page_count: int = 0
    why: str | None = None


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """How a page is drawn: within a box of `width_max` x `height_max` pixels, never more than `scale_max`
    pixels a point, of PDFs of at most `size_max_bytes`, with the places of at most `words_max` words.
    """

    width_max: int = 1_200
    height_max: int = 1_800
    scale_max: float = 4.0
    pixels_max: int = 50_000_000
    size_max_bytes: int = 256 * 2**20
    words_max: int = 20_000
