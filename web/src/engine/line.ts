/** The microphone through the audio thread: recorded, or cleaned by a worker and played. */

import { MOST_SAMPLES } from "../files/limits.ts";
import type { LineReport } from "../live/worklet.ts";
import workletUrl from "../live/worklet.ts?worker&url";
import type { Assets } from "./assets.ts";
import type { FromLive, ToLive } from "./messages.ts";
import { closeMicrophone, openMicrophone, whenGone } from "./microphone.ts";
import { Requests } from "./requests.ts";
import { Tape } from "./tape.ts";

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
const SILENT = "The loudspeaker or headphones stopped. Check the audio device and start again.";

/** A microphone that is open, with the audio thread behind it. */
class Line {
  readonly node: AudioWorkletNode;
  private readonly source: MediaStreamAudioSourceNode;

  constructor(
    private readonly context: AudioContext,
    private readonly microphone: MediaStream,
    worker: MessagePort,
    private readonly events: LineEvents,
  ) {
    this.source = new MediaStreamAudioSourceNode(context, { mediaStream: microphone });
    this.node = new AudioWorkletNode(context, "hamiltone-line", { outputChannelCount: [1] });
    this.node.port.onmessage = ({ data }: MessageEvent<LineReport>) => events.report(data);
    this.node.port.postMessage(worker, [worker]);
    this.source.connect(this.node).connect(context.destination);
    whenGone(microphone, () => events.failed(GONE));
    context.addEventListener("statechange", this.watch);
  }

  /** A context stops by itself when its audio device is lost. */
  private readonly watch = (): void => {
    if (this.context.state !== "running") this.events.failed(SILENT);
  };

  close(): void {
    this.context.removeEventListener("statechange", this.watch);
    this.node.port.postMessage("close");
    this.source.disconnect();
    this.node.disconnect();
    closeMicrophone(this.microphone);
  }
}

/** Live sound: microphone, worker, loudspeaker. */
export class Live {
  private readonly worker = new Worker(new URL("./live.worker.ts", import.meta.url), { type: "module" });
  private readonly requests = new Requests<FromLive>();
  private loaded: Promise<unknown> | null = null;
  private line: Line | null = null;
  private started = 0; // the request that the line belongs to
  private events: LineEvents | null = null;

  constructor(private readonly context: AudioContext) {
    this.worker.onmessage = ({ data }: MessageEvent<FromLive>) => this.hear(data);
    this.worker.onerror = (event) => {
      const error = new Error(event.message || "A worker of the page did not start.");
      this.requests.end(error);
      this.events?.failed(error.message);
    };
  }

  /** Begin; returns the delay in seconds from the microphone to the loudspeaker. */
  async start(assets: Assets, strength: number, events: LineEvents): Promise<number> {
    await this.context.resume();
    const microphone = await openMicrophone();
    try {
      this.loaded ??= this.requests.ask((request) => this.say({ kind: "load", request, wasm: assets.wasm, graph: assets.live }));
      await this.loaded;
      const { port1, port2 } = new MessageChannel();
      const { sampleRate, baseLatency, outputLatency } = this.context;
      const started = await this.requests.ask((request) =>
        this.say({ kind: "start", request, sampleRate, strength, line: port1 }, [port1]),
      );
      this.started = started.request;
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
    if (message.kind !== "failed") return this.requests.resolve(message.request, message);
    this.requests.reject(message.request, new Error(message.message));
    if (message.request === this.started) this.events?.failed(message.message);
  }

  private say(message: ToLive, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }
}

/** Records the microphone until it is stopped, or there is no more room: then it is full. */
export class Recorder {
  private readonly tape = new Tape(MOST_SAMPLES);
  private line: Line | null = null;

  constructor(private readonly context: AudioContext) {}

  get seconds(): number {
    return this.tape.length / this.context.sampleRate;
  }

  get full(): boolean {
    return this.tape.full;
  }

  async start(events: LineEvents): Promise<void> {
    await this.context.resume();
    const microphone = await openMicrophone();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<Float32Array>) => this.tape.push(data);
    this.line = new Line(this.context, microphone, port2, events);
  }

  /** What was recorded, or null if there is nothing. */
  stop(): AudioBuffer | null {
    this.line?.close();
    const { length } = this.tape;
    if (!length) return null;
    const buffer = new AudioBuffer({ length, sampleRate: this.context.sampleRate });
    this.tape.copyTo(buffer.getChannelData(0));
    return buffer;
  }
}
