package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Limits of a request to index.
const (
	maxText      = 64 << 10
	maxTitle     = 200
	minPageWords = 10
	maxPageWords = 1000
	// defaultPageWords makes two pages of a sonnet.
	defaultPageWords = 80
)

type indexRequest struct {
	Document  string `json:"document"`
	Title     string `json:"title"`
	Text      string `json:"text"`
	PageWords int    `json:"pageWords"`
}

type indexAnswer struct {
	Document string    `json:"document"`
	Title    string    `json:"title"`
	Pages    int       `json:"pages"`
	Words    int       `json:"words"`
	Distinct int       `json:"distinct"`
	Top      []topWord `json:"top"`
}

type topWord struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

// index serves POST /documents/index.
func (s *server) index(ctx context.Context, call call) (any, error) {
	request := indexRequest{PageWords: defaultPageWords}
	if err := decode(call.body, &request); err != nil {
		return nil, err
	}
	t, err := request.text()
	if err != nil {
		return nil, err
	}
	owner, err := s.store.owner(ctx, call.job)
	if err != nil {
		return nil, err
	}
	ix := newIndex(t, request.PageWords)
	if err := s.store.write(ctx, owner, call.key, ix); err != nil {
		return nil, err
	}
	answer := indexAnswer{
		Document: t.name, Title: t.title, Pages: len(ix.pages), Words: ix.words, Distinct: len(ix.counts), Top: []topWord{},
	}
	for _, c := range ix.top(10) {
		answer.Top = append(answer.Top, topWord{Word: c.word, Count: c.total})
	}
	return answer, nil
}

// text is what the request asks to index: a shipped text, or its own.
func (r indexRequest) text() (text, error) {
	t := text{name: slug(r.Title), title: strings.TrimSpace(r.Title), body: strings.TrimSpace(r.Text)}
	switch {
	case r.PageWords < minPageWords || r.PageWords > maxPageWords:
		return text{}, badRequest(fmt.Sprintf("pageWords is %d; allowed: %d to %d", r.PageWords, minPageWords, maxPageWords))
	case r.Document != "" && r.Text == "" && r.Title == "":
		return textNamed(r.Document)
	case r.Document != "":
		return text{}, badRequest("give either document, or title and text")
	case t.name == "" || utf8.RuneCountInString(r.Title) > maxTitle:
		return text{}, badRequest(fmt.Sprintf("title needs a letter or digit, and at most %d characters", maxTitle))
	case len(words(t.body)) == 0:
		return text{}, badRequest("text has no words")
	case len(r.Text) > maxText:
		return text{}, fault{status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: fmt.Sprintf("text is longer than %d bytes", maxText)}
	}
	return t, nil
}

func notFound(message string) error {
	return fault{status: http.StatusNotFound, Code: "not_found", Message: message}
}
