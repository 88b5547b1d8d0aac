"""The ledger, what follows of it for entries, and the counts that are kept with it."""
