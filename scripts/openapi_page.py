"""Writes docs/openapi.json: what the service of grouping takes and answers, as `/openapi.json` says it."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI

from fonds.web.api.paths import is_rest
from fonds.web.app import describe
from written_pages import write

PAGE = "docs/openapi.json"


def pages() -> dict[str, str]:
    """The page by its path. The pages' own API is left out: it may change with the pages."""
    app = FastAPI(title="Fonds", version="1")
    describe(app)
    schema: dict[str, Any] = app.openapi()
    schema["paths"] = {path: told for path, told in schema["paths"].items() if is_rest(path)}
    schema["components"]["schemas"] = _used(schema)
    return {PAGE: json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"}


def _used(schema: dict[str, Any]) -> dict[str, Any]:
    """The shapes that the paths name, and those that these name."""
    shapes: dict[str, Any] = schema["components"]["schemas"]
    used: dict[str, Any] = {}
    said = json.dumps(schema["paths"])
    while new := [
        name for name in shapes if name not in used and f'"#/components/schemas/{name}"' in said
    ]:
        for name in new:
            used[name] = shapes[name]
        said = json.dumps(used)
    return used


if __name__ == "__main__":
    write(pages())
