package dashboard

import (
	"fmt"
	"slices"
)

// Measures of a graph, in pixels.
const (
	boxWidth, boxHeight = 188, 44
	gapAcross, gapDown  = 44, 12
	// boxText is how much of a name or a note a page holds, in bytes; how much of it a box has room for the browser sees.
	boxText = 60
	// textLeft, textTop and textRight are how far the text of a box is from its edges.
	textLeft, textTop, textRight = 26, 4, 6
)

// A graph is steps that depend on one another, each to the right of what it depends on.
type graph struct {
	Width, Height int
	Boxes         []box
	Edges         []edge
}

// A box is one step.
type box struct {
	X, Y, Width, Height             int
	TextX, TextY, TextWidth         int
	Name, Short, State, Note, Title string
	Href                            string
}

// An edge leads from a step to one that depends on it.
type edge struct {
	// Path is its line, as SVG has it.
	Path string
	// Done says that the step it leads from has succeeded.
	Done bool
}

// A node is what a graph is made of.
type node struct {
	name, state, note, href string
	dependsOn               []string
}

// newGraph lays nodes out, and lines between them that cross none. Those whose dependencies are missing, or go in circles, stand at the left: the rows of
// a database may say anything.
func newGraph(nodes []node) graph {
	depth := depths(nodes)
	var g graph
	place := map[string]box{}
	rows := map[int]int{}
	for _, n := range nodes {
		column := depth[n.name]
		b := box{
			X: column * (boxWidth + gapAcross), Y: rows[column] * (boxHeight + gapDown), Width: boxWidth, Height: boxHeight,
			Name: n.name, Short: cut(boxText, n.name), State: n.state, Note: cut(boxText, n.note), Href: n.href,
			Title: n.name, TextX: column*(boxWidth+gapAcross) + textLeft, TextWidth: boxWidth - textLeft - textRight,
		}
		b.TextY = b.Y + textTop
		if n.note != "" {
			b.Title += ", " + n.note
		}
		rows[column]++
		place[n.name] = b
		g.Boxes = append(g.Boxes, b)
		g.Width, g.Height = max(g.Width, b.X+boxWidth), max(g.Height, b.Y+boxHeight)
	}
	lanes := map[string]int{} // of edges out of a box, in columns that they cross
	for _, n := range nodes {
		to := place[n.name]
		for _, name := range n.dependsOn {
			from, ok := place[name]
			if !ok {
				continue
			}
			line := fmt.Sprintf("M%d %d", from.X+boxWidth, from.middle())
			x, y := from.X+boxWidth, from.middle()
			for column := depth[name] + 1; column < depth[n.name]; column++ {
				lane := fmt.Sprint(column, " ", name)
				if _, ok := lanes[lane]; !ok {
					lanes[lane] = rows[column]
					rows[column]++
				}
				crossed := box{X: column * (boxWidth + gapAcross), Y: lanes[lane] * (boxHeight + gapDown)}
				line += curve(x, y, crossed.X, crossed.middle()) + fmt.Sprintf("H%d", crossed.X+boxWidth)
				x, y = crossed.X+boxWidth, crossed.middle()
				g.Height = max(g.Height, crossed.Y+boxHeight)
			}
			g.Edges = append(g.Edges, edge{Path: line + curve(x, y, to.X, to.middle()), Done: from.State == "success"})
		}
	}
	return g
}

func (b box) middle() int { return b.Y + boxHeight/2 }

// curve is the part of a line from one column to the next.
func curve(x1, y1, x2, y2 int) string {
	middle := (x1 + x2) / 2
	return fmt.Sprintf("C%d %d %d %d %d %d", middle, y1, middle, y2, x2, y2)
}

// depths is how many steps have to come before each, at least.
func depths(nodes []node) map[string]int {
	depth := map[string]int{}
	for range nodes { // the longest way has as many steps as there are
		changed := false
		for _, n := range nodes {
			for _, name := range n.dependsOn {
				known := slices.ContainsFunc(nodes, func(one node) bool { return one.name == name })
				if at := depth[name] + 1; known && at > depth[n.name] && at < len(nodes) {
					depth[n.name], changed = at, true
				}
			}
		}
		if !changed {
			break
		}
	}
	return depth
}
