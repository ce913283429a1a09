// The official Anthropic client through the gateway.
import Anthropic from "@anthropic-ai/sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { collect, key, url } from "./gateway.mjs";

const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
const request = { model: "chat", max_tokens: 100, messages: [{ role: "user", content: "Say hello." }] };

test("messages, whole", async () => {
  const message = await client.messages.create(request);
  assert.equal(message.type, "message");
  assert.equal(message.stop_reason, "end_turn");
  assert.ok(message.content[0].text.length > 0);
  assert.ok(message.usage.output_tokens > 0);
});

test("messages, streamed, with every event in its order", async () => {
  const events = await collect(await client.messages.create({ ...request, stream: true }));
  const types = events.map((e) => e.type).filter((type, i, all) => type !== all[i - 1]);
  assert.deepEqual(types, [
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
  ]);
});

test("messages, streamed through the client's own helper, say the same", async () => {
  const whole = await client.messages.create(request);
  const final = await client.messages.stream(request).finalMessage();
  assert.equal(final.content[0].text, whole.content[0].text);
  assert.ok(final.usage.output_tokens > 0);
});

test("count_tokens", async () => {
  const { max_tokens: _, ...count } = request;
  assert.ok((await client.messages.countTokens(count)).input_tokens > 0);
});

test("models: the list, and one of them", async () => {
  const models = await collect(client.models.list());
  assert.ok(models.some((m) => m.id === "chat" && m.type === "model"));
  assert.ok(!models.some((m) => m.id === "private"), "a route of somebody else is not listed");
  assert.equal((await client.models.retrieve("chat")).id, "chat");
});

const failures = [
  { name: "a wrong key", options: { apiKey: "wrong" }, model: "chat", is: Anthropic.AuthenticationError, status: 401, type: "authentication_error" },
  { name: "an unknown model", model: "unknown", is: Anthropic.NotFoundError, status: 404, type: "not_found_error" },
  { name: "an engine that is over its rate", model: "limited", is: Anthropic.RateLimitError, status: 429 },
  { name: "an engine that is overloaded", model: "busy", is: Anthropic.InternalServerError, status: 503 },
  { name: "a route that is configured wrongly", model: "mixed", is: Anthropic.InternalServerError, status: 503, type: "api_error" },
];
for (const failure of failures) {
  for (const stream of [false, true]) {
    test(`${failure.name}, ${stream ? "streamed" : "whole"}`, async () => {
      const caller = client.withOptions(failure.options ?? {});
      await assert.rejects(caller.messages.create({ ...request, model: failure.model, stream }), (err) => {
        assert.ok(err instanceof failure.is, `${err.constructor.name}: ${err.message}`);
        assert.equal(err.status, failure.status);
        if (failure.type) {
          assert.equal(err.error.type, "error");
          assert.equal(err.error.error.type, failure.type);
          assert.ok(err.error.request_id);
        }
        return true;
      });
    });
  }
}

test("a stream cut short is an error, not an end", async () => {
  await assert.rejects(client.messages.stream({ ...request, model: "cut" }).finalMessage());
});
