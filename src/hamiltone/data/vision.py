"""Labelled images of one size: CIFAR's binary files, an .npz without pickles, or a folder of images per class."""

import io
import tarfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hamiltone.data.files import Progress, summarise
from hamiltone.errors import InputError

Split = Literal["train", "test"]
Pixels = NDArray[np.uint8]

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp"})
_SIDE = 32
_RECORD = 2 + 3 * _SIDE**2  # of CIFAR-100: coarse label, fine label, red, green and blue planes
_NAMES = "fine_label_names.txt"


@dataclass(frozen=True)
class ImageSet:
    """Images ``(N, 3, H, W)`` of bytes, their labels ``(N,)``, and the names of the classes."""

    images: Pixels
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def size(self) -> int:
        """The side of the images in pixels."""
        return self.images.shape[-1]

    def select(self, rows: NDArray[np.int64]) -> "ImageSet":
        """Some of the images."""
        return ImageSet(self.images[rows], self.labels[rows], self.classes)


def read_images(path: Path, split: Split, *, progress: Progress | None = None) -> ImageSet:
    """The images of a split, from any of these formats:

    - CIFAR-100's ``cifar-100-binary.tar.gz``, or the folder in it with train.bin and test.bin;
    - an .npz with the arrays train_x, train_y, test_x, test_y ``(N, H, W, 3)`` and ``(N,)`` and the names `classes`;
    - a folder with train/CLASS/*.png and test/CLASS/*.png.
    """
    if path.is_dir():
        return _read_folder(path, split, progress)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder of images")
    if path.suffix == ".npz":
        return _check(path, *_read_npz(path, split))
    if tarfile.is_tarfile(path):
        return _check(path, *_read_archive(path, split))
    raise InputError(f"{path}: expected CIFAR-100's binary archive, an .npz, or a folder of images per class")


