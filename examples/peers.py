"""Enhance a folder with another denoiser, for `hamiltone evaluate --enhanced`.

pip install noisereduce tqdm             python examples/peers.py noisereduce NOISY OUT
pip install --no-deps pyrnnoise          python examples/peers.py rnnoise NOISY OUT

With --bench FILE it first measures time and memory on 10 s of noise; docs/compact.md has them on one thread, by
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 in the environment.

Each runs as its authors ship it: noisereduce with its default, non-stationary gating; RNNoise at 48 kHz with its
built-in model. RNNoise answers two frames (20 ms) late; that delay is taken back, nothing else is aligned.
"""

import argparse
import ctypes
import importlib.util
import json
import time
from collections.abc import Callable
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


def with_noisereduce() -> Callable[[np.ndarray], np.ndarray]:
    """Spectral gating."""
    import noisereduce

    return lambda noisy: noisereduce.reduce_noise(y=noisy, sr=RATE)


def with_rnnoise() -> Callable[[np.ndarray], np.ndarray]:
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


def bench(name: str, enhance: Callable[[np.ndarray], np.ndarray], seconds: float = 10.0) -> dict[str, str | float]:
    """Memory first: a high-water mark never falls."""
    noise = 0.1 * np.random.default_rng(0).standard_normal(round(RATE * seconds)).astype(np.float32)
    peak = peak_growth_mb(lambda: enhance(noise), warm_up=lambda: enhance(noise[:RATE]))
    times = interleaved({name: lambda: enhance(noise)})[name]
    low, middle, high = (float(value) for value in np.percentile(times, (10, 50, 90)) / seconds)
    return {"system": name, "seconds": seconds, "rtf": middle, "rtf_p10": low, "rtf_p90": high, "peak_mb": peak}


def main() -> None:
    """Enhance file by file and say how fast."""
    peers = {"noisereduce": with_noisereduce, "rnnoise": with_rnnoise}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=peers)
    for name in ("noisy", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--bench", type=Path, metavar="FILE", help="measure speed and memory into this JSON file")
    options = parser.parse_args()
    enhance = peers[options.peer]()
    if options.bench:
        options.bench.write_text(json.dumps(bench(options.peer, enhance), indent=2) + "\n")
    options.out.mkdir(parents=True, exist_ok=True)
    spent, heard = 0.0, 0.0
    for path in audio_files(options.noisy):
        noisy = decode(path)
        start = time.perf_counter()
        enhanced = enhance(noisy)
        spent, heard = spent + time.perf_counter() - start, heard + len(noisy) / RATE
        padded = np.pad(enhanced, (0, len(noisy) - len(enhanced)))
        soundfile.write(options.out / f"{path.stem}.wav", padded, RATE, subtype="FLOAT")
    print(f"{options.peer}: {heard:.0f} s of audio in {spent:.1f} s, RTF {spent / heard:.4f}")


if __name__ == "__main__":
    main()
