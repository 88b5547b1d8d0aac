"""Commands that do a thing once more: what failed, what is outdated, what was lost."""
