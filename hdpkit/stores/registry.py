"""The registry of seating stores."""

from hdpkit._compiled.stores.explicit import ExplicitStore
from hdpkit._compiled.stores.histogram import HistogramStore
from hdpkit.registry import Registry
from hdpkit.stores.reference.explicit import ExplicitReference
from hdpkit.stores.reference.histogram import HistogramReference

__all__ = ["stores"]

stores: Registry[type] = Registry("store")
stores.register("explicit", ExplicitStore)
stores.register("histogram", HistogramStore)
stores.register("explicit-reference", ExplicitReference)
stores.register("histogram-reference", HistogramReference)
