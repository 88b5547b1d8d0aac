"""`fonds run` and `fonds work`: run a pipeline, or some of its steps, as a service."""

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
    help="Address of /metrics and /healthz.",
)


@command("work", output="log lines as JSON on standard error")
@click.argument("steps", nargs=-1, required=True, metavar="STEP…")
@pipeline_option
@click.option("--threads", type=click.IntRange(1, 1000), help="Threads per step.")
@metrics_option
def work(app: App, steps: tuple[str, ...], threads: int | None, **flags: Any) -> int:
    """Run one or more steps in this process until stopped.

    Start as many processes as you need, on any machines that reach the same queue and stores.
    `fonds topics list` names the steps. `fonds ingest --enter-only` enters captures.

    \b
    fonds work extract_pdf --threads 8
    fonds work persist_pdf_text persist_thumbnail --metrics-port 9101
    """
    # Imported here because the service and the stores are slow to import.
    from fonds.cli.service import serve
    from fonds.wiring.flavours import get_configured_pipeline

    settings = app.load_settings(**flags)
    names = [stage.name for stage in get_configured_pipeline(settings).stages]
    unknown_steps = [step for step in steps if step not in names]
    if unknown_steps:
        raise ConfigurationError(format_unknown_name("step", unknown_steps[0], names))
    return serve(app, settings, stages=steps, threads=threads, is_shared=True)


@command("run", output="log lines as JSON on standard error")
@click.argument("pipeline", required=False, metavar="[PIPELINE]")
@metrics_option
def run(app: App, pipeline: str | None, **flags: Any) -> int:
    """Run every step of a pipeline in this process until stopped.

    Waits for work, and for stores that are unavailable or full. On SIGTERM or Ctrl-C, current
    messages are finished first.

    On a terminal, shows what is waiting at each step, the outcomes so far, reasons for refusals,
    sources, and slow hosts. Elsewhere, and with --json, logs one JSON object per line to standard
    error.

    \b
    fonds run
    fonds run library --metrics-port 9100
    """
    # Imported here because the service and the stores are slow to import.
    from fonds.cli.service import serve
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.flavours import get_configured_pipeline

    settings = app.load_settings(pipeline=pipeline, **flags)
    get_configured_pipeline(settings)
    return serve(app, settings, stages=None, threads=None, is_shared=are_stores_shared(settings))
