/** What the page and its workers say to each other. */

import type { Wav } from "../files/wav.ts";
import type { Planes } from "../sound/source.ts";

/** `wasm` is onnxruntime's code, `graph` the model: of whole windows for recordings, of steps for live sound. */
export interface Load {
  kind: "load";
  request: number;
  wasm: ArrayBuffer;
  graph: ArrayBuffer;
}

/** Every reply has the number of the request that it belongs to. */
export interface Failed {
  kind: "failed";
  request: number;
  message: string;
}

export type ToRecordings =
  | Load
  | { kind: "open"; request: number; bytes: ArrayBuffer }
  | { kind: "enhance"; request: number; sampleRate: number; channels: number; frames: number }
  | { kind: "block"; request: number; planes: Planes }
  | { kind: "cancel"; request: number };

export type FromRecordings =
  | { kind: "ready"; request: number }
  | { kind: "opened"; request: number; wav: Wav }
  | { kind: "read"; request: number; start: number; length: number }
  | { kind: "cleaned"; request: number; start: number; planes: Planes }
  | { kind: "finished"; request: number }
  | Failed;

export type ToLive =
  | Load
  | { kind: "start"; request: number; sampleRate: number; strength: number; line: MessagePort }
  | { kind: "strength"; strength: number }
  | { kind: "stop" };

export type FromLive = { kind: "ready"; request: number } | { kind: "started"; request: number; latency: number } | Failed;
