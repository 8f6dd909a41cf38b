/** What the page and its workers say to each other. */

import type { Wav } from "../files/wav.ts";
import type { Planes } from "../sound/source.ts";

/** `wasm` is onnxruntime's code, `graph` the model: of whole windows for recordings, of steps for live sound. */
export interface Load {
  kind: "load";
  wasm: ArrayBuffer;
  graph: ArrayBuffer;
}

export type ToRecordings =
  | Load
  | { kind: "open"; bytes: ArrayBuffer }
  | { kind: "enhance"; job: number; sampleRate: number; channels: number; frames: number }
  | { kind: "block"; job: number; planes: Planes }
  | { kind: "cancel"; job: number };

export type FromRecordings =
  | { kind: "ready" }
  | { kind: "opened"; wav: Wav }
  | { kind: "read"; job: number; start: number; length: number }
  | { kind: "cleaned"; job: number; start: number; planes: Planes }
  | { kind: "finished"; job: number }
  | { kind: "failed"; message: string };

export type ToLive =
  | Load
  | { kind: "start"; sampleRate: number; strength: number; line: MessagePort }
  | { kind: "strength"; strength: number }
  | { kind: "stop" };

export type FromLive = { kind: "ready" } | { kind: "started"; latency: number } | { kind: "failed"; message: string };
