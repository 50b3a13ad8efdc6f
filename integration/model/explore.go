package model

import "slices"

// A System is a state machine. S and A are comparable by value, so that states are recognised.
type System[S, A comparable, E any] struct {
	// Start is where every history begins.
	Start S
	// Actions are all that anybody may do, in any state.
	Actions []A
	// Step says what an action does in a state; false where that leads beyond the bounds of the model.
	Step func(S, A) (Outcome[S, E], bool)
}

// An Outcome is what an action comes to.
type Outcome[S comparable, E any] struct {
	// To is the state after it: the one before where the action was refused.
	To S
	// Answer is what whoever acts is told.
	Answer string
	// Effect is what changes beside the state, such as counters that only grow.
	Effect E
}

// An Edge is one transition.
type Edge[S, A comparable, E any] struct {
	From   S
	Action A
	Outcome[S, E]
}

// A Graph is all that a system can do.
type Graph[S, A comparable, E any] struct {
	// States in the order of their distance from the start.
	States []S
	start  S
	edges  map[S][]Edge[S, A, E]
	// from is the transition by which a state was first reached.
	from map[S]Edge[S, A, E]
}

// Explore finds every state that can be reached and every transition there is in it.
func Explore[S, A comparable, E any](sys System[S, A, E]) *Graph[S, A, E] {
	g := &Graph[S, A, E]{
		States: []S{sys.Start}, start: sys.Start,
		edges: map[S][]Edge[S, A, E]{}, from: map[S]Edge[S, A, E]{},
	}
	seen := map[S]bool{sys.Start: true}
	for n := 0; n < len(g.States); n++ {
		s := g.States[n]
		for _, a := range sys.Actions {
			out, possible := sys.Step(s, a)
			if !possible {
				continue
			}
			edge := Edge[S, A, E]{From: s, Action: a, Outcome: out}
			g.edges[s] = append(g.edges[s], edge)
			if !seen[out.To] {
				seen[out.To], g.from[out.To] = true, edge
				g.States = append(g.States, out.To)
			}
		}
	}
	return g
}

// Transitions counts them; refused are those that change no state.
func (g *Graph[S, A, E]) Transitions() (all, refused int) {
	for _, edges := range g.edges {
		all += len(edges)
		for _, e := range edges {
			if e.To == e.From {
				refused++
			}
		}
	}
	return all, refused
}

// Way is a shortest sequence of actions from the start to a state.
func (g *Graph[S, A, E]) Way(to S) []A {
	var way []A
	for to != g.start {
		edge := g.from[to]
		way = append(way, edge.Action)
		to = edge.From
	}
	slices.Reverse(way)
	return way
}

// Walks are sequences of transitions from the start that together take every transition at least once.
// A walk ends when it has limit transitions and the one it was on its way to.
func (g *Graph[S, A, E]) Walks(limit int) [][]Edge[S, A, E] {
	left := map[S][]Edge[S, A, E]{}
	for s, edges := range g.edges {
		left[s] = slices.Clone(edges)
		// What is refused leaves the walk where it is: that comes first, with no way back to find.
		slices.SortStableFunc(left[s], func(a, b Edge[S, A, E]) int { return loops(b) - loops(a) })
	}
	var walks [][]Edge[S, A, E]
	for {
		walk := g.walk(left, limit)
		if len(walk) == 0 {
			return walks
		}
		walks = append(walks, walk)
	}
}

func loops[S, A comparable, E any](e Edge[S, A, E]) int {
	if e.To == e.From {
		return 1
	}
	return 0
}

// walk takes what is left, the nearest first, and strikes it off.
func (g *Graph[S, A, E]) walk(left map[S][]Edge[S, A, E], limit int) []Edge[S, A, E] {
	var walk []Edge[S, A, E]
	at := g.start
	for len(walk) < limit {
		way, found := g.nearest(at, left)
		if !found {
			break
		}
		walk = append(walk, way...)
		if len(way) > 0 {
			at = way[len(way)-1].To
		}
		next := left[at][0]
		left[at] = left[at][1:]
		walk = append(walk, next)
		at = next.To
	}
	return walk
}

// nearest is the way to the nearest state that has transitions left.
func (g *Graph[S, A, E]) nearest(at S, left map[S][]Edge[S, A, E]) ([]Edge[S, A, E], bool) {
	by := map[S]Edge[S, A, E]{}
	seen := map[S]bool{at: true}
	queue := []S{at}
	for n := 0; n < len(queue); n++ {
		s := queue[n]
		if len(left[s]) > 0 {
			return back(at, s, by), true
		}
		for _, e := range g.edges[s] {
			if !seen[e.To] {
				seen[e.To], by[e.To] = true, e
				queue = append(queue, e.To)
			}
		}
	}
	return nil, false
}

func back[S, A comparable, E any](from, to S, by map[S]Edge[S, A, E]) []Edge[S, A, E] {
	var way []Edge[S, A, E]
	for to != from {
		edge := by[to]
		way = append(way, edge)
		to = edge.From
	}
	slices.Reverse(way)
	return way
}

// Looks says after which transitions of a walk the row is to be looked at: not between two that leave
// it as it is, for what one of them changes still shows after the last.
func Looks[S, A comparable, E any](walk []Edge[S, A, E]) []bool {
	looks := make([]bool, len(walk))
	for n, e := range walk {
		looks[n] = loops(e) == 0 || n+1 == len(walk) || loops(walk[n+1]) == 0
	}
	return looks
}
