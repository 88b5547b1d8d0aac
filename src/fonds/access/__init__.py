"""Who may do what: keys, the sessions they begin, and what was done; on the records alone."""
