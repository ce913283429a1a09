// What an operator does with the console, and sees.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, stop, visit } from "./browser.mjs";
import { api, chat, edit, routes, save } from "./gateway.mjs";

before(start);
after(stop);

const route = (page, name) => page.locator(`[data-route="${name}"]`);

// unfold opens a route of the list, and returns it.
async function unfold(page, name) {
  const r = route(page, name);
  await r.getByRole("button", { name, exact: true }).click();
  return r;
}

test("routes unfold to their targets and instances", () =>
  visit({}, async (page) => {
    const r = await unfold(page, "qwen3");
    await r.locator('[data-instance="qwen3-0.6b-2"]').getByText("up").waitFor();
    assert.equal(await r.locator("[data-instance]").count(), 3);
    await r.getByText("Policy", { exact: true }).waitFor();
  }));

test("a route is added, used, broken and mended", () =>
  visit({}, async (page) => {
    await page.getByRole("link", { name: "Add route" }).click();
    await page.getByRole("button", { name: "Add route" }).click();
    await page.getByText("2 things to put right").waitFor();
    const name = page.getByLabel("Name", { exact: true });
    assert.equal(await name.getAttribute("aria-invalid"), "true");
    await page.getByRole("link", { name: "name" }).click();
    await name.fill("qwen3");
    await name.blur();
    await page.locator("#f-name-mistake").getByText("There is a route of this name already.").waitFor();
    await name.fill("added");
    await page.getByLabel("Model", { exact: true }).selectOption("qwen3-0.6b");
    await page.getByRole("button", { name: "Add target" }).click();
    await page.getByRole("group", { name: "Target 2" }).getByLabel("Model", { exact: true }).selectOption("qwen3-32b");
    await page.getByText("Route By: Round robin").waitFor();
    await page.getByRole("button", { name: "Add route" }).click();

    const r = route(page, "added");
    await r.getByText("Serving").waitFor();
    assert.deepEqual((await routes()).routes.at(-1), { name: "added", targets: [{ model: "qwen3-0.6b" }, { model: "qwen3-32b" }] });
    await r.getByText("0 requests", { exact: true }).first().waitFor();
    assert.equal((await chat("added")).status, 200);
    await r.locator(".route-facts").getByText("1 request", { exact: true }).waitFor();
    await r.getByText("100 %").waitFor();

    await r.getByRole("link", { name: "Edit" }).click();
    const first = page.getByRole("group", { name: "Target 1" });
    await first.getByLabel("Weight").fill("-1");
    await first.getByLabel("Weight").blur();
    await first.getByText("It can't be less than 0.").waitFor();
    await first.getByLabel("Weight").fill("100");
    await page.getByText("Route By: Unusable").waitFor();
    await page.getByText("Other targets have a weight and this one has none.").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("some targets have a weight and some have not").waitFor();
    await dialog.getByRole("button", { name: "Save anyway" }).click();

    await r.getByText("Unusable", { exact: true }).waitFor();
    await r.getByText("some targets have a weight and some have not").waitFor();
    const refused = await chat("added");
    assert.equal(refused.status, 503);
    assert.equal(refused.body.error.code, "route_unavailable");

    await r.getByRole("link", { name: "Edit" }).click();
    await page.getByRole("group", { name: "Target 2" }).getByLabel("Weight").fill("300");
    await page.getByText("Route By: Target weight").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await r.getByText("Target weight", { exact: true }).waitFor();
    await r.getByText("75 % wanted").waitFor();
    assert.equal((await chat("added")).status, 200);

    await r.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await r.waitFor({ state: "detached" });
    assert.equal((await chat("added")).status, 404);
  }));

test("the page follows the file on disk", () =>
  visit({}, async (page) => {
    const r = await unfold(page, "qwen3-split");
    await edit((f) => (f.routes[1].description = "Written by an editor."));
    await r.getByText("Written by an editor.").waitFor();
    await r.getByRole("link", { name: "Edit" }).click();
    const about = page.getByLabel("Description");
    await page.waitForFunction(() => document.getElementById("f-description")?.value === "Written by an editor.");
    await edit((f) => (f.routes[1].description = "Written again.")); // a form without changes follows as well
    await page.waitForFunction(() => document.getElementById("f-description")?.value === "Written again.");
    assert.equal(await about.inputValue(), "Written again.");
  }));

test("an edit on disk is not overwritten, and nothing typed is lost", () =>
  visit({ hash: "#/routes/qwen3-split/edit" }, async (page) => {
    const about = page.getByLabel("Description");
    await about.fill("Mine.");
    await edit((f) => (f.routes[0].description = "Another route is no conflict."));
    await edit((f) => (f.routes[1].description = "Theirs."));
    const conflict = page.getByRole("alert").filter({ hasText: "has been changed in the file while you changed it" });
    await conflict.waitFor();
    await conflict.getByText('"description": "Theirs."').waitFor();
    await conflict.getByText('"description": "Mine."').waitFor();
    assert.equal(await about.inputValue(), "Mine.");
    await page.getByRole("button", { name: "Save", exact: true }).click(); // refused: the conflict has to be settled first
    assert.equal((await routes()).routes[1].description, "Theirs.");
    await conflict.getByRole("button", { name: /Keep my draft/ }).click();
    await conflict.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await route(page, "qwen3-split").getByText("Mine.").waitFor();
    const now = (await routes()).routes;
    assert.equal(now[0].description, "Another route is no conflict.");
    assert.equal(now[1].description, "Mine.");
  }));

