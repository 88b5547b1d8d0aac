"""Writes the pages of the documentation that are made from the code: settings, reasons, statuses of PDFs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fonds.config import ENVIRONMENT_PREFIX, SETTINGS, SETTINGS_FILE, Setting
from fonds.model.disposition import Reason, Weight
from fonds.model.pdf import PdfStatus, StatusClass
from written_pages import write

WEIGHTS = {
    Weight.KEPT: "The file is kept with its metadata. It has no text to search.",
    Weight.SET_ASIDE: "Nothing is wrong, and nothing is missing.",
    Weight.REFUSED: "The input is whole, but not something Fonds keeps.",
    Weight.FAILED: "Somebody may want to look. The message waits in quarantine, whole.",
}
SETTINGS_TOP = f"""\
# Settings

Each setting has a default. A line `name = value` in `{SETTINGS_FILE}` in the home goes over the default,
a variable `{ENVIRONMENT_PREFIX}NAME` over the file, `--set NAME=VALUE` or a command's own flag over all.
Those of a group, as `pdf.timeout_s`, may stand in the file as a table (`[pdf]`, then `timeout_s = 30`).
An unknown name is an error that names the nearest known one. `fonds doctor` lists what is in force.

The home itself is not a setting: it is `--home DIR`, else `{ENVIRONMENT_PREFIX}HOME`, else `./fonds-data`.
Paths behind `sqlite:`, `file:` and `tantivy:` are relative to the home.

This page is written by `scripts/settings_page.py`.

| setting | variable | default | allowed | what it does |
|---|---|---|---|---|
"""
REASONS_TOP = """\
# Reasons

Why a message was dropped, retried or quarantined, or why a kept file has no text.
The list is closed: every page, command and export uses these words and no others.
This page is written by `scripts/settings_page.py`.
"""
CLASSES = {
    StatusClass.OK: "Something was kept. Never read again with the same extractor.",
    StatusClass.CONTENT: "The file is to blame. Never read again with the same extractor.",
    StatusClass.LIMIT: "A limit ended it; what could be had before is kept. Tried again by"
    " `fonds catchup pdf` once `pdf.stopped_days` are over, and by another extractor at once.",
    StatusClass.TRANSIENT: "The bytes could not be had. Tried again by every `fonds catchup pdf`.",
    StatusClass.INTERNAL: "A bug in Fonds. Tried again by every `fonds catchup pdf`.",
}
STATUSES_TOP = """\
# Statuses of PDFs

How the extraction of one PDF ended: `status` in `pdf_meta`, in the messages of `pdf-text` and on the
pages. The list is closed. A status never takes the place of one of a heavier class: ok over content and
limit, these over transient and internal. The reason is that of the message in quarantine, where there
is one. This page is written by `scripts/settings_page.py`.

The statuses other systems of this kind have are found here so: text or XMP too large, `text-truncated`
with everything else kept; a first page that cannot be drawn, `partial` without thumbnail; undecodable
Info or text, `success`, because every byte string is read; a list of known bad hashes, the table
`stopped`, which learns and forgets; a fetch that failed, `error-source`, or no status while it is retried.
"""


def pages() -> dict[str, str]:
    """The generated pages by their path from the repository's root."""
    return {
        "docs/settings.md": settings_page(),
        "docs/reasons.md": reasons_page(),
        "docs/pdf-statuses.md": statuses_page(),
    }


def settings_page() -> str:
    """Every setting with its variable, default, limits and description."""
    lines = [_setting(name, field) for name, field in SETTINGS.items()]
    return SETTINGS_TOP + "".join(f"{line}\n" for line in lines)


def _setting(name: str, field: Setting) -> str:
    variable = f"{ENVIRONMENT_PREFIX}{name.replace('.', '_').upper()}"
    allowed = ", ".join(_limits(field))
    cells = (f"`{name}`", f"`{variable}`", _default(field.default), allowed)
    return f"| {' | '.join(cells)} | {field.description} |"


def _default(value: Any) -> str:
    if value == "":
        return "(empty)"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _limits(field: Setting) -> Iterator[str]:
    yield getattr(field.kind, "__name__", str(field.kind))
    if field.limits.ge is not None:
        yield f"at least {field.limits.ge}"
    if field.limits.gt is not None:
        yield f"more than {field.limits.gt}"
    if field.limits.le is not None:
        yield f"at most {field.limits.le}"


def reasons_page() -> str:
    """Every reason under its weight, with its explanation."""
    parts = [REASONS_TOP]
    for weight, meaning in WEIGHTS.items():
        parts.append(f"\n## {str(weight).capitalize()}\n\n{meaning}\n\n")
        of_it = [reason for reason in Reason if reason.weight is weight]
        again = any(reason.again for reason in of_it)
        parts.append(f"| reason | what it means |{' trying again helps |' if again else ''}\n")
        parts.append("|---|---|---|\n" if again else "|---|---|\n")
        for one in of_it:
            helps = f" {one.again or 'never'} |" if again else ""
            parts.append(f"| `{one.value}` | {one.explanation} |{helps}\n")
    return "".join(parts)


def statuses_page() -> str:
    """Every status of a PDF under its class, with its reason and its explanation."""
    parts = [STATUSES_TOP]
    for status_class, meaning in CLASSES.items():
        parts.append(f"\n## {str(status_class).capitalize()}\n\n{meaning}\n\n")
        parts.append("| status | what it means | reason |\n|---|---|---|\n")
        parts += [
            f"| `{one.value}` | {one.explanation} | {f'`{one.reason}`' if one.reason else ''} |\n"
            for one in PdfStatus
            if one.status_class is status_class
        ]
    return "".join(parts)


if __name__ == "__main__":
    write(pages())
