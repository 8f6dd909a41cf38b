/** The page: what comes in, what is done with it, what is shown. */

import { fetchAssets } from "./engine/assets.ts";
import { prepareLine } from "./engine/line.ts";
import { recording, Recordings } from "./engine/recordings.ts";
import type { Recording } from "./recording.ts";
import { Comparison } from "./view/comparison.ts";
import { tell } from "./view/elements.ts";
import { Intake } from "./view/intake.ts";
import { LiveCard } from "./view/live.ts";

const context = new AudioContext({ latencyHint: "interactive" });
const recordings = new Recordings();
const comparison = new Comparison(context);
const assets = fetchAssets();
const live = new LiveCard(context, assets);
const intake = new Intake(context, {
  file: (file) => void clean(() => recordings.open(file), file.name),
  recorded: (buffer) => void clean(async () => recording("recording.wav", buffer, "pcm16"), "the recording"),
});
let latest = 0;

async function clean(open: () => Promise<Recording | null>, name: string): Promise<void> {
  const turn = ++latest;
  tell("problem", "");
  tell("status", `Opening ${name} …`);
  try {
    const opened = await open();
    if (!opened || turn !== latest) return;
    comparison.show(opened);
    tell("status", `Cleaning ${name} …`);
    const began = performance.now();
    if (!(await recordings.enhance(opened, () => comparison.advance()))) return;
    comparison.finish();
    tell("status", `Clean, after ${((performance.now() - began) / 1000).toFixed(1)} s.`);
  } catch (error) {
    if (turn !== latest) return;
    comparison.hide();
    tell("status", "");
    tell("problem", `${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function load(): Promise<void> {
  try {
    await Promise.all([assets.then((all) => recordings.load(all)), prepareLine(context)]);
    intake.open();
    live.open();
  } catch (error) {
    tell("status", "");
    tell("problem", `The page could not be loaded. ${error instanceof Error ? error.message : String(error)}`);
  }
}

void load();
