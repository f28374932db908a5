"""Pictures. Users import `hdpkit.plots`."""
