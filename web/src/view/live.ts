/** The switch for live sound, its levels and what was missed. */

import type { Assets } from "../engine/assets.ts";
import { Live } from "../engine/line.ts";
import type { LineReport } from "../live/worklet.ts";
import { find, showLevel, tell } from "./elements.ts";

export class LiveCard {
  private readonly live: Live;
  private readonly toggle = find<HTMLInputElement>("live");
  private readonly bypass = find<HTMLInputElement>("bypass");
  private delay = 0;

  constructor(
    context: AudioContext,
    private readonly assets: Promise<Assets>,
  ) {
    this.live = new Live(context);
    this.toggle.onchange = () => void (this.toggle.checked ? this.start() : this.stop());
    this.bypass.onchange = () => (this.live.strength = this.strength);
  }

  open(): void {
    this.toggle.disabled = false;
  }

  private get strength(): number {
    return this.bypass.checked ? 0 : 1;
  }

  private async start(): Promise<void> {
    tell("live-problem", "");
    tell("live-status", "Starting …");
    find("live-panel").hidden = false;
    this.toggle.disabled = true;
    try {
      this.delay = await this.live.start(await this.assets, this.strength, {
        report: (report) => this.show(report),
        failed: (reason) => this.fail(reason),
      });
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    } finally {
      this.toggle.disabled = false;
    }
  }

  private stop(): void {
    this.live.stop();
    find("live-panel").hidden = true;
  }

  private fail(reason: string): void {
    this.toggle.checked = false;
    this.stop();
    tell("live-problem", reason);
  }

  private show({ heard, played, missed }: LineReport): void {
    showLevel("meter-in", heard);
    showLevel("meter-out", played);
    const gaps = missed === 1 ? "1 gap" : `${missed} gaps`;
    const text = `${Math.round(1000 * this.delay)} ms late, ${gaps}`;
    if (find("live-status").textContent !== text) tell("live-status", text);
  }
}
