package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"sp00ky.cloud/spky/surreal"
)

// ErrToken is a token that is unknown, expired or revoked: nobody is told which.
var ErrToken = errors.New("the token is unknown, expired or revoked")

// A Scope is what a token lets its bearer do.
type Scope string

// The scopes.
const (
	// ScopeRead lets look at everything and change nothing.
	ScopeRead Scope = "read"
	// ScopeFull lets do everything.
	ScopeFull Scope = "full"
)

// Limits of tokens.
const (
	DefaultTokenTTL = 90 * 24 * time.Hour
	MaxTokenTTL     = 365 * 24 * time.Hour
	maxLabel        = 100 // characters
	maxTokens       = 1000
)

const (
	tokenPrefix = "spky"
	// tokenFresh is how long an answer about a token counts without asking the database again, tokenSeen
	// how many are remembered, and tokenNoted how often its use is written down.
	tokenFresh = 2 * time.Second
	tokenSeen  = 1000
	tokenNoted = time.Minute
)

// A Token is what is known of a token; its secret is not.
type Token struct {
	ID        string    `json:"id"`
	Label     string    `json:"label"`
	Scope     Scope     `json:"scope"`
	CreatedBy string    `json:"created_by,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// RevokedAt is nil while it has not been revoked.
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	// LastUsedAt is up to a minute behind.
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	// State is valid, expired or revoked.
	State string `json:"state"`
}

// An Identity is who a token's bearer is.
type Identity struct {
	Token string
	Label string
	Scope Scope
}

// Tokens are the bearer tokens of the admin API. They look like spky_<id>_<secret>; the database has
// only the hash of the secret. Its methods may be called from any goroutine.
type Tokens struct {
	db *surreal.Client

	mu      sync.Mutex
	seen    map[[sha256.Size]byte]seenToken // by the hash of the whole token
	revoked int                             // counts what was forgotten
}

type seenToken struct {
	identity Identity
	until    time.Time
}

// NewTokens makes it; nothing is sent.
func NewTokens(db *surreal.Client) *Tokens {
	return &Tokens{db: db, seen: map[[sha256.Size]byte]seenToken{}}
}

// Create makes a token, which is shown this one time, and lives for ttl, by default 90 days, at most 365.
func (t *Tokens) Create(ctx context.Context, label string, scope Scope, ttl time.Duration) (string, Token, error) {
	if ttl == 0 {
		ttl = DefaultTokenTTL
	}
	switch {
	case label == "" || utf8.RuneCountInString(label) > maxLabel || !utf8.ValidString(label) || strings.ContainsFunc(label, unicode.IsControl):
		return "", Token{}, inputf("label %q; allowed: 1 to %d characters, none of them a control character", label, maxLabel)
	case scope != ScopeRead && scope != ScopeFull:
		return "", Token{}, inputf("scope %q; allowed: %s, %s", scope, ScopeRead, ScopeFull)
	case ttl < time.Second || ttl > MaxTokenTTL:
		return "", Token{}, inputf("a token can't live for %s; allowed: 1s to 365 days", ttl)
	}
	id, secret := newToken()
	vars := map[string]any{"key": id, "ttl": surreal.Duration(ttl), "row": map[string]any{
		"hash": hash(secret), "scope": string(scope), "label": label, "created_by": short(ActorOf(ctx).Name, maxName),
	}}
	call := "CREATE type::record('_00_admin_token', $key) CONTENT object::extend($row, { expires_at: time::now() + $ttl }) RETURN VALUE id"
	made, err := audited[[]surreal.RecordID](ctx, t.db, "token.create", id, call, vars)
	switch {
	case err != nil:
		return "", Token{}, fmt.Errorf("create token: %w", err)
	case len(made) == 0:
		return "", Token{}, errors.New("create token: this database user may not write")
	}
	token, err := t.get(ctx, id)
	if err != nil {
		return "", Token{}, fmt.Errorf("create token: %w", err)
	}
	return tokenPrefix + "_" + id + "_" + secret, token, nil
}

// newToken makes an id, by which a token is spoken of, and a secret of 32 bytes.
func newToken() (id, secret string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return strings.ToLower(rand.Text()[:12]), base64.RawURLEncoding.EncodeToString(b[:])
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

type tokenRow struct {
	ID         surreal.RecordID `json:"id"`
	Hash       string           `json:"hash"`
	Label      string           `json:"label"`
	Scope      Scope            `json:"scope"`
	CreatedBy  string           `json:"created_by"`
	CreatedAt  time.Time        `json:"created_at"`
	ExpiresAt  time.Time        `json:"expires_at"`
	RevokedAt  *time.Time       `json:"revoked_at"`
	LastUsedAt *time.Time       `json:"last_used_at"`
	Now        time.Time        `json:"now"`
}

const readTokens = "SELECT *, time::now() AS now FROM " //nolint:gosec // no credentials in it

func (r tokenRow) token() Token {
	t := Token{
		ID: key(r.ID), Label: r.Label, Scope: r.Scope, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt, LastUsedAt: r.LastUsedAt, State: "valid",
	}
	switch {
	case r.RevokedAt != nil:
		t.State = "revoked"
	case !r.ExpiresAt.After(r.Now):
		t.State = "expired"
	}
	return t
}

func (t *Tokens) row(ctx context.Context, id string) (tokenRow, error) {
	rows, err := surreal.First[[]tokenRow](ctx, t.db, readTokens+"$id", map[string]any{"id": surreal.RecordID{Table: "_00_admin_token", ID: id}})
	switch {
	case err != nil:
		return tokenRow{}, fmt.Errorf("read token: %w", err)
	case len(rows) == 0:
		return tokenRow{}, fmt.Errorf("token %s: %w", id, ErrNotFound)
	}
	return rows[0], nil
}

func (t *Tokens) get(ctx context.Context, id string) (Token, error) {
	row, err := t.row(ctx, id)
	return row.token(), err
}

// List answers with all tokens, the newest first; expired and revoked ones too.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	rows, err := surreal.First[[]tokenRow](ctx, t.db, readTokens+"_00_admin_token ORDER BY created_at DESC LIMIT $most", map[string]any{"most": maxTokens})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	all := []Token{}
	for _, row := range rows {
		all = append(all, row.token())
	}
	return all, nil
}

// Revoke ends a token: here at once, in other processes within two seconds. id is the token's id, or
// the token itself. One that is revoked already is none to complain about.
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	if of, _, ok := splitToken(id); ok {
		id = of // never let a secret into the audit
	}
	answer, err := audited[struct {
		OK     bool   `json:"ok"`
		Status string `json:"status"`
	}](ctx, t.db, "token.revoke", id, "fn::spky::token::revoke($id)", map[string]any{"id": id})
	t.Forget(id)
	switch {
	case err != nil:
		return fmt.Errorf("revoke token %s: %w", id, err)
	case answer.Status == "":
		return fmt.Errorf("revoke token %s: %w", id, ErrNotFound)
	}
	return nil
}

// Forget lets Verify ask the database of a token the next time, or of all where id is "".
func (t *Tokens) Forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revoked++
	for sum, one := range t.seen {
		if id == "" || one.identity.Token == id {
			delete(t.seen, sum)
		}
	}
}

func splitToken(token string) (id, secret string, ok bool) {
	parts := strings.SplitN(token, "_", 3)
	if len(parts) != 3 || parts[0] != tokenPrefix || parts[1] == "" || len(parts[1]) > 40 || len(parts[2]) < 40 || len(token) > 200 {
		return "", "", false
	}
	return parts[1], parts[2], utf8.ValidString(token)
}

// Verify says who bears a token; ErrToken where it is none that counts. An answer counts for two
// seconds.
func (t *Tokens) Verify(ctx context.Context, token string) (Identity, error) {
	id, secret, ok := splitToken(token)
	if !ok {
		return Identity{}, ErrToken
	}
	sum := sha256.Sum256([]byte(token))
	identity, revoked, ok := t.recall(sum)
	if ok {
		return identity, nil
	}
	row, err := t.row(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Identity{}, err
	}
	same := subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hash(secret))) == 1
	if err != nil || !same || row.token().State != "valid" {
		return Identity{}, ErrToken
	}
	identity = Identity{Token: id, Label: row.Label, Scope: row.Scope}
	t.remember(sum, seenToken{identity: identity, until: time.Now().Add(min(tokenFresh, row.ExpiresAt.Sub(row.Now)))}, revoked)
	if row.LastUsedAt == nil || row.Now.Sub(*row.LastUsedAt) > tokenNoted {
		// That it could not be noted is no reason to turn its bearer away.
		_ = surreal.Exec(ctx, t.db, "UPDATE ONLY $id SET last_used_at = time::now() RETURN NONE", map[string]any{"id": row.ID})
	}
	return identity, nil
}

// recall answers from memory, and says how many tokens had been forgotten by then.
func (t *Tokens) recall(sum [sha256.Size]byte) (Identity, int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.seen[sum]
	if !ok || time.Now().After(one.until) {
		delete(t.seen, sum)
		return Identity{}, t.revoked, false
	}
	return one.identity, t.revoked, true
}

// remember keeps an answer, unless a token was revoked since it was asked for; of too many at once it
// begins anew.
func (t *Tokens) remember(sum [sha256.Size]byte, one seenToken, revoked int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revoked != revoked {
		return
	}
	if len(t.seen) >= tokenSeen {
		clear(t.seen)
	}
	t.seen[sum] = one
}
