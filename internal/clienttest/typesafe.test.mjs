// The official decision client judges the simulated decision service: directly, and through the gateway, where a
// decision model is a route like any other.
import { choice, TypeSafeClient } from "@typesafe-ai/sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { key, url } from "./gateway.mjs";

const ways = [
  { name: "directly", apiKey: process.env.DECISION_KEY, baseURL: process.env.DECISION_URL, model: "jev-latest" },
  { name: "through the gateway", apiKey: key, baseURL: url, model: "jev" },
];
for (const way of ways) {
  const client = new TypeSafeClient({ apiKey: way.apiKey, baseURL: way.baseURL, maxRetries: 0 });
  const ask = (state, more) =>
    client.systemOne({
      model: way.model,
      state,
      questions: { model_selection: choice("Which model should answer?", { small: "Greetings and short facts.", large: "Proofs, math, code." }) },
      ...more,
    });

  test(`a choice, ${way.name}`, async () => {
    const { answers } = await ask("Prove that there are infinitely many primes.");
    const { choice: chosen, probabilities, confidence } = answers.model_selection;
    assert.deepEqual(Object.keys(probabilities).sort(), ["large", "small"]);
    const total = Object.values(probabilities).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(total - 1) < 0.05);
    assert.ok(probabilities[chosen] >= Math.max(...Object.values(probabilities)) - 0.005);
    assert.ok(confidence >= 0 && confidence <= 1);
  });

  test(`a wrong key, ${way.name}`, async () => {
    const stranger = new TypeSafeClient({ apiKey: "wrong", baseURL: way.baseURL, maxRetries: 0 });
    await assert.rejects(
      stranger.systemOne({ model: way.model, state: "x", questions: { q: choice("?", { a: null, b: null }) } }),
      (err) => {
        assert.equal(err.status ?? err.statusCode, 401);
        return true;
      },
    );
  });
}
