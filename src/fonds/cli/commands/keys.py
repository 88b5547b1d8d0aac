"""`fonds keys`: who may do what over the web, and what they did."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from fonds.access.acts import Acts
from fonds.access.keys import Keys
from fonds.cli.collections.asking import usage
from fonds.cli.context import App, command, console, echo_json, global_options
from fonds.cli.names import DAY, Commands, Name
from fonds.cli.working.noted import local_user, noted
from fonds.model.access import Role
from fonds.model.rows import AccessKeyRow
from fonds.runtime.homelock import make_home
from fonds.wiring.backends import now

ACTS_MAX = 10_000


@click.group("keys", cls=Commands)
@click.pass_context
def keys(ctx: click.Context, /, **flags: Any) -> None:
    """Say who may do what over the web: keys with a role, and what was done with them.

    A reader may read, a curator change things, an admin manage keys. Without any key whoever sits at this
    machine may do everything, and others may read.

    \b
    fonds keys create anne --role curator
    fonds keys list
    fonds keys revoke anne --reason "left the project"
    fonds keys acts
    """
    ctx.obj = ctx.obj.with_flags(**flags)


keys.params += global_options()


@command("create")
@click.argument("name")
@click.option(
    "--role",
    type=Name("role", map(str, Role)),
    metavar="ROLE",
    required=True,
    help=f"What it may do: {', '.join(map(str, Role))}.",
)
@click.option(
    "--until",
    type=DAY,
    metavar="DATE",
    help="The day it ends, as that begins in UTC [never].",
)
def create(app: App, name: str, role: str, until: datetime | None) -> int:
    """Make a key and show its secret, once: only a hash of it is kept.

    \b
    fonds keys create anne --role curator --until 2027-12-31
    """
    make_home(app.home)
    records = app.stores(make=True).records
    ends = until.replace(tzinfo=UTC) if until else None
    who = local_user()
    with noted(records, f"fonds keys create {name} --role {role}"), usage():
        made = Keys(records, now).create(name, Role(role), who, ends)
    if app.json:
        echo_json({**_told(made.row), "secret": made.secret})
        return 0
    console().print(f"The key of {name}, who is {role} here. It is shown this once:\n")
    click.echo(made.secret)
    return 0


@command("list")
def list_(app: App) -> int:
    """Show all keys: role, how the secret begins, last use, end; those revoked too.

    \b
    fonds keys list
    """
    found = Keys(app.stores().records, now).every()
    for row in found:
        if app.json:
            echo_json(_told(row))
        else:
            console().print(_line(row), markup=False)
    if not found and not app.json:
        console().print(
            "There are no keys: whoever sits at this machine may do everything, others may read."
        )
    return 0


@command("revoke")
@click.argument("name")
@click.option("--reason", required=True, help="Why; shown with the key.")
def revoke(app: App, name: str, reason: str) -> int:
    """From now on nobody gets in with this key, nor with a session it began.

    \b
    fonds keys revoke anne --reason "left the project"
    """
    records = app.stores().records
    who = local_user()
    with noted(records, f"fonds keys revoke {name}"), usage():
        row = Keys(records, now).revoke(name, who, reason)
    if app.json:
        echo_json(_told(row))
    else:
        console().print(f"{name} is revoked.", markup=False)
    return 0


@command("acts")
@click.option(
    "--limit",
    type=click.IntRange(1, ACTS_MAX),
    default=50,
    show_default=True,
    help="How many, the newest first.",
)
def acts(app: App, limit: int) -> int:
    """Show who changed what and when, over the web and by commands; the newest 100,000 are kept.

    \b
    fonds keys acts --limit 200
    """
    found = Acts(app.stores().records, now).newest(limit)
    for row in found:
        if app.json:
            told = {"at": row.at, "who": row.who, "what": row.what, "outcome": row.outcome}
            echo_json(told)
        else:
            ended = "not finished" if row.outcome is None else row.outcome
            who = row.who or "this machine"
            line = f"{row.at:%Y-%m-%d %H:%M:%S}  {who}  {row.what}  {ended}"
            console().print(line, markup=False)
    if not found and not app.json:
        console().print("Nobody changed anything.")
    return 0


def _told(row: AccessKeyRow) -> dict[str, object]:
    """What is told of a key; nothing its secret could be tried against."""
    return {
        "name": row.name,
        "role": row.role,
        "prefix": row.prefix,
        "made_by": row.made_by,
        "row_created": row.row_created,
        "until": row.until,
        "last_used": row.last_used,
        "revoked": row.revoked,
        "revoked_by": row.revoked_by,
        "revoked_reason": row.revoked_reason,
    }


def _line(row: AccessKeyRow) -> str:
    used = f"{row.last_used:%Y-%m-%d %H:%M}" if row.last_used else "never"
    ends = f"  until {row.until:%Y-%m-%d}" if row.until else ""
    if row.until and row.until <= now():
        ends = f"  EXPIRED {row.until:%Y-%m-%d}"
    if row.revoked:
        ends = f"  REVOKED {row.revoked:%Y-%m-%d} by {row.revoked_by}: {row.revoked_reason}"
    return f"{row.name}  {row.role}  fonds_{row.prefix}_…  last used {used}{ends}"


keys.add_command(create)
keys.add_command(list_)
keys.add_command(revoke)
keys.add_command(acts)
