// Package openai knows the APIs of OpenAI and Anthropic as bytes: which paths exist, what a request body says, how an
// error and a list of models look, where the events of a stream end. It opens no socket, reads no clock and keeps
// nothing between two calls.
package openai
