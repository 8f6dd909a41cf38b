/** What is tried in Chromium; each case gets the tools of browser.mjs and returns what it saw. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const cases = {
  async load({ open }) {
    const { page, complaints } = await open();
    return { title: await page.title(), status: await page.locator("#status").textContent(), complaints };
  },

  /** A dropped file, with the network cut off: nothing is asked for after the page has loaded. */
  async drop({ open, drop, cleaned, save }) {
    const { page, context, requests, complaints } = await open();
    await context.setOffline(true);
    await drop(page, "noisy.wav");
    await cleaned(page);
    const name = await save(page, "noisy.page.wav");
    return { name, about: await page.locator("#about").textContent(), requests, complaints };
  },

  /** Stereo at another rate, chosen in the dialog, at half strength. */
  async choose({ open, cleaned, save, folder }) {
    const { page, requests, complaints } = await open();
    await page.locator("#file").setInputFiles(join(folder, "stereo.wav"));
    await cleaned(page);
    await page.locator("#strength").fill("50");
    await save(page, "stereo.page.wav");
    return { about: await page.locator("#about").textContent(), requests, complaints };
  },

  /** A telephone's rate, of which the model's upper half stays empty. */
  async narrow({ open, cleaned, save, folder }) {
    const { page, requests, complaints } = await open();
    await page.locator("#file").setInputFiles(join(folder, "narrow.wav"));
    await cleaned(page);
    await save(page, "narrow.page.wav");
    return { about: await page.locator("#about").textContent(), requests, complaints };
  },

  /** A compressed file keeps its sample rate. */
  async compressed({ open, cleaned, save, folder }) {
    const { page, complaints } = await open();
    await page.locator("#file").setInputFiles(join(folder, "noisy.flac"));
    await cleaned(page);
    await save(page, "flac.page.wav");
    return { about: await page.locator("#about").textContent(), complaints };
  },

  /** Play, switch while it plays, seek by picture: the switch keeps the position, and both sides sound. */
  async play({ open, drop, cleaned }) {
    const { page, requests, complaints } = await open({ prepare: tap });
    await drop(page, "noisy.wav");
    await cleaned(page);
    await page.locator("#play").click();
    const at = () => page.locator("#seek").inputValue().then(Number);
    const moved = async (from) => {
      await page.waitForFunction((from) => Number(document.querySelector("#seek").value) > from, from);
      return at();
    };
    const after = await moved(0.3);
    await page.keyboard.press("b");
    const side = await page.locator("input[name=side]:checked").inputValue();
    const before = await moved(after);
    const { width } = await page.locator("#pictures").boundingBox();
    await page.locator("#pictures").click({ position: { x: 0.75 * width, y: 30 } });
    const sought = await moved(0);
    await page.locator("#play").click();
    const duration = Number(await page.locator("#seek").getAttribute("max"));
    return { after, before, side, sought: sought / duration, heard: await page.evaluate(peak), requests, complaints };
  },

  /** A double click on the button: the recording plays once, and one more click ends all of it. */
  async twice({ open, drop, cleaned }) {
    const { page, complaints } = await open({ prepare: `(${slowResume})();(${countSources})()` });
    await drop(page, "noisy.wav");
    await cleaned(page);
    await page.locator("#play").dblclick();
    await page.locator("#play.playing").waitFor();
    await page.waitForTimeout(1000); // for whatever would come later
    const playing = await page.evaluate(() => window.sources);
    await page.locator("#play").click();
    return { playing, left: await page.evaluate(() => window.sources), complaints };
  },

  async broken({ open, drop, cleaned }) {
    const { page, complaints } = await open();
    const problems = {};
    for (const name of ["broken.wav", "noise.mp3", "empty.wav", "nan.wav"]) {
      await drop(page, name);
      problems[name] = await page
        .locator("#problem", { hasText: name })
        .waitFor()
        .then(() => page.locator("#problem").textContent());
    }
    await drop(page, "noisy.wav"); // the page goes on
    await cleaned(page);
    return { problems, complaints };
  },

  /** A file that is dropped before the models are there waits for them. */
  async early({ open, drop, cleaned }) {
    let release;
    const later = new Promise((resolve) => (release = resolve));
    const slow = (route) => later.then(() => route.continue());
    const { page, complaints } = await open({ routes: { "**/models/*.onnx": slow }, until: "#status:has-text('Loading')" });
    await drop(page, "noisy.wav");
    const status = await page.locator("#status").textContent();
    release();
    await cleaned(page);
    return { status, name: await page.locator("#name").textContent(), complaints };
  },

  /** Models or code that the server cuts short. */
  async damaged({ open }) {
    const cut = async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.body()).subarray(0, 300_000) });
    };
    const problems = [];
    for (const name of ["models/compact.onnx", "*.wasm.gz"]) {
      const { page } = await open({ routes: { [`**/${name}`]: cut }, until: "#problem:visible" });
      problems.push(await page.locator("#problem").textContent());
    }
    const { page } = await open({ routes: { "**/models/live.onnx": cut } });
    await page.locator("#live").click({ force: true });
    await page.locator("#live-problem:visible").waitFor();
    return { problems: [...problems, await page.locator("#live-problem").textContent()] };
  },

  /** Another file while the first is being cleaned: only the second one comes out. */
  async change({ open, drop, cleaned, save }) {
    const { page, complaints } = await open();
    await drop(page, "minute.wav");
    await page.locator("#status", { hasText: "Cleaning minute.wav" }).waitFor();
    await drop(page, "noisy.wav");
    await page.locator("#status", { hasText: "Cleaning noisy.wav" }).waitFor();
    await cleaned(page);
    await save(page, "second.page.wav");
    return { name: await page.locator("#name").textContent(), complaints };
  },

  /** Two files dropped at once: the one that came last comes out, with its own sound; the other one is not blamed. */
  async together({ open, dropAll, cleaned, save }) {
    const { page, complaints } = await open();
    for (const first of ["broken.wav", "minute.wav"]) {
      await dropAll(page, [first, "noisy.wav"]);
      await page.locator("#status:has-text('Clean, after'), #problem:visible").first().waitFor();
      await cleaned(page);
    }
    await save(page, "together.page.wav");
    const name = await page.locator("#name").textContent();
    return { name, about: await page.locator("#about").textContent(), complaints };
  },

  async live48000(tools) {
    return listen(tools, 48_000);
  },

  async live44100(tools) {
    return listen(tools, 44_100);
  },

  /** The level moves while it records, and a file that is dropped meanwhile is not taken. */
  async record({ open, drop, cleaned, save }) {
    const { page, requests, complaints } = await open();
    await page.locator("#record").click();
    await page.waitForFunction(() => document.querySelector("#record-level").value > 0.1);
    await drop(page, "noisy.wav");
    const refusal = await page.locator("#problem").textContent();
    await page.locator("#status", { hasText: "0:03" }).waitFor();
    await page.locator("#record").click();
    await cleaned(page);
    await save(page, "record.page.wav");
    return { refusal, meter: await page.locator("#record-level").isVisible(), about: await page.locator("#about").textContent(), requests, complaints };
  },

  /** A microphone that records for longer than the page can hold, here two seconds: what was recorded is kept. */
  async full({ open, save }) {
    const most = /\b(150e6|15e7|1\.5e8|150000000)\b/g;
    let found = 0;
    const edit = (code) => code.replace(most, () => (++found, "96e3"));
    const { page, complaints } = await open({ edit });
    await page.locator("#record").click();
    await page.locator("#download:enabled").waitFor();
    const recording = await page.locator("#record").getAttribute("aria-pressed");
    await save(page, "full.page.wav");
    return { found, recording, problem: await page.locator("#problem").textContent(), complaints };
  },

  /** Files that the browser gives up on, as it does when memory is short: which of them are too long is said. */
  async tooLong({ open, folder }) {
    const { page, complaints } = await open({ prepare: `(${noDecoder})()` });
    const problems = {};
    for (const name of ["hour.flac", "noisy.flac"]) {
      await page.locator("#file").setInputFiles(join(folder, name));
      await page.locator("#problem", { hasText: name }).waitFor();
      problems[name] = await page.locator("#problem").textContent();
    }
    return { problems, complaints };
  },

  /** Without a microphone there is a sentence, and the switch goes back. */
  async refused({ open }) {
    const refuse = () => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotFoundError"));
    };
    const { page, complaints } = await open({ prepare: refuse });
    await page.locator("#live").click({ force: true });
    await page.locator("#live-problem:visible").waitFor();
    const problem = await page.locator("#live-problem").textContent();
    return { problem, on: await page.locator("#live").isChecked(), complaints };
  },

  /** A worker's file is missing on the server: where it is needed there is a sentence, and nothing waits forever. */
  async missing({ open }) {
    const { page } = await open({ prepare: `(${withoutWorker})("live.worker")` });
    await page.locator("#live").click({ force: true });
    await page.locator("#live-problem:visible").waitFor();
    const live = await page.locator("#live-problem").textContent();
    const on = await page.locator("#live").isChecked();
    const other = await open({ prepare: `(${withoutWorker})("recordings.worker")`, until: "#problem:visible" });
    return { live, on, recordings: await other.page.locator("#problem").textContent() };
  },

  /** The microphone is unplugged while it is used. */
  async vanish({ open }) {
    const keep = () => {
      const original = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = async (wish) => (window.microphone = await original(wish));
    };
    const { page, complaints } = await open({ prepare: keep });
    await page.locator("#live").check({ force: true });
    await page.locator("#live-status", { hasText: "late" }).waitFor();
    await page.evaluate(() => window.microphone.getTracks()[0].dispatchEvent(new Event("ended")));
    await page.locator("#live-problem:visible").waitFor();
    const problem = await page.locator("#live-problem").textContent();
    return { problem, on: await page.locator("#live").isChecked(), complaints };
  },

  /** The audio device is lost while live sound or a recording goes through it. */
  async silenced({ open }) {
    const keep = () => {
      const Original = window.AudioContext;
      window.AudioContext = function (options) {
        return (window.context = new Original(options));
      };
    };
    const { page, complaints } = await open({ prepare: keep });
    await page.locator("#live").check({ force: true });
    await page.locator("#live-status", { hasText: "late" }).waitFor();
    await page.evaluate(() => window.context.suspend());
    await page.locator("#live-problem:visible").waitFor();
    const live = await page.locator("#live-problem").textContent();
    const on = await page.locator("#live").isChecked();
    await page.locator("#live").check({ force: true }); // it starts again
    await page.locator("#live-status", { hasText: "late" }).waitFor();
    const again = await page.locator("#live-problem").isVisible();
    await page.locator("#live").uncheck({ force: true });
    await page.locator("#record").click();
    await page.locator("#status", { hasText: "0:01" }).waitFor();
    await page.evaluate(() => window.context.suspend());
    await page.locator("#problem:visible").waitFor();
    const recording = await page.locator("#problem").textContent();
    await page.locator("#download:enabled").waitFor(); // what was recorded until then
    return { live, on, again, recording, complaints };
  },

  /** Ten minutes: how much memory, and how long the page did not answer. */
  async long({ open, cleaned, save, folder, pid }) {
    const { page, requests, complaints } = await open();
    await page.evaluate(() => {
      window.longest = 0;
      let last = performance.now();
      setInterval(() => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - last);
        last = now;
      }, 20);
    });
    const before = memory(pid);
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, memory(pid))), 500);
    await page.locator("#file").setInputFiles(join(folder, "long.wav"));
    await cleaned(page);
    clearInterval(watch);
    await save(page, "long.page.wav");
    const status = await page.locator("#status").textContent();
    return { grown: (most - before) / 2 ** 20, unresponsive: await page.evaluate(() => window.longest), status, requests, complaints };
  },

  /** Names, roles and keyboard: the main path without a mouse. */
  async keyboard({ open, drop, cleaned }) {
    const { page } = await open();
    await drop(page, "noisy.wav");
    await cleaned(page);
    await page.locator("#choose").focus();
    const order = [];
    for (let n = 0; n < 9; n++) {
      order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.value || document.activeElement.tagName));
      await page.keyboard.press("Tab");
    }
    const names = await page.locator("button, input:not([type=file]), progress, meter, canvas").evaluateAll((all) =>
      all.filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim() || one.labels?.length)).map((one) => one.id),
    );
    await page.locator("#seek").focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"]) await page.keyboard.press(key);
    return { order, unnamed: names, sought: Number(await page.locator("#seek").inputValue()) };
  },

  /** The picture of the README. */
  async picture(tools) {
    return photograph(tools, "wide", "light");
  },

  /** The page light and dark, wide and narrow, to look at. */
  async pictures(tools) {
    for (const look of ["wide", "phone"]) for (const scheme of ["light", "dark"]) await photograph(tools, look, scheme);
  },
};

