//go:build !killpoints

package record

// Point names a place between two steps at which a process may die: around a
// commit, a dispatch, a post, an ack. It does nothing, except in a build with
// the tag killpoints, where a test ends the process there (internal/e2e,
// TestKillPoints).
func Point(string) {}

// point and callerOf name the places around a write's commit, in that build.
func (w *write) point(string) {}
func callerOf(int) string     { return "" }
