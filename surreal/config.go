package surreal

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"
)

// Config says where the database is and how patient to be with it. Endpoint, Username and Password have no default.
type Config struct {
	// Endpoint is ws://, wss://, http:// or https://, with or without /rpc.
	Endpoint string
	// Namespace and Database are chosen right after the sign-in and created when they are missing and the user may
	// do so. Both may be empty: then nothing is chosen.
	Namespace, Database string
	// Username and Password are tried as a root user, then as a user of the database, then of the namespace.
	Username, Password string
	// Record signs in as a record user instead of Username. Defaults to nil.
	Record *RecordUser
	// Name labels log lines ("live", "work", "admin").
	Name string
	// CallTimeout limits calls whose context has no deadline of its own. Defaults to 30 s.
	CallTimeout time.Duration
	// DialTimeout limits dialling, until the WebSocket is open. Each step of the sign-in has the longer of the two. Defaults
	// to 5 s.
	DialTimeout time.Duration
	// PingInterval is the silence after which the server is asked for a sign of life. Defaults to 3 s.
	PingInterval time.Duration
	// PingTimeout is how long it may stay silent after that before the connection is dropped. Defaults to 3 s.
	PingTimeout time.Duration
	// MaxBackoff caps the pause between attempts to connect, which starts at 25 ms and is fully jittered. Defaults
	// to 2 s.
	MaxBackoff time.Duration
	// MaxMessage is the largest request or answer in bytes. Defaults to 128 MiB, the server's own limit.
	MaxMessage int64
	// Logger receives connects, disconnects and refused sign-ins. Defaults to discarding them.
	Logger *slog.Logger
	// OnState is called from Run's goroutine after each connect and disconnect. It must not block. Defaults to nothing.
	OnState func(State)

	tls *tls.Config // for tests; nil trusts the system's authorities
}

const defaultMaxMessage = 128 << 20

// RecordUser is a user who is a record of the database, signed in by an access of it: what a browser's user is. The
// database's permissions decide what such a client sees.
type RecordUser struct {
	// Access is the name that DEFINE ACCESS … TYPE RECORD gives it.
	Access string
	// Variables are what its SIGNIN and SIGNUP ask for, such as email and password.
	Variables map[string]any
	// SignUp also tries to sign up, where signing in is refused. Defaults to signing in only.
	SignUp bool
}

// normalised returns cfg with defaults filled in and the endpoint in the form ws(s)://host:port/rpc, or every fault
// of cfg at once.
func (cfg Config) normalised() (Config, error) {
	endpoint, err := normaliseEndpoint(cfg.Endpoint)
	faults := []error{err}
	cfg.Endpoint = endpoint
	switch {
	case cfg.Record == nil && cfg.Username == "":
		faults = append(faults, errors.New("username is missing"))
	case cfg.Record != nil && (cfg.Record.Access == "" || cfg.Database == ""):
		faults = append(faults, errors.New("a record user needs an access, a namespace and a database"))
	}
	if cfg.Database != "" && cfg.Namespace == "" {
		faults = append(faults, errors.New("a database needs a namespace"))
	}
	for name, d := range map[string]*time.Duration{
		"call timeout": &cfg.CallTimeout, "dial timeout": &cfg.DialTimeout, "ping interval": &cfg.PingInterval,
		"ping timeout": &cfg.PingTimeout, "backoff": &cfg.MaxBackoff,
	} {
		if *d < 0 {
			faults = append(faults, fmt.Errorf("%s is negative", name))
		}
	}
	cfg.CallTimeout = or(cfg.CallTimeout, 30*time.Second)
	cfg.DialTimeout = or(cfg.DialTimeout, 5*time.Second)
	cfg.PingInterval = or(cfg.PingInterval, 3*time.Second)
	cfg.PingTimeout = or(cfg.PingTimeout, 3*time.Second)
	cfg.MaxBackoff = or(cfg.MaxBackoff, 2*time.Second)
	cfg.MaxMessage = or(cfg.MaxMessage, defaultMaxMessage)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Name != "" {
		cfg.Logger = cfg.Logger.With("connection", cfg.Name)
	}
	return cfg, errors.Join(faults...)
}

func or[T int64 | time.Duration](value, fallback T) T {
	if value == 0 {
		return fallback
	}
	return value
}

// normaliseEndpoint turns what people write for a SurrealDB address into the address of its WebSocket RPC.
func normaliseEndpoint(endpoint string) (string, error) {
	if endpoint == "" {
		return "", errors.New("endpoint is missing (for example ws://localhost:8000)")
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("endpoint: %w", err)
	}
	ports := map[string]string{"ws": "80", "wss": "443"}
	scheme, ok := map[string]string{"ws": "ws", "http": "ws", "wss": "wss", "https": "wss"}[u.Scheme]
	switch {
	case !ok:
		return "", fmt.Errorf("endpoint %q: want ws://, wss://, http:// or https://", u.Redacted())
	case u.Hostname() == "":
		return "", fmt.Errorf("endpoint %q: no host", u.Redacted())
	case u.User != nil:
		return "", fmt.Errorf("endpoint %q: give user and password apart from the address", u.Redacted())
	}
	port := u.Port()
	if port == "" {
		port = ports[scheme]
	}
	path := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/rpc")
	return scheme + "://" + net.JoinHostPort(u.Hostname(), port) + path + "/rpc", nil
}