const LOOKS = { wide: { width: 1000, height: 1060 }, phone: { width: 390, height: 844 } };

/** The page with picture.wav before and after; nothing may stick out to the right. */
async function photograph({ open, cleaned, folder }, look, colorScheme) {
  const { page } = await open({ colorScheme, viewport: LOOKS[look], deviceScaleFactor: look === "phone" ? 2 : 1 });
  await page.locator("#file").setInputFiles(join(folder, "picture.wav"));
  await cleaned(page);
  await page.waitForFunction(() =>
    [...document.querySelectorAll("canvas")].every((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(canvas.width - 10, 0, 10, canvas.height);
      return data.some((value, n) => n % 4 < 3 && value !== data[n % 4]); // more than the empty ground
    }),
  );
  await page.waitForTimeout(1000);
  await page.screenshot({ path: join(folder, `${look}-${colorScheme}.png`), fullPage: true });
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (overflow > 0) throw new Error(`${look}, ${colorScheme}: ${overflow} pixels stick out`);
  await page.context().close();
  return { overflow };
}

/**
 * The microphone where the context runs at `rate`.
 *
 * What was heard and what the worker made of it goes to files: three seconds of it.
 */
async function listen({ open, folder }, rate) {
  const { page, requests, complaints } = await open({ prepare: `(${forceRate})(${rate});(${tap})();(${bridge})()` });
  await page.locator("#live").click({ force: true });
  await page.waitForFunction(() => window.cleaned.length >= 188 && window.tapped.some((block) => block.some(Boolean)));
  const status = await page.locator("#live-status").textContent();
  const take = async (name) => {
    const text = await page.evaluate((name) => {
      const bytes = new Uint8Array(window[name].slice(0, 188).flatMap((chunk) => [...new Uint8Array(chunk.buffer)]));
      let text = "";
      for (let n = 0; n < bytes.length; n += 8192) text += String.fromCharCode(...bytes.subarray(n, n + 8192));
      return btoa(text);
    }, name);
    writeFileSync(join(folder, `${name}${rate}.f32`), Buffer.from(text, "base64"));
  };
  await take("heard");
  await take("cleaned");
  await page.locator("#live").click({ force: true });
  const panel = await page.locator("#live-panel").isVisible();
  return { rate: await page.evaluate(() => window.tapRate), status, panel, requests, complaints };
}

