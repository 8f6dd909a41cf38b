import numpy as np
import pytest
import torch

from hamiltone.data.vision import ImageSet
from hamiltone.data.vision_samples import Augmentation, AugmentedImages, ImageBatches, erase, shifted
from hamiltone.errors import InputError

PLAIN = Augmentation(shift=0, mirror=False, erasing=0.0, mixup=0.0)
PIXELS = np.random.default_rng(0).integers(0, 256, (10, 3, 8, 8), dtype=np.uint8)
IMAGES = ImageSet(PIXELS, np.arange(10) % 5, tuple("abcde"))


def test_without_augmentation_an_image_is_itself():
    image, target = AugmentedImages(IMAGES, PLAIN)[0, 7]
    torch.testing.assert_close(image, torch.from_numpy(PIXELS[7]) / 255)
    assert target.tolist() == [0, 0, 1, 0, 0]


def test_a_sample_depends_on_seed_epoch_and_index_alone():
    data = AugmentedImages(IMAGES, Augmentation(), seed=3)
    torch.manual_seed(1)
    first = data[2, 4]
    np.random.default_rng().random()
    again = AugmentedImages(IMAGES, Augmentation(), seed=3)[2, 4]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    for other in (data[3, 4], data[2, 5], AugmentedImages(IMAGES, Augmentation(), seed=4)[2, 4]):
        assert not torch.equal(first[0], other[0])


def test_mixup_mixes_images_and_targets_by_the_same_share():
    data = AugmentedImages(IMAGES, Augmentation(shift=0, mirror=False, erasing=0.0, mixup=0.8))
    originals = torch.from_numpy(PIXELS).flatten(1).double() / 255
    shares = []
    for epoch in range(50):
        image, target = data[epoch, 0]
        weights = torch.linalg.lstsq(originals.T, image.flatten().double()[:, None]).solution[:, 0]
        by_class = weights.view(2, 5).sum(0)
        torch.testing.assert_close(by_class.float(), target, atol=1e-4, rtol=1e-3)
        shares.append(float(weights[0]))
    assert min(shares) < 0.2 and max(shares) > 0.8


def test_shifts_reach_every_place_and_leave_black():
    white = np.full((3, 6, 6), 255, np.uint8)
    seen = {shifted(np.random.default_rng(n), white, 2).any(0).tobytes() for n in range(300)}
    assert len(seen) == 25


def test_an_erased_box_has_the_area_that_was_asked_for():
    image = np.zeros((3, 32, 32), np.uint8)
    shares = []
    for seed in range(200):
        erased = erase(np.random.default_rng(seed), image).any(0)
        rows, columns = np.flatnonzero(erased.any(1)), np.flatnonzero(erased.any(0))
        assert erased[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].mean() > 0.98
        shares.append(erased.mean())
    assert 0.01 < min(shares) < 0.05 and 0.28 < max(shares) < 0.36
    assert not image.any()


def test_erasing_happens_as_often_as_asked():
    data = AugmentedImages(IMAGES, Augmentation(shift=0, mirror=False, erasing=0.25, mixup=0.0))
    original = torch.from_numpy(PIXELS[0]) / 255
    changed = sum(not torch.allclose(data[epoch, 0][0], original, atol=1e-6) for epoch in range(400))
    assert 70 < changed < 130


def test_batches_hold_every_image_once():
    batches = ImageBatches(IMAGES, size=4)
    parts = [batches[number] for number in range(len(batches))]
    assert [len(labels) for _, labels in parts] == [4, 4, 2]
    assert torch.cat([labels for _, labels in parts]).tolist() == IMAGES.labels.tolist()
    torch.testing.assert_close(torch.cat([images for images, _ in parts]), torch.from_numpy(PIXELS) / 255)
    with pytest.raises(IndexError):
        batches[3]


def test_impossible_augmentations_are_refused():
    with pytest.raises(InputError, match=r"erasing in \[0, 1\]"):
        Augmentation(erasing=2.0)
