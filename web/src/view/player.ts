/** One player for both: before and after run side by side, and a switch says which of them is heard. */

import type { Recording } from "../recording.ts";

const FADE_SECONDS = 0.008;

export type Side = "before" | "after";

export class Player {
  /** Called when playing begins or ends. */
  changed: () => void = () => {};
  private recording: Recording | null = null;
  private sources: AudioBufferSourceNode[] = [];
  private readonly gains: [GainNode, GainNode];
  private offset = 0; // the position where playing began, or stands
  private began = 0; // by the clock of the context
  private side: Side = "before";
  private strength = 1;
  private turn = 0; // of playing and pausing: what was wanted before no longer counts

  constructor(private readonly context: AudioContext) {
    this.gains = [new GainNode(context), new GainNode(context)];
    for (const gain of this.gains) gain.connect(context.destination);
  }

  get playing(): boolean {
    return this.sources.length > 0;
  }

  get duration(): number {
    return this.recording?.before.duration ?? 0;
  }

  get position(): number {
    const past = this.playing ? Math.max(this.context.currentTime - this.began, 0) : 0;
    return Math.min(this.offset + past, this.duration);
  }

  load(recording: Recording): void {
    this.pause();
    this.recording = recording;
    this.offset = 0;
  }

  /** The other side, from the same position, without a gap. */
  choose(side: Side, strength: number): void {
    [this.side, this.strength] = [side, strength];
    this.mix(FADE_SECONDS);
  }

  async play(): Promise<void> {
    if (!this.recording || this.playing) return;
    const turn = ++this.turn;
    await this.context.resume();
    if (turn !== this.turn) return;
    if (this.position >= this.duration) this.offset = 0;
    this.mix(0);
    this.sources = [this.recording.before, this.recording.after].map((buffer, n) => {
      const source = new AudioBufferSourceNode(this.context, { buffer });
      source.connect(this.gains[n]!);
      return source;
    });
    this.began = this.context.currentTime + 0.02;
    for (const source of this.sources) source.start(this.began, this.offset);
    this.sources[0]!.onended = () => {
      this.offset = this.duration;
      this.silence();
    };
    this.changed();
  }

  pause(): void {
    this.turn += 1;
    if (!this.playing) return;
    this.offset = this.position;
    this.silence();
  }

  async seek(position: number): Promise<void> {
    const playing = this.playing;
    if (playing) this.pause();
    this.offset = Math.min(Math.max(position, 0), this.duration);
    if (playing) await this.play();
  }

  private silence(): void {
    for (const source of this.sources) {
      source.onended = null;
      source.stop();
      source.disconnect();
    }
    this.sources = [];
    this.changed();
  }

  private mix(seconds: number): void {
    const clean = this.side === "after" ? this.strength : 0;
    [1 - clean, clean].forEach((value, n) => {
      const { gain } = this.gains[n]!;
      gain.cancelScheduledValues(this.context.currentTime);
      if (seconds) gain.setTargetAtTime(value, this.context.currentTime, seconds);
      else gain.setValueAtTime(value, this.context.currentTime);
    });
  }
}
