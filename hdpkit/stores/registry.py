"""The registry of seating stores."""

from hdpkit.checks import instance
from hdpkit.registry import Registry
from hdpkit.stores._counts import CountsStore
from hdpkit.stores._explicit import ExplicitStore
from hdpkit.stores._histogram import HistogramStore
from hdpkit.stores.explicit import ExplicitReference
from hdpkit.stores.histogram import HistogramReference
from hdpkit.stores.protocol import Detail, declared_detail
from hdpkit.stores.tallies import CountsReference

stores: Registry[type] = Registry("store")
stores.register("explicit", ExplicitStore)
stores.register("histogram", HistogramStore)
stores.register("counts", CountsStore)
stores.register("explicit-reference", ExplicitReference)
stores.register("histogram-reference", HistogramReference)
stores.register("counts-reference", CountsReference)


def at_least(detail: Detail) -> list[str]:
    """Names of the registered stores that keep at least this detail, in the order of registration.

    Parameters
    ----------
    detail : Detail
        `Detail.SIZES` for the stores that work with every franchise: a store of counts needs latent dishes.

    Returns
    -------
    list of str
    """
    instance("detail", detail, Detail, "a Detail", remedy="For instance Detail.SIZES.")
    return [name for name, entry in stores.items() if (declared_detail(entry.thing) or 0) >= detail]
