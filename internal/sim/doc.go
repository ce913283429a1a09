// Package sim simulates inference engines and a decision service for tests, benchmarks and the demo.
//
// An Engine speaks the wire of a real one: OpenAI's chat, completions, responses, embeddings, rerank, score,
// moderations, images and audio, and Anthropic's messages, whole and streamed, with texts that follow from the request
// and nothing else. It works on sockets, not on net/http, because a gateway has to be shown what net/http would never
// do: an answer that breaks off at any byte, a head that announces more than comes, a connection that is closed just
// when it is used again. It keeps a record of what it received, byte for byte, and of who left before the answer was
// through.
package sim
