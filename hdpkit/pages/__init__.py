"""The page of a run and the plots. Users import `hdpkit.report` and `hdpkit.plots`."""
