package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// A call is a request to a route, as far as the route's line in the table goes checked.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	body  any // a pointer to what the route takes, nil for nothing
}

// id is a value in the path.
func (c *call) id(name string) string { return c.r.PathValue(name) }

// text is a parameter of the query, "" where it is not there.
func (c *call) text(name string) string { return c.query.Get(name) }

func (c *call) number(name string) int {
	n, _ := strconv.Atoi(c.query.Get(name)) // it was checked
	return n
}

// yes is a parameter that says true.
func (c *call) yes(name string) bool { return c.query.Get(name) == "true" }

// no is a parameter that says false.
func (c *call) no(name string) bool { return c.query.Get(name) == "false" }

// body is what the request carries.
func body[T any](c *call) *T { return c.body.(*T) } // as the table says

// readBody reads what a request carries into a new value of a type, strictly: JSON, one value, no
// fields that are not there, no nulls.
func readBody(w http.ResponseWriter, r *http.Request, like any, most int64) (any, error) {
	into := reflect.New(reflect.TypeOf(like))
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, refuse(http.StatusRequestEntityTooLarge, "too_large", "keep large data in rows of its own and pass its id", "the body is longer than %d bytes", most)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "bad_request", "send the request again", "the body ended early")
	case strings.TrimSpace(string(content)) == "":
		return into.Interface(), nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", "send Content-Type: application/json", "the body is %q", short(r.Header.Get("Content-Type")))
	}
	if raw, ok := into.Interface().(*json.RawMessage); ok {
		if !json.Valid(content) {
			return nil, badJSON(json.Unmarshal(content, new(any)))
		}
		*raw = content
		return raw, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into.Interface()); err != nil {
		return nil, badBody(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(http.StatusBadRequest, "bad_request", "send one JSON object", "there is more after the JSON object")
	}
	return into.Interface(), noNulls(content, into.Type())
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

func badJSON(err error) *fault {
	return refuse(http.StatusBadRequest, "bad_request", "send JSON", "the body is not JSON: %v", err)
}

// badBody tells JSON that is none from JSON that does not fit.
func badBody(err error) *fault {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badJSON(err)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		where := "it"
		if wrong.Field != "" {
			where = wrong.Field
		}
		return refuse(http.StatusUnprocessableEntity, "invalid", seeDocument, "the body does not fit: %s cannot be a JSON %s", where, wrong.Value)
	}
	return refuse(http.StatusUnprocessableEntity, "invalid", seeDocument, "the body does not fit: %s", strings.TrimPrefix(err.Error(), "json: "))
}
