"""Base measures: priors over dishes with their likelihoods. Users import them from `hdpkit.base_measures`."""
