"""Works as catalogues hold them: one value, and the readers of the forms others publish them in."""
