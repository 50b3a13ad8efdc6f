package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// Limits of a request for a material.
const (
	// defaultSheetWords makes some thirty pages of a shipped text.
	defaultSheetWords = 10
	defaultSettle     = 3
	maxSettle         = 3600
	maxConversions    = 10
)

type materialRequest struct {
	indexRequest

	// Settle is the pause before the review, in seconds.
	Settle int `json:"settle"`
	// Failures is how many attempts of each conversion fail on purpose; four end the workflow.
	Failures int `json:"failures"`
}

type materialAnswer struct {
	Workflow string `json:"workflow"`
	Instance string `json:"instance"`
	Material string `json:"material"`
}

// material serves POST /materials: it starts the workflow INGEST and answers at once. The job's attempts
// all start the same instance.
func (s *server) material(ctx context.Context, call call) (any, error) {
	request := materialRequest{indexRequest: indexRequest{PageWords: defaultSheetWords}, Settle: defaultSettle}
	if err := decode(call.body, &request); err != nil {
		return nil, err
	}
	t, err := request.text()
	switch {
	case err != nil:
		return nil, err
	case request.Settle < 0 || request.Settle > maxSettle:
		return nil, badRequest(fmt.Sprintf("settle is %d; allowed: 0 to %d", request.Settle, maxSettle))
	case request.Failures < 0 || request.Failures > maxConversions:
		return nil, badRequest(fmt.Sprintf("failures is %d; allowed: 0 to %d", request.Failures, maxConversions))
	}
	owner, err := s.store.owner(ctx, call.job)
	if err != nil {
		return nil, err
	}
	params := material{
		Name: t.name, Title: t.title, Text: t.body, PageWords: request.PageWords, SettleSeconds: request.Settle, Failures: request.Failures,
	}
	id, err := s.start(ctx, params, owner, call.key)
	return materialAnswer{Workflow: ingestBinding, Instance: id, Material: t.name}, err
}

// start creates the instance that belongs to a key, unless an earlier attempt has.
func (s *server) start(ctx context.Context, params material, owner *surreal.RecordID, key string) (string, error) {
	var opts []wf.CreateOption
	if owner != nil {
		params.Owner = surreal.FormatID(*owner)
		opts = append(opts, wf.OwnerRecord(*owner))
	}
	id := ""
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		id = hex.EncodeToString(sum[:12])
		opts = append(opts, wf.ID(id))
	}
	instance, err := s.workflow.Create(ctx, params, opts...)
	switch {
	case errors.Is(err, wf.ErrExists):
		return id, nil
	case err != nil:
		return "", err
	}
	return instance.ID(), nil
}
