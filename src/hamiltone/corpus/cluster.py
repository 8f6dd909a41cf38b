"""The engine for many cores and many hosts: Ray Data with a pool of workers that hold the model.

Only the names of clips and their measurements pass through Ray; each worker reads and writes its audio itself. So the
object store stays small, and memory is bounded by the workers.
"""

import logging
import math
import os
import signal
import warnings
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any, Self

from hamiltone.corpus.columns import Result, clip_columns, column_results
from hamiltone.corpus.inputs import Clip
from hamiltone.corpus.parts import clip_seconds
from hamiltone.corpus.run import CorpusJob
from hamiltone.corpus.stage import EnhanceStage
from hamiltone.errors import InputError
from hamiltone.runtime.backend import GRAPH_SUFFIX, model_file

_RETRIES = 3
"""How often a batch is given to another worker when one dies; after that it is tried clip by clip."""
_IN_FLIGHT = 2
"""Batches that a worker holds: the one it works on and the next, which dies with it; single clips are held alone."""
_STORE = 128 << 20
_LOOK, _PATIENCE = 5.0, 60.0
"""Seconds between checks of the nodes, and without results after a node was lost until its work is reassigned."""
_GRAPH_MEMORY, _TORCH_MEMORY, _RATING_MEMORY = 350 << 20, 650 << 20, 550 << 20
"""Bytes that a worker holds at its peak, with a model as a graph or in torch, and what ratings add."""
_TRIES = 3
"""How often Ray is started here: its processes wait seconds for each other, too few where all cores are busy."""
_SLOWEST = 2.0
"""Seconds that a second of sound takes at most, with ratings and on a busy core; so we wait longer for long clips."""


