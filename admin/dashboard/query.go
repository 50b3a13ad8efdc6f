package dashboard

import (
	"net/url"
	"strconv"
)

// pageRows is how many rows a list shows.
const pageRows = 50

// A query is the filters of a list, as its address has them.
type query struct {
	path   string
	values url.Values
}

// queryOf keeps the parameters of a request that have one of the names, and something to say.
func queryOf(v *visit, names ...string) query {
	q := query{v.r.URL.Path, url.Values{}}
	for _, name := range names {
		if text := v.text(name); text != "" {
			q.values.Set(name, text)
		}
	}
	return q
}

// Get is a filter, "" where it is not set.
func (q query) Get(name string) string { return q.values.Get(name) }

// Any says whether a filter is set.
func (q query) Any() bool { return len(q.values) > 0 }

// With is the list's address with one filter more, or another, or without it where value is ""; on its first page.
func (q query) With(name, value string) string {
	with := url.Values{}
	for n, values := range q.values {
		if n != "cursor" {
			with[n] = values
		}
	}
	with.Del(name)
	if value != "" {
		with.Set(name, value)
	}
	if len(with) == 0 {
		return q.path
	}
	return q.path + "?" + with.Encode()
}

// Encode is the filters as a query, without the page.
func (q query) Encode() string {
	_, encoded, _ := cutQuery(q.With("cursor", ""))
	return encoded
}

func cutQuery(address string) (path, encoded string, found bool) {
	u, err := url.Parse(address)
	if err != nil {
		return address, "", false
	}
	return u.Path, u.RawQuery, u.RawQuery != ""
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
