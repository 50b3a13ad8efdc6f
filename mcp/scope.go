package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sp00ky.cloud/spky/admin"
)

// candid tells clients of older protocols over HTTP that they cannot subscribe: there is no session to
// tell them in.
func candid(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		greeting, ok := result.(*sdk.InitializeResult)
		if !ok || err != nil || !overHTTP(r.GetExtra()) || greeting.Capabilities == nil || greeting.Capabilities.Resources == nil {
			return result, err
		}
		capabilities := *greeting.Capabilities
		capabilities.Resources = &sdk.ResourceCapabilities{}
		greeting.Capabilities = &capabilities
		return greeting, nil
	}
}

func overHTTP(extra *sdk.RequestExtra) bool { return extra != nil && extra.Header != nil }

// guard shows a caller, and lets him use, only what his scope has.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if s.cfg.Caller(ctx).Scope == admin.ScopeFull {
			return next(ctx, method, r)
		}
		if call, ok := r.(*sdk.CallToolRequest); ok {
			if e, known := s.effects[call.Params.Name]; known && e != reads {
				return refusal(&scopeError{call.Params.Name}), nil
			}
		}
		result, err := next(ctx, method, r)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			list.Tools = slices.DeleteFunc(list.Tools, func(t *sdk.Tool) bool { return s.effects[t.Name] != reads })
		}
		return result, err
	}
}
