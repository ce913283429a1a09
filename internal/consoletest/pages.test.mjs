// The pages beside the routes, and what a route's editor knows of policies.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, stop, visit } from "./browser.mjs";
import { add, api, chat, edit, routes } from "./gateway.mjs";

before(start);
after(stop);

test("a policy is set up, with criteria generated from the targets", () =>
  visit({ hash: "#/new/routes" }, async (page) => {
    await page.getByLabel("Name", { exact: true }).fill("decided");
    await page.getByLabel("Model", { exact: true }).selectOption("qwen3-0.6b");
    await page.getByRole("button", { name: "Add target" }).click();
    const second = page.getByRole("group", { name: "Target 2" });
    await second.getByLabel("Kind").selectOption("Model");
    await second.getByLabel("Model", { exact: true }).selectOption("qwen3-32b");
    await second.getByLabel("Asked for as").fill("qwen3-32b:lora");
    const policy = page.locator('[data-policy="decision_service"]');
    await policy.getByRole("switch").check();
    await page.getByText("Route By: Policy").waitFor();
    await policy.getByText("A decision service has to be chosen, or the route can't serve.").waitFor();
    await policy.getByLabel("Provider", { exact: true }).selectOption("jev");
    await policy.getByRole("button", { name: "Ask the provider what it offers" }).click();
    await policy.getByText(/It offers jev-/).waitFor();
    await policy.getByLabel("Decision model").fill("jev-latest");
    await policy.getByRole("button", { name: "Generate from targets" }).click();
    const small = policy.getByLabel("qwen3-0.6b", { exact: true });
    await small.fill("Short answers.");
    await page.getByRole("button", { name: "Add route" }).click();
    await page.getByText("1 thing to put right").waitFor(); // the other criterion is still empty
    await policy.getByLabel("qwen3-32b:lora", { exact: true }).fill("Everything else.");
    await policy.getByLabel("Weight of its vote").fill("2.5");
    await policy.getByLabel("Wait for it at most").fill("3");
    await policy.getByLabel("Wait for it at most").blur();
    await policy.getByText("A duration is written like 500ms, 10s, 1m30s or 2h; 0 is none.").waitFor();
    await policy.getByLabel("Wait for it at most").fill("2s");
    const sticky = page.locator('[data-policy="session_affinity"]');
    await sticky.getByRole("switch").check();
    await sticky.getByRole("button", { name: "Change" }).click();
    await sticky.getByRole("button", { name: "Remove key 3" }).click();
    await sticky.getByRole("button", { name: "Remove key 2" }).click();
    await page.getByLabel("Who may use it").selectOption("allowed_users");
    await page.getByLabel("Allowed users").fill("demo");
    await page.getByLabel("Allowed users").press("Enter");
    await page.getByText("as all routes have them").click();
    await page.getByLabel("Failures in a row that eject").fill("2");
    await page.getByRole("button", { name: "Add route" }).click();
    await page.locator('[data-route="decided"]').getByText("Serving").waitFor();
    assert.deepEqual((await routes()).routes.at(-1), {
      name: "decided",
      targets: [{ model: "qwen3-0.6b" }, { model: "qwen3-32b", overridden_model_name: "qwen3-32b:lora" }],
      policies: {
        decision_service: { provider: "jev", model: "jev-latest", criteria: { "qwen3-0.6b": "Short answers.", "qwen3-32b:lora": "Everything else." }, weight: 2.5, timeout: "2s" },
        session_affinity: { session_keys: [{ header: "session-id" }] },
      },
      access_policy: "allowed_users",
      allowed_users: ["demo"],
      health: { unhealthy_threshold: 2 },
    });
    assert.equal((await chat("decided")).status, 200);
  }));

test("a policy that is switched off keeps its settings", () =>
  visit({ hash: "#/routes/decided/edit" }, async (page) => {
    const policy = page.locator('[data-policy="decision_service"]');
    await policy.getByRole("switch").uncheck();
    await page.getByText("Route By: Policy").waitFor(); // by the other one
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator('[data-route="decided"]').waitFor();
    const { policies } = (await routes()).routes.at(-1);
    assert.equal(policies.decision_service.enabled, false);
    assert.equal(policies.decision_service.timeout, "2s");
  }));

