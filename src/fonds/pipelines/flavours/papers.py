"""The flavours `grobid` and `match`, and how any flavour that reads papers does the same where it is set."""

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
    """The flavour; it makes no thumbnails, whatever forms are wished for."""
    return Pipeline(
        "grobid",
        UNGROBIDED,
        (GROBID, PERSIST_GROBID, ARCHIVE_BODY),
        "PDFs that wait for GROBID: its TEI, and the bibliography in it",
    )


def build_match(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour; it makes no thumbnails, whatever forms are wished for."""
    return Pipeline(
        "match", UNMATCHED, (MATCH,), "papers whose bibliographies wait for the catalogue"
    )


def add_papers(pipeline: Pipeline, grobid_at_once: int, *, match: bool) -> Pipeline:
    """The flavour with its PDFs sent to GROBID, as many at once, unless that is 0; with `match` what is
    read of papers is held against the catalogue."""
    made = add_grobid(pipeline, grobid_at_once) if grobid_at_once else pipeline
    return add_match(made) if match else made


def add_match(pipeline: Pipeline) -> Pipeline:
    """The flavour with what it reads of papers held against the catalogue; one without papers as it is."""
    stages = [_add_matching_output(stage) for stage in pipeline.stages]
    if stages == list(pipeline.stages):
        return pipeline
    place = stages.index(ARCHIVE_BODY) if ARCHIVE_BODY in stages else len(stages)
    stages.insert(place, MATCH)
    return replace(pipeline, stages=tuple(stages))


def _add_matching_output(stage: Stage) -> Stage:
    omits = tuple(one for one in stage.omits if one.payload is not UnmatchedPaper)
    if omits == stage.omits:
        return stage
    return replace(stage, writes=(*stage.writes, UNMATCHED), omits=omits)


def add_grobid(pipeline: Pipeline, at_once: int) -> Pipeline:
    """The flavour with its PDFs sent to GROBID as well, `at_once` at a time; one without PDFs as it is."""
    steps = {stage.step for stage in pipeline.stages}
    if "grobid" in steps:
        return replace(pipeline, stages=_set_concurrency(pipeline.stages, at_once))
    if "extract_pdf" not in steps:
        return pipeline
    stages = [_add_grobid_output(stage) for stage in pipeline.stages]
    ask = GROBID
    place = len(stages)
    if ARCHIVE_BODY in stages:
        place = stages.index(ARCHIVE_BODY)
    else:
        ask = replace(GROBID, writes=(GROBID_OUTPUT,), omits=(Output(UnarchivedBody),))
    stages[place:place] = [ask, PERSIST_GROBID]
    return replace(pipeline, stages=_set_concurrency(stages, at_once))


def _add_grobid_output(stage: Stage) -> Stage:
    """The stage that notes files sends PDFs to GROBID, which it does without where there is none."""
    if stage.step != "persist_file":
        return stage
    omits = tuple(one for one in stage.omits if one.payload is not UngrobidedPdf)
    return replace(stage, writes=(*stage.writes, UNGROBIDED), omits=omits)


def _set_concurrency(stages: Sequence[Stage], count: int) -> tuple[Stage, ...]:
    return tuple(
        replace(stage, threads=count) if stage.step == "grobid" else stage for stage in stages
    )


FLAVOURS = {"grobid": build_grobid, "match": build_match}
