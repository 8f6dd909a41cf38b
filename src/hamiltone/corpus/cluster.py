"""The engine for many cores and many hosts: Ray Data with a pool of workers that hold the model.

Only the names of clips and their measurements pass through Ray; each worker reads and writes its audio itself. So the
object store stays small, and memory is bounded by the workers.
"""

import logging
import os
import warnings
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Self

from hamiltone.corpus.columns import Result, clip_columns, column_results
from hamiltone.corpus.inputs import Clip
from hamiltone.corpus.run import Job
from hamiltone.corpus.stage import EnhanceStage
from hamiltone.errors import InputError

_RETRIES = 3
"""How often a batch is given to another worker when one dies; after that it is tried clip by clip."""
_IN_FLIGHT = 2
"""Batches that a worker holds: the one it works on and the next, which dies with it; single clips are held alone."""
_STORE = 128 << 20
_LOOK, _PATIENCE = 5.0, 60.0
"""Seconds between checks of the nodes, and without results after a node was lost until its work is reassigned."""


class RayEngine:
    """An engine on the Ray that is running in this process, on the cluster at `address`, or on this machine alone.

    Ray is started for the first clip and ended with the engine, unless it was running before.

    Args:
        workers: The minimum and maximum number; each takes one CPU of the cluster.
        address: The address of a running cluster, or ``auto`` for the one on this machine.
        stage: What the workers run; a subclass can add a step of your own before or after.
    """

    def __init__(
        self, workers: tuple[int, int], address: str | None = None, stage: type[EnhanceStage] = EnhanceStage
    ) -> None:
        self._workers, self._address, self.stage = workers, address, stage
        self._ray = _import_ray()
        self._started = False

    def __call__(self, clips: list[Clip], job: Job, batch: int) -> Iterator[list[Result]]:
        """Enhance clips; those whose workers keep dying are missing from the results, and the others continue."""
        if not self._ray.is_initialized():
            self._started = True
            _start(self._ray, self._workers, self._address)
        missing = {clip.id: clip for clip in clips}
        while missing:
            nodes = self._nodes()
            for results in self._run(list(missing.values()), job, batch, nodes):
                for result in results:
                    missing.pop(result.id, None)
                yield results
            if not missing or nodes <= self._nodes():
                return
            self._reconnect()

    def _run(self, clips: list[Clip], job: Job, batch: int, nodes: set[str]) -> Iterator[list[Result]]:
        """Run one pool over the clips; give it up if a node was lost and no results have come for a while.

        Ray returns unfinished work to the same worker once it is restarted. If the lost node held the only free core,
        that never happens.
        """
        found: SimpleQueue[list[Result] | Exception | None] = SimpleQueue()
        Thread(target=_pump, args=(self._pool(clips, job, batch), found), daemon=True).start()
        quiet = 0.0
        while True:
            try:
                results = found.get(timeout=_LOOK)
            except Empty:
                quiet += _LOOK
                if quiet >= _PATIENCE and not nodes <= self._nodes():
                    return
                continue
            quiet = 0.0
            if results is None:
                return
            if isinstance(results, Exception):
                reason = " ".join(str(results).split())[:300]
                raise InputError(f"Ray gave up: {reason}; run the same command again to resume") from results
            yield results

    def _pool(self, clips: list[Clip], job: Job, batch: int) -> Any:
        """The data set of results; it is computed as it is read."""
        import pyarrow  # type: ignore[import-untyped]

        ray = self._ray
        context = ray.data.DataContext.get_current().copy()
        context.enable_progress_bars = context.print_on_execution_start = False
        context.max_errored_blocks = -1
        parts = [clips[first : first + batch] for first in range(0, len(clips), batch)]
        cores = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        least, most = (min(count, len(parts), cores) for count in self._workers)
        held = _IN_FLIGHT if batch > 1 else 1
        pool = ray.data.ActorPoolStrategy(min_size=least, max_size=most, max_tasks_in_flight_per_actor=held)
        with ray.data.DataContext.current(context), warnings.catch_warnings():
            # There is no other way to set retries yet.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            data = ray.data.from_blocks([pyarrow.table(clip_columns(part)) for part in parts])
            return data.map_batches(
                self.stage,
                fn_constructor_kwargs=job.stage_arguments(),
                batch_size=None,
                compute=pool,
                num_cpus=1,
                max_restarts=-1,
                max_task_retries=_RETRIES,
            )

    def _nodes(self) -> set[str]:
        return {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}

    def _reconnect(self) -> None:
        """Leave the cluster, which ends all our workers, and join what is left of it."""
        if not self._started:  # the caller's connection is not ours to close
            raise InputError("a node of Ray was lost with unfinished work; make the same call again to resume")
        self._ray.shutdown()
        _start(self._ray, self._workers, self._address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._ray.shutdown()


def _pump(data: Any, found: "SimpleQueue[list[Result] | Exception | None]") -> None:
    """Read results in a separate thread, so that waiting for them can time out."""
    try:
        for batch in data.iter_batches(batch_size=None, prefetch_batches=0):
            found.put(column_results(batch))
        found.put(None)
    except Exception as error:
        found.put(error)


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # errors that matter are raised; logs clutter the page
    try:
        import pyarrow  # noqa: F401
        import ray
        import ray.data
    except ImportError as error:
        raise InputError(f'hamiltone corpus needs {error.name}: pip install "hamiltone[corpus]"') from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return ray


def _start(ray: Any, workers: tuple[int, int], address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    try:
        if address is None:
            size = {"num_cpus": workers[1], "object_store_memory": _STORE, "include_dashboard": False}
            ray.init(address="local", **size, **quiet)
        else:
            ray.init(address=address, **quiet)
    except Exception as error:  # Ray's exceptions have no common base
        reason = " ".join(str(error).split())
        raise InputError(f"cannot start Ray{f' at {address}' if address else ''}: {reason}") from None
