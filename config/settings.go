package config

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// override returns the value that a flag or else the first variable set gives,
// with the place to blame for it. An empty variable counts as unset.
func (l *loader) override(flag, flagName string, vars ...string) (value string, at place, ok bool) {
	if flag != "" {
		return flag, place{src: &source{name: FileFlags}, key: flagName}, true
	}
	for _, name := range vars {
		if value, set := l.env(name); set && value != "" {
			return value, place{src: &source{name: FileEnvironment}, key: name}, true
		}
	}
	return "", place{}, false
}

// name returns an overridable name: of the namespace, the user and so on.
func (l *loader) name(fallback, flag, flagName, variable string) string {
	value, at, ok := l.override(flag, flagName, variable)
	if !ok {
		return fallback
	}
	if !printing(value) {
		l.d.fault(at, "found "+quote(value)+", allowed: a name without control characters", "correct the value")
	}
	return value
}

func (l *loader) buildDatabase() {
	raw, over, db := l.raw.SurrealDB, l.opts.Overrides, &l.cfg.SurrealDB
	db.Version = raw.Version
	db.Namespace = l.name(raw.Namespace, over.Namespace, "--ns", "SPKY_DB_NS")
	db.Database = l.name(raw.Database, over.Database, "--db", "SPKY_DB_NAME")
	db.Username = l.credential(raw.Username, "root", over.Username, "--db-user", "SPKY_DB_USER")
	db.Password = NewSecret(l.credential(raw.Password, "root", over.Password, "--db-pass", "SPKY_DB_PASS"))
	db.Endpoint = defaultEndpoint
	value, at, given := l.override(over.Endpoint, "--db-url", "SPKY_DB_URL", "SPKY_DB_WS")
	switch {
	case given:
	case raw.Hosting == "external" && !l.d.has("surrealdb.endpoint"):
		l.d.fault(l.d.at("surrealdb.hosting"), "found \"external\" without an endpoint, allowed: external with surrealdb.endpoint, cloud",
			"add `endpoint:` with the URL of the database")
		return
	case raw.Hosting == "external":
		at = raw.Endpoint.at
		if value, given = l.d.resolve(raw.Endpoint, l.env, nil); !given {
			return
		}
	case raw.Endpoint.given():
		l.d.warn(raw.Endpoint.at, "found an endpoint that is not used, allowed: an endpoint with `hosting: external`",
			"add `hosting: external`, or remove the endpoint")
		return
	default:
		return
	}
	db.External = true
	if fault := urlFault(value, "ws", "wss", "http", "https"); fault != "" {
		l.d.fault(at, fault, "write for instance ws://127.0.0.1:8000")
		return
	}
	db.Endpoint = value
}

// credential returns a user name or password. The file's one is only expanded
// when nothing overrides it.
func (l *loader) credential(raw reference, fallback, flag, flagName, variable string) string {
	if value, _, ok := l.override(flag, flagName, variable); ok {
		return value
	}
	if !raw.given() {
		return fallback
	}
	value, ok := l.d.resolve(raw, l.env, nil)
	if ok && value == "" {
		l.d.fault(raw.at, "found an empty value, allowed: text", "give it a value, or remove the key for the default root")
	}
	return value
}

// buildServing fills in addresses, secrets, metrics and logging.
func (l *loader) buildServing() {
	c, over := &l.cfg, l.opts.Overrides
	c.Listen = l.address(defaultListen, place{}, over.Listen, "--listen", "SPKY_SSP_LISTEN_ADDR")
	c.Advertise = l.name("", "", "", "SPKY_SSP_ADVERTISE_ADDR")
	c.NodeID = l.name("", "", "", "SPKY_SSP_ID")
	c.AuthSecret = l.authSecret()
	c.Admin.Listen = l.adminListen()
	c.Admin.Tokens = l.adminTokens()
	c.Admin.TraceURL = l.traceURL()
	c.Metrics = Metrics{Enabled: l.raw.Metrics.Enabled}
	if l.raw.Metrics.Listen != "" {
		c.Metrics.Listen = l.address(l.raw.Metrics.Listen, l.d.at("metrics.listen"), "", "")
	}
	c.LogLevel = LogLevel{Dev: string(l.raw.LogLevel.Dev), Cloud: string(l.raw.LogLevel.Cloud)}
	if value, at, ok := l.override(over.LogLevel, "--log-level", "SPKY_LOG_LEVEL"); ok {
		c.LogLevel = LogLevel{Dev: value, Cloud: value}
		if _, _, err := ParseLogLevel(value); err != nil {
			l.d.fault(at, "found "+quote(value)+", allowed: a list of `level` or `target=level`, with the levels "+strings.Join(logLevels, ", "),
				"write for instance info, or warn,outbox=debug")
		}
	}
}

