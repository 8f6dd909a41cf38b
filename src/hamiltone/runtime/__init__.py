"""Live sound: a stream of samples in, the same stream without noise out, a few hundredths of a second later.

The walk of a chunk, file by file:

- `stream` takes chunks of any size and returns as many samples, delayed by a constant;
- `resampling` carries them to the model's sample rate and back;
- `frames` turns every hop into the spectrum of a frame, and the filtered spectrum into a hop;
- `backend` says what finds the gain of a frame, or of a window, and finds it by its name;
- `bands` looks after what lies above the model's band;
- `times` counts how long frames took;
- `pipe` and `device` put a stream between standard input and output, or between microphone and loudspeaker.

The back ends of exported models: `description` is what their files say about themselves, `onnx_graph` loads, checks
and runs them with onnxruntime, `onnx_step` remembers the states of one that streams. `torch_backend` is for all others.

Nothing here imports torch before a torch model is asked for.
"""

from hamiltone.runtime.backend import Backend, StepBackend
from hamiltone.runtime.stream import Stream

__all__ = ["Backend", "StepBackend", "Stream"]
