package dev

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"sp00ky.cloud/spky/cmd/spky/internal/hint"
)

// A port is an address that the session has to listen at.
type port struct {
	who, address string
	// flag chooses another one.
	flag string
	// inUse says more than the error of listening does. Defaults to nothing.
	inUse func() (who, remedy string)
}

func (s *session) ports() []port {
	var all []port
	if !s.cfg.SurrealDB.External {
		all = append(all, port{who: "the database", address: s.o.DBListen, flag: "--db-listen", inUse: s.occupant})
	}
	all = append(all, port{who: "the runner", address: s.cfg.Listen, flag: "--listen"})
	if s.o.NewAdmin != nil && s.cfg.Admin.Listen != "" {
		all = append(all, port{who: "the admin API", address: s.cfg.Admin.Listen, flag: "--admin-listen"})
	}
	return all
}

// portsFree finds out early whether everything could listen, and names at once all that could not.
func (s *session) portsFree() error {
	var open []net.Listener // until all were tried, so that no two are given one address
	defer func() { closeAll(open) }()
	var taken []port
	var errs []error
	hints := []string{"stop what listens there"}
	for _, p := range s.ports() {
		listener, err := net.Listen("tcp", p.address) //nolint:noctx // returns at once
		if err == nil {
			open = append(open, listener)
			continue
		}
		taken = append(taken, p)
		if p.inUse != nil {
			who, remedy := p.inUse()
			errs = append(errs, fmt.Errorf("%s cannot listen on %s: %w%s", p.who, p.address, err, who))
			if remedy != "" {
				hints = append(hints, remedy)
			}
			continue
		}
		errs = append(errs, fmt.Errorf("%s cannot listen on %s: %w", p.who, p.address, err))
	}
	if len(taken) == 0 {
		return nil
	}
	hints = append(hints, "or run beside it: `"+beside(taken)+"`"+s.takenApps())
	return hint.Wrap(&portsError{errs}, "%s", strings.Join(hints, "; "))
}

// portsError is why addresses could not be listened at, on one line.
type portsError struct{ errs []error }

func (e *portsError) Error() string {
	var all []string
	for _, err := range e.errs {
		all = append(all, err.Error())
	}
	return "dev: " + strings.Join(all, "; ")
}

func (e *portsError) Unwrap() error { return errors.Join(e.errs...) }

// apart is how far the ports of two sessions are from each other: farther than those of one are.
const apart = 10

// beside are the flags with which a session runs beside what is in its way: its addresses some tens of ports higher, the
// first that are free.
func beside(taken []port) string {
	for step := apart; step <= 20*apart; step += apart {
		if flags, ok := shifted(taken, step); ok {
			return flags
		}
	}
	var flags []string
	for _, p := range taken {
		flags = append(flags, p.flag+" 127.0.0.1:0")
	}
	return strings.Join(flags, " ")
}

// shifted are the flags with all ports so much higher; false where one of them is taken, too.
func shifted(taken []port, step int) (string, bool) {
	var flags []string
	var open []net.Listener // for all of them have to be free at once
	defer func() { closeAll(open) }()
	for _, p := range taken {
		host, number, err := net.SplitHostPort(p.address)
		n, numErr := strconv.Atoi(number)
		if err != nil || numErr != nil {
			return "", false
		}
		address := net.JoinHostPort(host, strconv.Itoa(n+step))
		listener, err := net.Listen("tcp", address) //nolint:noctx // returns at once
		if err != nil {
			return "", false
		}
		open = append(open, listener)
		flags = append(flags, p.flag+" "+address)
	}
	return strings.Join(flags, " "), true
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}

// takenApps says for which backends no flag helps: something listens at the port that their own process is to have.
func (s *session) takenApps() string {
	said := ""
	for _, b := range s.cfg.Runnable() {
		if b.Dev == nil || !isLocal(b.BaseURL) {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(b.BaseURL.Hostname(), s.basePort(b))) //nolint:noctx // returns at once
		if err != nil {
			said += fmt.Sprintf("; and give %s another port in %s, for something listens at %s", b.Name, s.cfg.File, b.BaseURL)
			continue
		}
		_ = listener.Close()
	}
	return said
}
