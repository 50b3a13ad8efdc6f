package ssp

import (
	"net"
	"net/http"
	"time"

	"sp00ky.cloud/spky/config"
)

// newHTTPClient makes the client for all backends. It keeps a connection per slot, follows no
// redirect, and has no timeout of its own: each attempt brings one.
func newHTTPClient(backends []config.Backend) *http.Client {
	slots := 1
	for _, b := range backends {
		slots = max(slots, b.Concurrency)
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxIdleConns:           0, // the limit is per host
			MaxIdleConnsPerHost:    slots,
			IdleConnTimeout:        60 * time.Second,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
		},
	}
}
