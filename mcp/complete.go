package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sp00ky.cloud/spky/admin"
)

// maxCompletions is how many ids are offered at once.
const maxCompletions = 20

// complete offers the ids of instances that begin with what was typed: for the prompt, and for the
// resource. For anything else it has nothing to offer.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	result := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	ref := r.Params.Ref
	wanted := ref.Name == diagnosis || s.cfg.Instances != nil && ref.URI == s.instanceResource().template()
	if s.cfg.Instances == nil || !wanted || r.Params.Argument.Name != "id" || len(r.Params.Argument.Value) > 100 {
		return result, nil
	}
	ctx, cancel := context.WithTimeout(s.cfg.acting(ctx), patience)
	defer cancel()
	page, err := s.cfg.Instances.List(ctx, admin.ListOptions{Query: r.Params.Argument.Value, Limit: maxCompletions})
	if err != nil {
		return nil, resourceError(err)
	}
	for _, i := range page.Instances {
		result.Completion.Values = append(result.Completion.Values, i.ID)
	}
	result.Completion.HasMore = page.Next != ""
	return result, nil
}
