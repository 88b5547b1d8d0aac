"""Steps that fetch what links lead to."""
