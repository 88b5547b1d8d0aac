"""What is known of the files, and what keeps it whole: describe, export, audit, reindex, catch up."""
