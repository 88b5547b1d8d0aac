"""`fonds keys`: manage access keys for the web pages, and show the log of actions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import click
from msgspec import Meta

from fonds.access.action_log import ActionLog
from fonds.access.keys import AccessKeys, AccessKeySummary
from fonds.cli.acts import find_local_user, record_act
from fonds.cli.collection_arguments import convert_usage_errors
from fonds.cli.context import App, build_global_options, command, echo_json, open_console
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.names import DAY, CommandGroup, SuggestingChoice
from fonds.model.access import Role
from fonds.model.rows import AccessKeyRow, ActRow
from fonds.stores.home_lock import create_home
from fonds.wiring.stores import get_utc_now

ACTS_MAX = 10_000


CreatedKeyAnswer = define_answer(
    "CreatedKeyAnswer",
    AccessKeySummary,
    secret=Annotated[str, Meta(description="the secret; shown only once")],
)
"""JSON answer: a new access key with its secret."""


@click.group("keys", cls=CommandGroup)
@click.pass_context
def keys(ctx: click.Context, /, **flags: Any) -> None:
    """Manage access keys for the web pages, and show the log of actions.

    Readers can read, curators can also make changes, and admins can also manage keys. As long as
    there are no keys, anyone on this computer has full access, and others can only read.

    \b
    fonds keys create anne --role curator
    fonds keys list
    fonds keys revoke anne --reason "left the project"
    fonds keys acts
    """
    ctx.obj = ctx.obj.with_flags(**flags)


keys.params += build_global_options()


@command("create", answers={"one": CreatedKeyAnswer})
@click.argument("name")
@click.option(
    "--role",
    type=SuggestingChoice("role", map(str, Role)),
    metavar="ROLE",
    required=True,
    help=f"Permissions of the key: {', '.join(map(str, Role))}.",
)
@click.option(
    "--until",
    type=DAY,
    metavar="DATE",
    help="Expiry date; the key expires when this day starts in UTC [never].",
)
def create(app: App, name: str, role: str, until: datetime | None) -> int:
    """Create a key and show its secret once. Only a hash of it is stored.

    \b
    fonds keys create anne --role curator --until 2027-12-31
    """
    create_home(app.home)
    records = app.open_stores(create=True).records
    ends = until.replace(tzinfo=UTC) if until else None
    user_name = find_local_user()
    with record_act(records, f"fonds keys create {name} --role {role}"), convert_usage_errors():
        access_keys = AccessKeys(records, get_utc_now)
        new_key = access_keys.create(name, Role(role), user_name, ends)
    if app.is_json:
        summary = access_keys.summarize(new_key.row)
        echo_json(build_answer(CreatedKeyAnswer, summary, secret=new_key.secret))
        return 0
    open_console().print(f"Key of {name} ({role}). It is shown only once:\n")
    click.echo(new_key.secret)
    return 0


@command("list", answers={"one for each key": AccessKeySummary})
def list_(app: App) -> int:
    """List all keys, including revoked ones, with role, prefix, last use and expiry.

    \b
    fonds keys list
    """
    access_keys = AccessKeys(app.open_stores().records, get_utc_now)
    key_rows = access_keys.list_all()
    for row in key_rows:
        if app.is_json:
            echo_json(access_keys.summarize(row))
        else:
            open_console().print(_format_key(row), markup=False)
    if not key_rows and not app.is_json:
        open_console().print(
            "No access keys yet: anyone on this computer has full access, and others can only read."
        )
    return 0


@command("revoke", answers={"one": AccessKeySummary})
@click.argument("name")
@click.option("--reason", required=True, help="Reason; shown with the key.")
def revoke(app: App, name: str, reason: str) -> int:
    """Revoke a key and end its sessions.

    \b
    fonds keys revoke anne --reason "left the project"
    """
    records = app.open_stores().records
    user_name = find_local_user()
    with record_act(records, f"fonds keys revoke {name}"), convert_usage_errors():
        access_keys = AccessKeys(records, get_utc_now)
        row = access_keys.revoke(name, user_name, reason)
    if app.is_json:
        echo_json(access_keys.summarize(row))
    else:
        open_console().print(f"{name} is revoked.", markup=False)
    return 0


@command("acts", answers={"one for each action, newest first": ActRow})
@click.option(
    "--limit",
    type=click.IntRange(1, ACTS_MAX),
    default=50,
    show_default=True,
    help="Number of actions to show, newest first.",
)
def acts(app: App, limit: int) -> int:
    """List changes made on the web pages and by commands. The newest 100,000 are kept.

    \b
    fonds keys acts --limit 200
    """
    newest = ActionLog(app.open_stores().records, get_utc_now).list_newest(limit)
    for row in newest:
        if app.is_json:
            echo_json(row)
        else:
            outcome = "not finished" if row.outcome is None else row.outcome
            user_name = row.who or "this machine"
            line = f"{row.at:%Y-%m-%d %H:%M:%S}  {user_name}  {row.what}  {outcome}"
            open_console().print(line, markup=False)
    if not newest and not app.is_json:
        open_console().print("No actions recorded.")
    return 0


def _format_key(row: AccessKeyRow) -> str:
    last_use_text = f"{row.last_used:%Y-%m-%d %H:%M}" if row.last_used else "never"
    ends = f"  until {row.until:%Y-%m-%d}" if row.until else ""
    if row.until and row.until <= get_utc_now():
        ends = f"  EXPIRED {row.until:%Y-%m-%d}"
    if row.revoked:
        ends = f"  REVOKED {row.revoked:%Y-%m-%d} by {row.revoked_by}: {row.revoked_reason}"
    return f"{row.name}  {row.role}  fonds_{row.prefix}_…  last used {last_use_text}{ends}"


keys.add_command(create)
keys.add_command(list_)
keys.add_command(revoke)
keys.add_command(acts)
