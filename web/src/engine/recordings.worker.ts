/** The worker that cleans recordings: it holds the model and one window of the recording at a time. */

import { readWav } from "../files/wav.ts";
import { enhance, type WindowModel } from "../sound/enhance.ts";
import type { Planes, Source } from "../sound/source.ts";
import { openWindowModel, startRuntime } from "./graph.ts";
import type { FromRecordings, ToRecordings } from "./messages.ts";

let model: WindowModel;
let current = 0; // the request that is wanted; the promises of others are never kept, and so forgotten
let waiting: ((planes: Planes) => void) | null = null;

function say(message: FromRecordings, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

async function handle(message: ToRecordings): Promise<void> {
  switch (message.kind) {
    case "load":
      startRuntime(message.wasm);
      model = await openWindowModel(message.graph);
      return say({ kind: "ready", request: message.request });
    case "open": {
      const wav = readWav(message.bytes);
      return say(
        { kind: "opened", request: message.request, wav },
        wav.planes.map((plane) => plane.buffer),
      );
    }
    case "enhance":
      return run(message);
    case "block":
      if (message.request === current) waiting?.(message.planes);
      return;
    case "cancel":
      current = 0;
      return;
  }
}

async function run({ request, ...about }: Extract<ToRecordings, { kind: "enhance" }>): Promise<void> {
  current = request;
  const source: Source = {
    ...about,
    read: (start, length) =>
      new Promise((resolve) => {
        if (request !== current) return;
        waiting = resolve;
        say({ kind: "read", request, start, length });
      }),
  };
  await enhance(source, model, (start, planes) =>
    say(
      { kind: "cleaned", request, start, planes },
      planes.map((plane) => plane.buffer),
    ),
  );
  say({ kind: "finished", request });
}

self.onmessage = ({ data }: MessageEvent<ToRecordings>) => {
  handle(data).catch((error: unknown) =>
    say({ kind: "failed", request: data.request, message: error instanceof Error ? error.message : String(error) }),
  );
};
