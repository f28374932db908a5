"""Banks of statistics, one module for each base measure."""
