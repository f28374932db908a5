"""Memory limit of a process of a trial."""

import os
import resource


def limit_memory(n_bytes):
    """Limit the addresses of this process. AddressSanitizer needs terabytes, and has a limit of its own."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
