"""Held-out evaluation: scores of groups that a state was not sampled with, and forecasts."""
