"""Formats of the messages on public topics: JSON and pictures, as other programs read and write
them.
"""
