//go:build killpoints

package e2e

// killStride 1: `go test -tags killpoints` kills at every point.
const killStride = 1
