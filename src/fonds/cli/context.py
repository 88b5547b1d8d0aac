"""Context of every command: home folder, settings, stores and output, and the options that set
them.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fonds.cli.names import SuggestingCommand
from fonds.cli.output import write_line
from fonds.model.errors import ConfigurationError
from fonds.model.secrets import redact_secrets

if TYPE_CHECKING:
    from rich.console import Console

    from fonds.config import Settings
    from fonds.ports import Index, Stores, Table, TopicQueue, UnfilteredRecords

SPOOL = "tmp"
"""Name of the folder of temporary files in the folder of a library."""


@dataclass(frozen=True, slots=True)
class App:
    """One call of the command line, with the values of the global options.

    - `home`: folder of the library.
    - `flags`: settings from `--set`, by name.
    - `is_json`: whether to print JSON (`--json`).
    - `is_quiet`: whether to hide progress (`--quiet`).
    - `is_home_named`: whether `--home` was given.
    """

    home: Path
    flags: Mapping[str, str]
    is_json: bool
    is_quiet: bool
    is_home_named: bool = False

    @classmethod
    def from_flags(cls, home: str | None, set_: tuple[str, ...], json: bool, quiet: bool) -> App:
        """Return the context for the given global options. Raises click.UsageError for a --set
        without `=`.
        """
        # Imported here because the settings are slow to import.
        from fonds.config import find_home

        return cls(find_home(home), _parse_pairs(set_), json, quiet, home is not None)

    def with_flags(self, home: str | None, set_: tuple[str, ...], json: bool, quiet: bool) -> App:
        """Return a copy of the context, changed by global options that the user gave after the
        command name.

        - `home`, `set_`: override the values given before the command name.
        - `json`, `quiet`: can only switch the options on.

        Raises click.UsageError for a --set without `=`.
        """
        # Imported here because the settings are slow to import.
        from fonds.config import find_home

        return replace(
            self,
            home=find_home(home) if home else self.home,
            flags={**self.flags, **_parse_pairs(set_)},
            is_json=self.is_json or json,
            is_quiet=self.is_quiet or quiet,
            is_home_named=self.is_home_named or home is not None,
        )

    def format_command(self, words: str) -> str:
        """Return a Fonds command line to show to the user, with --home if this call has that
        option.
        """
        home = f" --home {shlex.quote(_shorten_path(self.home))}" if self.is_home_named else ""
        return f"{find_program_name()}{home} {words}"

    def load_settings(self, **continues_soon: str | int | bool | None) -> Settings:
        """Load the settings of the library.

        Keyword arguments are settings that come from options of the command. They override
        settings from files, the environment and `--set`. The value None means that the option was
        not given; it overrides nothing.
        """
        # Imported here because the settings are slow to import.
        from fonds.config import load_settings

        given_options = {name: value for name, value in continues_soon.items() if value is not None}
        return load_settings(self.home, {**self.flags, **given_options})

    def open_stores(
        self,
        settings: Settings | None = None,
        *,
        create: bool = False,
        applies_takedowns: bool = False,
    ) -> Stores:
        """Return the opened stores of the library. They are closed when the command ends.

        Raises ConfigurationError if there is no library yet, unless `create` is true, and if the
        library lacks a takedown of the list outside it, unless `applies_takedowns` is true.
        """
        # Imported here because the stores are slow to import.
        from fonds.wiring.stores import close_stores, open_stores, refuse_missing_takedowns

        if not create:
            self.require_home()
        used_settings = settings or self.load_settings()
        stores = open_stores(self.home, used_settings)
        click.get_current_context().call_on_close(partial(close_stores, stores))
        if not applies_takedowns:
            refuse_missing_takedowns(stores.records, used_settings)
        return stores

    def open_index(self, settings: Settings | None = None) -> Index:
        """Return the opened full-text index, without other stores. It is closed when the command
        ends.

        Raises ConfigurationError if there is no library yet, or if it lacks a takedown of the list
        outside it.
        """
        # Imported here because the stores are slow to import.
        from fonds.ports.stores import close
        from fonds.wiring.index import open_index

        self.require_home()
        used_settings = settings or self.load_settings()
        if used_settings.takedown_list:
            from fonds.wiring.stores import refuse_missing_takedowns

            refuse_missing_takedowns(self.open_records(used_settings), used_settings)
        index = open_index(self.home, used_settings)
        click.get_current_context().call_on_close(partial(close, index))
        return index

    def open_table(
        self, settings: Settings, name: str | None = None, *, create: bool = False
    ) -> Table:
        """Return the opened table store, without other stores. It is closed when the command ends.

        The journal (the table with a wide row per file) is created if needed, unless `name` is
        another table. Raises ConfigurationError if there is no library yet, unless `create` is
        true.
        """
        # Imported here because the stores are slow to import.
        from fonds.ports.stores import close
        from fonds.wiring.table import open_table

        if not create:
            self.require_home()
        table = open_table(self.home, settings, name)
        click.get_current_context().call_on_close(partial(close, table))
        return table

    def open_records(self, settings: Settings) -> UnfilteredRecords:
        """Return the opened records, without other stores. They are closed when the command ends.

        Raises ConfigurationError if there is no library yet.
        """
        # Imported here because the stores are slow to import.
        from fonds.ports.stores import close
        from fonds.wiring.backends import open_backend

        self.require_home()
        records: UnfilteredRecords = open_backend("records", settings.records, self.home)
        click.get_current_context().call_on_close(partial(close, records))
        return records

    def open_queue(self, settings: Settings) -> TopicQueue:
        """Return the opened message queue, without other stores. It is closed when the command
        ends.
        """
        # Imported here because the stores are slow to import.
        from fonds.ports.stores import close
        from fonds.wiring.queue import open_queue

        queue = open_queue(self.home, settings)
        click.get_current_context().call_on_close(partial(close, queue))
        return queue

    def require_home(self) -> None:
        """Raise ConfigurationError if the folder of the library does not exist yet."""
        if not self.home.is_dir():
            raise ConfigurationError(
                f"No library in {self.home}. Run `{self.format_command('ingest PATH…')}` "
                "to create it, or choose another with --home or FONDS_HOME."
            )


def find_program_name() -> str:
    """Return the program name with which command lines that are shown to the user start.

    It is `fonds` if the shell finds this program under that name, or if the program file has
    another name. Otherwise it is the quoted path of the program file.
    """
    program = Path(sys.argv[0])
    installed_path = shutil.which("fonds")
    if program.name != "fonds" or (
        installed_path and Path(installed_path).absolute() == program.absolute()
    ):
        return "fonds"
    return shlex.quote(str(program))


def _shorten_path(folder: Path) -> str:
    """Return the path of a folder, relative to the working directory if the folder is below it."""
    working_dir = Path.cwd()
    return str(folder.relative_to(working_dir) if folder.is_relative_to(working_dir) else folder)


def _parse_pairs(words: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"--set {redact_secrets(word)!r} is invalid. Write NAME=VALUE.")
        pairs[name.strip()] = value
    return pairs


def build_global_options() -> list[click.Option]:
    """Return the options that all commands accept: --home, --set, --json and --quiet."""
    return [
        click.Option(
            ["--home"], metavar="DIR", help="Folder of the library [FONDS_HOME, ./fonds-data]."
        ),
        click.Option(
            ["--set", "set_"],
            multiple=True,
            metavar="NAME=VALUE",
            help="Change a setting for this command.",
        ),
        click.Option(["--json"], is_flag=True, help="Print JSON."),
        click.Option(["--quiet", "-q"], is_flag=True, help="Hide progress."),
    ]


pipeline_option = click.option(
    "--pipeline", metavar="PIPELINE", help="Pipeline [library]; see `fonds pipelines`."
)


def command(
    name: str, *, answers: Mapping[str, type] | None = None, output: str = ""
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a click command with the global options from a function.

    The function has an App and the command's own options as parameters.

    - `answers`: types of the objects that the command writes with `--json`. Each key says when such
      an object is written, and how many (see `json_answers`).
    - `output`: description of the output of a command that has no such answers.
    """

    def wrap(function: Callable[..., Any]) -> click.Command:
        shared_options = build_global_options()
        names = [option.name or "" for option in shared_options]

        def called(ctx: click.Context, /, **arguments: Any) -> Any:
            app: App = ctx.obj
            flags = {shared_name: arguments.pop(shared_name) for shared_name in names}
            return function(app.with_flags(**flags), **arguments)

        called.__doc__ = function.__doc__
        click_command = click.command(name, cls=SuggestingCommand)(click.pass_context(called))
        click_command.answers, click_command.output = answers or {}, output
        click_command.params += [
            *reversed(getattr(function, "__click_params__", [])),
            *shared_options,
        ]
        return click_command

    return wrap


def echo_json(value: object) -> None:
    """Print a value as JSON on one line of standard output, in UTF-8."""
    # Imported here because msgspec is slow to import.
    import msgspec

    write_line(msgspec.json.encode(value, enc_hook=str))


def print_note(note: str) -> None:
    """Print a note for the user on standard error, separate from the command's output."""
    open_console(stderr=True).print(note, markup=False)


def open_console(*, stderr: bool = False) -> Console:
    """Return a console for text output. It has colours only on a terminal."""
    # Imported here because rich is slow to import.
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)
