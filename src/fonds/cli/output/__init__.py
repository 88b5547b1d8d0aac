"""What is written to standard output and standard error, and in which form."""
