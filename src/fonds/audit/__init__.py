"""What the audit looks at, one file a subject; every fault found comes with its remedy."""
