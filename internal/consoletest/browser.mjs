// A browser in front of the gateway that the Go test started. Whatever a page does wrong by itself fails its test: an
// error on its console, an exception, a refusal by its content security policy, a request to anywhere else.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export const admin = required("ADMIN_URL");
export const gateway = required("GATEWAY_URL");

export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this through "go test ./internal/consoletest"`);
  return value;
}

// Nothing that is waited for takes this long, unless it does not come at all.
export const patience = 20_000;

let browser;

export async function start() {
  browser = await chromium.launch({ executablePath: required("CHROMIUM"), args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export async function stop() {
  await browser?.close();
}

// visit opens a page with nothing kept from others, calls look with it, and then checks that nothing went wrong on it.
// The browser notes answers that say no as errors on the console; those that a test provokes are its to expect, by their
// status in refusals.
export async function visit(options, look) {
  const { hash = "", refusals = [], ...context } = options;
  const c = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-GB", ...context });
  c.setDefaultTimeout(patience);
  const page = await c.newPage();
  const wrong = [];
  page.on("pageerror", (e) => wrong.push(`exception: ${e.stack}`));
  page.on("console", (m) => {
    if (m.type() !== "error" && m.type() !== "warning") return;
    const expected = refusals.some((status) => m.text().includes(`status of ${status} `));
    if (!expected) wrong.push(`console: ${m.text()} (${m.location().url})`);
  });
  page.on("request", (r) => {
    if (!r.url().startsWith(`${admin}/`) && !r.url().startsWith("data:")) wrong.push(`request to ${r.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`content security policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  try {
    await page.goto(`${admin}/${hash}`);
    await look(page);
  } finally {
    await c.close();
  }
  assert.deepEqual(wrong, []);
}
