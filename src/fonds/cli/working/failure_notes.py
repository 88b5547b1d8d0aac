"""`fonds failures note`, and what is told of notes."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fonds.cli.context import App, console, echo_json
from fonds.cli.working.noted import local_user, noted
from fonds.library.failures.failed import Asked
from fonds.library.failures.notes import pipelines_of, set_note
from fonds.model.rows import FailureNoteRow
from fonds.ports import Records


def note_group(
    app: App, records: Records, asked: Asked, note: str | None, owner: str | None
) -> int:
    """Note something about the group asked for, or clear it. Raises click.UsageError for what is missing."""
    from fonds.wiring.backends import now

    if not asked.group or asked.step or asked.reason or asked.keys:
        raise click.UsageError("say which group: --group, and --pipeline where several have it")
    if note is None and owner is None:
        raise click.UsageError("give --note or --owner; both empty clear the note")
    pipelines = [asked.pipeline] if asked.pipeline else pipelines_of(records, asked.group)
    if len(pipelines) != 1:
        told = f"{', '.join(pipelines)} have it: give --pipeline" if pipelines else "there is none"
        raise click.UsageError(f"the group {asked.group}: {told}")
    with noted(records, f"fonds failures note --group {asked.group}"):
        try:
            row = set_note(
                records, pipelines[0], asked.group,
                note=note or "", owner=owner or "", by=local_user(), at=now(),
            )  # fmt: skip
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    if app.json:
        echo_json({"noted": row})
    else:
        said = told_note(row) if row else "nothing is noted of it any more"
        console().print(f"group {asked.group}: {said}", markup=False)
    return 0


def told_note(row: FailureNoteRow) -> str:
    """A note in one line."""
    return "; ".join(_parts(row))


def _parts(row: FailureNoteRow) -> Iterator[str]:
    if row.note:
        yield row.note
    if row.owner:
        yield f"left to {row.owner}"
    yield f"noted by {row.noted_by}, {row.noted_at:%Y-%m-%d}"
