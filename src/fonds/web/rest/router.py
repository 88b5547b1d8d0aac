"""All routes of the service. Of two that fit an address, the one that comes first answers."""

from __future__ import annotations

from fastapi import APIRouter

from fonds.web.rest import (
    collections,
    configurations,
    documents,
    queries,
    results,
    runs,
)
from fonds.web.rest.clusters import routes as clusters

ROUTERS: tuple[APIRouter, ...] = (
    collections.router,
    clusters.router,
    documents.router,
    configurations.router,
    queries.router,
    results.router,
    runs.router,
)
