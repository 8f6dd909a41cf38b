/** A recording before and after: pictures, player, strength, download. */

import type { Recording } from "../recording.ts";
import { clock, find } from "./elements.ts";
import { Player, type Side } from "./player.ts";
import { type Samples, Spectrogram } from "./spectrogram.ts";

const MARKS = [1, 2, 4, 8]; // kHz
const SEEK_SECONDS = 5;

export class Comparison {
  private readonly player: Player;
  private readonly before = new Spectrogram(find<HTMLCanvasElement>("picture-before"));
  private readonly after = new Spectrogram(find<HTMLCanvasElement>("picture-after"));
  private readonly play = find<HTMLButtonElement>("play");
  private readonly seek = find<HTMLInputElement>("seek");
  private readonly strengthInput = find<HTMLInputElement>("strength");
  private readonly download = find<HTMLButtonElement>("download");
  private readonly sides = Array.from(document.querySelectorAll<HTMLInputElement>("input[name=side]"));
  private recording: Recording | null = null;
  private loudest = 0;
  private drawn = 0; // columns of the picture after
  private redrawing = 0;

  constructor(context: AudioContext) {
    this.player = new Player(context);
    this.player.changed = () => this.showPlaying();
    this.play.onclick = () => void (this.player.playing ? this.player.pause() : this.player.play());
    this.seek.oninput = () => void this.player.seek(Number(this.seek.value)).then(() => this.showPosition());
    this.seek.onkeydown = (event) => this.seekByKey(event);
    this.strengthInput.oninput = () => this.changeStrength();
    for (const side of this.sides) side.onchange = () => this.listen();
    this.download.onclick = () => void this.save();
    find("pictures").onclick = (event) => this.seekByPicture(event);
    document.addEventListener("keydown", (event) => this.key(event));
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) this.redrawSoon(() => this.drawAll());
      width = innerWidth;
    });
    const follow = (): void => {
      if (this.player.playing) this.showPosition();
      requestAnimationFrame(follow);
    };
    follow();
  }

  get strength(): number {
    return Number(this.strengthInput.value) / 100;
  }

  /** Show a recording that is still to be cleaned. */
  show(recording: Recording): void {
    this.recording = recording;
    find("result").hidden = false;
    document.body.classList.add("has-recording");
    find("name").textContent = recording.name;
    const { duration, sampleRate, numberOfChannels } = recording.before;
    const channels = numberOfChannels === 1 ? "mono" : numberOfChannels === 2 ? "stereo" : `${numberOfChannels} channels`;
    find("about").textContent = `${clock(Math.round(duration))} · ${sampleRate / 1000} kHz · ${channels}`;
    this.seek.max = String(duration);
    this.player.load(recording);
    find("working").hidden = false;
    this.download.disabled = true;
    this.choose("before");
    for (const side of this.sides) side.disabled = side.value === "after";
    this.advance();
    this.showPosition();
    this.drawAll();
  }

  /** More of it is clean. */
  advance(): void {
    const { cleaned, before } = this.recording!;
    const share = cleaned / before.length;
    find<HTMLProgressElement>("progress").value = share;
    find("percent").textContent = `${Math.floor(100 * share)} %`;
    if (share < 1) this.drawAfter(Math.floor(share * this.after.columns));
  }

  /** All of it is clean. */
  finish(): void {
    find("working").hidden = true;
    this.download.disabled = false;
    for (const side of this.sides) side.disabled = false;
    this.choose("after");
    this.drawAfter(this.after.columns);
  }

  hide(): void {
    this.player.pause();
    find("result").hidden = true;
    document.body.classList.remove("has-recording");
    this.recording = null;
  }

  private choose(side: Side): void {
    for (const input of this.sides) input.checked = input.value === side;
    this.listen();
  }

  private listen(): void {
    const side = this.sides.find((input) => input.checked)!.value as Side;
    this.player.choose(side, this.strength);
  }

  private changeStrength(): void {
    find("strength-value").textContent = `${this.strengthInput.value} %`;
    this.listen();
    this.redrawSoon(() => {
      this.drawn = 0;
      this.after.clear();
      this.drawAfter(Math.floor((this.recording!.cleaned / this.recording!.before.length) * this.after.columns));
    });
  }

  private redrawSoon(draw: () => void): void {
    clearTimeout(this.redrawing);
    this.redrawing = setTimeout(() => this.recording && draw(), 120);
  }

  private drawAll(): void {
    const recording = this.recording!;
    const { length, sampleRate } = recording.before;
    for (const picture of [this.before, this.after]) picture.resize(length, sampleRate);
    for (const scale of document.querySelectorAll<HTMLElement>(".scale")) this.mark(scale);
    const samples = mean((start, count) => recording.read(start, count));
    this.loudest = this.before.loudest(samples);
    void this.before.draw(samples, this.loudest, 0, this.before.columns);
    this.drawn = 0;
    this.drawAfter(Math.floor((recording.cleaned / length) * this.after.columns));
  }

  private drawAfter(last: number): void {
    const [recording, strength, first] = [this.recording!, this.strength, this.drawn];
    this.drawn = Math.max(last, first);
    const samples = mean((start, count) => recording.blend(start, count, strength));
    void this.after.draw(samples, this.loudest, first, last);
  }

  private mark(scale: HTMLElement): void {
    const visible = MARKS.filter((frequency) => this.before.place(1000 * frequency) < 0.97);
    const marks = visible.map((frequency) => {
      const mark = document.createElement("span");
      mark.textContent = `${frequency} kHz`;
      mark.style.bottom = `${100 * this.before.place(1000 * frequency)}%`;
      return mark;
    });
    scale.replaceChildren(...marks);
  }

  private showPlaying(): void {
    this.play.classList.toggle("playing", this.player.playing);
    this.play.setAttribute("aria-label", this.player.playing ? "Pause" : "Play");
    this.showPosition();
  }

  private showPosition(): void {
    const { position, duration } = this.player;
    const whole = clock(Math.round(duration));
    this.seek.value = String(position);
    this.seek.setAttribute("aria-valuetext", `${clock(position)} of ${whole}`);
    find("time").textContent = `${clock(position)} / ${whole}`;
    find("playhead").style.left = `calc(${duration ? position / duration : 0} * (100% - 2px))`; // it is two wide
  }

  private seekByPicture(event: MouseEvent): void {
    const { left, width } = find("pictures").getBoundingClientRect();
    void this.player.seek(((event.clientX - left) / width) * this.player.duration).then(() => this.showPosition());
  }

  /** The arrow keys move by seconds; by themselves they would move by the step of the control, a hundredth of one. */
  private seekByKey(event: KeyboardEvent): void {
    const sign = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!sign || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { position, duration } = this.player;
    void this.player.seek(position + sign * Math.min(SEEK_SECONDS, duration / 10)).then(() => this.showPosition());
  }

  private key(event: KeyboardEvent): void {
    if (event.key.toLowerCase() !== "b" || event.ctrlKey || event.metaKey || event.altKey) return;
    const other = this.sides.find((input) => !input.checked)!;
    if (this.recording && !other.disabled) this.choose(other.value as Side);
  }

  private async save(): Promise<void> {
    const recording = this.recording!;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await recording.toWav(this.strength));
    link.download = recording.fileName;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
}

/** The mean over the channels of whatever is read. */
function mean(read: (start: number, length: number) => Float32Array[]): Samples {
  return (start, length) => {
    const [sum, ...others] = read(start, length);
    for (const plane of others) plane.forEach((value, n) => (sum![n]! += value));
    return others.length ? sum!.map((value) => value / (others.length + 1)) : sum!;
  };
}
