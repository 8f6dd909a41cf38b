"""What runs a model, without torch until a torch model is asked for: recordings, live sound, and the back ends.

A model is a back end (`backend`): spectrum in, gain out. Everything else is numpy.

The path of a recording, file by file:

- `files` opens source and target and turns whole folders into jobs (`jobs`);
- `survey` is a first pass over the recording: its length, its level, its damage and which channels share a gain;
- `windows` cuts it into overlapping windows and cross-fades their results;
- `enhancement` puts resampling, the STFT and the band above the model's (`bands`) around the back end, and carries the
  memory of a model that never looks ahead from window to window;
- `passages` stay as they are; `preview` and `picture` show before and after, `extras` writes both beside the result;
- `faults` are the errors that concern one recording and do not stop the others;
- `waveform` is the entry point for an array or a tensor.

The path of a chunk of live sound:

- `stream` takes chunks of any size and returns as many samples, delayed by a constant (`fifo` holds them until then);
- `resampling` carries them to the model's sample rate and back;
- `frames` turns every hop into the spectrum of a frame, and the filtered spectrum into a hop;
- `times` counts how long frames took;
- `pipe` and `sound_device` put a stream between standard input and output, or between microphone and loudspeaker, until
  a signal arrives (`interrupt`).

The back ends of exported models: `description` is what their files say about themselves, `onnx_graph` loads, checks
and runs them with onnxruntime, `onnx_step` remembers the states of one that streams. `torch_backend` is for all others.
"""

from hamiltone.runtime.backend import Backend, StepBackend, resolve_model
from hamiltone.runtime.files import FileReport, enhance_file, enhance_paths
from hamiltone.runtime.stream import Stream
from hamiltone.runtime.waveform import enhance

__all__ = [
    "Backend",
    "FileReport",
    "StepBackend",
    "Stream",
    "enhance",
    "enhance_file",
    "enhance_paths",
    "resolve_model",
]
