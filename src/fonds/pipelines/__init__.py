"""Flavours: which step reads and writes which topic; data, no logic."""

from collections.abc import Callable, Mapping, Sequence

from fonds.model.step import Pipeline
from fonds.pipelines.library import library

PIPELINES: Mapping[str, Callable[[Sequence[str]], Pipeline]] = {"library": library}
"""Each flavour by name, to be made with the forms of thumbnails it has beside the usual one."""
