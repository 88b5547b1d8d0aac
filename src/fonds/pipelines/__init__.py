"""Flavours: which step reads and writes which topic; data, no logic."""

from collections.abc import Mapping

from fonds.model.step import Pipeline
from fonds.pipelines.library import LIBRARY

PIPELINES: Mapping[str, Pipeline] = {pipeline.name: pipeline for pipeline in (LIBRARY,)}
