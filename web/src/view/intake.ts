/** Where recordings come in: dropped, chosen or recorded. */

import { MicrophoneError } from "../engine/microphone.ts";
import { Recorder } from "../engine/line.ts";
import type { LineReport } from "../live/worklet.ts";
import { clock, find, showLevel, tell } from "./elements.ts";

export interface IntakeEvents {
  file(file: File): void;
  recorded(buffer: AudioBuffer): void;
}

export class Intake {
  private readonly choose = find<HTMLButtonElement>("choose");
  private readonly record = find<HTMLButtonElement>("record");
  private readonly file = find<HTMLInputElement>("file");
  private recorder: Recorder | null = null;
  private loaded = false;
  private early: File | null = null; // came before the models

  constructor(
    private readonly context: AudioContext,
    private readonly events: IntakeEvents,
  ) {
    this.choose.onclick = () => this.file.click();
    this.file.onchange = () => {
      const [file] = this.file.files ?? [];
      if (file) this.take(file);
      this.file.value = ""; // the same file may be chosen again
    };
    this.record.onclick = () => void this.toggle();
    this.acceptDrops();
  }

  /** Let recordings in, now that the models are there. */
  open(): void {
    this.loaded = true;
    this.choose.disabled = this.record.disabled = false;
    tell("status", "Ready.");
    if (this.early) this.take(this.early);
    this.early = null;
  }

  private take(file: File): void {
    if (this.recorder) return tell("problem", `${file.name}: Stop the recording first.`);
    if (this.loaded) return this.events.file(file);
    this.early = file;
    tell("status", `Loading the models for ${file.name} …`);
  }

  private acceptDrops(): void {
    const card = find("intake");
    const over = (event: DragEvent, inside: boolean): void => {
      event.preventDefault();
      card.classList.toggle("over", inside && !this.recorder);
    };
    document.addEventListener("dragover", (event) => over(event, true));
    document.addEventListener("dragleave", (event) => over(event, event.relatedTarget !== null));
    document.addEventListener("drop", (event) => {
      over(event, false);
      const [file] = event.dataTransfer?.files ?? [];
      if (file) this.take(file);
    });
  }

  private async toggle(): Promise<void> {
    if (this.recorder) return this.stop();
    tell("problem", "");
    const recorder = new Recorder(this.context);
    this.record.disabled = true;
    try {
      await recorder.start({
        report: (report) => this.recorder === recorder && this.follow(recorder, report),
        failed: (reason) => this.recorder === recorder && this.stop(reason),
      });
    } catch (error) {
      tell("problem", error instanceof MicrophoneError ? error.message : String(error));
      return;
    } finally {
      this.record.disabled = false;
    }
    this.recorder = recorder;
    this.show(true);
  }

  private follow(recorder: Recorder, { heard }: LineReport): void {
    showLevel("record-level", heard);
    const time = clock(recorder.seconds);
    tell("status", `Recording … ${time}`);
    if (recorder.full) this.stop(`The recording ended after ${time}: the page cannot hold more.`);
  }

  /** What was recorded is cleaned; `note` says why it ended by itself. */
  private stop(note = ""): void {
    const buffer = this.recorder?.stop();
    this.recorder = null;
    this.show(false);
    tell("status", "");
    if (buffer) this.events.recorded(buffer);
    if (note || !buffer) tell("problem", note || "Nothing was recorded.");
  }

  private show(recording: boolean): void {
    this.record.setAttribute("aria-pressed", String(recording));
    find("record-label").textContent = recording ? "Stop" : "Record";
    this.choose.disabled = recording;
    find("record-level").hidden = !recording;
    showLevel("record-level", 0);
  }
}
