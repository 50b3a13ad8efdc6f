package mcp

import (
	"context"
	"net"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBody bounds a request: params and payloads of 1 MiB fit, also when they are escaped.
const maxBody = 4 << 20

// newHandler serves requests as plain JSON, and subscriptions as a stream of events.
func newHandler(s *Server) http.Handler {
	server := func(*http.Request) *sdk.Server { return s.protocol }
	options := sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, Logger: s.cfg.Logger, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: s.cfg.Authenticated,
	}
	plain := sdk.NewStreamableHTTPHandler(server, &options)
	streaming := options
	streaming.JSONResponse = false
	streams := sdk.NewStreamableHTTPHandler(server, &streaming)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if foreign(r.Header.Values("Origin")) {
			http.Error(w, "Forbidden: the Origin header names a web page of another host; pages may ask from localhost only", http.StatusForbidden)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		if r.Header.Get("Mcp-Method") == "subscriptions/listen" {
			streams.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		plain.ServeHTTP(w, r.WithContext(ctx))
	})
}

// foreign reports whether a web page of another host asks, as the Origin that its browser sends says. Programs send none, or
// one of a scheme of their own. The request's Host is no measure: where a name has been bound anew it is the page's, too.
func foreign(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || origin == "null" || (u.Scheme == "http" || u.Scheme == "https") && !loopback(u.Hostname()) {
			return true
		}
	}
	return false
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
