"""Bodies read in another way than by the archive itself: out of the spool, out of memory."""
