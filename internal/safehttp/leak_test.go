package safehttp

import (
	"testing"

	"go.uber.org/goleak"
)

// No request leaves a goroutine behind it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
