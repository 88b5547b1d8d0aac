"""Engines for bulk jobs: local processes, and Spark."""
