// Package typescript holds the built TypeScript SDK, so that `spky init` can put it into a new project: it is on no
// registry. The directory dist is what `npm run build` makes of src; a test of integration/typescript says when it is old.
package typescript

import "embed"

// Files are package.json, LICENSE, and dist.
//
//go:embed package.json LICENSE dist
var Files embed.FS
