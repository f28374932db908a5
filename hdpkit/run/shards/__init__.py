"""Chains over a corpus in shards, in several processes. Users import them from `hdpkit.shards`."""
