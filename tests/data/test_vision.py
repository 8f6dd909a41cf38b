import io
import tarfile
import time

import numpy as np
import pytest

from corpora import coloured_images, real_data
from hamiltone.data.vision import read_images, split_held_out
from hamiltone.errors import InputError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
LABELS = np.array([0, 1, 99, 3, 4, 5], np.uint8)


def records(labels=LABELS) -> bytes:
    return b"".join(bytes([7, label]) + image.tobytes() for label, image in zip(labels.tolist(), IMAGES, strict=True))


def archive(path, content: dict[str, bytes]):
    with tarfile.open(path, "w:gz") as file:
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))
    return path


NAMES = "\n".join(f"name{n}" for n in range(100)).encode()


def test_the_binary_archive_and_its_folder_give_the_fine_labels(tmp_path):
    packed = archive(
        tmp_path / "cifar-100-binary.tar.gz",
        {"cifar-100-binary/test.bin": records(), "cifar-100-binary/fine_label_names.txt": NAMES},
    )
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    (folder / "test.bin").write_bytes(records())
    (folder / "fine_label_names.txt").write_bytes(NAMES)
    for path in (packed, folder):
        found = read_images(path, "test")
        assert np.array_equal(found.images, IMAGES)
        assert found.labels.tolist() == LABELS.tolist()
        assert found.classes[99] == "name99" and found.size == 32


def test_the_python_version_is_refused_because_it_is_a_pickle(tmp_path):
    packed = archive(tmp_path / "cifar-100-python.tar.gz", {f"cifar-100-python/{n}": b"x" for n in ("train", "meta")})
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    (folder / "meta").write_bytes(b"x")
    for path in (packed, folder):
        with pytest.raises(InputError, match="a pickle, and unpickling may run any code; take the binary version"):
            read_images(path, "train")


def test_an_npz_is_read_with_the_colours_first(tmp_path):
    path = coloured_images(tmp_path / "images.npz")
    found = read_images(path, "train")
    with np.load(path) as content:
        assert np.array_equal(found.images.transpose(0, 2, 3, 1), content["train_x"])
    assert found.classes == ("red", "green", "blue")


def test_folders_of_images_are_classes_in_alphabetical_order(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="image files need pillow")
    for label, name in enumerate(("zebra", "ape")):
        folder = tmp_path / "train" / name
        folder.mkdir(parents=True)
        image.fromarray(IMAGES[label].transpose(1, 2, 0)).save(folder / "a.png")
        image.fromarray(IMAGES[2 + label, 0]).save(folder / "grey.png")
        (folder / "notes.txt").write_text("not an image")
    found = read_images(tmp_path, "train")
    assert found.classes == ("ape", "zebra")
    assert found.labels.tolist() == [0, 0, 1, 1]
    assert np.array_equal(found.images[[0, 2]], IMAGES[[1, 0]])
    assert np.array_equal(found.images[1], np.stack([IMAGES[3, 0]] * 3))


def test_unreadable_images_are_named_in_one_line(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="image files need pillow")
    folder = tmp_path / "train" / "ape"
    folder.mkdir(parents=True)
    image.fromarray(IMAGES[0].transpose(1, 2, 0)).save(folder / "a.png")
    (folder / "cut.png").write_bytes((folder / "a.png").read_bytes()[:200])
    (folder / "text.png").write_text("hello")
    image.fromarray(IMAGES[0, 0, :8, :9]).save(folder / "wide.png")
    with pytest.raises(InputError) as caught:
        read_images(tmp_path, "train")
    line = str(caught.value)
    assert line.startswith("3 faults in 4 images: ") and "\n" not in line
    assert "cut.png: is damaged" in line and "text.png: is not an image" in line
    assert "wide.png: is 9x8, others 32x32 pixels" in line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_y": np.full(36, 3)}, "36 labels are none of the 3 classes: image 0 has label 3"),
        ({"train_y": np.zeros(35, int)}, "expected 36 whole numbers as labels"),
        ({"train_y": np.zeros(36)}, "expected 36 whole numbers as labels"),
        ({"train_x": np.zeros((36, 8, 8, 3))}, "expected square RGB images of bytes, got float64"),
        ({"train_x": np.zeros((36, 8), np.uint8)}, r"train_x must be \(N, H, W, 3\)"),
        ({"train_x": np.zeros((0, 8, 8, 3), np.uint8)}, "holds no images"),
        ({"classes": np.array([{"a": 1}], object)}, "cannot be read as an .npz without pickles"),
    ],
)
def test_a_wrong_npz_is_refused_in_one_line(tmp_path, changes, message):
    path = coloured_images(tmp_path / "images.npz", **changes)
    with pytest.raises(InputError, match=message) as caught:
        read_images(path, "train")
    assert "\n" not in str(caught.value)


