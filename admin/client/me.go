package client

import (
	"context"

	"sp00ky.cloud/spky/admin"
)

// Scope is what the token may do.
func (c *Client) Scope(ctx context.Context) (admin.Scope, error) {
	me, err := get[struct {
		Scope admin.Scope `json:"scope"`
	}](ctx, c, "/me", nil)
	return me.Scope, err
}
