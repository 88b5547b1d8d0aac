"""Pipelines: their flavours as data, and the runtime that works them off."""