/**
 * In the page: keep all that goes between the audio thread and the worker.
 *
 * The worker gets no more than it can hold, so that none is dropped however busy the machine is.
 */
function bridge() {
  const Original = window.MessageChannel;
  [window.heard, window.cleaned] = [[], []];
  window.MessageChannel = function () {
    const [worker, thread] = [new Original(), new Original()];
    let given = 0;
    const give = () => {
      for (; given < window.heard.length && given - window.cleaned.length < 8; given++) worker.port2.postMessage(window.heard[given]);
    };
    thread.port1.onmessage = ({ data }) => {
      window.heard.push(data);
      give();
    };
    worker.port2.onmessage = ({ data }) => {
      window.cleaned.push(data);
      thread.port1.postMessage(data);
      give();
    };
    return { port1: worker.port1, port2: thread.port2 };
  };
}

/** In the page: keep what goes to the loudspeaker. */
function tap() {
  const connect = AudioNode.prototype.connect;
  AudioNode.prototype.connect = function (target, ...rest) {
    if (target instanceof AudioDestinationNode && !(this instanceof ScriptProcessorNode)) {
      const context = this.context;
      if (!window.tapNode) {
        window.tapped = [];
        window.tapRate = context.sampleRate;
        window.tapNode = context.createScriptProcessor(2048, 1, 1);
        window.tapNode.onaudioprocess = ({ inputBuffer }) => window.tapped.push(inputBuffer.getChannelData(0).slice());
        connect.call(window.tapNode, context.destination);
      }
      connect.call(this, window.tapNode);
    }
    return connect.call(this, target, ...rest);
  };
}

