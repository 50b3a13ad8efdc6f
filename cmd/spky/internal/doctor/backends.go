package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
)

// probeTimeout bounds the look at one backend.
const probeTimeout = 3 * time.Second

// backends looks whether the backends answer: at their health check, or else
// whether anything listens there.
func (e *exam) backends(ctx context.Context, cfg *config.Config) {
	for _, b := range cfg.Runnable() {
		name := "backend " + b.Name
		detail, err := probe(ctx, b)
		if err != nil {
			e.warn(name, err.Error(), "start it, or correct baseUrl or deploy.healthcheck; its jobs wait meanwhile")
			continue
		}
		e.pass(name, detail)
		e.workflows(ctx, b)
	}
}

func probe(ctx context.Context, b config.Backend) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if b.Healthcheck == "" {
		return dial(ctx, b)
	}
	url := strings.TrimSuffix(b.BaseURL.String(), "/") + "/" + strings.TrimPrefix(b.Healthcheck, "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("GET %s: %w", url, err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return "", err // it names the method and the address
	}
	response.Body.Close()
	if response.StatusCode/100 != 2 {
		return "", fmt.Errorf("GET %s answers %s", url, response.Status)
	}
	return fmt.Sprintf("GET %s answers %s", url, response.Status), nil
}

func dial(ctx context.Context, b config.Backend) (string, error) {
	port := b.BaseURL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[b.BaseURL.Scheme]
	}
	address := net.JoinHostPort(b.BaseURL.Hostname(), port)
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err // it names the address
	}
	conn.Close()
	return address + " accepts connections; it has no deploy.healthcheck to ask", nil
}
