//go:build !unix

package localslack

import (
	"errors"
	"os"
)

// lockFile refuses: without a lock that ends with its process, two processes
// could write one journal.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("this system has no file locks that end with their process; leave the directory out to keep the workspace in memory")
}
