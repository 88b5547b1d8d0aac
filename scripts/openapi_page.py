"""Write docs/openapi.json, the API of the grouping service, as served at `/openapi.json`."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI

from fonds.web.api.paths import is_rest_path
from fonds.web.app import describe
from written_pages import write

PAGE = "docs/openapi.json"


def build_pages() -> dict[str, str]:
    """Return the page by its path. The API of the web pages is left out, because it may change with them."""
    app = FastAPI(title="Fonds", version="1")
    describe(app)
    schema: dict[str, Any] = app.openapi()
    schema["paths"] = {
        path: operations for path, operations in schema["paths"].items() if is_rest_path(path)
    }
    schema["components"]["schemas"] = _find_used_schemas(schema)
    return {PAGE: json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"}


def _find_used_schemas(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas that the paths reference, directly or indirectly."""
    shapes: dict[str, Any] = schema["components"]["schemas"]
    used: dict[str, Any] = {}
    text = json.dumps(schema["paths"])
    while new := [
        name for name in shapes if name not in used and f'"#/components/schemas/{name}"' in text
    ]:
        for name in new:
            used[name] = shapes[name]
        text = json.dumps(used)
    return used


if __name__ == "__main__":
    write(build_pages())
