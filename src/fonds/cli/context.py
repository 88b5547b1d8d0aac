"""What every command shares: the home, the settings, where output goes; and the options that say so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console

from fonds.config import Settings, home_folder, load_settings
from fonds.model.errors import ConfigurationError
from fonds.ports import Stores

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class App:
    """One call of the command line."""

    home: Path
    flags: Mapping[str, str]
    json: bool
    quiet: bool

    @classmethod
    def from_flags(cls, home: str | None, set_: tuple[str, ...], json: bool, quiet: bool) -> App:
        """Raises click.UsageError for a --set without `=`."""
        flags = {}
        for pair in set_:
            name, equals, value = pair.partition("=")
            if not equals:
                raise click.UsageError(f"--set {pair!r}: write it as NAME=VALUE")
            flags[name.strip()] = value
        return cls(home_folder(home), flags, json, quiet)

    def settings(self, **more: str | int | bool | None) -> Settings:
        """The settings, with flags of the command's own over all others; None is no flag."""
        own = {name: value for name, value in more.items() if value is not None}
        return load_settings(self.home, {**self.flags, **own})

    def stores(self, settings: Settings | None = None, *, make: bool = False) -> Stores:
        """The stores of the home. Raises ConfigurationError when there is no home yet, unless `make`."""
        from fonds.wiring import open_stores

        if not make and not self.home.is_dir():
            raise ConfigurationError(
                f"there is no {self.home} yet. `fonds ingest PATH…` makes it; "
                f"or point to another with --home or FONDS_HOME."
            )
        return open_stores(self.home, settings or self.settings())

    def with_json(self, json: bool) -> App:
        """The same call, with `--json` given behind the command's name too."""
        return replace(self, json=self.json or json)


def global_options(command: CommandT) -> CommandT:
    """The options before the command's name."""
    for option in (
        click.option("--quiet", "-q", is_flag=True, help="No progress."),
        click.option("--json", is_flag=True, help="Answer in JSON."),
        click.option(
            "--set",
            "set_",
            multiple=True,
            metavar="NAME=VALUE",
            help="Set a setting for this call.",
        ),
        click.option(
            "--home", metavar="DIR", help="Where everything is kept [FONDS_HOME, ./fonds-data]."
        ),
    ):
        command = option(command)
    return command


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with `--json` and `--home` of its own, so that they may stand before or behind its name."""

    def wrap(function: Callable[..., Any]) -> click.Command:
        def called(ctx: click.Context, /, **arguments: Any) -> Any:
            app: App = ctx.obj
            home, json = arguments.pop("home_"), arguments.pop("json_")
            if home:
                app = replace(app, home=home_folder(home))
            return function(app.with_json(json), **arguments)

        called.__doc__ = function.__doc__
        made = click.command(name)(click.pass_context(called))
        made.params += reversed(getattr(function, "__click_params__", []))
        made.params += [
            click.Option(["--json", "json_"], is_flag=True, help="Answer in JSON."),
            click.Option(["--home", "home_"], metavar="DIR", help="Where everything is kept."),
        ]
        return made

    return wrap


def echo_json(value: object) -> None:
    """One JSON value on one line of standard output."""
    sys.stdout.write(msgspec.json.encode(value, enc_hook=str).decode() + "\n")
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """Where people read; colours only on a terminal."""
    return Console(stderr=stderr, highlight=False, soft_wrap=True)
