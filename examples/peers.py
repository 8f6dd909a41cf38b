"""Run other denoisers: enhance a folder for `hamiltone evaluate --enhanced`, or measure their speed beside ours.

pip install noisereduce tqdm             python examples/peers.py noisereduce NOISY OUT
pip install --no-deps pyrnnoise          python examples/peers.py rnnoise NOISY OUT
pip install onnxruntime                  python examples/peers.py gtcrn NOISY OUT --graphs FOLDER

                                         python examples/peers.py rnnoise,gtcrn --bench results --graphs FOLDER

Each runs as its authors ship it: noisereduce with its default, non-stationary gating; RNNoise at 48 kHz with its
built-in model; the others, frame by frame, as the graphs onnx/NAME.spec.onnx of github.com/aask1357/fastenhancer (MIT;
commit e8baeef), in --graphs FOLDER. Delays are removed (two frames, 20 ms, of RNNoise, one window of the graphs);
nothing else is aligned.

--bench FOLDER times the peers and our models in turn, round after round, on 10 s of noise (on one thread with
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 in the environment), and writes bench-peer-NAME.json: time and memory, and the
median over the rounds of a peer's time divided by ours. --sizes FILE writes the parameters and multiplications of the
graphs.
"""

import argparse
import ctypes
import importlib.util
import json
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
import soxr

from hamiltone.benchmark.child import peak_growth_mb
from hamiltone.benchmark.timing import interleaved
from hamiltone.data.files import audio_files, decode

RATE = 16_000
FRAME = 480  # samples of RNNoise at 48 kHz
DELAY = 2 * FRAME  # found by cross-correlation with clean speech
GRAPHS = {
    "fastenhancer_t": {},
    "fastenhancer_b": {},
    "fastenhancer_s": {},
    "lisennet": {"least": 1e-9},
    "fspen": {},
    "gtcrn": {"root": True},
}
"""The graphs, with the options of their spectra."""

Enhance = Callable[[np.ndarray], np.ndarray]


def with_noisereduce() -> Enhance:
    """Spectral gating."""
    import noisereduce

    return lambda noisy: noisereduce.reduce_noise(y=noisy, sr=RATE)


def with_rnnoise() -> Enhance:
    """The library that pyrnnoise ships, called directly: the package itself needs more than this."""
    package = importlib.util.find_spec("pyrnnoise")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("peers.py: pip install --no-deps pyrnnoise")
    library = ctypes.CDLL(str(Path(package.submodule_search_locations[0]) / "librnnoise.so"))
    library.rnnoise_create.restype = ctypes.c_void_p
    library.rnnoise_create.argtypes = [ctypes.c_void_p]
    library.rnnoise_process_frame.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    library.rnnoise_process_frame.restype = ctypes.c_float
    library.rnnoise_destroy.argtypes = [ctypes.c_void_p]

    def enhance(noisy: np.ndarray) -> np.ndarray:
        wide = soxr.resample(noisy, RATE, 3 * RATE) * 32768
        frames = np.pad(wide, (0, -len(wide) % FRAME + DELAY)).astype(np.float32).reshape(-1, FRAME)
        state = library.rnnoise_create(None)
        for frame in frames:
            library.rnnoise_process_frame(state, frame.ctypes.data, frame.ctypes.data)
        library.rnnoise_destroy(state)
        return soxr.resample(frames.reshape(-1)[DELAY : DELAY + len(wide)] / 32768, 3 * RATE, RATE)[: len(noisy)]

    return enhance


PEERS = {"noisereduce": with_noisereduce, "rnnoise": with_rnnoise}


def graph_path(name: str, folder: Path | None) -> Path:
    """The path of a peer's graph."""
    if folder is None:
        raise SystemExit(f"peers.py: {name} is a graph; give its folder with --graphs")
    path = folder / f"{name}.spec.onnx"
    if not path.exists():
        raise SystemExit(f"peers.py: there is no {path}")
    return path


def load(name: str, graphs: Path | None) -> Enhance:
    """A peer by its name."""
    if name in PEERS:
        return PEERS[name]()
    from peer_graphs import with_graph

    return with_graph(graph_path(name, graphs), **GRAPHS[name])


def load_ours(name: str) -> Enhance:
    """A model of ours, bundled (then as a graph, like the peers) or by its file, on one thread."""
    from hamiltone.runtime import enhance, resolve_model

    return partial(enhance, sample_rate=RATE, model=resolve_model(name, threads=1))


