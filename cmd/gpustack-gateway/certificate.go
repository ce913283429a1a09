package main

import (
	"crypto/tls"
	"sync/atomic"
)

// certificate is what the gateway shows its clients; it is read again when the routes file is, since certificates are
// renewed while the process runs.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// load reads the files. If they do not fit together, the certificate stays what it was.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current.Store(&pair)
	return nil
}

// config returns the TLS configuration of the data path. HTTP/2 is not offered: the data path speaks HTTP/1.1.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
