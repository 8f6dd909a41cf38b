"""What runs without torch: graphs that map spectra to gains.

- `description` is what an exported file says about itself;
- `onnx_graph` loads such a file, checks it and runs it with onnxruntime;
- `onnx_step` remembers the states of one that streams.
"""
