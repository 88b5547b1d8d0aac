"""What became of everything, told from the stores: counts, proof, histories, exports, the index anew."""
