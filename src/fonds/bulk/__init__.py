"""Engines that run bulk jobs: one with processes of this machine, one with Spark."""
