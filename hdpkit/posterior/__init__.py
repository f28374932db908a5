"""Readings of samples: components, partitions, verdicts, matches. Users import `hdpkit.summaries`."""
