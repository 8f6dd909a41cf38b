/** The microphone through the audio thread: recorded, or cleaned by a worker and played. */

import type { LineReport } from "../live/worklet.ts";
import workletUrl from "../live/worklet.ts?worker&url";
import type { Assets } from "./assets.ts";
import type { FromLive, ToLive } from "./messages.ts";
import { closeMicrophone, openMicrophone, whenGone } from "./microphone.ts";

const CHUNKS = 3; // one that fills up and two that wait in the ring, 16 ms each

/** Fetch the code of the audio thread; it stays with the context. */
export async function prepareLine(context: AudioContext): Promise<void> {
  await context.audioWorklet.addModule(workletUrl);
}

export interface LineEvents {
  report(report: LineReport): void;
  /** It ended by itself, and why. */
  failed(reason: string): void;
}

const GONE = "The microphone was disconnected. Plug it in and start again.";

/** A microphone that is open, with the audio thread behind it. */
class Line {
  readonly node: AudioWorkletNode;
  private readonly source: MediaStreamAudioSourceNode;

  constructor(
    context: AudioContext,
    private readonly microphone: MediaStream,
    worker: MessagePort,
    events: LineEvents,
  ) {
    this.source = new MediaStreamAudioSourceNode(context, { mediaStream: microphone });
    this.node = new AudioWorkletNode(context, "hamiltone-line", { outputChannelCount: [1] });
    this.node.port.onmessage = ({ data }: MessageEvent<LineReport>) => events.report(data);
    this.node.port.postMessage(worker, [worker]);
    this.source.connect(this.node).connect(context.destination);
    whenGone(microphone, () => events.failed(GONE));
  }

  close(): void {
    this.node.port.postMessage("close");
    this.source.disconnect();
    this.node.disconnect();
    closeMicrophone(this.microphone);
  }
}

/** Live sound: microphone, worker, loudspeaker. */
export class Live {
  private readonly worker = new Worker(new URL("./live.worker.ts", import.meta.url), { type: "module" });
  private loaded: Promise<unknown> | null = null;
  private answer: { resolve: (message: FromLive) => void; reject: (error: Error) => void } | null = null;
  private line: Line | null = null;
  private events: LineEvents | null = null;

  constructor(private readonly context: AudioContext) {
    this.worker.onmessage = ({ data }: MessageEvent<FromLive>) => this.hear(data);
  }

  /** Begin; returns the delay in seconds from the microphone to the loudspeaker. */
  async start(assets: Assets, strength: number, events: LineEvents): Promise<number> {
    await this.context.resume();
    const microphone = await openMicrophone();
    try {
      this.loaded ??= this.ask({ kind: "load", wasm: assets.wasm, graph: assets.live });
      await this.loaded;
      const { port1, port2 } = new MessageChannel();
      const { sampleRate, baseLatency, outputLatency } = this.context;
      const started = await this.ask({ kind: "start", sampleRate, strength, line: port1 }, [port1]);
      this.events = events;
      this.line = new Line(this.context, microphone, port2, events);
      const { latency } = started as { latency: number };
      return latency / sampleRate + CHUNKS * 0.016 + baseLatency + (outputLatency || 0);
    } catch (error) {
      closeMicrophone(microphone);
      throw error;
    }
  }

  set strength(strength: number) {
    this.say({ kind: "strength", strength });
  }

  stop(): void {
    this.line?.close();
    this.line = this.events = null;
    this.say({ kind: "stop" });
  }

  private hear(message: FromLive): void {
    if (message.kind !== "failed") {
      this.answer?.resolve(message);
    } else if (this.answer) {
      this.answer.reject(new Error(message.message));
    } else {
      this.events?.failed(message.message);
    }
    this.answer = null;
  }

  private ask(message: ToLive, transfer: Transferable[] = []): Promise<FromLive> {
    return new Promise((resolve, reject) => {
      this.answer = { resolve, reject };
      this.say(message, transfer);
    });
  }

  private say(message: ToLive, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }
}

/** Records the microphone until it is stopped. */
export class Recorder {
  private readonly chunks: Float32Array[] = [];
  private line: Line | null = null;

  constructor(private readonly context: AudioContext) {}

  get seconds(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0) / this.context.sampleRate;
  }

  async start(events: LineEvents): Promise<void> {
    await this.context.resume();
    const microphone = await openMicrophone();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<Float32Array>) => this.chunks.push(data);
    this.line = new Line(this.context, microphone, port2, events);
  }

  /** What was recorded, or null if there is nothing. */
  stop(): AudioBuffer | null {
    this.line?.close();
    const length = this.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (!length) return null;
    const buffer = new AudioBuffer({ length, sampleRate: this.context.sampleRate });
    const samples = buffer.getChannelData(0);
    let at = 0;
    for (const chunk of this.chunks) {
      samples.set(chunk, at);
      at += chunk.length;
    }
    return buffer;
  }
}