func (l *loader) authSecret() Secret {
	value, at, ok := l.override("", "", "SPKY_AUTH_SECRET")
	if ok && !headerSafe(value) {
		l.d.fault(at, "found a blank or control character in the secret, allowed: visible characters", "set a secret without them")
	}
	return NewSecret(value)
}

// address returns a listen address: the flag's or variable's, else the given
// one, which the file at a place is to blame for.
func (l *loader) address(given string, from place, flag, flagName string, vars ...string) string {
	value, at, ok := l.override(flag, flagName, vars...)
	if !ok {
		value, at = given, from
	}
	if fault := addressFault(value); fault != "" {
		l.d.fault(at, fault, "write for instance 127.0.0.1:8667")
	}
	return value
}

// adminOff is the address of an admin API that is not served.
const adminOff = "off"

// adminListen joins the address of the file with the host and the port of the
// environment; "" where one of them is off.
func (l *loader) adminListen() string {
	flag := l.opts.Overrides.AdminListen
	host, hostAt, hasHost := l.override("", "", "SPKY_ADMIN_HOST")
	port, portAt, hasPort := l.override("", "", "SPKY_ADMIN_PORT")
	if flag == adminOff || flag == "" && port == adminOff {
		return ""
	}
	listen, from := defaultAdminListen, place{}
	if ref := l.raw.Admin.Listen; ref.given() && flag == "" && !(hasHost && hasPort) {
		value, ok := l.d.resolve(ref, l.env, nil)
		switch {
		case !ok:
			return listen
		case value == adminOff && !hasPort:
			return ""
		}
		listen, from = value, ref.at
	}
	if flag == "" && hasHost {
		listen, from = replaced(listen, host, ""), hostAt
	}
	if flag == "" && hasPort {
		listen, from = replaced(listen, "", port), portAt
	}
	return l.address(listen, from, flag, "--admin-listen")
}

// replaced is an address with another host, or another port, where they are not
// "". One that is none counts as the default.
func replaced(listen, host, port string) string {
	oldHost, oldPort, err := net.SplitHostPort(listen)
	if err != nil {
		oldHost, oldPort, _ = net.SplitHostPort(defaultAdminListen)
	}
	return net.JoinHostPort(strings.Trim(cmp.Or(host, oldHost), "[]"), cmp.Or(port, oldPort))
}

func (l *loader) adminTokens() []AdminToken {
	var tokens []AdminToken
	for _, raw := range l.raw.Admin.Tokens {
		text, ok := l.d.resolve(raw.Token, l.env, nil)
		if !ok {
			continue
		}
		if !headerSafe(text) {
			l.d.fault(raw.Token.at, "found a token that is empty or has a blank or control character, allowed: visible characters", "correct the token")
			continue
		}
		tokens = append(tokens, AdminToken{Label: raw.Label, Scope: raw.Scope, Token: NewSecret(text)})
	}
	return tokens
}

// traceURL returns where traces are shown.
func (l *loader) traceURL() string {
	ref := l.raw.Admin.TraceURL
	if !ref.given() {
		return ""
	}
	value, ok := l.d.resolve(ref, l.env, nil)
	if !ok || value == "" {
		return ""
	}
	u, err := url.Parse(strings.ReplaceAll(value, "{trace}", "0af7651916cd43dd8448eb211c80319c"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.Contains(value, "{trace}") {
		l.d.fault(ref.at, "found "+quote(value)+", allowed: an http or https URL with {trace} in it", "write for instance https://jaeger.example.com/trace/{trace}")
		return ""
	}
	return value
}

// headerSafe reports whether a token can travel in an Authorization header.
func headerSafe(token string) bool {
	return token != "" && strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// addressFault says what is wrong with a listen address, or nothing.
func addressFault(listen string) string {
	const allowed = ", allowed: host:port"
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "found " + quote(listen) + allowed
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "found the port " + quote(port) + allowed + " with a port from 0 to 65535"
	}
	return ""
}

// urlFault says what is wrong with a base URL, or nothing. It quotes no URL
// that has a user part.
func urlFault(text string, schemes ...string) string {
	allowed := ", allowed: a URL with " + strings.Join(schemes, ", ") + ", a host, and no user, query or fragment"
	u, err := url.Parse(text)
	switch {
	case err != nil || text != strings.TrimSpace(text):
		return "found a text that is not a URL" + allowed
	case u.User != nil:
		return "found a user in the URL" + allowed
	case u.Scheme == "":
		return "found " + quote(text) + " without a scheme" + allowed
	case !slices.Contains(schemes, u.Scheme):
		return "found the scheme " + quote(u.Scheme) + allowed
	case u.Hostname() == "":
		return "found " + quote(text) + " without a host" + allowed
	case u.RawQuery != "" || u.ForceQuery:
		return "found a query in the URL" + allowed
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "found a fragment in the URL" + allowed
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "found the port " + quote(port) + allowed
		}
	}
	return ""
}
