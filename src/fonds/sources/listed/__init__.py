"""Links out of files a person names: tables of addresses and whole-day RSS, here or elsewhere."""
