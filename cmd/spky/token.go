package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

func newTokenCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Aliases: []string{"tokens"},
		Short:   "Create, list and revoke tokens of the admin API",
		Long: `Create, list and revoke tokens of the admin API and of MCP over HTTP.

A token of scope read can look at everything and change nothing; one of scope full
can do everything. The database holds only the hash of a token: it is shown once.`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newTokenCreateCommand(p), newTokenListCommand(p), newTokenRevokeCommand(p))
	return cmd
}

func newTokenCreateCommand(p *program) *cobra.Command {
	var scope, ttl string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "create <label>",
		Short:   "Make a token, and show it this once",
		Long:    "Make a token, and show it this once, on standard output. The label says what it\nis for; the audit shows it as the one who did what was done with the token.",
		Example: "  spky token create agent\n  SPKY_ADMIN_TOKEN=$(spky token create me --scope full --ttl 8h)",
		Args:    takes(1, "the label of the token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := tokenTTL(ttl)
			if err != nil {
				return err
			}
			return p.createToken(cmd.Context(), args[0], admin.Scope(scope), d, asJSON)
		},
	}
	cmd.Flags().StringVar(&scope, "scope", string(admin.ScopeRead), "what it can do: read or full")
	cmd.Flags().StringVar(&ttl, "ttl", "90d", "how long it lives: 8h, 30d, at most 365d")
	complete(cmd, "scope", string(admin.ScopeRead), string(admin.ScopeFull))
	jsonFlag(cmd, &asJSON)
	return cmd
}

// tokenTTL reads 30d, or a duration.
func tokenTTL(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err == nil && n > 0 && n <= 365 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d >= time.Second && d <= admin.MaxTokenTTL {
		return d, nil
	}
	return 0, usagef("--ttl is %q; allowed: 1s to 365d, as in 8h or 30d", text)
}

func (p *program) createToken(ctx context.Context, label string, scope admin.Scope, ttl time.Duration, asJSON bool) error {
	return p.withJobs(ctx, "", anyTables, func(d *desk) error {
		secret, token, err := d.tokens.Create(ctx, label, scope, ttl)
		if err != nil {
			return err
		}
		if asJSON {
			return render.JSON(p.out, struct {
				Secret string `json:"secret"`
				admin.Token
			}{secret, token})
		}
		fmt.Fprintln(p.out, secret)
		fmt.Fprintf(p.err, "Token %s, scope %s, until %s. It is not shown again.\n", token.ID, token.Scope, token.ExpiresAt.Local().Format("2006-01-02 15:04"))
		return nil
	})
}

func newTokenListCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tokens, expired and revoked ones too",
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withJobs(cmd.Context(), "", anyTables, func(d *desk) error {
				tokens, err := d.tokens.List(cmd.Context())
				switch {
				case err != nil:
					return err
				case asJSON:
					return render.JSON(p.out, tokens)
				case len(tokens) == 0:
					fmt.Fprintln(p.out, "No tokens.")
					return nil
				}
				return p.printTokens(tokens)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) printTokens(tokens []admin.Token) error {
	table := render.NewTable("ID", "LABEL", "SCOPE", "STATE", "EXPIRES", "LAST USED", "CREATED BY")
	style := render.StyleFor(p.out, p.env)
	now := time.Now()
	for _, t := range tokens {
		table.Add(t.ID, render.Cut(t.Label, 40), string(t.Scope), t.State, render.Age(t.ExpiresAt, now), age(t.LastUsedAt, now), render.Cut(t.CreatedBy, 30))
	}
	return table.Write(p.out, style)
}

func newTokenRevokeCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke <id>",
		Short:   "End a token",
		Long:    "End a token: it is refused from now on, by a running spky after two seconds at\nmost.",
		Example: "  spky token revoke k3x9q2m7ab1c",
		Args:    takes(1, "the id of a token"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withJobs(cmd.Context(), "", anyTables, func(d *desk) error {
				if err := d.tokens.Revoke(cmd.Context(), args[0]); err != nil {
					return hint.Wrap(err, "`spky token list` shows the tokens there are")
				}
				fmt.Fprintln(p.out, "revoked")
				return nil
			})
		},
	}
}
