// What an operator does with the console, and sees.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, start, stop } from "./browser.mjs";

before(start);
after(stop);

test("routes unfold to their targets and instances", async () => {
  const { page, close } = await open();
  const route = page.locator('[data-route="qwen3"]');
  await route.getByRole("button", { name: "qwen3" }).click();
  await route.locator('[data-instance="qwen3-0.6b-2"]').getByText("up").waitFor();
  assert.equal(await route.locator("[data-instance]").count(), 3);
  await close();
});

test("a request is explained", async () => {
  const { page, close } = await open({ hash: "#/explain/qwen3" });
  await page.getByLabel("Really ask the decision service").check();
  await page.getByRole("button", { name: "Explain" }).click();
  const first = page.locator("[data-candidate]").first();
  await first.getByText("Pick").waitFor();
  assert.equal(await page.locator("[data-candidate]").count(), 3);
  await first.getByText(/Decision service \+9/).waitFor();
  await close();
});
