/**
 * The page in Chromium: node tests/browser.mjs CHROMIUM ADDRESS FOLDER
 *
 * FOLDER has the recordings, and takes the results. Every line of the standard input is the name of a case, and is
 * answered by one line of JSON: the name, and what was seen or what went wrong. The browser is the same for all cases,
 * but each has a context of its own. tests/page/test_browser.py makes the recordings, asks and judges the results.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { chromium } from "playwright-core";

import { cases } from "./cases.mjs";

const [, , executablePath, address, folder] = process.argv;
const PATIENCE = 1_500_000; // ten minutes of sound on a machine that does other things, too

const server = await chromium.launchServer({
  executablePath,
  headless: true,
  args: [
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    `--use-file-for-fake-audio-capture=${join(folder, "microphone.wav")}`,
  ],
});
const browser = await chromium.connect(server.wsEndpoint());

/** A fresh page that has loaded, or shows `until`, with its code as `edit` returns it and other files as `routes` answer; `requests` and `complaints` grow with all that happens after and meanwhile. */
async function open({ prepare, edit, routes = {}, until = "#choose:enabled", ...options } = {}) {
  const context = await browser.newContext({ acceptDownloads: true, ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const requests = [];
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  if (prepare) await page.addInitScript(prepare);
  for (const [address, answer] of Object.entries(routes)) await page.route(address, answer);
  if (edit) {
    await page.route("**/assets/index-*.js", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: edit(await response.text()) });
    });
  }
  await page.goto(address);
  await page.locator(until).waitFor();
  context.on("request", (request) => /^(https?|wss?):/.test(request.url()) && requests.push(request.url()));
  return { page, context, requests, complaints };
}

/** Drop files on the page, one right after the other. */
async function dropAll(page, names) {
  const files = names.map((name) => [name, readFileSync(join(folder, name)).toString("base64")]);
  await page.evaluate((files) => {
    const intake = document.querySelector("#intake");
    for (const [name, text] of files) {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], name));
      for (const kind of ["dragover", "drop"]) {
        intake.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
      }
    }
  }, files);
}

const tools = {
  address,
  folder,
  open,
  pid: server.process().pid,
  read: (name) => readFileSync(join(folder, name)),
  /** Drop a file on the page, as a mouse would. */
  drop: (page, name) => dropAll(page, [name]),
  dropAll,
  /** Wait for the clean recording. */
  async cleaned(page) {
    await page.locator("#download:enabled, #problem:visible").first().waitFor();
    if (await page.locator("#problem").isVisible()) throw new Error(await page.locator("#problem").textContent());
  },
  /** Download the result to the folder; returns the name that the page gave it. */
  async save(page, name) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#download").click()]);
    await download.saveAs(join(folder, name));
    return download.suggestedFilename();
  },
};

for await (const name of createInterface({ input: process.stdin })) {
  const began = Date.now();
  let result;
  try {
    result = { case: name, seen: (await cases[name](tools)) ?? {} };
  } catch (error) {
    result = { case: name, error: String(error?.message ?? error) };
  }
  console.log(JSON.stringify({ ...result, seconds: (Date.now() - began) / 1000 }));
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
await server.close();
