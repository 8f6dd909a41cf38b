"""The vision task: images in, classes out."""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, PlainValidator

from hamiltone.data.files import Progress
from hamiltone.data.vision import read_images, split_held_out
from hamiltone.data.vision_samples import Augmentation, AugmentedImages, ImageBatches
from hamiltone.models import VisionConfig
from hamiltone.training.classifier import ClassifierRecipe, ClassifierTask, parse_config
from hamiltone.training.config import Table

VisionModel = Annotated[VisionConfig, PlainValidator(partial(parse_config, VisionConfig())), PlainSerializer(asdict)]
Augmented = Annotated[Augmentation, PlainValidator(partial(parse_config, Augmentation())), PlainSerializer(asdict)]


class VisionData(Table):
    """Where the images are (see `hamiltone.data.vision.read_images`), and the share of training images held out."""

    root: Path
    """An archive, a folder or an .npz file of images."""
    held_out: float = Field(default=0.02, gt=0, lt=1)
    """The share of every class of the training images that is for validation."""
    augmentation: Augmented = Augmentation()
    """How training images vary."""


class VisionRecipe(ClassifierRecipe):
    """A recipe that trains a classifier of images; number of classes and image size follow from the data."""

    task: Literal["vision"]
    """A classifier of images."""
    model: VisionModel = VisionConfig()
    """The network."""
    data: VisionData
    """What to train on."""


class VisionTask(ClassifierTask):
    """Trains an `ImageClassifier`; implements `hamiltone.training.task.Task`. Test images are never read."""

    unit = "images"

    def __init__(self, recipe: VisionRecipe, progress: Progress | None = None) -> None:
        super().__init__(recipe)
        images = read_images(recipe.data.root, "train", progress=progress)
        self.classes = images.classes
        self.check_classes(self.classes)
        self.config = replace(recipe.model, classes=len(self.classes), size=images.size)
        train, held_out = split_held_out(images, recipe.data.held_out)
        self.training = AugmentedImages(train, recipe.data.augmentation, seed=recipe.seed)
        self.validation = ImageBatches(held_out)
