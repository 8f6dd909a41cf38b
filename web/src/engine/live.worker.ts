/** The worker that cleans live sound: chunks come from the audio thread and go back to it. */

import { type StepModel, Stream } from "../live/stream.ts";
import { openStepModel, startRuntime } from "./graph.ts";
import type { FromLive, ToLive } from "./messages.ts";

const MOST_WAITING = 16; // chunks; a machine that is always too slow loses sound instead of falling behind

let fresh: () => StepModel;
let stream: Stream | null = null;
let line: MessagePort | null = null;

function say(message: FromLive): void {
  self.postMessage(message);
}

function fail(request: number, error: unknown): void {
  say({ kind: "failed", request, message: error instanceof Error ? error.message : String(error) });
}

async function handle(message: ToLive): Promise<void> {
  switch (message.kind) {
    case "load":
      startRuntime(message.wasm);
      fresh = await openStepModel(message.graph);
      return say({ kind: "ready", request: message.request });
    case "start":
      start(message);
      return say({ kind: "started", request: message.request, latency: stream!.latency });
    case "strength":
      if (stream) stream.strength = message.strength;
      return;
    case "stop":
      line?.close();
      line = stream = null;
      return;
  }
}

function start(message: Extract<ToLive, { kind: "start" }>): void {
  const now = new Stream(message.sampleRate, fresh());
  now.strength = message.strength;
  const port = message.line;
  let queue = Promise.resolve();
  let waiting = 0;
  port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
    if (waiting >= MOST_WAITING) return;
    waiting += 1;
    queue = queue
      .then(async () => {
        const chunk = await now.process(data);
        waiting -= 1;
        port.postMessage(chunk, [chunk.buffer as ArrayBuffer]);
      })
      .catch((error: unknown) => fail(message.request, error));
  };
  [stream, line] = [now, port];
}

self.onmessage = ({ data }: MessageEvent<ToLive>) => {
  handle(data).catch((error: unknown) => fail("request" in data ? data.request : 0, error));
};