def split_held_out(images: ImageSet, share: float) -> tuple[ImageSet, ImageSet]:
    """Split off a share of every class, evenly spaced: the rest and that share, the same for every seed."""
    held_out = np.zeros(len(images), bool)
    for label, name in enumerate(images.classes):
        rows = np.flatnonzero(images.labels == label)
        count = max(1, round(share * len(rows)))
        if len(rows) <= count:
            raise InputError(f"class {name} has {len(rows)} training images, too few to hold out a share of {share:g}")
        held_out[rows[np.arange(count) * len(rows) // count]] = True
    return images.select(np.flatnonzero(~held_out)), images.select(np.flatnonzero(held_out))


def _check(path: Path, images: Pixels, labels: NDArray[np.int64], classes: tuple[str, ...]) -> ImageSet:
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3 or images.shape[2] != images.shape[3]:
        raise InputError(f"{path}: expected square RGB images of bytes, got {images.dtype} of shape {images.shape}")
    if not len(images):
        raise InputError(f"{path}: holds no images")
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise InputError(f"{path}: expected {len(images)} whole numbers as labels, got {labels.dtype} {labels.shape}")
    wrong = np.flatnonzero((labels < 0) | (labels >= len(classes)))
    if len(wrong):
        first = f"image {wrong[0]} has label {labels[wrong[0]]}"
        raise InputError(f"{path}: {len(wrong)} labels are none of the {len(classes)} classes: {first}")
    return ImageSet(np.ascontiguousarray(images), labels.astype(np.int64), classes)


def _read_npz(path: Path, split: Split) -> tuple[Pixels, NDArray[np.int64], tuple[str, ...]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            images, labels, classes = (content[name] for name in (f"{split}_x", f"{split}_y", "classes"))
    except KeyError as error:
        raise InputError(f"{path}: {str(error).strip(chr(39))}; expected {split}_x, {split}_y and classes") from None
    except (OSError, ValueError, BadZipFile) as error:
        raise InputError(f"{path}: cannot be read as an .npz without pickles: {error}") from None
    if images.ndim != 4:
        raise InputError(f"{path}: {split}_x must be (N, H, W, 3), got {images.shape}")
    return images.transpose(0, 3, 1, 2), labels, tuple(map(str, classes))


def _read_archive(path: Path, split: Split) -> tuple[Pixels, NDArray[np.int64], tuple[str, ...]]:
    wanted = {f"{split}.bin", _NAMES}
    try:
        with tarfile.open(path) as archive:
            members = {Path(member.name).name: member for member in archive.getmembers() if member.isfile()}
            if "meta" in members and f"{split}.bin" not in members:
                _refuse_pickles(path)
            parts = {name: archive.extractfile(members[name]) for name in wanted & members.keys()}
            content = {name: part.read() for name, part in parts.items() if part}
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"{path}: is truncated or damaged: {error}") from None
    return _parse_binary(path, split, content)


def _refuse_pickles(path: Path) -> NoReturn:
    raise InputError(
        f"{path}: is CIFAR's python version, a pickle, and unpickling may run any code; "
        "take the binary version, cifar-100-binary.tar.gz"
    )


def _parse_binary(
    path: Path, split: Split, content: Mapping[str, bytes]
) -> tuple[Pixels, NDArray[np.int64], tuple[str, ...]]:
    data = content.get(f"{split}.bin", b"")
    if not data or len(data) % _RECORD:
        raise InputError(f"{path}: expected {split}.bin with records of {_RECORD} bytes, got {len(data)} bytes")
    records = np.frombuffer(data, np.uint8).reshape(-1, _RECORD)
    names = content.get(_NAMES, b"").decode().split() or [str(label) for label in range(100)]
    return records[:, 2:].reshape(-1, 3, _SIDE, _SIDE), records[:, 1].astype(np.int64), tuple(names)


def _read_folder(path: Path, split: Split, progress: Progress | None) -> ImageSet:
    binary = path / f"{split}.bin"
    if binary.is_file():
        content = {file.name: file.read_bytes() for file in (binary, path / _NAMES) if file.is_file()}
        return _check(path, *_parse_binary(path, split, content))
    if (path / "meta").is_file():
        _refuse_pickles(path)
    if not (path / split).is_dir():
        raise InputError(f"{path}: expected {split}.bin, or the folder {split} with a folder of images for each class")
    classes = sorted(folder.name for folder in (path / split).iterdir() if folder.is_dir())
    files = [
        (file, label)
        for label, name in enumerate(classes)
        for file in sorted((path / split / name).iterdir())
        if file.suffix.lower() in _SUFFIXES
    ]
    if not files:
        raise InputError(f"{path / split}: holds no folders of images")
    images = _decode_all([file for file, _ in files], progress)
    return _check(path, images, np.array([label for _, label in files]), tuple(classes))


def _decode_all(files: list[Path], progress: Progress | None) -> Pixels:
    """All images as one array ``(N, 3, H, W)``: 50,000 small ones take seconds, so nothing is cached."""
    first = decode_image(files[0])
    images = np.empty((len(files), *first.shape), np.uint8)
    faults = []

    def decode(row: int) -> str | None:
        try:
            image = decode_image(files[row])
        except InputError as error:
            return str(error)
        if image.shape != first.shape:
            return (
                f"{files[row]}: is {image.shape[2]}x{image.shape[1]}, others {first.shape[2]}x{first.shape[1]} pixels"
            )
        images[row] = image
        return None

    with ThreadPoolExecutor(4) as pool:
        for row, fault in enumerate(pool.map(decode, range(len(files)), chunksize=256)):
            if fault:
                faults.append(fault)
            if progress and row % 1000 == 999:
                progress(row + 1, len(files))
    if faults:
        raise InputError(summarise(faults, len(files), "images"))
    return images


def decode_image(path: Path) -> Pixels:
    """An image file as RGB ``(3, H, W)``."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError:
        raise InputError('reading image files needs pillow: pip install "hamiltone[vision]"') from None
    try:
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            return np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        reason = "is not an image" if isinstance(error, UnidentifiedImageError) else f"is damaged: {error}"
        raise InputError(f"{path}: {reason}") from None
