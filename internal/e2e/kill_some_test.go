//go:build !killpoints

package e2e

// killStride has a plain `go test` kill at every fourth point: minutes less.
const killStride = 4
