"""Lookup and replay of archived captures: CDX queries, the Memento protocol, and bodies of captures
and revisits.
"""