test("a mistake that only the gateway knows is shown at its field", () =>
  visit({ hash: "#/models/qwen3-32b", refusals: [422] }, async (page) => {
    const { models } = await routes();
    await page.getByLabel("Address").fill(models[0].instances[0].url); // an engine that has another cap
    await page.locator("#f-instances-0-max_inflight").blur();
    await page.locator("#f-instances-0-url").blur();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator('[id="f-instances-0-max_inflight-mistake"]').getByText(/has the same url and so is the same engine/).waitFor();
    await page.getByText("1 thing to put right").waitFor();
    assert.notEqual((await routes()).models[1].instances[0].url, models[0].instances[0].url);
  }));

test("a model is added, drained and put back", () =>
  visit({ hash: "#/models" }, async (page) => {
    await page.getByRole("link", { name: "Add model" }).click();
    await page.getByLabel("Name", { exact: true }).first().fill("extra");
    const instance = page.getByRole("group", { name: "Instance 1" });
    await instance.getByLabel("Name").fill("extra-1");
    await instance.getByLabel("Address").fill("10.0.0.1:8000");
    await instance.getByLabel("Address").blur();
    await instance.getByText("An address begins with http:// or https://").waitFor();
    await instance.getByLabel("Address").fill((await routes()).models[1].instances[0].url);
    await page.getByRole("button", { name: "Add model" }).click();
    const model = page.locator('[data-model="extra"]');
    await model.getByText("in no route").waitFor();
    await model.getByRole("button", { name: "Drain extra-1" }).click();
    await model.getByText("drained").waitFor();
    await page.locator('[data-model="qwen3-32b"]').getByText("drained").waitFor(); // it is the same engine
    await model.getByRole("button", { name: "Put back extra-1" }).click();
    await model.getByText("up", { exact: true }).waitFor();
    await model.getByRole("link", { name: "Edit" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Models & providers" }).waitFor();
    await model.waitFor({ state: "detached" });
  }));

test("a provider's token goes in and does not come out", () =>
  visit({ hash: "#/new/providers", refusals: [422] }, async (page) => {
    const token = "sk-browser-test-secret";
    await page.getByLabel("Name", { exact: true }).fill("elsewhere");
    await page.getByLabel("Type").selectOption("openai");
    await page.getByLabel("Endpoint").fill("http://127.0.0.1:9/v1");
    await page.getByLabel("API token").fill(token);
    assert.ok(!(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes(token), "a draft holds the token");
    await page.getByRole("button", { name: "Add provider" }).click();
    const provider = page.locator('[data-provider="elsewhere"]');
    await provider.getByText("token set").waitFor();
    assert.equal((await routes()).providers.at(-1).api_token, token);
    await provider.getByRole("link", { name: "Edit" }).click();
    await page.getByText("One is set, and is never shown.").waitFor();
    assert.ok(!(await page.content()).includes(token));
    await page.getByLabel("Endpoint").fill("http://127.0.0.2:9/v1"); // whoever has it there must not get it by this
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("#f-api_token-mistake").getByText(/has to be given again/).waitFor();
    await page.getByRole("button", { name: "Remove the token" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await provider.getByText("no token").waitFor();
    await edit((f) => f.providers.pop());
    await provider.waitFor({ state: "detached" });
  }));

test("limits of all routes are edited", () =>
  visit({ hash: "#/models" }, async (page) => {
    await page.getByRole("link", { name: "Limits of all routes" }).click();
    await page.getByLabel("To connect").fill("soon");
    await page.getByLabel("To connect").blur();
    await page.getByText("A duration is written like 500ms").waitFor();
    await page.getByLabel("To connect").fill("4s");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Models & providers" }).waitFor();
    assert.deepEqual((await routes()).defaults, { debug_headers: true, timeouts: { connect: "4s" } });
  }));

test("an ejected instance is shown with the end of its ejection", async () => {
  const { etag } = await api("/api/models");
  const model = { name: "dead", instances: [{ name: "dead-1", url: "http://127.0.0.1:9" }] };
  await api("/api/models", { method: "POST", body: JSON.stringify(model), headers: { "If-Match": etag } });
  await add({ name: "fragile", access_policy: "public", targets: [{ model: "dead" }], health: { unhealthy_threshold: 1, cooldown: "10m" } });
  await visit({ hash: "#/routes/fragile" }, async (page) => {
    const instance = page.locator('[data-route="fragile"] [data-instance="dead-1"]');
    await instance.getByText("up", { exact: true }).waitFor();
    assert.equal(Math.floor((await chat("fragile")).status / 100), 5);
    await instance.getByText(/ejected, back in 9 min/).waitFor();
  });
});

test("requests appear as they end, with why they went where", () =>
  visit({ hash: "#/live" }, async (page) => {
    const session = { "session-id": "live" };
    await chat("qwen3", session);
    const id = (await chat("qwen3-split")).headers.get("x-request-id");
    const refused = (await chat("qwen3-split", {}, "")).headers.get("x-request-id");
    const row = (request) => page.locator(`[data-request="${request}"]`);
    await row(id).getByText("Target weight").waitFor();
    await row(refused).getByText("rejected").waitFor();
    assert.equal(await row(refused).locator('[data-at="why"]').textContent(), "–");
    assert.ok((await page.getByText("Session affinity").or(page.getByText("Decision service")).count()) > 0);

    await page.getByRole("button", { name: "Pause" }).click();
    const later = (await chat("qwen3-split")).headers.get("x-request-id");
    await page.getByLabel("Filter").fill("rejected 401");
    await row(refused).waitFor();
    assert.equal(await row(id).count(), 0);
    await page.getByLabel("Filter").fill("");
    await page.getByLabel("Outcome").selectOption("rejected");
    assert.equal(await row(id).count(), 0);
    await page.getByLabel("Outcome").selectOption("");
    assert.equal(await row(later).count(), 0);
    await page.getByRole("button", { name: "Go on" }).click();
    await row(later).waitFor();
  }));

test("a route may have any name", async () => {
  const name = 'org/qwen3:"<b>lora</b>"%2F#?&+é';
  await add({ name, access_policy: "public", targets: [{ model: "qwen3-32b" }] });
  await visit({}, async (page) => {
    const r = page.locator("[data-route]").filter({ hasText: name });
    await r.getByRole("button", { name }).click();
    await r.getByRole("link", { name: "Edit" }).click();
    await page.getByRole("heading", { name }).waitFor();
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), name);
    await page.reload();
    await page.getByLabel("Description").fill("Found again.");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await r.getByText("Found again.").waitFor();
    await r.getByRole("link", { name: "Explain a request" }).click();
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator("[data-candidate]").getByText("Pick").waitFor();
    await page.goBack();
    await r.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await r.waitFor({ state: "detached" });
  });
});

test("many routes are filtered", async () => {
  await edit((f) => {
    for (let i = 0; i < 500; i++) f.routes.push({ name: `many-${i}`, targets: [{ model: "qwen3-32b" }] });
  });
  await visit({}, async (page) => {
    await page.getByLabel("Filter").fill("many 499");
    await page.locator('[data-route="many-499"]').waitFor();
    await page.waitForFunction(() => document.querySelectorAll("[data-route]").length === 1);
  });
  await edit((f) => (f.routes = f.routes.filter((r) => !r.name.startsWith("many-"))));
});

test("a secret can be copied where the browser has no clipboard for pages", () =>
  visit({ hash: "#/new/keys" }, async (page) => {
    await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.reload();
    await page.getByLabel("User", { exact: true }).fill("bob");
    await page.getByRole("button", { name: "Add key" }).click();
    const secret = await page.locator("[data-secret]").textContent();
    await page.getByRole("button", { name: "Copy secret" }).click();
    await page.getByText("Copied.").waitFor();
    await page.getByRole("link", { name: "Live" }).click();
    await page.getByLabel("Filter").focus();
    await page.keyboard.press("Control+V");
    assert.equal(await page.getByLabel("Filter").inputValue(), secret);
  }));
