"""All routes of the service. Of two that fit an address, the one that comes first answers."""

from __future__ import annotations

from fastapi import APIRouter

from fonds.web.rest import (
    clusters,
    collections,
    configurations,
    documents,
    queries,
    results,
    runs,
)

ROUTERS: tuple[APIRouter, ...] = (
    collections.router,
    clusters.router,
    documents.router,
    configurations.router,
    queries.router,
    results.router,
    runs.router,
)
