package child

import "runtime"

// lockForever locks the calling goroutine to its thread for good, so that the thread ends with it.
func lockForever() { runtime.LockOSThread() }
