/** The page's side of the worker that cleans recordings. */

import { sampleRateOf } from "../files/rate.ts";
import { BrokenFile, type Encoding, isWav, type Wav } from "../files/wav.ts";
import { Recording } from "../recording.ts";
import type { Assets } from "./assets.ts";
import type { FromRecordings, ToRecordings } from "./messages.ts";

const MOST_SAMPLES = 150e6; // over all channels: before and after together take eight bytes for each
const COMMAND = "Use the command hamiltone enhance instead.";

export class Recordings {
  private readonly worker = new Worker(new URL("./recordings.worker.ts", import.meta.url), { type: "module" });
  private job = 0;
  private answer: { resolve: (message: FromRecordings) => void; reject: (error: Error) => void } | null = null;
  private recording: Recording | null = null;
  private advance: () => void = () => {};

  constructor() {
    this.worker.onmessage = ({ data }: MessageEvent<FromRecordings>) => this.hear(data);
    this.worker.onerror = (event) => this.answer?.reject(new Error(event.message || "The worker did not start."));
  }

  async load({ wasm, compact }: Assets): Promise<void> {
    await this.ask({ kind: "load", wasm, graph: compact });
  }

  /** The samples of a file: of WAV files exactly those that are in it, of others what the browser decodes. */
  async open(file: File): Promise<Recording> {
    this.cancel();
    const bytes = await file.arrayBuffer();
    if (!bytes.byteLength) throw new BrokenFile("This file is empty.");
    if (isWav(bytes)) {
      const opened = await this.ask({ kind: "open", bytes }, [bytes]);
      return fromWav(file.name, (opened as { wav: Wav }).wav);
    }
    return recording(file.name, await decode(bytes), "pcm16");
  }

  /** Clean a recording; `advance` is called whenever more of it is done. Resolves to false if another one came. */
  async enhance(recording: Recording, advance: () => void): Promise<boolean> {
    this.cancel();
    const job = ++this.job;
    [this.recording, this.advance] = [recording, advance];
    const { sampleRate, numberOfChannels, length } = recording.before;
    await this.ask({ kind: "enhance", job, sampleRate, channels: numberOfChannels, frames: length });
    return job === this.job && recording.done;
  }

  cancel(): void {
    if (!this.recording) return;
    this.say({ kind: "cancel", job: this.job });
    this.recording = null;
    this.answer?.resolve({ kind: "finished", job: this.job });
    this.answer = null;
  }

  private hear(message: FromRecordings): void {
    if ("job" in message && (message.job !== this.job || !this.recording)) return;
    switch (message.kind) {
      case "read": {
        const planes = this.recording!.read(message.start, message.length);
        this.say(
          { kind: "block", job: message.job, planes },
          planes.map((plane) => plane.buffer),
        );
        return;
      }
      case "cleaned":
        this.recording!.put(message.start, message.planes);
        this.advance();
        return;
      case "failed":
        this.recording = null;
        this.answer?.reject(new BrokenFile(message.message));
        this.answer = null;
        return;
      default:
        if (message.kind === "finished") this.recording = null;
        this.answer?.resolve(message);
        this.answer = null;
    }
  }

  private ask(message: ToRecordings, transfer: Transferable[] = []): Promise<FromRecordings> {
    return new Promise((resolve, reject) => {
      this.answer = { resolve, reject };
      this.say(message, transfer);
    });
  }

  private say(message: ToRecordings, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }
}

async function decode(bytes: ArrayBuffer): Promise<AudioBuffer> {
  const context = new OfflineAudioContext(1, 1, sampleRateOf(bytes));
  try {
    return await context.decodeAudioData(bytes);
  } catch {
    throw new BrokenFile("This file cannot be read: it is damaged, or not a recording that this browser can play.");
  }
}

function fromWav(name: string, { planes, sampleRate, encoding }: Wav): Recording {
  const length = planes[0]!.length;
  if (!length) throw new BrokenFile("This WAV file holds no samples: it is damaged or cut short.");
  checkSize(length * planes.length);
  let buffer: AudioBuffer;
  try {
    buffer = new AudioBuffer({ length, numberOfChannels: planes.length, sampleRate });
  } catch {
    throw new BrokenFile(`This browser does not play ${planes.length} channels at ${sampleRate} Hz. ${COMMAND}`);
  }
  planes.forEach((plane, channel) => buffer.copyToChannel(plane, channel));
  return recording(name, buffer, encoding);
}

export function recording(name: string, buffer: AudioBuffer, encoding: Encoding): Recording {
  checkSize(buffer.length * buffer.numberOfChannels);
  return new Recording(name, buffer, encoding);
}

function checkSize(samples: number): void {
  if (samples > MOST_SAMPLES) throw new BrokenFile(`This recording is too long for a page. ${COMMAND}`);
}
