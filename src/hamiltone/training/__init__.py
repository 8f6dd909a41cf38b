"""Training: a recipe (TOML) in, a run folder out; the same command resumes it exactly.

`loop` is the training loop and knows nothing of speech, images or text: it is given a `task`, which `speech`, `vision`
and `text` implement; the last two derive from `classifier`. The rest serves the loop:

- the recipe: `config` (the tables that all tasks share), `speech_recipe` (those of speech) and `reading` (from a file);
- the data: `speech_data` (from a recipe to data sets) and `order` (the order of samples);
- the mathematics: `optimiser`, `schedule` (the learning rate, and the progress of a run) and `ema` (the average of the
  weights);
- the run: `device` (where it computes), `folder` and `state` (the files it keeps), `interrupt` (signals that end it
  early), `log` (its output) and `summary` (runs side by side).
"""

from collections.abc import Iterable
from pathlib import Path

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from hamiltone.data.files import Progress
from hamiltone.training.config import Recipe
from hamiltone.training.device import make_fabric, tune_cpu
from hamiltone.training.log import counting_bar
from hamiltone.training.loop import Outcome, train
from hamiltone.training.reading import read_recipe
from hamiltone.training.speech import SpeechTask
from hamiltone.training.speech_recipe import SpeechRecipe
from hamiltone.training.task import Media, Task
from hamiltone.training.text import TextRecipe, TextTask
from hamiltone.training.vision import VisionRecipe, VisionTask

__all__ = [
    "Media",
    "Outcome",
    "Recipe",
    "SpeechRecipe",
    "SpeechTask",
    "Task",
    "TextRecipe",
    "TextTask",
    "VisionRecipe",
    "VisionTask",
    "load_recipe",
    "train",
    "train_recipe",
]

TaskRecipe = SpeechRecipe | VisionRecipe | TextRecipe
_KINDS: dict[str, type[TaskRecipe]] = {"speech": SpeechRecipe, "vision": VisionRecipe, "text": TextRecipe}


def load_recipe(path: str | Path, overrides: Iterable[str] = ()) -> TaskRecipe:
    """The recipe in a file, with overrides such as ``optimiser.lr=1e-4``."""
    return read_recipe(Path(path), overrides, _KINDS)


def train_recipe(recipe: TaskRecipe) -> Outcome:
    """Train what a recipe describes, on one device or on all that torchrun or fabric provides."""
    tune_cpu()
    fabric = make_fabric(recipe.run)
    with fabric.rank_zero_first(), counting_bar("decoding") as progress:  # the others read what the first has decoded
        task = make_task(recipe, progress)
    return train(task, recipe, fabric)


def make_task(recipe: TaskRecipe, progress: Progress | None = None) -> Task:
    """The task of a recipe; `progress` is called with the number of decoded files and the total."""
    match recipe:
        case SpeechRecipe():
            return SpeechTask(recipe, progress)
        case VisionRecipe():
            return VisionTask(recipe, progress)
        case TextRecipe():
            return TextTask(recipe)
