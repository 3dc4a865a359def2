"""``--cluster``: a client of a Dask scheduler, or of workers on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tamis.cli.methods import UsageError


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a cluster for as long as the context lasts, and return the client.

    `address` is that of a scheduler, or local:N for N workers on this machine.
    """
    kind, _, count = address.partition(":")
    if "://" not in address and (kind != "local" or not count.isdigit() or not int(count)):
        raise UsageError(
            "--cluster takes the address of a scheduler (tcp://host:8786) or local:N, for N "
            f"workers on this machine. Got {address!r}."
        )
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("--cluster needs dask's scheduler: pip install 'tamis[dask]'.") from None
    if kind == "local":
        options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        with LocalCluster(n_workers=int(count), **options) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(address, timeout="30s")
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"--cluster {address}: no scheduler answers there ({error}).") from None
    with client:
        yield client
