package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
)

const (
	defaultSentences = 2
	maxSentences     = 20
	maxFailures      = 100
	// flakyShare is how many jobs there are to one that fails at its first attempt.
	flakyShare = 3
)

type summaryRequest struct {
	Document  string `json:"document"`
	Sentences int    `json:"sentences"`
	// Failures is how many attempts fail on purpose; nil leaves it to the job's id.
	Failures *int `json:"failures"`
	// Steps is what the steps before came to, where a DAG asks: that there is something to sum up.
	Steps json.RawMessage `json:"steps"`
}

type summaryAnswer struct {
	Document  string   `json:"document"`
	Attempt   int      `json:"attempt"`
	Sentences []string `json:"sentences"`
}

// summary serves POST /documents/summary.
func (s *server) summary(ctx context.Context, call call) (any, error) {
	request := summaryRequest{Sentences: defaultSentences}
	if err := decode(call.body, &request); err != nil {
		return nil, err
	}
	if err := request.check(); err != nil {
		return nil, err
	}
	if failures := request.failures(call.job); call.attempt <= failures {
		return nil, fault{
			status: http.StatusServiceUnavailable, Code: "on_purpose",
			Message: fmt.Sprintf("attempt %d fails on purpose; attempt %d will not", call.attempt, failures+1),
		}
	}
	owner, err := s.store.owner(ctx, call.job)
	if err != nil {
		return nil, err
	}
	pages, err := s.store.pages(ctx, owner, request.Document)
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, notFound(fmt.Sprintf("document %q of this job's user is not indexed; POST /documents/index first", request.Document))
	}
	return summaryAnswer{
		Document: request.Document, Attempt: call.attempt, Sentences: extract(strings.Join(pages, "\n"), request.Sentences),
	}, nil
}

func (r summaryRequest) check() error {
	switch {
	case r.Document == "":
		return badRequest("document is missing")
	case r.Sentences < 1 || r.Sentences > maxSentences:
		return badRequest(fmt.Sprintf("sentences is %d; allowed: 1 to %d", r.Sentences, maxSentences))
	case r.Failures != nil && (*r.Failures < 0 || *r.Failures > maxFailures):
		return badRequest(fmt.Sprintf("failures is %d; allowed: 0 to %d", *r.Failures, maxFailures))
	}
	return nil
}

// failures is how many attempts of a job fail on purpose: what the request says, else one for every
// third job, which its id decides. A request that belongs to no job does not fail.
func (r summaryRequest) failures(job string) int {
	switch {
	case r.Failures != nil:
		return *r.Failures
	case job == "":
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(job)) // a hash never fails
	if hash.Sum32()%flakyShare == 0 {
		return 1
	}
	return 0
}

// extract picks the n sentences whose words are the most frequent in the text, in the text's order.
func extract(content string, n int) []string {
	weights := map[string]int{}
	for _, word := range words(content) {
		if !isCommon(word) {
			weights[word]++
		}
	}
	type scored struct {
		at    int
		score float64
	}
	all := sentences(content)
	ranked := make([]scored, len(all))
	for i, sentence := range all {
		sum, found := 0, words(sentence)
		for _, word := range found {
			sum += weights[word]
		}
		ranked[i] = scored{at: i, score: float64(sum) / float64(max(len(found), 1))}
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	ranked = ranked[:min(n, len(ranked))]
	slices.SortFunc(ranked, func(a, b scored) int { return cmp.Compare(a.at, b.at) })
	picked := make([]string, len(ranked))
	for i, s := range ranked {
		picked[i] = all[s.at]
	}
	return picked
}

// sentences are those of a text, each on one line. A colon or semicolon ends one too: poets write few full stops.
func sentences(content string) []string {
	var all []string
	var held []string
	for field := range strings.FieldsSeq(content) {
		held = append(held, field)
		if strings.ContainsAny(field[len(field)-1:], ".?!;:") {
			all = append(all, strings.Join(held, " "))
			held = nil
		}
	}
	if len(held) > 0 {
		all = append(all, strings.Join(held, " "))
	}
	return all
}
