"""Which work of a catalogue a paper or a reference is: compared field by field, and judged by stated rules.

Pure: candidates are given; the rules and their limits are in docs/matching.md.
"""
