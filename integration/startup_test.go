package integration_test

import (
	"fmt"
	"testing"
)

// TestNodesStartAtOnce (report 50): several nodes meet an empty database and all bring its schema up at
// the same moment. All of them work.
func TestNodesStartAtOnce(t *testing.T) {
	t.Parallel()
	const rounds, nodes = 4, 4
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			db, b := fresh(t), newBackend(t, nil)
			var begun []*node
			for i := range nodes {
				begun = append(begun, begin(t, fmt.Sprintf("n%d", i), db.cfg, b.config()))
			}
			for _, n := range begun {
				n.works()
			}
			db.create(nil)
			db.settled(1)
		})
	}
}
