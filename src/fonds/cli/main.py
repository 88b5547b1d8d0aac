"""Entry point of the command line: global options, commands, and exit codes for errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from fonds import __version__
from fonds.cli.context import App, build_global_options
from fonds.cli.names import CommandGroup
from fonds.cli.output import log_plainly, write_any_text
from fonds.cli.process import allow_files, collect_seldom, end_without_collecting
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    cause_of,
    find_shortage,
)
from fonds.model.secrets import redact_secrets

EXIT_QUARANTINED = 1
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

COMMANDS: dict[str, str] = {
    "ingest": "fonds.cli.ingest",
    "fetch": "fonds.cli.fetch",
    "sources": "fonds.cli.sources",
    "run": "fonds.cli.work",
    "work": "fonds.cli.work",
    "extract": "fonds.cli.extract",
    "search": "fonds.cli.search",
    "show": "fonds.cli.show",
    "changes": "fonds.cli.changes",
    "status": "fonds.cli.status",
    "audit": "fonds.cli.audit",
    "repair": "fonds.cli.repair",
    "failures": "fonds.cli.failures",
    "takedown": "fonds.cli.takedown",
    "keys": "fonds.cli.keys",
    "embargo": "fonds.cli.embargo",
    "timetable": "fonds.cli.timetable",
    "doctor": "fonds.cli.doctor",
    "serve": "fonds.cli.serve",
    "export": "fonds.cli.export",
    "verify": "fonds.cli.verify",
    "reindex": "fonds.cli.reindex",
    "archive": "fonds.cli.archive",
    "pipelines": "fonds.cli.pipelines",
    "topics": "fonds.cli.queue",
    "queue": "fonds.cli.queue",
    "catchup": "fonds.cli.catchup",
    "table": "fonds.cli.table",
    "collection": "fonds.cli.collection",
    "configuration": "fonds.cli.configuration",
    "group": "fonds.cli.group",
    "clusters": "fonds.cli.clusters",
    "backfill": "fonds.cli.backfill",
    "catalog": "fonds.cli.catalog",
    "completion": "fonds.cli.completion",
    "match": "fonds.cli.match",
}

SUMMARIES: dict[str, str] = {
    "ingest": "Add files to the library.",
    "fetch": "Fetch pages and PDFs from the web into the library.",
    "sources": "Manage followed feeds, sitemaps and pages of links.",
    "run": "Run every step of a pipeline in this process until stopped.",
    "work": "Run one or more steps in this process until stopped.",
    "extract": "Extract files and print one JSON object per body.",
    "search": "Find documents.",
    "show": "Show everything known about a file or URL.",
    "changes": "List stories that were edited after capture, newest first.",
    "status": "Show what the library holds and what is waiting.",
    "audit": "Check that all input is accounted for and still present.",
    "repair": "Rebuild missing or altered data from the remaining data.",
    "failures": "Show failures, grouped by step, reason, cause and host.",
    "takedown": "Purge files from every store and refuse them in future.",
    "keys": "Manage access keys for the web pages.",
    "embargo": "Hide files from readers until a date.",
    "timetable": "List recurring tasks with their last run, result and next run.",
    "doctor": "Check the installation and list the settings in effect.",
    "serve": "Serve the library in a browser.",
    "export": "Export files, or the documents of a search.",
    "verify": "Verify an exported FILE and its search.",
    "reindex": "Rebuild the full-text index.",
    "archive": "Manage the library's WARC files.",
    "pipelines": "List the pipelines.",
    "topics": "List the topics with their readers and schemas.",
    "queue": "Inspect the queue, and move messages to a file and back.",
    "catchup": "Reprocess files that are already in the library.",
    "table": "Inspect and edit the wide-row table.",
    "collection": "Manage collections of documents to be grouped.",
    "configuration": "Manage configurations, which say how collections are grouped.",
    "group": "Rebuild the clusters of a collection.",
    "clusters": "Show and curate the themes of a collection.",
    "backfill": "Work in bulk: import indexes, or extract many WARCs.",
    "catalog": "Manage the catalogue of published works.",
    "completion": "Print a completion script for SHELL (bash, zsh or fish).",
    "match": "Match all papers and references with the catalogue.",
}
"""Beginning of each command's help, for the list of commands. Importing all commands takes 0.5
s."""


@click.group(
    cls=CommandGroup,
    modules=COMMANDS,
    summaries=SUMMARIES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="fonds %(version)s")
@click.pass_context
def cli(ctx: click.Context, /, **flags: Any) -> None:
    """Turn PDFs, news pages and web archives into a searchable library.

    \b
    fonds ingest crawl.warc.gz papers/     add files
    fonds search "flood defence"           search them
    fonds serve                            open the library in a browser
    """
    ctx.obj = App.from_flags(**flags)


cli.params += build_global_options()


def main() -> None:
    """Run the command line and exit with its exit code."""
    collect_seldom()
    write_any_text()
    log_plainly()
    allow_files()
    code = run(lambda: cli.main(standalone_mode=False))
    end_without_collecting()
    sys.exit(code)


def run(command: Callable[[], object]) -> int:
    """Call the function that runs a command. Print the error that ends it, and return the exit
    code.

    Exit codes are 0 for success, 1 if something failed or was quarantined, 2 for a usage error, and
    130 if interrupted.
    """
    try:
        code = command()
        return code if isinstance(code, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except FondsError as error:
        click.echo(f"fonds: {redact_secrets(str(error))}", err=True)
        is_full = isinstance(error, StorageFullError)
        return EXIT_USAGE if isinstance(error, ConfigurationError) and not is_full else EXIT_FAILED
    except BrokenPipeError:
        # The reader of our output has exited (`fonds search … | head`), so there is nothing left to
        # write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as left:
        # rich exits in this way on a broken pipe.
        if isinstance(left.__context__, BrokenPipeError):
            return 0
        raise
    except Exception as error:
        message: object = find_shortage(error)
        if message is None:
            if not isinstance(error, OSError) or error.filename is None:
                raise
            # A path that cannot be used, for example on a read-only disk.
            message = f"{os.fsdecode(error.filename)}: {cause_of(error)}"
        click.echo(f"fonds: {message}", err=True)
        return EXIT_FAILED
