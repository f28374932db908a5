"""Chains compared: of several schedules, and over data and copies of them drawn from the model."""
