// Takes the pictures of docs/console.md, of a gateway with some traffic. Run by `make screenshots`.
import { after, before, test } from "node:test";
import { required, start, stop, visit } from "./browser.mjs";
import { chat, edit, routes } from "./gateway.mjs";

const folder = required("CONSOLE_SCREENSHOTS");

const desktop = { viewport: { width: 1280, height: 800 }, timezoneId: "UTC" };
const phone = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true, timezoneId: "UTC" };

before(start);
before(traffic);
after(stop);

// traffic makes a gateway that something is happening at: an instance that is drained, one that is ejected, a route that
// can't serve, requests that went well and others that did not.
async function traffic() {
  const { models } = await routes();
  await edit((f) => {
    f.models[0].health_check = { path: "/health" };
    f.models.push({ name: "qwen3-235b", instances: [{ name: "qwen3-235b-1", url: "http://127.0.0.1:9", max_inflight: 4 }] });
    f.providers.push({ name: "elsewhere", type: "openai", endpoint: models[1].instances[0].url, api_token: "sk-example" });
    f.routes[0].targets.push({ provider: "elsewhere", overridden_model_name: "large", fallback_status_codes: ["429", "5xx"] });
    f.routes.push({ name: "qwen3-large", description: "The largest model.", access_policy: "allowed_users", allowed_users: ["alice", "demo"], targets: [{ model: "qwen3-235b" }], health: { unhealthy_threshold: 1, cooldown: "1h" } });
    f.routes.push({ name: "qwen3-next", description: "Being set up.", access_policy: "public", targets: [{ model: "qwen3-0.6b", weight: 1 }, { model: "qwen3-32b" }] });
    f.api_keys.push({ name: "alice-laptop", user: "alice", sha256: "0".repeat(64), expires_at: "2036-06-30T00:00:00Z" });
    f.api_keys.push({ name: "nightly-batch", user: "batch", sha256: "1".repeat(64), allowed_routes: ["qwen3-split"] });
  });
  await chat("qwen3-large");
  const all = [];
  for (let i = 0; i < 24; i++) all.push(chat(i % 3 ? "qwen3-split" : "qwen3", { "session-id": `s-${i % 4}` }));
  all.push(chat("qwen3", {}, ""), chat("qwen3-next"));
  await Promise.all(all);
}

const shoot = (page, name) => page.screenshot({ path: `${folder}/console-${name}.png`, animations: "disabled" });

test("routes", () =>
  visit({ ...desktop, hash: "#/routes/qwen3-split" }, async (page) => {
    await page.getByRole("button", { name: "qwen3-next" }).click();
    await page.locator('[data-route="qwen3-next"] [data-instance]').first().waitFor();
    await page.mouse.move(0, 0);
    await shoot(page, "routes");
  }));

test("routes, in the dark", () =>
  visit({ ...desktop, colorScheme: "dark", hash: "#/routes/qwen3" }, async (page) => {
    await page.getByRole("button", { name: "qwen3-large" }).click();
    await page.getByText(/ejected, back in/).waitFor();
    await page.mouse.move(0, 0);
    await shoot(page, "dark");
  }));

test("a mistake in the editor", () =>
  visit({ ...desktop, viewport: { width: 1280, height: 1000 }, hash: "#/routes/qwen3-split/edit" }, async (page) => {
    const first = page.getByRole("group", { name: "Target 1" });
    await first.getByLabel("Weight").fill("");
    await page.getByText("Other targets have a weight").waitFor();
    await page.locator('[data-policy="session_affinity"]').waitFor();
    await shoot(page, "edit");
  }));

test("a conflict", () =>
  visit({ ...desktop, hash: "#/routes/qwen3-split/edit" }, async (page) => {
    await page.getByLabel("Description").fill("A quarter to the small model.");
    await edit((f) => (f.routes[1].targets[0].weight = 200));
    await page.getByText("has been changed in the file while you changed it").waitFor();
    await shoot(page, "conflict");
    await edit((f) => (f.routes[1].targets[0].weight = 100));
  }));

test("models and providers", () =>
  visit({ ...desktop, hash: "#/models" }, async (page) => {
    await page.getByRole("button", { name: "Drain qwen3-0.6b-2" }).click();
    await page.getByText("drained").waitFor();
    await page.getByText(/gets no new requests/).waitFor({ state: "detached" });
    await page.mouse.move(0, 0);
    await shoot(page, "models");
    await page.getByRole("button", { name: "Put back qwen3-0.6b-2" }).click();
  }));

test("keys", () => visit({ ...desktop, viewport: { width: 1280, height: 480 }, hash: "#/keys" }, async (page) => {
    await page.locator("[data-key]").nth(2).waitFor();
    await shoot(page, "keys");
  }));

test("explain", () =>
  visit({ ...desktop, viewport: { width: 1280, height: 1080 }, hash: "#/explain/qwen3" }, async (page) => {
    await page.getByLabel("Really ask the decision service").check();
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator("[data-candidate]").first().waitFor();
    await page.locator(".shift").first().waitFor();
    await page.mouse.move(0, 0);
    await shoot(page, "explain");
  }));

test("live", () =>
  visit({ ...desktop, hash: "#/live" }, async (page) => {
    await page.locator("[data-request]").getByText("rejected").first().waitFor();
    await shoot(page, "live");
  }));

test("on a phone", () =>
  visit({ ...phone, hash: "#/routes/qwen3-split" }, async (page) => {
    await page.locator("[data-instance]").first().waitFor();
    await shoot(page, "phone");
  }));
