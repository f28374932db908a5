"""Readings of samples: components, partitions, verdicts, matches. Users import them from `hdpkit.summaries`."""
