"""Pipeline steps, one module per verb. A step knows neither its queue nor its neighbours."""
