"""The passes over all documents of a collection that a rebuild makes, as jobs: read, and put in their places.

Source: Grouperfish's HBase layout, v0.2: one scan of a prefix gives a collection's documents, so a job's
parts are stretches of that scan.
"""
