"""What is replayed, on an origin of its own: captures, TimeGates and TimeMaps."""
