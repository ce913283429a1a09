package main

import (
	"bytes"
	"crypto/tls"
	"slices"
	"sync/atomic"
)

// certificate is what the gateway shows its clients; it is read again when its file has changed, since certificates are
// renewed while the process runs.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// load reads the files, and reports whether they hold another certificate than before. If they do not fit together, it
// stays what it was.
func (c *certificate) load() (changed bool, err error) {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return false, err
	}
	was := c.current.Swap(&pair)
	return was == nil || !slices.EqualFunc(was.Certificate, pair.Certificate, bytes.Equal), nil
}

// config returns the TLS configuration of the data path. HTTP/2 is not offered: the data path speaks HTTP/1.1.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
