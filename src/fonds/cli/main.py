"""The command line: its options, its commands, and what each error means to the shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from fonds import __version__
from fonds.cli.context import App, global_options
from fonds.cli.limits import allow_files, collect_seldom
from fonds.cli.names import Commands
from fonds.cli.output.logs import log_plainly
from fonds.cli.output.streams import write_any_text
from fonds.model.errors import ConfigurationError, FondsError, StorageFullError
from fonds.model.secrets import without_secrets
from fonds.model.shortage import shortage

EXIT_QUARANTINED = 1
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

COMMANDS: dict[str, str] = {
    "ingest": "fonds.cli.commands.ingest",
    "fetch": "fonds.cli.commands.fetch",
    "sources": "fonds.cli.commands.sources",
    "run": "fonds.cli.commands.work",
    "work": "fonds.cli.commands.work",
    "extract": "fonds.cli.commands.extract",
    "search": "fonds.cli.commands.search",
    "show": "fonds.cli.commands.show",
    "changes": "fonds.cli.commands.changes",
    "status": "fonds.cli.commands.status",
    "audit": "fonds.cli.commands.audit",
    "repair": "fonds.cli.commands.repair",
    "failures": "fonds.cli.commands.failures",
    "takedown": "fonds.cli.commands.takedown",
    "keys": "fonds.cli.commands.keys",
    "embargo": "fonds.cli.commands.embargo",
    "timetable": "fonds.cli.commands.timetable",
    "doctor": "fonds.cli.commands.doctor",
    "serve": "fonds.cli.commands.serve",
    "export": "fonds.cli.commands.export",
    "verify": "fonds.cli.commands.verify",
    "reindex": "fonds.cli.commands.reindex",
    "archive": "fonds.cli.commands.archive",
    "pipelines": "fonds.cli.commands.pipelines",
    "topics": "fonds.cli.commands.queue",
    "queue": "fonds.cli.commands.queue",
    "catchup": "fonds.cli.commands.catchup",
    "table": "fonds.cli.commands.table",
    "collection": "fonds.cli.commands.collection",
    "configuration": "fonds.cli.commands.configuration",
    "group": "fonds.cli.commands.group",
    "clusters": "fonds.cli.commands.clusters",
    "backfill": "fonds.cli.commands.backfill",
    "catalog": "fonds.cli.commands.catalog",
    "completion": "fonds.cli.commands.completion",
    "match": "fonds.cli.commands.match",
}


@click.group(
    cls=Commands, modules=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, "-V", "--version", message="fonds %(version)s")
@click.pass_context
def cli(ctx: click.Context, /, **flags: Any) -> None:
    """Turn crawls into a library: PDFs and stories out of web archives, folders and indexes.

    \b
    fonds ingest crawl.warc.gz papers/     take them in
    fonds search "flood defence"           find something
    fonds serve                            look at it in a browser
    """
    ctx.obj = App.from_flags(**flags)


cli.params += global_options()


def main() -> None:
    """Run the command line; the only place that knows exit codes."""
    collect_seldom()
    write_any_text()
    log_plainly()
    allow_files()
    sys.exit(run(lambda: cli.main(standalone_mode=False)))


def run(command: Callable[[], object]) -> int:
    """The exit code of a command: 0, 1 something quarantined or failed, 2 usage, 130 interrupted."""
    try:
        code = command()
        return code if isinstance(code, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except FondsError as error:
        click.echo(f"fonds: {without_secrets(str(error))}", err=True)
        is_full = isinstance(error, StorageFullError)
        return EXIT_USAGE if isinstance(error, ConfigurationError) and not is_full else EXIT_FAILED
    except BrokenPipeError:
        # The reader of our output left (`fonds search … | head`): nothing more to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as left:
        # As rich says the same.
        if isinstance(left.__context__, BrokenPipeError):
            return 0
        raise
    except Exception as error:
        if (short := shortage(error)) is None:
            raise
        click.echo(f"fonds: {short}", err=True)
        return EXIT_FAILED
