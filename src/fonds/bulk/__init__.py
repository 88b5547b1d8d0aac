"""Engines that run bulk work: this machine's processes, and Spark."""
