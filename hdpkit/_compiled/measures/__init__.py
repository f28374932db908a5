"""Banks of statistics of base measures, and what they compute with."""
