"""Every setting named in a message, help text, page or document exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from fonds.config import ENVIRONMENT_PREFIX, JOINED_NAMES, SETTINGS
from unit.repository.tree import PACKAGE, ROOT, list_modules

NAMES = frozenset(SETTINGS) | frozenset(JOINED_NAMES)
GROUPS = frozenset(name.partition(".")[0] for name in SETTINGS if "." in name)
INNER = frozenset(
    inner for name in SETTINGS if (inner := name.partition(".")[2]) and "_" in inner
) - frozenset(SETTINGS)
"""Names of settings without their group; they cannot be set by these names."""
NO_SETTINGS = frozenset({"every_s"})
"""Names that configurations of themes use too."""
FILE_ENDINGS = frozenset({"gz", "html", "json", "jsonl", "md", "py"})
MODULES = frozenset({"collections.abc"})
VARIABLES = NAMES | {"home", "name"}
"""Names in environment variables; `FONDS_NAME` stands for any of them."""

SET = re.compile(r"(?<![\w`])(?:--set[ =]|set )([a-z][a-z_.]*)(?==|[^\w.=])")
DOTTED = re.compile(rf"(?<![\w./])(?:{'|'.join(sorted(GROUPS))})\.([a-z_]+)\b(?!\.)")
BARE = re.compile(r"(?<![\w./`])[a-z]+_[a-z_]+\b(?![(.])")
TEMPLATE_CODE = re.compile(r"\{[{%#].*?[#%}]\}", re.DOTALL)
VARIABLE = re.compile(rf"(?<![A-Z_]){ENVIRONMENT_PREFIX}[A-Z][A-Z_]*[A-Z]\b")


@cache
def list_sentences() -> tuple[tuple[str, str], ...]:
    """Return every string of the package that contains a space, with its place."""
    return tuple(
        (f"{module.place}:{node.lineno}", node.value)
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )


def iter_pages() -> Iterator[tuple[str, str]]:
    """Yield the documentation and the texts of templates, without decisions, which name old settings."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    documents += sorted((ROOT / "docs" / "howto").glob("*.md"))
    for path in documents:
        yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
    for path in sorted((PACKAGE / "web" / "templates").glob("*.html")):
        yield path.relative_to(ROOT).as_posix(), TEMPLATE_CODE.sub(" ", path.read_text("utf-8"))


def is_setting_name(name: str) -> bool:
    """Return whether NAME in `set NAME` can only be a setting."""
    return "_" in name or "." in name


def iter_unknown(text: str) -> Iterator[str]:
    for match in SET.finditer(text):
        name, has_value = match[1].rstrip("."), text[match.end() : match.end() + 1] == "="
        if (has_value or is_setting_name(name)) and name not in NAMES:
            yield name
    for match in DOTTED.finditer(text):
        if match[0] not in NAMES | MODULES and match[1] not in FILE_ENDINGS:
            yield match[0]
    for match in VARIABLE.finditer(text):
        name = match[0].removeprefix(ENVIRONMENT_PREFIX).lower()
        if not {name, name.removesuffix("_file")} & VARIABLES:
            yield match[0]


def test_every_named_setting_exists() -> None:
    wrong = [
        (place, name)
        for place, text in (*list_sentences(), *iter_pages())
        for name in iter_unknown(text)
    ]
    assert wrong == []


def test_a_grouped_setting_is_named_with_its_group() -> None:
    wrong = [
        (place, match[0])
        for place, text in list_sentences()
        for match in BARE.finditer(text)
        if match[0] in INNER - NO_SETTINGS
    ]
    assert wrong == []


def test_names_of_unknown_settings_are_reported() -> None:
    text = (
        "set private_addresses=true, --set pdf.timeout=3, web.takedown_by_two or FONDS_PDF_TIMEOUT"
    )
    assert sorted(iter_unknown(text)) == [
        "FONDS_PDF_TIMEOUT",
        "pdf.timeout",
        "pdf.timeout",
        "private_addresses",
        "web.takedown_by_two",
    ]
    assert list(iter_unknown("--set elsewhere.private_addresses=true FONDS_PDF_TIMEOUT_S")) == []
