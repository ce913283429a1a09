// The official OpenAI client through the gateway.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { toFile } from "openai";
import { collect, key, url } from "./gateway.mjs";

const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
const hello = [{ role: "user", content: "Say hello." }];

test("chat, whole", async () => {
  const { data, response } = await client.chat.completions.create({ model: "chat", messages: hello }).withResponse();
  assert.equal(data.object, "chat.completion");
  assert.ok(data.choices[0].message.content.length > 0);
  assert.equal(data.choices[0].finish_reason, "stop");
  assert.ok(data.usage.total_tokens > 0);
  assert.ok(response.headers.get("x-request-id"), "the answer carries a request id");
});

test("chat, streamed, says the same", async () => {
  const whole = await client.chat.completions.create({ model: "chat", messages: hello });
  const chunks = await collect(await client.chat.completions.create({ model: "chat", messages: hello, stream: true }));
  const text = chunks.map((c) => c.choices[0]?.delta?.content ?? "").join("");
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
  assert.ok(chunks.every((c) => !c.usage), "nobody asked for usage");
});

test("chat, streamed with include_usage, ends in exactly one usage event", async () => {
  const chunks = await collect(
    await client.chat.completions.create({ model: "chat", messages: hello, stream: true, stream_options: { include_usage: true } }),
  );
  const usage = chunks.filter((c) => c.usage);
  assert.equal(usage.length, 1);
  assert.deepEqual(usage[0].choices, []);
  assert.equal(usage[0], chunks.at(-1));
});

test("chat, streamed through the client's own helper", async () => {
  const runner = client.chat.completions.stream({ model: "chat", messages: hello });
  const final = await runner.finalChatCompletion();
  assert.ok(final.choices[0].message.content.length > 0);
});

const weather = {
  type: "function",
  function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
};

test("tools, whole", async () => {
  const answer = await client.chat.completions.create({ model: "chat", messages: hello, tools: [weather], tool_choice: "required" });
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
  const [call] = answer.choices[0].message.tool_calls;
  assert.equal(call.function.name, "get_weather");
  assert.equal(typeof JSON.parse(call.function.arguments), "object");
});

test("tools, streamed: the arguments join to JSON", async () => {
  const runner = client.chat.completions.stream({ model: "chat", messages: hello, tools: [weather], tool_choice: "required" });
  const answer = await runner.finalChatCompletion();
  const [call] = answer.choices[0].message.tool_calls;
  assert.equal(call.function.name, "get_weather");
  assert.equal(typeof JSON.parse(call.function.arguments), "object");
});

test("responses, whole", async () => {
  const answer = await client.responses.create({ model: "chat", input: "Say hello." });
  assert.equal(answer.status, "completed");
  assert.ok(answer.output_text.length > 0);
});

test("responses, streamed, with every event in its order", async () => {
  const events = await collect(await client.responses.create({ model: "chat", input: "Say hello.", stream: true }));
  const types = events.map((e) => e.type);
  assert.equal(types[0], "response.created");
  assert.equal(types.at(-1), "response.completed");
  assert.ok(types.indexOf("response.output_item.added") < types.indexOf("response.output_text.delta"));
  assert.ok(types.lastIndexOf("response.output_text.delta") < types.indexOf("response.output_text.done"));
  const numbers = events.map((e) => e.sequence_number);
  assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b), "sequence numbers rise");
  const text = events.filter((e) => e.type === "response.output_text.delta").map((e) => e.delta).join("");
  assert.equal(text, events.find((e) => e.type === "response.output_text.done").text);
});

test("embeddings", async () => {
  const answer = await client.embeddings.create({ model: "chat", input: ["one", "two"] });
  assert.equal(answer.data.length, 2);
  assert.ok(answer.data[0].embedding.length > 0);
});

test("transcription upload", async () => {
  const file = await toFile(Buffer.alloc(200_000, 7), "speech.wav", { type: "audio/wav" });
  const answer = await client.audio.transcriptions.create({ model: "chat", file, language: "en" });
  assert.ok(answer.text.length > 0);
});

test("models: the list, and one with a slash in its name", async () => {
  const ids = (await collect(client.models.list())).map((m) => m.id);
  assert.ok(ids.includes("chat"));
  assert.ok(ids.includes("org/chat"));
  assert.ok(!ids.includes("private"), "a route of somebody else is not listed");
  const model = await client.models.retrieve("org/chat");
  assert.equal(model.id, "org/chat");
  assert.equal(model.object, "model");
});

// What the client makes of failures: the class of its error, the status, and the request id it can report.
const failures = [
  { name: "a wrong key", options: { apiKey: "wrong" }, model: "chat", is: OpenAI.AuthenticationError, status: 401 },
  { name: "an unknown model", model: "unknown", is: OpenAI.NotFoundError, status: 404, code: "model_not_found" },
  { name: "somebody else's route", model: "private", is: OpenAI.NotFoundError, status: 404, code: "model_not_found" },
  { name: "an engine that is over its rate", model: "limited", is: OpenAI.RateLimitError, status: 429 },
  { name: "an engine that is overloaded", model: "busy", is: OpenAI.InternalServerError, status: 503 },
  { name: "a route that is configured wrongly", model: "mixed", is: OpenAI.InternalServerError, status: 503, code: "route_unavailable" },
];
for (const failure of failures) {
  for (const stream of [false, true]) {
    test(`${failure.name}, ${stream ? "streamed" : "whole"}`, async () => {
      const caller = client.withOptions(failure.options ?? {});
      await assert.rejects(caller.chat.completions.create({ model: failure.model, messages: hello, stream }), (err) => {
        assert.ok(err instanceof failure.is, `${err.constructor.name}: ${err.message}`);
        assert.equal(err.status, failure.status);
        assert.ok(err.requestID);
        assert.ok(err.message.length > 4);
        if (failure.code) assert.equal(err.code, failure.code);
        return true;
      });
    });
  }
}

test("a rate limit that passes is waited for, as long as the engine says", async () => {
  const answer = await client.withOptions({ maxRetries: 2 }).chat.completions.create({ model: "limited-once", messages: hello });
  assert.ok(answer.choices[0].message.content.length > 0);
});

test("a stream cut short is an error, not an end", async () => {
  const stream = await client.chat.completions.create({ model: "cut", messages: hello, stream: true });
  const chunks = [];
  await assert.rejects(async () => {
    for await (const chunk of stream) chunks.push(chunk);
  });
  assert.ok(chunks.length > 0, "what came before the cut was passed on");
});

test("a responses stream cut short is an error, not an end", async () => {
  const stream = await client.responses.create({ model: "cut", input: "Say hello.", stream: true });
  await assert.rejects(collect(stream));
});
