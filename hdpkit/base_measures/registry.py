"""The registry of base measures. Examples are for data that are terms 0, 1, 2, or numbers."""

from hdpkit.registry import Registry

__all__ = ["base_measures"]

base_measures: Registry[type] = Registry("base measure")
