"""Figures with Matplotlib. Users import `hdpkit.plots`."""