class RayEngine:
    """An engine on the Ray that is running in this process, on the cluster at `address`, or on this machine alone.

    Ray is started for the first clip and ended with the engine, unless it was running before.

    Args:
        workers: The minimum and maximum number; each takes one CPU of the cluster. By default 1 and all of its CPUs.
        address: The address of a running cluster, or ``auto`` for the one on this machine.
        stage: What the workers run; a subclass can add a step of your own before or after.
    """

    def __init__(
        self,
        workers: tuple[int, int] | None = None,
        address: str | None = None,
        stage: type[EnhanceStage] = EnhanceStage,
    ) -> None:
        self._workers, self._address, self.stage = workers, address, stage
        self._ray = _import_ray()
        self._started = False

    @property
    def most(self) -> int:
        """The largest number of workers; starts Ray if it is not running."""
        if not self._ray.is_initialized():
            self._started = True
            _start(self._ray, self._workers, self._address)
        return self._workers[1] if self._workers else max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def __call__(self, clips: list[Clip], job: CorpusJob, batch: int) -> Iterator[list[Result]]:
        """Enhance clips; those whose workers keep dying are missing from the results, and the others continue."""
        missing = {clip.id: clip for clip in clips}
        while missing:
            most = self.most
            nodes = self._nodes()
            for results in self._run(missing, job, batch, nodes, most):
                for result in results:
                    missing.pop(result.id, None)
                yield results
            if not missing or nodes <= self._nodes():
                return
            self._reconnect()

    def _run(
        self, missing: dict[str, Clip], job: CorpusJob, batch: int, nodes: set[str], most: int
    ) -> Iterator[list[Result]]:
        """Run one pool over the clips; give it up if a node was lost and no results have come for a while.

        Ray returns unfinished work to the same worker once it is restarted. If the lost node held the only free core,
        that never happens.
        """
        found: SimpleQueue[list[Result] | Exception | None] = SimpleQueue()
        data = self._pool(list(missing.values()), job, batch, most)
        Thread(target=_pump, args=(data, found), daemon=True).start()
        quiet, patience = 0.0, None
        while True:
            try:
                results = found.get(timeout=_LOOK)
            except Empty:
                quiet += _LOOK
                if quiet >= _PATIENCE and not nodes <= self._nodes():
                    patience = patience or _patience(list(missing.values()), batch, most)
                    if quiet >= patience:
                        return
                continue
            quiet, patience = 0.0, None
            if results is None:
                return
            if isinstance(results, Exception):
                reason = " ".join(str(results).split())[:300]
                raise InputError(f"Ray gave up: {reason}; run the same command again to resume") from results
            yield results

    def _pool(self, clips: list[Clip], job: CorpusJob, batch: int, most: int) -> Any:
        """The data set of results; it is computed as it is read."""
        import pyarrow  # type: ignore[import-untyped]

        ray = self._ray
        parts = [clips[first : first + batch] for first in range(0, len(clips), batch)]
        memory = _memory(job, ray.nodes())
        least = _least(self._workers[0] if self._workers else 1, memory, ray.cluster_resources())
        sizes = {"min_size": min(least, most, len(parts)), "max_size": min(most, len(parts))}
        pool = ray.data.ActorPoolStrategy(**sizes, max_tasks_in_flight_per_actor=_held(batch))
        with ray.data.DataContext.current(_context(ray)), warnings.catch_warnings():
            # There is no other way to set retries yet.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            data = ray.data.from_blocks([pyarrow.table(clip_columns(part)) for part in parts])
            return data.map_batches(
                self.stage,
                fn_constructor_kwargs=job.stage_arguments(),
                batch_size=None,
                compute=pool,
                num_cpus=1,
                memory=memory,
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


def _held(batch: int) -> int:
    return _IN_FLIGHT if batch > 1 else 1


def _patience(clips: list[Clip], batch: int, workers: int) -> float:
    """Seconds without results after which a lost node's work is reassigned: what the longest batch in work may take.

    Batches are begun in their order, so that those in work are the first ones of all that are left.
    """
    seconds = [clip_seconds(clip) for clip in clips[: workers * _held(batch) * batch]]
    longest = max((sum(seconds[first : first + batch]) for first in range(0, len(seconds), batch)), default=0.0)
    return max(_PATIENCE, _SLOWEST * longest)


def _memory(job: CorpusJob, nodes: list[dict[str, Any]]) -> int:
    """Bytes that a worker reserves: its usual peak, but no more than the largest node has, or it would never start."""
    graph = model_file(job.model).suffix.lower() == GRAPH_SUFFIX
    wanted = _GRAPH_MEMORY if graph else _TORCH_MEMORY
    wanted += _RATING_MEMORY if job.score else 0
    there = [int(node["Resources"].get("memory", wanted)) for node in nodes if node["Alive"]]
    return min(wanted, max(there, default=wanted))


def _least(wanted: int, memory: int, resources: dict[str, float]) -> int:
    """How many workers to ask for at once: no more than there is room for, now; others may come as nodes join."""
    room = min(resources.get("CPU", 1), resources.get("memory", math.inf) // memory)
    return max(1, int(min(wanted, room)))


def _context(ray: Any) -> Any:
    """The settings of Ray Data for a pool."""
    context = ray.data.DataContext.get_current().copy()
    context.enable_progress_bars = context.print_on_execution_start = False
    context.max_errored_blocks = -1
    # A worker that holds one batch is in full use, and by default no pool of such workers would ever grow.
    context.autoscaling_config.actor_pool_util_upscaling_threshold = 1.0
    return context


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
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # errors that matter are raised; logs clutter the display
    try:
        import pyarrow  # noqa: F401
        import ray
        import ray.data
    except ImportError as error:
        raise InputError(f'hamiltone corpus needs {error.name}: pip install "hamiltone[corpus]"') from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return ray


def _start(ray: Any, workers: tuple[int, int] | None, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            os.environ.setdefault("RAY_worker_niceness", "0")  # by default they give way to everything else
            cores = workers[1] if workers else os.cpu_count() or 1
            size = {"num_cpus": cores, "object_store_memory": _STORE, "include_dashboard": False}
            _try_start(ray, {"address": "local", **size, **quiet})
        else:
            ray.init(address=address, **quiet)
    except Exception as error:  # Ray's exceptions have no common base
        reason = " ".join(str(error).split())
        raise InputError(f"cannot start Ray{f' at {address}' if address else ''}: {reason}") from None
    finally:
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray replaces it, and this program would not clean up


def _try_start(ray: Any, options: dict[str, Any]) -> None:
    for left in reversed(range(_TRIES)):
        try:
            ray.init(**options)
            return
        except Exception:
            ray.shutdown()
            if not left:
                raise
