"""Training: a recipe (TOML) in, a run folder out; the same command resumes it exactly.

`loop` is the loop itself and knows nothing of speech: a `task` is handed in, which `speech` is one of. Around the loop
stand the recipe (`config`, `reading`), the order of the samples (`order`), the average of the weights (`ema`), the
learning rate (`schedule`), the state and the folder of a run (`state`, `run`), and what it tells (`log`).
"""

from collections.abc import Iterable
from pathlib import Path

from hamiltone.training.config import Recipe
from hamiltone.training.launch import make_fabric, tune_cpu
from hamiltone.training.log import counting_bar
from hamiltone.training.loop import Outcome, train
from hamiltone.training.reading import read_recipe
from hamiltone.training.speech import SpeechTask
from hamiltone.training.speech_recipe import SpeechRecipe
from hamiltone.training.task import Media, Task

__all__ = ["Media", "Outcome", "Recipe", "SpeechRecipe", "SpeechTask", "Task", "load_recipe", "train", "train_recipe"]


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> SpeechRecipe:
    """The recipe in a file, with overrides such as ``optimiser.lr=1e-4``."""
    return read_recipe(path, overrides, {"speech": SpeechRecipe})


def train_recipe(recipe: SpeechRecipe) -> Outcome:
    """Train what a recipe describes, on one device or on all that torchrun or fabric gave."""
    tune_cpu()
    fabric = make_fabric(recipe.run)
    with fabric.rank_zero_first(), counting_bar("decoding") as progress:  # the others find what the first has decoded
        task = SpeechTask(recipe, progress)
    return train(task, recipe, fabric)
