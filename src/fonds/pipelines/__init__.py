"""Pipelines: their flavours as data, and the runtime that executes them."""