/** In the page: every context runs at this rate. */
function forceRate(sampleRate) {
  const Original = window.AudioContext;
  window.AudioContext = class extends Original {
    constructor(options) {
      super({ ...options, sampleRate });
    }
  };
}

/** In the page: the server lacks the worker of this name. */
function withoutWorker(name) {
  const Original = window.Worker;
  window.Worker = class extends Original {
    constructor(url, options) {
      super(String(url).replace(name, "missing"), options);
    }
  };
}

/** In the page: the browser decodes nothing. */
function noDecoder() {
  OfflineAudioContext.prototype.decodeAudioData = () => Promise.reject(new DOMException("", "EncodingError"));
}

/** In the page: the loudspeaker takes its time to start. */
function slowResume() {
  const { resume } = AudioContext.prototype;
  AudioContext.prototype.resume = async function () {
    await resume.call(this);
    await new Promise((resolve) => setTimeout(resolve, 500));
  };
}

/** In the page: how many sources are playing. */
function countSources() {
  window.sources = 0;
  const { start, stop } = AudioBufferSourceNode.prototype;
  AudioBufferSourceNode.prototype.start = function (...when) {
    window.sources += 1;
    return start.apply(this, when);
  };
  AudioBufferSourceNode.prototype.stop = function (...when) {
    window.sources -= 1;
    return stop.apply(this, when);
  };
}

/** In the page: the peak of what was played. */
function peak() {
  return Math.max(...window.tapped.map((block) => Math.max(...block)));
}

/** The bytes that the processes below `pid` occupy, without what they share. */
function memory(pid) {
  const parents = new Map();
  for (const name of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      parents.set(Number(name), Number(readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1].split(" ")[1]));
    } catch {
      continue; // it has ended
    }
  }
  const below = (one) => one === pid || (parents.has(one) && below(parents.get(one)));
  let bytes = 0;
  for (const one of parents.keys()) {
    if (!below(one)) continue;
    try {
      const [, resident, shared] = readFileSync(`/proc/${one}/statm`, "utf8").split(" ").map(Number);
      bytes += 4096 * (resident - shared);
    } catch {
      continue;
    }
  }
  return bytes;
}
