"""Where work comes from: paths, archives, indexes."""
