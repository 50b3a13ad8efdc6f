package surreal

import (
	"fmt"
	"strconv"
)

// envelope is what a frame from the server says about itself. The values are parts of the frame.
type envelope struct {
	id     uint64
	hasID  bool
	fault  []byte
	result []byte
}

// parseEnvelope reads {id, result} or {id, error}; a notification has no id. It checks that all of the frame is well
// formed, so that what is decoded later can't be cut off or nested without end.
func parseEnvelope(frame []byte) (envelope, error) {
	var env envelope
	c := cursor{data: frame}
	err := c.fields(answerDepth, func(key, value []byte) error {
		inner := cursor{data: value}
		switch {
		case inner.isNull() && string(key) != "result":
		case string(key) == "id":
			env.id, env.hasID = requestID(value)
		case string(key) == "error":
			env.fault = value
		case string(key) == "result":
			env.result = value
		}
		return nil
	})
	if err == nil && c.pos != len(frame) {
		err = fmt.Errorf("cbor: %d bytes after the answer", len(frame)-c.pos)
	}
	return env, err
}

// answered is the id that a frame of which only the beginning is there answers to. Servers say it first.
func answered(begin []byte) (uint64, bool) {
	c := cursor{data: begin}
	major, _, _, err := c.head()
	if err != nil || major != majorMap {
		return 0, false
	}
	if key, err := c.text(); err != nil || string(key) != "id" {
		return 0, false
	}
	id, err := c.raw(answerDepth)
	if err != nil {
		return 0, false
	}
	return requestID(id)
}

// requestID reads one of our ids, which are numbers; a server may echo them as text.
func requestID(value []byte) (uint64, bool) {
	c := cursor{data: value}
	if c.peek() == majorText {
		text, err := c.text()
		if err != nil {
			return 0, false
		}
		id, err := strconv.ParseUint(string(text), 10, 64)
		return id, err == nil
	}
	major, id, _, err := c.head()
	return id, err == nil && major == majorUint
}

// notification is one event of a live query. The values are parts of the frame.
type notification struct {
	live   [16]byte
	action string
	record []byte
	result []byte
}

func parseNotification(result []byte) (notification, error) {
	var n notification
	found := false
	c := cursor{data: result}
	err := c.fields(answerDepth, func(key, value []byte) error {
		inner := cursor{data: value}
		switch string(key) {
		case "id":
			n.live, found = readUUID(value)
		case "action":
			text, err := inner.text()
			n.action = string(text)
			return err
		case "record":
			if !inner.isNull() {
				n.record = value
			}
		case "result":
			n.result = value
		}
		return nil
	})
	if err == nil && (!found || n.action == "") {
		err = errUnexpected
	}
	return n, err
}

// readUUID reads a uuid in any of SurrealDB's encodings: 16 bytes or text, with the tag for it.
func readUUID(value []byte) (id [16]byte, ok bool) {
	c := cursor{data: value}
	major, tag, _, err := c.head()
	if err != nil || major != majorTag {
		return id, false
	}
	switch tag {
	case tagUUID:
		major, size, _, err := c.head()
		if err != nil || major != majorBytes || size != 16 || len(c.data)-c.pos < 16 {
			return id, false
		}
		return [16]byte(c.data[c.pos:]), true
	case tagUUIDText:
		var u UUID
		text, err := c.text()
		if err != nil || u.UnmarshalText(text) != nil {
			return id, false
		}
		return u.UUID, true
	}
	return id, false
}
