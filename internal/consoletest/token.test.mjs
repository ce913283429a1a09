// The console of a gateway that wants a token.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { required, start, stop, visit } from "./browser.mjs";

const token = required("ADMIN_TOKEN");

before(start);
after(stop);

test("the token is asked for once, and kept for as long as the tab is open", () =>
  visit({ refusals: [401] }, async (page) => {
    const field = page.getByLabel("Admin token");
    await field.fill("not the token at all");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("The gateway does not accept this token.").waitFor();
    await field.fill(token);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("There are no routes yet").waitFor();
    await page.reload();
    await page.getByText("There are no routes yet").waitFor();
    assert.equal(await field.count(), 0);
    assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie)).includes(token));
  }));

test("another tab has to know it as well", () =>
  visit({ refusals: [401] }, async (page) => {
    await page.getByLabel("Admin token").waitFor();
  }));
