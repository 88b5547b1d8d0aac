"""Fonds turns crawls into a library: files and stories out of web archives, described and found again."""

__version__ = "0.1.0"
