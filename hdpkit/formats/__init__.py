"""File formats: one module for each format, and common code."""
