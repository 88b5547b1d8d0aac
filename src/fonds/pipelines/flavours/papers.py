"""Flavours `grobid` and `match`, and functions that add their stages to pipelines that read PDFs
or papers.

GROBID is a service that extracts bibliographic data from PDFs.
"""

from collections.abc import Sequence
from dataclasses import replace

from fonds.model.paper import UngrobidedPdf, UnmatchedPaper
from fonds.model.step import Output, Pipeline, Stage
from fonds.model.story import UnarchivedBody
from fonds.pipelines.flavours.stages import (
    ARCHIVE_BODY,
    GROBID_OUTPUT,
    LINGER_S,
    NO_MATCH,
    UNARCHIVED,
    UNGROBIDED,
    UNMATCHED,
)

GROBID = Stage("grobid", UNGROBIDED, (GROBID_OUTPUT, UNARCHIVED), threads=8, batch_max=1)
PERSIST_GROBID = Stage(
    "persist_grobid", GROBID_OUTPUT, omits=NO_MATCH, sink=True, batch_max=10, linger_s=LINGER_S
)
MATCH = Stage("match", UNMATCHED, sink=True, batch_max=20, linger_s=LINGER_S)


def build_grobid(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `grobid`, for PDFs waiting for GROBID. `more_thumbnails` has no effect."""
    return Pipeline(
        "grobid",
        UNGROBIDED,
        (GROBID, PERSIST_GROBID, ARCHIVE_BODY),
        "PDFs waiting for GROBID: TEI and bibliography",
    )


def build_match(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `match`, for papers to be matched. `more_thumbnails` has no effect."""
    return Pipeline(
        "match", UNMATCHED, (MATCH,), "papers whose bibliographies wait for the catalogue"
    )


def add_papers(pipeline: Pipeline, grobid_at_once: int, *, match: bool) -> Pipeline:
    """Add the processing of papers to a pipeline: stages that use GROBID, and the matching of
    papers.

    - `grobid_at_once`: number of concurrent requests to GROBID; 0 adds no stage for GROBID.
    - `match`: whether to match papers with the catalogue of works.
    """
    extended_pipeline = add_grobid(pipeline, grobid_at_once) if grobid_at_once else pipeline
    return add_match(extended_pipeline) if match else extended_pipeline


def add_match(pipeline: Pipeline) -> Pipeline:
    """Add the stages that match papers with the catalogue of works.

    A pipeline that produces no papers is returned unchanged.
    """
    stages = [_add_matching_output(stage) for stage in pipeline.stages]
    if stages == list(pipeline.stages):
        return pipeline
    position = stages.index(ARCHIVE_BODY) if ARCHIVE_BODY in stages else len(stages)
    stages.insert(position, MATCH)
    return replace(pipeline, stages=tuple(stages))


def _add_matching_output(stage: Stage) -> Stage:
    omits = tuple(output for output in stage.omits if output.payload is not UnmatchedPaper)
    if omits == stage.omits:
        return stage
    return replace(stage, writes=(*stage.writes, UNMATCHED), omits=omits)


def add_grobid(pipeline: Pipeline, at_once: int) -> Pipeline:
    """Add the stages that send PDFs to a GROBID server.

    `at_once` is the number of concurrent requests. A pipeline that processes no PDFs is returned
    unchanged.
    """
    steps = {stage.step for stage in pipeline.stages}
    if "grobid" in steps:
        return replace(pipeline, stages=_set_concurrency(pipeline.stages, at_once))
    if "extract_pdf" not in steps:
        return pipeline
    stages = [_add_grobid_output(stage) for stage in pipeline.stages]
    grobid_stage = GROBID
    position = len(stages)
    if ARCHIVE_BODY in stages:
        position = stages.index(ARCHIVE_BODY)
    else:
        grobid_stage = replace(GROBID, writes=(GROBID_OUTPUT,), omits=(Output(UnarchivedBody),))
    stages[position:position] = [grobid_stage, PERSIST_GROBID]
    return replace(pipeline, stages=_set_concurrency(stages, at_once))


def _add_grobid_output(stage: Stage) -> Stage:
    """Let the stage `persist_file` also send PDFs to GROBID, instead of omitting this output.

    Any other stage is returned unchanged.
    """
    if stage.step != "persist_file":
        return stage
    omits = tuple(output for output in stage.omits if output.payload is not UngrobidedPdf)
    return replace(stage, writes=(*stage.writes, UNGROBIDED), omits=omits)


def _set_concurrency(stages: Sequence[Stage], count: int) -> tuple[Stage, ...]:
    return tuple(
        replace(stage, threads=count) if stage.step == "grobid" else stage for stage in stages
    )


FLAVOURS = {"grobid": build_grobid, "match": build_match}
