"""What Fonds does to a message, one verb a file; a step knows neither its queue nor its neighbours."""