test("an entry that is removed on disk while it is edited can be added again", () =>
  visit({ hash: "#/routes/qwen3-split/edit", refusals: [404] }, async (page) => {
    await page.getByLabel("Description").fill("Still wanted.");
    await edit((f) => f.routes.pop());
    const conflict = page.getByRole("alert").filter({ hasText: "has been removed from the file while you changed it" });
    await conflict.getByRole("button", { name: /add it again/ }).click();
    await conflict.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await route(page, "qwen3-split").getByText("Still wanted.").waitFor();
    const last = (await routes()).routes.at(-1);
    assert.equal(last.description, "Still wanted.");
    assert.equal(last.targets.length, 2);
  }));

test("an entry that was changed in the moment of saving is not overwritten", () =>
  visit({ hash: "#/routes/qwen3-split/edit", refusals: [412] }, async (page) => {
    await page.getByLabel("Description").fill("Mine, and too late.");
    let between = true;
    await page.route("**/api/routes/qwen3-split", async (r) => {
      if (r.request().method() === "PUT" && between) {
        between = false;
        await edit((f) => (f.routes[1].description = "In between."));
      }
      await r.continue();
    });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "has been changed in the file while you changed it" }).waitFor();
    assert.equal((await routes()).routes[1].description, "In between.");
    await page.getByRole("button", { name: "Take the file's version" }).click();
    await page.waitForFunction(() => document.getElementById("f-description")?.value === "In between.");
  }));

test("a file on disk that can't be used is shown with its mistakes", () =>
  visit({}, async (page) => {
    const good = await edit(() => {});
    const broken = good.replace('"routes"', '"roots"');
    await save(broken.replace('"roots"', "roots"));
    const banner = page.getByRole("alert").filter({ hasText: "can't be used, so the last good one serves" });
    await banner.getByText(/routes\.json:\d+:\d+/).first().waitFor();
    assert.equal((await chat("qwen3-split")).status, 200);
    await save(good);
    await banner.waitFor({ state: "detached" });
  }));

test("a draft survives leaving and loading the page again", () =>
  visit({ hash: "#/new/routes" }, async (page) => {
    await page.getByLabel("Name", { exact: true }).fill("drafted");
    await page.getByRole("link", { name: "Keys" }).click();
    const leave = page.getByRole("dialog", { name: "Leave without saving?" });
    await leave.getByRole("button", { name: "Stay here" }).click();
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "drafted");
    await page.getByRole("link", { name: "Keys" }).click();
    await leave.getByRole("button", { name: "Keep draft and leave" }).click();
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    await page.getByRole("link", { name: /Routes/ }).click();
    await page.getByRole("link", { name: "Go on with it" }).click();
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "drafted");
    const asked = page.waitForEvent("dialog");
    const reloaded = page.reload();
    const dialog = await asked;
    assert.equal(dialog.type(), "beforeunload");
    await dialog.accept();
    await reloaded;
    await page.getByLabel("Name", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "drafted");
    await page.getByRole("button", { name: "Discard changes" }).click();
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "");
  }));

test("a request is explained, with the table of what moves its session", () =>
  visit({ hash: "#/explain/qwen3" }, async (page) => {
    await page.getByLabel("Really ask the decision service").check();
    await page.getByRole("button", { name: "Explain" }).click();
    const first = page.locator("[data-candidate]").first();
    await first.getByText("Pick").waitFor();
    assert.equal(await page.locator("[data-candidate]").count(), 3);
    await first.getByText(/Decision service \+9/).waitFor();
    const row = page.getByRole("row", { name: /this route/ });
    assert.deepEqual(await row.locator(".shift").allTextContents(), ["hold", "hold", "tie", "flip", "flip"]);
    await page.getByLabel("Least in-flight").fill("2");
    await row.getByRole("cell", { name: "1", exact: true }).waitFor(); // moves at 1
    await page.getByLabel("Body").fill('{"model": "nobody"}');
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByText("It would be refused with status 404").waitFor();
  }));

test("a key is created, shown once, used and deleted", () =>
  visit({ hash: "#/keys", permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await page.getByRole("link", { name: "Create key" }).click();
    await page.getByRole("button", { name: "Add key" }).click();
    await page.locator("#f-user-mistake").getByText("A key belongs to a user.").waitFor();
    await page.getByLabel("User", { exact: true }).fill("alice");
    await page.getByLabel("Name", { exact: true }).fill("alice-browser");
    await page.getByLabel("Only these, and public ones").check();
    await page.getByLabel("Allowed routes").fill("qwen3-split,");
    await page.getByRole("button", { name: "Add key" }).click();
    const secret = await page.locator("[data-secret]").textContent();
    await page.getByRole("button", { name: "Copy secret" }).click();
    await page.getByText("Copied.").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
    assert.equal((await chat("qwen3-split", {}, secret)).status, 200);
    assert.equal((await chat("qwen3", {}, secret)).status, 404);
    await page.getByRole("link", { name: "I have kept it" }).click();
    const k = page.locator('[data-key="alice-browser"]');
    await k.getByText("qwen3-split").waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await k.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await k.waitFor({ state: "detached" });
    assert.equal((await chat("qwen3-split", {}, secret)).status, 401);
    assert.equal((await api("/api/keys")).keys.length, 1);
  }));