def noise(seconds: float) -> np.ndarray:
    """White noise at -20 dB."""
    return 0.1 * np.random.default_rng(0).standard_normal(round(RATE * seconds)).astype(np.float32)


def peak_mb(name: str, graphs: Path | None, seconds: float) -> float:
    """Peak memory of a peer for `seconds` of audio; run it in a fresh process, as a high-water mark never falls."""
    enhance, signal = load(name, graphs), noise(seconds)
    return peak_growth_mb(lambda: enhance(signal), warm_up=lambda: enhance(signal[:RATE]))


def bench(
    names: list[str], ours: list[str], graphs: Path | None, *, seconds: float = 10.0, minutes: float = 2.0
) -> list[dict[str, object]]:
    """Time all peers and our models in turn; measure the memory of each peer in a separate process."""
    signal = noise(seconds)
    runs = {name: partial(load(name, graphs), signal) for name in names}
    runs |= {name: partial(load_ours(name), signal) for name in ours}
    times = {name: np.array(values) for name, values in interleaved(runs, seconds=60 * minutes, rounds=(5, 50)).items()}
    rows = []
    for name in names:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            peak = fresh.submit(peak_mb, name, graphs, seconds).result()
        low, middle, high = (float(value) for value in np.percentile(times[name], (10, 50, 90)) / seconds)
        row = {"system": name, "seconds": seconds, "rtf": middle, "rtf_p10": low, "rtf_p90": high, "peak_mb": peak}
        row["beside"] = {model: float(np.median(times[model])) / seconds for model in ours}
        row["ratio"] = {model: float(np.median(times[name] / times[model])) for model in ours}
        rows.append(row)
    return rows


def enhance_folder(name: str, enhance: Enhance, source: Path, out: Path) -> None:
    """Enhance file by file and print the speed."""
    out.mkdir(parents=True, exist_ok=True)
    spent, heard = 0.0, 0.0
    for path in audio_files(source):
        noisy = decode(path)
        start = time.perf_counter()
        enhanced = enhance(noisy)
        spent, heard = spent + time.perf_counter() - start, heard + len(noisy) / RATE
        padded = np.pad(enhanced, (0, len(noisy) - len(enhanced)))
        soundfile.write(out / f"{path.stem}.wav", padded, RATE, subtype="FLOAT")
    print(f"{name}: {heard:.0f} s of audio in {spent:.1f} s, RTF {spent / heard:.4f}")


def main() -> None:
    """Parse the command line and run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", metavar="PEER[,PEER...]", help=", ".join((*PEERS, *GRAPHS)))
    parser.add_argument("noisy", type=Path, nargs="?", help="folder to enhance")
    parser.add_argument("out", type=Path, nargs="?", help="folder for the results; of several peers, for theirs")
    parser.add_argument("--graphs", type=Path, metavar="FOLDER", help="the folder of the graphs NAME.spec.onnx")
    parser.add_argument("--bench", type=Path, metavar="FOLDER", help="measure speed and memory")
    parser.add_argument("--ours", default="compact", help="our models to compare with, comma-separated")
    parser.add_argument("--sizes", type=Path, metavar="FILE", help="write parameters and multiplications of the graphs")
    options = parser.parse_args()
    names = options.peers.split(",")
    if unknown := set(names) - {*PEERS, *GRAPHS}:
        parser.error(f"no peer called {', '.join(sorted(unknown))}")
    if (options.noisy is None) != (options.out is None) or not (options.noisy or options.bench or options.sizes):
        parser.error("give NOISY and OUT, --bench or --sizes")
    if options.sizes:
        from peer_graphs import size

        sizes = {name: size(graph_path(name, options.graphs)) for name in names if name in GRAPHS}
        options.sizes.write_text(json.dumps(sizes, indent=2) + "\n")
    if options.bench:
        options.bench.mkdir(parents=True, exist_ok=True)
        for row in bench(names, options.ours.split(","), options.graphs):
            (options.bench / f"bench-peer-{row['system']}.json").write_text(json.dumps(row, indent=2) + "\n")
    if options.noisy:
        for name in names:
            out = options.out / name if len(names) > 1 else options.out
            enhance_folder(name, load(name, options.graphs), options.noisy, out)


if __name__ == "__main__":
    main()
