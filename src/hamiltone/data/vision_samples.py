"""Augmented training images, determined by their seed and a key ``(epoch, index)``, and plain ones for validation."""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hamiltone.data.randomness import Key, generator
from hamiltone.data.vision import ImageSet, Pixels
from hamiltone.errors import InputError


@dataclass(frozen=True)
class Augmentation:
    """How training images are varied: shifts of up to `shift` pixels, mirroring, random erasing, Mixup.

    `erasing` is the probability of an erased box (Zhong et al. 2020), `mixup` the α of the Beta distribution from which
    the shares of two images are drawn (Zhang et al. 2018); zero switches either off.
    """

    shift: int = 4
    """Pixels by which an image is moved at most."""
    mirror: bool = True
    """Whether images are mirrored at random."""
    erasing: float = 0.25
    """Probability of an erased box."""
    mixup: float = 0.8
    """Parameter α of the Beta distribution from which the shares of two mixed images are drawn; 0 mixes none."""

    def __post_init__(self) -> None:
        if self.shift < 0 or self.mixup < 0 or not 0 <= self.erasing <= 1:
            raise InputError(f"expected shift >= 0, mixup >= 0 and erasing in [0, 1], got {self}")


def shifted(rng: np.random.Generator, image: Pixels, shift: int) -> Pixels:
    """The image ``(3, H, W)`` moved by up to `shift` pixels each way, with black in the gap."""
    canvas = np.zeros((3, image.shape[1] + 2 * shift, image.shape[2] + 2 * shift), np.uint8)
    canvas[:, shift : shift + image.shape[1], shift : shift + image.shape[2]] = image
    top, left = rng.integers(2 * shift + 1, size=2)
    return canvas[:, top : top + image.shape[1], left : left + image.shape[2]]


def erase(rng: np.random.Generator, image: Pixels) -> Pixels:
    """A copy in which a box of 2 to 33 % of the area, with an aspect ratio of 0.3 to 3.3, is filled with noise."""
    _, height, width = image.shape
    for _ in range(10):
        area = height * width * rng.uniform(0.02, 1 / 3)
        proportion = np.exp(rng.uniform(np.log(0.3), np.log(1 / 0.3)))
        rows, columns = round(np.sqrt(area * proportion)), round(np.sqrt(area / proportion))
        if 0 < rows < height and 0 < columns < width:
            top, left = rng.integers(height - rows + 1), rng.integers(width - columns + 1)
            image = image.copy()
            box = (3, rows, columns)
            image[:, top : top + rows, left : left + columns] = rng.integers(256, size=box, dtype=np.uint8)
            break
    return image


class AugmentedImages:
    """Training images; every one is mixed with another that its generator picks.

    Args:
        images: The training images.
        augmentation: How they are varied.
        seed: Together with epoch and index it determines everything random about a sample.

    Shape:
        dataset[epoch, index]: image float32 ``(3, H, W)`` in [0, 1], and probabilities of the classes ``(classes,)``
    """

    def __init__(self, images: ImageSet, augmentation: Augmentation, *, seed: int = 0) -> None:
        self._images, self._augmentation, self._seed = images, augmentation, seed

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, key: Key) -> tuple[Tensor, Tensor]:
        rng = generator(self._seed, *key)
        target = np.zeros(len(self._images.classes), np.float32)
        index, alpha = key[1], self._augmentation.mixup
        share = rng.beta(alpha, alpha) if alpha else 1.0
        image = self._draw(rng, index, share, target)
        if share < 1:
            image += self._draw(rng, int(rng.integers(len(self))), 1 - share, target)
        return torch.from_numpy(image), torch.from_numpy(target)

    def _draw(
        self, rng: np.random.Generator, index: int, share: float, target: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """A share of an augmented image, and the same share of its class for the target."""
        settings, image = self._augmentation, self._images.images[index]
        if settings.shift:
            image = shifted(rng, image, settings.shift)
        if settings.mirror and rng.random() < 0.5:
            image = image[:, :, ::-1]
        if settings.erasing and rng.random() < settings.erasing:
            image = erase(rng, image)
        target[self._images.labels[index]] += share
        return image * np.float32(share / 255)


class ImageBatches:
    """Unaltered images in ready batches.

    Args:
        images: The images.
        size: Images of a batch; the last one may have fewer.

    Shape:
        batches[number]: images float32 ``(B, 3, H, W)`` in [0, 1], and labels ``(B,)``
    """

    def __init__(self, images: ImageSet, size: int = 250) -> None:
        self._images, self._size = images, size

    def __len__(self) -> int:
        return -(-len(self._images) // self._size)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        if not 0 <= number < len(self):
            raise IndexError(f"batch {number} of {len(self)}")
        rows = slice(number * self._size, (number + 1) * self._size)
        pixels = torch.from_numpy(self._images.images[rows])
        return pixels.float() / 255, torch.from_numpy(self._images.labels[rows])
