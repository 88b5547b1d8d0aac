"""Files as people read them: pages of a PDF, what changed between versions, how a place is cited."""
