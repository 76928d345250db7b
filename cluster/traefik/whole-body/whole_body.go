// Package whole_body is a middleware for Traefik that ends a request's body where its Content-Length does.
//
// To HTTP/1.1 clients Go's server closes the request's body as soon as the response begins. Go's reverse proxy reads the
// body once more after its last byte, to see whether there is more than was announced; where that read comes late, since
// all cores are busy, it fails, and the response that has begun is cut (golang/go#40747, traefik/traefik#10381).
package whole_body

import (
	"context"
	"io"
	"net/http"
)

// Config has no settings; Traefik requires the type.
type Config struct{}

// CreateConfig is called by Traefik.
func CreateConfig() *Config { return &Config{} }

// New is called by Traefik for each router with the middleware.
func New(_ context.Context, next http.Handler, _ *Config, _ string) (http.Handler, error) {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		// In a chunked body, only the read that fails could tell the end.
		if req.ContentLength > 0 {
			req.Body = &body{source: req.Body, left: req.ContentLength}
		}
		next.ServeHTTP(rw, req)
	}), nil
}

type body struct {
	source io.ReadCloser
	left   int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.source.Read(p)
	b.left -= int64(n)
	return n, err
}

func (b *body) Close() error { return b.source.Close() }
