// The official clients through the gateway to an upstream that nobody here wrote, well and with its chaos on.
import Anthropic from "@anthropic-ai/sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { collect, key, url } from "./gateway.mjs";

const openai = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });

const text = "Hello from an upstream that nobody here wrote: héllo, 你好.";
const hello = [{ role: "user", content: "hello" }];
const weather = [{ role: "user", content: "weather" }];

test("chat, whole and streamed", async () => {
  const whole = await openai.chat.completions.create({ model: "aimock", messages: hello });
  assert.equal(whole.choices[0].message.content, text);
  const chunks = await collect(await openai.chat.completions.create({ model: "aimock", messages: hello, stream: true }));
  assert.equal(chunks.map((c) => c.choices[0]?.delta?.content ?? "").join(""), text);
});

test("chat tools, whole and streamed", async () => {
  const whole = await openai.chat.completions.create({ model: "aimock", messages: weather });
  const streamed = await openai.chat.completions.stream({ model: "aimock", messages: weather }).finalChatCompletion();
  for (const answer of [whole, streamed]) {
    const [call] = answer.choices[0].message.tool_calls;
    assert.equal(call.function.name, "get_weather");
    assert.deepEqual(JSON.parse(call.function.arguments), { city: "Paris" });
  }
});

test("responses, streamed through the client's own helper", async () => {
  const final = await openai.responses.stream({ model: "aimock", input: "hello" }).finalResponse();
  assert.equal(final.output_text, text);
});

test("messages, streamed through the client's own helper, with text and with a tool", async () => {
  const said = await anthropic.messages.stream({ model: "aimock", max_tokens: 100, messages: hello }).finalMessage();
  assert.equal(said.content.find((b) => b.type === "text").text, text);
  const called = await anthropic.messages.stream({ model: "aimock", max_tokens: 100, messages: weather }).finalMessage();
  assert.deepEqual(called.content.find((b) => b.type === "tool_use").input, { city: "Paris" });
});

for (const stream of [false, true]) {
  const how = stream ? "streamed" : "whole";
  const ask = (model) => openai.chat.completions.create({ model, messages: hello, stream });

  test(`its own errors pass through, ${how}`, async () => {
    await assert.rejects(ask("aimock-drop"), (err) => err instanceof OpenAI.InternalServerError && err.status === 500);
  });

  test(`its rate limit passes through, with how long to wait, ${how}`, async () => {
    await assert.rejects(ask("aimock-ratelimit"), (err) => {
      assert.ok(err instanceof OpenAI.RateLimitError);
      assert.ok(Number(err.headers.get("retry-after")) > 0);
      return true;
    });
  });

  test(`a connection that it breaks off is a 502 in the client's own shape, ${how}`, async () => {
    await assert.rejects(ask("aimock-disconnect"), (err) => {
      assert.ok(err instanceof OpenAI.InternalServerError, err.message);
      assert.equal(err.status, 502);
      assert.ok(err.requestID);
      assert.ok(err.error.message, "the error has the shape that the client knows");
      return true;
    });
  });
}

test("an answer that is not JSON passes through as it is", async () => {
  const answer = await openai.chat.completions.create({ model: "aimock-malformed", messages: hello }).asResponse();
  assert.equal(answer.status, 200);
  const body = await answer.text();
  assert.throws(() => JSON.parse(body), SyntaxError);
});
