"""``--cluster``: the scheduler that is named, or workers of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tamis.cli.methods import UsageError

_WAY = "--cluster takes the address of a scheduler (tcp://host:8786) or local:N, N workers here"


@contextmanager
def connected(where: str) -> Iterator[Any]:
    """A client of the cluster, for as long as the context lasts."""
    kind, _, count = where.partition(":")
    if "://" not in where and (kind != "local" or not count.isdigit() or not int(count)):
        raise UsageError(f"{_WAY}. Got {where!r}.")
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
        client = Client(where, timeout="30s")
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"--cluster {where}: nobody answers there ({error}).") from None
    with client:
        yield client
