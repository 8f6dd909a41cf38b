/** The page's side of the worker that cleans recordings. */

import { checkLength, COMMAND, MOST_BYTES, TooLong } from "../files/limits.ts";
import { sampleRateOf } from "../files/rate.ts";
import { BrokenFile, type Encoding, isWav, type Wav } from "../files/wav.ts";
import { Recording } from "../recording.ts";
import type { Assets } from "./assets.ts";
import type { FromRecordings, ToRecordings } from "./messages.ts";
import { Requests } from "./requests.ts";

/** The recording that is being cleaned, and the number of the request for it. */
interface Job {
  request: number;
  recording: Recording;
  advance: () => void;
}

export class Recordings {
  private readonly worker = new Worker(new URL("./recordings.worker.ts", import.meta.url), { type: "module" });
  private readonly requests = new Requests<FromRecordings>();
  private opened = 0; // how many files were
  private job: Job | null = null;

  constructor() {
    this.worker.onmessage = ({ data }: MessageEvent<FromRecordings>) => this.hear(data);
    this.worker.onerror = (event) => this.requests.end(new Error(event.message || "A worker of the page did not start."));
  }

  async load({ wasm, compact }: Assets): Promise<void> {
    await this.requests.ask((request) => this.say({ kind: "load", request, wasm, graph: compact }));
  }

  /**
   * The samples of a file: of WAV files exactly those that are in it, of others what the browser decodes.
   *
   * Resolves to null if another file came.
   */
  async open(file: File): Promise<Recording | null> {
    this.cancel();
    const turn = ++this.opened;
    if (file.size > MOST_BYTES) throw new TooLong();
    const bytes = await file.arrayBuffer();
    if (turn !== this.opened) return null;
    if (!bytes.byteLength) throw new BrokenFile("This file is empty.");
    if (isWav(bytes)) {
      const opened = await this.requests.ask((request) => this.say({ kind: "open", request, bytes }, [bytes]));
      return turn === this.opened ? fromWav(file.name, (opened as { wav: Wav }).wav) : null;
    }
    const buffer = await decode(file, bytes);
    return turn === this.opened ? recording(file.name, buffer, "pcm16") : null;
  }

  /** Clean a recording; `advance` is called whenever more of it is done. Resolves to false if another one came. */
  async enhance(recording: Recording, advance: () => void): Promise<boolean> {
    this.cancel();
    const { sampleRate, numberOfChannels: channels, length: frames } = recording.before;
    const finished = await this.requests.ask((request) => {
      this.job = { request, recording, advance };
      this.say({ kind: "enhance", request, sampleRate, channels, frames });
    });
    return finished.request === this.job?.request && recording.done;
  }

  cancel(): void {
    if (!this.job) return;
    const { request } = this.job;
    this.job = null;
    this.say({ kind: "cancel", request });
    this.requests.resolve(request, { kind: "finished", request });
  }

  private hear(message: FromRecordings): void {
    const job = this.job?.request === message.request ? this.job : null;
    switch (message.kind) {
      case "read": {
        if (!job) return;
        const planes = job.recording.read(message.start, message.length);
        this.say(
          { kind: "block", request: message.request, planes },
          planes.map((plane) => plane.buffer),
        );
        return;
      }
      case "cleaned":
        job?.recording.put(message.start, message.planes);
        job?.advance();
        return;
      case "failed":
        if (job) this.job = null;
        this.requests.reject(message.request, new BrokenFile(message.message));
        return;
      default:
        this.requests.resolve(message.request, message);
    }
  }

  private say(message: ToRecordings, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }
}

async function decode(file: File, bytes: ArrayBuffer): Promise<AudioBuffer> {
  const rate = sampleRateOf(bytes);
  try {
    return await new OfflineAudioContext(1, 1, rate).decodeAudioData(bytes);
  } catch {
    checkLength((await secondsOf(file)) * rate); // browsers give up on very long ones with the same error
    throw new BrokenFile("This file cannot be read: it is damaged, or not a recording that this browser can play.");
  }
}

/** How long a file plays by what it says of itself; 0 if it does not say. */
function secondsOf(file: File): Promise<number> {
  const player = new Audio();
  return new Promise<number>((resolve) => {
    player.onloadedmetadata = () => resolve(Number.isFinite(player.duration) ? player.duration : 0);
    player.onerror = () => resolve(0);
    player.preload = "metadata";
    player.src = URL.createObjectURL(file);
  }).finally(() => URL.revokeObjectURL(player.src));
}

function fromWav(name: string, { planes, sampleRate, encoding }: Wav): Recording {
  const length = planes[0]!.length;
  if (!length) throw new BrokenFile("This WAV file holds no samples: it is damaged or cut short.");
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
  checkLength(buffer.length * buffer.numberOfChannels);
  return new Recording(name, buffer, encoding);
}
