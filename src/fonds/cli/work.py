"""`fonds run` and `fonds work`: a pipeline or one of its steps as a service."""

from __future__ import annotations

from typing import Any

import click

from fonds.cli.context import App, command, pipeline_option
from fonds.model.errors import ConfigurationError
from fonds.model.suggestions import format_unknown_name

metrics_option = click.option(
    "--metrics-port",
    "web_metrics_port",
    type=int,
    metavar="PORT",
    help="Tell /metrics and /healthz there.",
)


@command("work")
@click.argument("steps", nargs=-1, required=True, metavar="STEP…")
@pipeline_option
@click.option("--threads", type=click.IntRange(1, 1000), help="Threads for each step.")
@metrics_option
def work(app: App, steps: tuple[str, ...], threads: int | None, **flags: Any) -> int:
    """Work off one step (or several) in this process, until it is told to stop.

    Start as many as there is work for, on as many machines as reach the same queue and stores;
    `fonds topics list` names the steps. Captures are entered by `fonds ingest --enter-only`.

    \b
    fonds work extract_pdf --threads 8
    fonds work persist_pdf_text persist_thumbnail --metrics-port 9101
    """
    from fonds.cli.service import serve
    from fonds.wiring.stores import get_configured_pipeline

    settings = app.load_settings(**flags)
    known = [stage.name for stage in get_configured_pipeline(settings).stages]
    unknown = [step for step in steps if step not in known]
    if unknown:
        raise ConfigurationError(format_unknown_name("step", unknown[0], known))
    return serve(app, settings, stages=steps, threads=threads, shared=True)


@command("run")
@click.argument("pipeline", required=False, metavar="[PIPELINE]")
@metrics_option
def run(app: App, pipeline: str | None, **flags: Any) -> int:
    """Work off every step of a pipeline in this process, until it is told to stop.

    It waits for work, and for stores that are away or full. SIGTERM and Ctrl-C let it finish what it
    has in hand. On a terminal it shows what goes on: what waits at each step and what became of the rest,
    why links and pages were refused, how the sources stand, and which hosts are slow; elsewhere it logs one
    JSON object a line to standard error, as with --json.

    \b
    fonds run
    fonds run library --metrics-port 9100
    """
    from fonds.cli.service import serve
    from fonds.wiring.stores import are_stores_shared, get_configured_pipeline

    settings = app.load_settings(pipeline=pipeline, **flags)
    get_configured_pipeline(settings)
    return serve(app, settings, stages=None, threads=None, shared=are_stores_shared(settings))
