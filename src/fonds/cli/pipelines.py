"""`fonds pipelines`: list the pipelines, or print the stages of one pipeline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import click
import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.table import Table

from fonds.cli.context import App, command, echo_json, open_console
from fonds.model.step import Pipeline
from fonds.pipelines.diagram import draw_svg, format_tree


class StageAnswer(msgspec.Struct, frozen=True):
    """Stage of a pipeline in a JSON answer: the topics that it reads and writes.

    `omits`: types of results of the step that the stage writes to no topic.
    """

    stage: str
    reads: str
    writes: Sequence[str]
    omits: Sequence[str]


class PipelineAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a pipeline and its stages."""

    name: Annotated[str, Meta(description="name of the pipeline")]
    about: Annotated[str, Meta(description="its purpose")]
    chosen: Annotated[bool, Meta(description="whether this library uses it")]
    entry: Annotated[str, Meta(description="topic that receives entries")]
    stages: Annotated[
        Sequence[StageAnswer],
        Meta(description="stages with the topics they read and write, and the payloads they omit"),
    ]


@command("pipelines", answers={"one for each pipeline": PipelineAnswer})
@click.argument("names", nargs=-1, metavar="[PIPELINE]…")
@click.option("--svg", is_flag=True, help="Write one pipeline as SVG to standard output.")
def pipelines(app: App, names: tuple[str, ...], svg: bool) -> int:
    """List the pipelines, or show the topics that each stage reads and writes.

    `fonds ingest --pipeline NAME` uses a pipeline once, and the setting `pipeline` selects one for
    the library. Other programs can also read and write public topics, which have an asterisk.

    \b
    fonds pipelines
    fonds pipelines library archive-only
    fonds pipelines library --svg > library.svg
    """
    # Imported here because the pipelines and the stores are slow to import.
    from fonds.pipelines.flavours.registry import PIPELINES
    from fonds.wiring.flavours import get_pipeline

    settings = app.load_settings()
    chosen_pipelines = [get_pipeline(name, settings) for name in names or PIPELINES]
    if svg:
        if len(names) != 1:
            raise click.UsageError("--svg draws one pipeline. Name one.")
        sys.stdout.write(draw_svg(chosen_pipelines[0]))
    elif app.is_json:
        for pipeline in chosen_pipelines:
            echo_json(_build_answer(pipeline, pipeline.name == settings.pipeline))
    elif names:
        open_console().print(
            "\n\n".join(format_tree(pipeline) for pipeline in chosen_pipelines), markup=False
        )
    else:
        _print_list(app, chosen_pipelines, settings.pipeline)
    return 0


def _build_answer(pipeline: Pipeline, is_configured: bool) -> PipelineAnswer:
    stages = [
        StageAnswer(
            stage.name,
            stage.reads.name,
            [topic.name for topic in stage.writes],
            [f"{omit.payload.__name__} {omit.tag or ''}".strip() for omit in stage.omits],
        )
        for stage in pipeline.stages
    ]
    return PipelineAnswer(pipeline.name, pipeline.about, is_configured, pipeline.entry.name, stages)


def _print_list(app: App, pipelines: list[Pipeline], configured_name: str) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("Pipeline", "Stages", "Purpose"):
        table.add_column(title)
    for pipeline in pipelines:
        name = f"{pipeline.name} (selected)" if pipeline.name == configured_name else pipeline.name
        table.add_row(escape(name), str(len(pipeline.stages)), escape(pipeline.about))
    screen = open_console()
    screen.print(table)
    ingest = app.format_command("ingest --pipeline NAME PATH…")
    screen.print(f"\nNext: {app.format_command('pipelines NAME')}   or   {ingest}", markup=False)
