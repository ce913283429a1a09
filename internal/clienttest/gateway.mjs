// Where the gateway under test is, and which keys it knows; told by the Go test that started it.

export const url = required("GATEWAY_URL");
export const key = required("GATEWAY_KEY");

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this through "go test ./internal/clienttest"`);
  return value;
}

// collect reads a stream to its end and returns its events.
export async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}
