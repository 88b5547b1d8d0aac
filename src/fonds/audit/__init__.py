"""Audit of the stores: checks that every message is accounted for and every stored result exists.

Each module checks one subject, such as files, derivatives or WARCs. Each fault that the audit finds
comes with a remedy.
"""