def test_other_wrong_paths_are_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match=r"no such file"):
        read_images(tmp_path / "absent", "train")
    with pytest.raises(InputError, match=r"expected train.bin, or the folder train"):
        read_images(tmp_path, "train")
    (tmp_path / "train").mkdir()
    with pytest.raises(InputError, match="holds no folders of images"):
        read_images(tmp_path, "train")
    text = tmp_path / "text"
    text.write_text("hello")
    with pytest.raises(InputError, match=r"expected CIFAR-100's binary archive, an .npz, or a folder"):
        read_images(text, "train")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="expected train_x, train_y and classes"):
        read_images(tmp_path / "other.npz", "train")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InputError, match=r"cannot be read as an .npz"):
        read_images(tmp_path / "broken.npz", "train")
    wrong = archive(tmp_path / "a.tar.gz", {"train.bin": records()[:-1]})
    with pytest.raises(InputError, match="records of 3074 bytes, got 18443 bytes"):
        read_images(wrong, "train")
    (tmp_path / "cut.tar.gz").write_bytes(archive(tmp_path / "b.tar.gz", {"train.bin": records()}).read_bytes()[:9000])
    with pytest.raises(InputError, match="truncated or damaged"):
        read_images(tmp_path / "cut.tar.gz", "train")
    wrong = archive(tmp_path / "c.tar.gz", {"train.bin": records(LABELS + np.uint8(1))})
    with pytest.raises(InputError, match="image 2 has label 100"):
        read_images(wrong, "train")


def test_held_out_images_come_from_every_class_and_are_not_trained_on(tmp_path):
    images = read_images(coloured_images(tmp_path / "images.npz"), "train")
    train, held_out = split_held_out(images, 0.25)
    assert (len(train), len(held_out)) == (27, 9)
    assert np.bincount(held_out.labels).tolist() == [3, 3, 3]
    seen = {image.tobytes() for image in train.images}
    assert not seen & {image.tobytes() for image in held_out.images}
    with pytest.raises(InputError, match="class red has 12 training images, too few"):
        split_held_out(images, 0.99)


def test_the_small_cifar_has_a_hundred_classes():
    images = read_images(real_data("cifar100_mini.npz"), "train")
    assert images.images.shape == (5000, 3, 32, 32)
    assert len(images.classes) == 100 and np.bincount(images.labels).tolist() == [50] * 100


def test_thousands_of_small_files_are_read_in_seconds(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="image files need pillow")
    folder = tmp_path / "train" / "a"
    folder.mkdir(parents=True)
    buffer = io.BytesIO()
    image.fromarray(IMAGES[0].transpose(1, 2, 0)).save(buffer, "PNG")
    for number in range(1000):
        (folder / f"{number}.png").write_bytes(buffer.getvalue())
    told = []
    start = time.process_time()
    read_images(tmp_path, "train", progress=lambda *count: told.append(count))
    assert time.process_time() - start < 3
    assert told == [(1000, 1000)]
