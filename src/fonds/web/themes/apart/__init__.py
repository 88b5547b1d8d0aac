"""Documents in no theme: why, and the pages that list them."""
