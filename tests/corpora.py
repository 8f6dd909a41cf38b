"""Small corpora of images and sentences for the tests: made on the spot, or the real ones where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "dull", "poor", "awful")


def real_data(name: str) -> Path:
    """A file or folder of the data beside the clone (or in HAMILTONE_DATA), or skip the test."""
    path = Path(os.environ.get("HAMILTONE_DATA", ROOT.parent / "shared" / "data")) / name
    if not path.exists():
        pytest.skip(f"needs {name}: set HAMILTONE_DATA to the folder that holds it")
    return path


def coloured_images(path: Path, *, each: int = 12, size: int = 8, **changes: object) -> Path:
    """An .npz in which the class of an image is its brightest colour, plus noise."""
    rng = np.random.default_rng(0)
    arrays: dict[str, object] = {"classes": np.array(["red", "green", "blue"])}
    for split in ("train", "test"):
        labels = np.repeat(np.arange(3), each)
        images = rng.integers(0, 100, (len(labels), size, size, 3), dtype=np.uint8)
        images[np.arange(len(labels)), :, :, labels] += 120
        arrays |= {f"{split}_x": images, f"{split}_y": labels}
    np.savez(path, **(arrays | changes))
    return path


def reviews(folder: Path, count: int = 120) -> Path:
    """A folder with train.tsv and dev.tsv in GLUE's format: short reviews, told apart by one word, and phrases."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for split in ("train", "dev"):
        lines = ["sentence\tlabel"]
        for number in range(count):
            label = number % 2
            word = rng.choice(GOOD if label else BAD)
            filler = " ".join(f"w{n}" for n in rng.integers(0, 30, rng.integers(1, 8)))
            lines += [f"the {filler} film {number} is {word} .\t{label}", f"is {word}\t{label}"]
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder
