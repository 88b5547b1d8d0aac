"""Links a person names: now, or in tables of addresses and whole-day RSS, here or elsewhere."""
