// The console without a mouse, on a phone, in the dark, and for those who do not see it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, stop, visit } from "./browser.mjs";
import { add, chat, routes } from "./gateway.mjs";

before(start);
before(() => chat("qwen3-split"));
after(stop);

// Where one can be, and what is there once all has come.
const places = [
  ["#/routes/qwen3", "[data-instance]"],
  ["#/routes/qwen3/edit", "[data-policy]"],
  ["#/new/routes", "[data-policy]", (page) => page.getByRole("button", { name: "Add route" }).click()],
  ["#/models", "[data-provider]"],
  ["#/models/qwen3-0.6b", "#f-instances-1-url"],
  ["#/providers/jev", "#f-endpoint"],
  ["#/defaults", "#f-timeouts-connect"],
  ["#/keys", "[data-key]"],
  ["#/new/keys", "#f-user"],
  ["#/explain/qwen3", ".shift", (page) => page.getByRole("button", { name: "Explain" }).click().then(() => page.locator("[data-candidate]").first().waitFor())],
  ["#/live", "[data-request]"],
];

async function go(page, [hash, there, act]) {
  await page.goto(`${page.url().split("#")[0]}${hash}`);
  await page.locator(there).first().waitFor();
  await act?.(page);
}

// focused returns what has the focus: its role or tag, and its accessible name.
const focused = (page) =>
  page.evaluate(() => {
    const e = document.activeElement;
    const label = e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent;
    return `${e.tagName.toLowerCase()} ${label.trim()}`;
  });

// tabTo presses Tab until something has the focus.
async function tabTo(page, what) {
  const seen = [];
  for (let i = 0; i < 150; i++) {
    await page.keyboard.press("Tab");
    const now = await focused(page);
    if (now === what) return;
    seen.push(now);
  }
  assert.fail(`Tab does not lead to ${what}, but to ${seen.join(", ")}`);
}

test("a target is added with the keyboard alone", async () => {
  await add({ name: "by-keyboard", targets: [{ model: "qwen3-0.6b" }] });
  await visit({}, async (page) => {
    await page.locator('[data-route="by-keyboard"]').waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await focused(page), "a Skip to the page");
    await page.keyboard.press("Enter");
    await tabTo(page, "button by-keyboard");
    await page.keyboard.press("Enter");
    await page.locator('[data-route="by-keyboard"] [data-instance]').first().waitFor();
    await tabTo(page, "a Edit route by-keyboard");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "by-keyboard" }).waitFor();
    await page.waitForFunction(() => document.activeElement.tagName === "MAIN");
    await tabTo(page, "button Add target");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.id === "f-targets-1-kind"); // the new target's first field
    await page.keyboard.press("Tab");
    await page.keyboard.type("qwen3-32b"); // a select goes to what is typed
    await page.keyboard.press("Tab");
    await page.keyboard.press("Shift+Tab");
    await tabTo(page, "button Move target 2 up");
    await page.keyboard.press("Enter");
    await tabTo(page, "button Save");
    await page.keyboard.press("Enter");
    await page.locator('[data-route="by-keyboard"] [data-instance="qwen3-32b-1"]').waitFor();
  });
  assert.deepEqual((await routes()).routes.find((r) => r.name === "by-keyboard").targets, [{ model: "qwen3-32b" }, { model: "qwen3-0.6b" }]);
});

test("a dialog keeps the focus, and Escape leaves things as they are", () =>
  visit({ hash: "#/keys" }, async (page) => {
    const remove = page.getByRole("button", { name: "Delete key demo" });
    await remove.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Delete key demo?" }).waitFor();
    for (let i = 0; i < 4; i++) {
      await page.keyboard.press("Tab");
      assert.ok(await page.evaluate(() => document.activeElement === document.body || !!document.activeElement.closest("dialog")));
    }
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Delete key demo");
  }));

test("on a phone nothing is cut off", () =>
  visit({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }, async (page) => {
    for (const place of places) {
      await go(page, place);
      const over = await page.evaluate(() => {
        const width = document.documentElement.clientWidth;
        const scrolls = (e) => e && (/(auto|scroll|hidden)/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
        return [...document.querySelectorAll("main *")]
          .filter((e) => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement) && !e.closest(".hidden"))
          .map((e) => `${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`);
      });
      assert.deepEqual(over, [], place[0]);
    }
    await page.getByRole("link", { name: "Live" }).click();
    await page.getByRole("heading", { name: "Live" }).waitFor();
  }));

for (const colorScheme of ["light", "dark"]) {
  test(`text can be read in the ${colorScheme}, and every control has a name`, () =>
    visit({ colorScheme }, async (page) => {
      for (const place of places) {
        await go(page, place);
        assert.deepEqual(await page.evaluate(faint), [], place[0]);
        assert.deepEqual(await page.evaluate(nameless), [], place[0]);
      }
      const [r, g, b] = (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g).map(Number);
      assert.equal(r + g + b < 384, colorScheme === "dark");
    }));
}

// faint returns the texts whose contrast is below 4.5 to 1 (WCAG 2.2, 1.4.3), disabled controls excepted.
function faint() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => (c * top[3] + below[i] * (255 - top[3])) / 255);
  const ground = (e) => (e ? over(rgba(getComputedStyle(e).backgroundColor), ground(e.parentElement)) : [255, 255, 255]);
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (node.textContent.trim() === "" || !e.checkVisibility() || e.closest(".hidden, [disabled], [aria-disabled=true], option, .candidate.out, noscript, script")) continue;
    const below = ground(e);
    const [a, b] = [light(over(rgba(getComputedStyle(e).color), below)), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${node.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return bad;
}

// nameless returns the controls that a screen reader has nothing to say of.
function nameless() {
  return [...document.querySelectorAll("button, a, input, select, textarea, summary, [role=region], dialog, nav")]
    .filter((e) => e.checkVisibility() && !e.closest("[aria-hidden=true]"))
    .filter((e) => {
      const by = e.getAttribute("aria-labelledby");
      const name = e.getAttribute("aria-label") ?? (by && document.getElementById(by)?.textContent) ?? [...(e.labels ?? [])].map((l) => l.textContent).join("");
      return (name || (e.matches("button, a, summary") ? e.textContent : "")).trim() === "";
    })
    .map((e) => e.outerHTML.slice(0, 120));
}
