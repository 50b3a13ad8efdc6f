package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

const masked = "***"

// Secret is a text that must not reach a log, a message or an answer. Every way
// of printing, logging or marshalling it yields "***", or nothing when it is
// empty. The zero value is the empty secret.
type Secret struct {
	// A pointer, so that printing a struct that holds the Secret in an
	// unexported field, where fmt cannot call its methods, shows an address.
	text *string
}

// NewSecret wraps text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// String returns "***", or "" for the empty secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return masked
}

// GoString returns what String returns, quoted.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// Format writes the mask for every verb, also for those that would print the
// fields of a struct.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	_, _ = io.WriteString(f, text)
}

// MarshalJSON returns the mask as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText returns the mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the mask, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
