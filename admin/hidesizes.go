package admin

import (
	"cmp"
	"context"
	_ "embed"
	"maps"
	"slices"

	"sp00ky.cloud/spky/surreal"
)

var (
	//go:embed surql/hidden_instance_sizes.surql
	hiddenInstanceSizes string
	//go:embed surql/hidden_job_sizes.surql
	hiddenJobSizes string
	//go:embed surql/hidden_run_sizes.surql
	hiddenRunSizes string
)

const (
	// maxHeld is how many bytes of what rows hold are read for one answer: a page of instances may have gibibytes of outputs,
	// and an answer of the database beyond 128 MiB costs the connection.
	maxHeld = 8 << 20
	// sizedRows is of how many steps the sizes are asked for at once, sizedPages how often: enough for 10,000 steps.
	sizedRows, sizedPages = 64, 160
)

// A size is how many bytes would be read of a row.
type size[K any] struct {
	Of   K   `json:"of"`
	Size int `json:"size"`
}

// readable leaves out the largest rows until what the others hold is within the bound.
func readable[K any](ctx context.Context, h hider, of []K, statement string, vars map[string]any) ([]K, error) {
	most := cmp.Or(h.most, maxHeld)
	all, err := hidden(ctx, of, func(part []K) ([]size[K], error) {
		asked := map[string]any{"of": part, "most": most, "rows": sizedRows, "pages": sizedPages}
		maps.Copy(asked, vars)
		return surreal.First[[]size[K]](ctx, h.db, statement, asked)
	})
	slices.SortStableFunc(all, func(a, b size[K]) int { return cmp.Compare(a.Size, b.Size) })
	var fit []K
	for _, one := range all {
		if most -= one.Size; most < 0 {
			break
		}
		fit = append(fit, one.Of)
	}
	return fit, err
}
