// Package lb chooses the instance that serves a request. It knows no socket and no clock: time and randomness are
// handed in, so that every rule can be tested and explained.
package lb
